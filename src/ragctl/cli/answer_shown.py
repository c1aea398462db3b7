"""What is printed of an answer once its text is there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from ragctl.cli.documents import answer_document
from ragctl.cli.render import show_passage, show_passages
from ragctl.cli.render_sources import show_nearest, show_sources_of

if TYPE_CHECKING:
    from ragctl.cli.answering import Answering
    from ragctl.cli.output import Output
    from ragctl.records.answers import Answer
    from ragctl.records.links import LinkStyle


def show_answer(
    found: Answer,
    answering: Answering,
    output: Output,
    *,
    links: LinkStyle,
    root: str | None,
    as_json: bool,
    with_prompt: bool,
    with_passages: bool,
    verbose: bool,
) -> None:
    """Print what follows the text of an answer, or all of it as JSON."""
    if as_json:
        output.json(answer_document(found, include_prompt=with_prompt))
    else:
        shown = answering.shown(found, links=links)
        show_below(shown, output, root, with_passages=with_passages)
    if verbose:
        output.remark_table(answering.phases(found))


def show_listed(
    found: Answer, output: Output, *, root: str | None, as_json: bool, verbose: bool
) -> None:
    """Print an answer from the list of pages."""
    if verbose:
        output.remark(f"Route {found.route}, {found.timings.total or 0:,.1f} ms.")
    if as_json:
        output.json(answer_document(found))
        return
    output.remark("Answered from the list of pages, without a model.")
    output.stream(found.text)
    output.line()
    numbered = tuple(replace(one, passages=(one.n,)) for one in found.citations)
    show_below(replace(found, citations=numbered), output, root, with_passages=False)


def show_below(found: Answer, output: Output, root: str | None, *, with_passages: bool) -> None:
    """Print what stands below the text: quotes, sources, nearest pages, passages, problems."""
    if found.beneath:
        output.line()
        output.line(Text("What the passages say", style="bold"))
        output.line(found.beneath)
    show_sources_of(found, output, root=root)
    show_nearest(found.nearest, output, root=root)
    named = found.evidence.named_in if found.evidence and found.evidence.verdict == "weak" else 0
    if named and not with_passages and not found.citations:
        output.line()
        show_passage(next(hit for hit in found.passages if hit.n == named), output)
    if with_passages:
        output.line()
        show_passages(found.passages, output, sent=found.prompt.passages)
    for problem in found.problems:
        output.remark(problem.message, style="yellow")
