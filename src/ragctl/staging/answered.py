"""Stages 5 to 8, one at a time: found passages, prompt, draft, answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragctl.answering import with_attempt
from ragctl.artifacts.answers import (
    read_draft,
    read_prompt,
    write_answer,
    write_draft,
    write_prompt,
)
from ragctl.artifacts.index import nearest
from ragctl.artifacts.manifest import Folder
from ragctl.artifacts.pages import read_page_lines
from ragctl.artifacts.passages import read_passages
from ragctl.artifacts.retrieved import (
    Retrieved,
    read_retrieved,
    vector_sha256,
    write_retrieved,
)
from ragctl.errors import ArtifactError
from ragctl.index_match import require_same_model
from ragctl.pipeline.answer import AnswerOptions, checked
from ragctl.records.answers import Answer, Draft, Prompt, Timings
from ragctl.records.search import Hit
from ragctl.records.vectors import IndexIdentity, Vector
from ragctl.stages.render import render, sent_body
from ragctl.stages.tokens import TOKEN_COUNTER, estimated_tokens
from ragctl.staging.reading import recorded_embedding
from ragctl.staging.running import StageRun, command_for, run_on_files

if TYPE_CHECKING:
    from ragctl.protocols import Embedder, Generator
    from ragctl.records.chunks import Chunk
    from ragctl.stages.template import Template

VECTOR_SEARCH = "exact cosine over index.npz"
VECTOR_MODE = "vector"
Document = Callable[[Answer], Mapping[str, object]]
"""How an answer becomes the ``ragctl.answer/1`` document."""


def run_retrieve(
    folder: Path,
    question: str,
    embedder: Embedder,
    *,
    k: int,
    tracks: tuple[str, ...] = (),
    pages: tuple[str, ...] = (),
    force: bool = False,
) -> StageRun:
    """Stage 5: the passages nearest to a question; by vectors alone, whatever the settings."""
    made_with = recorded_embedding(folder)
    if made_with is not None:
        index = IndexIdentity(embedding=made_with, chunker="", chunker_parameters={})
        require_same_model(index, embedder.identity)
    parameters = {
        "question": question,
        "tracks": tracks,
        "pages": pages,
        "k": k,
        "search": VECTOR_SEARCH,
        "mode": VECTOR_MODE,
        "embedding": asdict(embedder.identity),
    }

    def work() -> dict[str, Any]:
        vector = embedder.embed([question], purpose="query")[0]
        hits = _nearest_hits(folder, vector, k=k, tracks=tracks, pages=pages)
        found = Retrieved(
            question=question,
            tracks=tracks,
            k=k,
            search=VECTOR_SEARCH,
            embedding=embedder.identity.label,
            query_sha256=vector_sha256(vector),
            hits=hits,
            mode=VECTOR_MODE,
            pages=pages,
        )
        write_retrieved(folder, found)
        best = hits[0].score if hits else None
        return {"hits": len(hits), "best": best, "mode": VECTOR_MODE}

    return run_on_files(folder, "retrieve", parameters, work, force=force)


def embedding_model_of(folder: Path) -> str:
    """Return the model whose vectors found the passages of a folder, empty where none is told."""
    record = Folder(folder).stages.get("retrieve")
    told = record.parameters.get("embedding", {}) if record else {}
    return f"{told.get('provider', '')}/{told.get('model', '')}" if told else ""


def run_render(
    folder: Path, *, template: Template, budget_tokens: int, least_share: float, force: bool = False
) -> StageRun:
    """Stage 6: passages and question become ``prompt.txt``."""

    def work() -> dict[str, Any]:
        found = read_retrieved(folder)
        prompt = render(
            found.question,
            found.hits,
            template=template,
            budget_tokens=budget_tokens,
            least_share=least_share,
        )
        write_prompt(folder, prompt.text)
        return prompt_counts(prompt, template)

    frame = render("", (), template=template, budget_tokens=budget_tokens)
    parameters = render_parameters(
        frame, template, budget_tokens=budget_tokens, least_share=least_share
    )
    return run_on_files(folder, "render", parameters, work, force=force)


def run_generate(
    folder: Path,
    generator: Generator,
    *,
    parameters: Mapping[str, Any],
    on_text: Callable[[str], None],
    force: bool = False,
) -> StageRun:
    """Stage 7: ``prompt.txt`` as it lies there becomes ``draft.json``.

    ``parameters`` are those of the generator that change what it writes.
    """

    def work() -> dict[str, Any]:
        draft = generator.generate(_prompt_of(folder), on_text=on_text)
        write_draft(folder, draft)
        return draft_counts(draft)

    parameters = {"route": generator.name, **parameters}
    return run_on_files(folder, "generate", parameters, work, force=force)


def run_check(
    folder: Path, options: AnswerOptions, document: Document, *, force: bool = False
) -> StageRun:
    """Stage 8: what was written becomes ``answer.json``: citations, links and problems."""

    def work() -> dict[str, Any]:
        draft = read_draft(folder)
        found = read_retrieved(folder)
        known = [ms for ms in (draft.prefill_ms, draft.decode_ms) if ms is not None]
        draft = with_attempt(draft, ms=sum(known))
        answer = checked(
            found.question,
            draft,
            _prompt_of(folder),
            found.hits,
            options,
            Timings(prefill=draft.prefill_ms, decode=draft.decode_ms),
        )
        write_answer(folder, document(answer))
        return answer_counts(answer)

    return run_on_files(folder, "check", check_parameters(options), work, force=force)


def _nearest_hits(
    folder: Path, vector: Vector, *, k: int, tracks: tuple[str, ...], pages: tuple[str, ...]
) -> tuple[Hit, ...]:
    among = None
    if tracks or pages:
        lines = [line.chunk for line in read_passages(folder)]
        _require_known(tracks, {chunk.track for chunk in lines})
        among = [
            chunk.ref
            for chunk in lines
            if (not tracks or chunk.track in tracks) and (not pages or chunk.url in pages)
        ]
    found = nearest(folder, vector, k=k, among=among)
    wanted = {neighbour.ref for neighbour in found}
    chunks = {
        line.chunk.ref: line.chunk for line in read_passages(folder) if line.chunk.ref in wanted
    }
    if wanted - chunks.keys():
        raise ArtifactError(
            f"index.npz names {min(wanted - chunks.keys())}, which chunks.jsonl does not hold",
            hint=f"Run `{command_for('embed', folder)}` and `{command_for('index', folder)}`.",
        )
    urls = {chunk.url for chunk in chunks.values()}
    by_url = {line.url: line for line in read_page_lines(folder) if line.url in urls}
    return tuple(
        _hit(number, neighbour.row, neighbour.score, chunks[neighbour.ref], by_url)
        for number, neighbour in enumerate(found, start=1)
    )


def _hit(number: int, row: int, score: float, chunk: Chunk, pages: Mapping[str, Any]) -> Hit:
    page = pages.get(chunk.url)
    if page is None:
        raise ArtifactError(f"parse.jsonl does not hold the page of {chunk.ref}")
    return Hit(
        n=number,
        chunk_id=row,
        ref=chunk.ref,
        url=chunk.url,
        title=page.title,
        track=chunk.track,
        section=chunk.section,
        anchor=chunk.anchor,
        body=chunk.body,
        start_char=chunk.start_char,
        end_char=chunk.end_char,
        source_path=page.source_path,
        score=score,
        vector_score=score,
    )


def _require_known(tracks: Iterable[str], known: set[str]) -> None:
    for track in tracks:
        if track not in known:
            raise ArtifactError(
                f"there is no track {track!r} in chunks.jsonl",
                hint=f"Tracks: {', '.join(sorted(known))}.",
            )


def render_parameters(
    frame: Prompt, template: Template, *, budget_tokens: int, least_share: float
) -> dict[str, Any]:
    return {
        "template": frame.template,
        "prompt": template.name.rpartition("/")[0],
        "frame_sha256": hashlib.sha256(frame.text.encode()).hexdigest(),
        "budget_tokens": budget_tokens,
        "least_share": least_share,
    }


def prompt_counts(prompt: Prompt, template: Template) -> dict[str, Any]:
    frame = render(prompt.question, (), template=template, budget_tokens=0)
    return {
        "counter": TOKEN_COUNTER,
        "prompt_tokens": estimated_tokens(prompt.text),
        "passage_tokens": sum(estimated_tokens(sent_body(hit)) for hit in prompt.passages),
        "frame_tokens": estimated_tokens(frame.text),
        "passages": [hit.n for hit in prompt.passages],
        "passages_found_whole": sum(sent_body(hit) in prompt.text for hit in prompt.passages),
    }


def _prompt_of(path: Path) -> Prompt:
    """Return the prompt of a folder: its text is the file's, also where somebody edited it."""
    found = read_retrieved(path)
    record = Folder(path).stages.get("render")
    text = read_prompt(path)
    inside = record.counts.get("passages") if record else None
    kept = [
        hit
        for hit in found.hits
        if (hit.n in inside if inside is not None else sent_body(hit) in text)
    ]
    return Prompt(
        text=text,
        question=found.question,
        template=str(record.parameters.get("template", "")) if record else "",
        passages=tuple(kept),
    )


def check_parameters(options: AnswerOptions) -> dict[str, Any]:
    return {
        "links": asdict(options.links),
        "allowed_hosts": options.allowed_hosts,
        "block": options.block,
    }


def draft_counts(draft: Draft) -> dict[str, Any]:
    return {"chars": len(draft.text), "finish": draft.finish, "route": draft.route}


def answer_counts(answer: Answer) -> dict[str, Any]:
    return {
        "citations": len(answer.citations),
        "problems": [problem.code for problem in answer.problems],
        "refused": answer.refused,
    }
