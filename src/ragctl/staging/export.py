"""The files of a run that has a database: what an ingest stored, what an answer came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragctl.artifacts.answers import write_answer, write_draft, write_prompt
from ragctl.artifacts.index import write_index
from ragctl.artifacts.manifest import STAGES, Folder
from ragctl.artifacts.pages import writing_pages
from ragctl.artifacts.passages import writing_passages
from ragctl.artifacts.retrieved import Retrieved, vector_sha256, write_retrieved
from ragctl.artifacts.vectors import read_vectors, writing_vectors
from ragctl.stages.render import render
from ragctl.staging.answered import (
    answer_counts,
    check_parameters,
    draft_counts,
    prompt_counts,
    render_parameters,
)
from ragctl.staging.indexed import vector_counts
from ragctl.staging.reading import (
    CONTENT,
    Content,
    Cutting,
    Reading,
    chunk_parameters,
    found_in,
    parse_parameters,
)

if TYPE_CHECKING:
    from ragctl.pipeline.answer import AnswerOptions
    from ragctl.protocols import Chunker, Generator, Parser, Retriever
    from ragctl.records.answers import Answer, Draft, Prompt
    from ragctl.records.search import Hit, Query
    from ragctl.records.vectors import EmbeddingIdentity, Vector


def export_index(
    folder: Path,
    content: Content,
    *,
    parser: Parser,
    chunker: Chunker,
    identity: EmbeddingIdentity,
    vectors_of: Callable[[str], Mapping[str, Vector]],
) -> tuple[str, ...]:
    """Write the first four boundaries of what an ingest has stored; no model takes part.

    Every page of the content is read and cut, unchanged ones as well; ``vectors_of`` gives the
    stored vectors of a page by content hash. Passages whose text is not stored are listed in the
    manifest and returned by reference. Memory holds one page at a time.
    """
    opened = Folder(folder, claims=True)
    reading = Reading(found_in(content), parser, drafts=content.drafts)
    cut = Cutting(chunker)
    without: list[str] = []
    rows = 0
    with (
        writing_pages(folder) as write_page,
        writing_passages(folder) as write_passage,
        writing_vectors(folder, dimensions=identity.dimensions) as write_vector,
    ):
        for page in reading.pages():
            write_page(page)
            lines = cut.lines(page)
            stored = vectors_of(page.url) if lines else {}
            for line in lines:
                write_passage(line)
                vector = stored.get(line.content_hash)
                if vector is None:
                    without.append(line.chunk.ref)
                    continue
                write_vector(line.chunk.ref, line.content_hash, vector)
                rows += 1
    indexed = write_index(folder, read_vectors(folder))
    for stage, parameters, counts in (
        ("parse", parse_parameters(content, parser), reading.counts()),
        ("chunk", chunk_parameters(chunker), cut.counts()),
        ("embed", asdict(identity), vector_counts(rows, identity, without)),
        ("index", {}, {"rows": indexed}),
    ):
        digest = {CONTENT: reading.digest.hexdigest()} if stage == "parse" else {}
        inputs = {**digest, **opened.hashes(STAGES[stage].reads)}
        opened.record(stage, command="ingest", inputs=inputs, parameters=parameters, counts=counts)
    return tuple(without)


class AnswerArtifacts:
    """Stands before the retriever and the generator of an answer and writes what passes.

    A :class:`~ragctl.protocols.Retriever` and a :class:`~ragctl.protocols.Generator`. Files are
    written as soon as they are known: where the model fails, the prompt it failed on is there.
    """

    def __init__(
        self,
        folder: Path,
        retriever: Retriever,
        generator: Generator,
        *,
        options: AnswerOptions,
        mode: str,
        embedding: EmbeddingIdentity,
        generation: Mapping[str, Any],
    ) -> None:
        self._folder = Folder(folder, claims=True)
        self._retriever = retriever
        self._generator = generator
        self._options = options
        self._mode = mode
        self._embedding = embedding
        self._generation = generation

    @property
    def name(self) -> str:
        """The route of the generator behind it."""
        return self._generator.name

    def retrieve(self, query: Query) -> tuple[Hit, ...]:
        """Find passages and write ``retrieved.json``; without a vector words alone did."""
        hits = tuple(self._retriever.retrieve(query))
        mode = self._mode if query.vector else "keyword"
        found = Retrieved(
            question=query.text,
            tracks=query.tracks,
            k=query.k,
            search="database",
            embedding=self._embedding.label,
            query_sha256=vector_sha256(query.vector),
            hits=hits,
            mode=mode,
            pages=query.pages,
        )
        write_retrieved(self._folder.path, found)
        parameters = {
            "question": query.text,
            "tracks": query.tracks,
            "pages": query.pages,
            "k": query.k,
            "search": found.search,
            "mode": mode,
            "embedding": asdict(self._embedding),
        }
        counts = {"hits": len(hits), "best": hits[0].score if hits else None, "mode": mode}
        self._record("retrieve", parameters, counts, inputs={})
        return hits

    def generate(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Draft:
        """Write ``prompt.txt``, have the answer written, and write ``draft.json``."""
        path, options = self._folder.path, self._options
        write_prompt(path, prompt.text)
        frame = render("", (), template=options.template, budget_tokens=options.budget_tokens)
        parameters = render_parameters(
            frame,
            options.template,
            budget_tokens=options.budget_tokens,
            least_share=options.least_share,
        )
        self._record("render", parameters, prompt_counts(prompt, options.template))
        draft = self._generator.generate(prompt, on_text=on_text)
        write_draft(path, draft)
        parameters = {"route": self.name, **self._generation}
        self._record("generate", parameters, draft_counts(draft))
        return draft

    def finish(self, answer: Answer, document: Mapping[str, object]) -> None:
        """Write ``answer.json``."""
        write_answer(self._folder.path, document)
        self._record("check", check_parameters(self._options), answer_counts(answer))

    def _record(
        self,
        stage: str,
        parameters: Mapping[str, Any],
        counts: Mapping[str, Any],
        *,
        inputs: Mapping[str, str] | None = None,
    ) -> None:
        if inputs is None:
            inputs = self._folder.hashes(STAGES[stage].reads)
        self._folder.record(
            stage, command="ask", inputs=inputs, parameters=parameters, counts=counts
        )
