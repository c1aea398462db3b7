"""``--artifacts DIR`` of ``ingest`` and ``ask``: the values between the stages, as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragctl import wiring
from ragctl.cli.documents import answer_document

if TYPE_CHECKING:  # loaded where artifacts are wanted: most calls of ask and ingest write none
    from ragctl.cli.output import Output
    from ragctl.db.database import Database
    from ragctl.pipeline.answer import AnswerOptions
    from ragctl.protocols import Generator, Retriever
    from ragctl.records.answers import Answer
    from ragctl.records.vectors import EmbeddingIdentity
    from ragctl.settings import Settings
    from ragctl.staging.export import AnswerArtifacts
    from ragctl.staging.reading import Content


def prepare(folder: Path, root: str) -> None:
    """Make the folder before anything else is done.

    Raises :class:`~ragctl.errors.UsageError` for one in the content folder ``root``, one that
    holds other files, and one that cannot be written.
    """
    from ragctl.artifacts.manifest import Folder
    from ragctl.staging.reading import require_apart

    require_apart(folder, root)
    Folder(folder, claims=True)


def export_after_ingest(
    folder: Path, content: Content, settings: Settings, database: Database, output: Output
) -> None:
    """Write what an ingest stored, unchanged pages as well; asks no model."""
    from ragctl.staging.export import export_index

    index = database.identity.load()
    if index is None:
        output.remark(f"Nothing was stored yet: no artifacts in {folder}.", style="yellow")
        return
    without = export_index(
        folder,
        content,
        parser=wiring.make_parser(settings),
        chunker=wiring.make_chunker(settings),
        identity=index.embedding,
        vectors_of=database.chunks.vectors_of,
    )
    output.remark(f"Artifacts of four stages are in {folder}.")
    if without:
        output.remark(
            f"{len(without)} passages have no stored vector; manifest.json names them.",
            style="yellow",
        )


def beside(
    folder: Path,
    retriever: Retriever,
    generator: Generator,
    *,
    options: AnswerOptions,
    embedding: EmbeddingIdentity,
    settings: Settings,
    root: str | None,
) -> AnswerArtifacts:
    """Return what stands before both and writes the files of an answer.

    ``root`` is the content folder, in which the files must not lie.
    """
    from ragctl.staging.export import AnswerArtifacts
    from ragctl.staging.reading import require_apart

    if root is not None:
        require_apart(folder, root)
    return AnswerArtifacts(
        folder,
        retriever,
        generator,
        options=options,
        mode=settings.retrieval.mode,
        embedding=embedding,
        generation=generation_parameters(settings),
    )


def generation_parameters(settings: Settings) -> dict[str, Any]:
    """Return what changes the text that a model writes, beside the prompt."""
    generation = settings.generation
    return {
        "temperature": 0,
        "seed": 0,
        "num_ctx": generation.num_ctx,
        "num_predict": generation.num_predict,
    }


def whole_answer_document(answer: Answer) -> dict[str, object]:
    """Return ``ragctl.answer/1`` with all that it can hold."""
    return answer_document(answer, include_prompt=True)
