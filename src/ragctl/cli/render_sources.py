"""The sources of an answer, and the claims that do not hold, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragctl.cli.output import Output, harmless
from ragctl.cli.render import source_uri
from ragctl.stages.citations import find_marks
from ragctl.stages.claims import better_passage, is_unfounded

if TYPE_CHECKING:
    from ragctl.records.answers import Answer, Citation, Claim

LONGEST_CLAIM = 90


def show_sources_of(answer: Answer, output: Output, *, root: str | None) -> None:
    """Print the sources: mark, number, page, section, link; then the claims that do not hold."""
    if answer.citations:
        output.line()
        output.line(Text("Sources", style="bold"))
    for citation in answer.citations:
        _show_citation(citation, output, root=root, mark=_mark(citation, answer.claims))
    doubtful = [c for c in answer.claims if c.verdict in _DOUBTFUL or is_unfounded(c)]
    if doubtful:
        output.line()
    for claim in doubtful:
        _show_claim(claim, output)


def show_nearest(nearest: Sequence[Citation], output: Output, *, root: str | None) -> None:
    """Print the pages that come nearest to a question that was refused."""
    if nearest:
        output.line()
        output.line(Text("Nearest pages", style="bold"))
    for citation in nearest:
        _show_citation(citation, output, root=root, mark="")


_DOUBTFUL = ("unsupported", "misattributed")


def _mark(citation: Citation, claims: Sequence[Claim]) -> str:
    """Return how a source is marked, with words, so that nothing hangs on color."""
    if citation.support != "misattributed":
        marks = {"supported": "✓ supported", "weak": "~ weak", "unsupported": "✗ not supported"}
        return marks.get(citation.support, "")
    better = [
        better_passage(claim)
        for claim in claims
        if not set(citation.passages).isdisjoint(claim.cites)
    ]
    numbers = dict.fromkeys(number for number in better if number is not None)
    return "→ see " + "".join(f"[{number}]" for number in numbers)


def _show_claim(claim: Claim, output: Output) -> None:
    """Print a claim that does not hold, shortened, and why."""
    text = harmless(" ".join(_without_marks(claim.text).split()))
    if len(text) > LONGEST_CLAIM:
        text = text[:LONGEST_CLAIM].rsplit(" ", 1)[0] + " …"
    mark = "→" if claim.verdict == "misattributed" else "✗"
    output.line(Text(f"{mark} “{text}”: {harmless(claim.why)}."))


def _without_marks(text: str) -> str:
    for mark in reversed(list(find_marks(text, passages=1000))):
        text = text[: mark.start].rstrip() + text[mark.end :]
    return text


def _show_citation(citation: Citation, output: Output, *, root: str | None, mark: str) -> None:
    numbers = "".join(f"[{number}]" for number in citation.passages)
    title = harmless(citation.title)
    section = f" — {harmless(citation.section)}" if citation.section else ""
    found = f" {mark}:" if mark else ""
    output.line(Text.assemble((numbers, "cyan"), f"{found} ", (title, "bold"), section))
    target = citation.link
    if target.startswith("/"):
        target = source_uri(root, citation.source_path) or ""
    indent = " " * (len(numbers) + 1)
    if target:
        output.line(Text(indent) + output.linked(citation.link, target))
    else:
        output.line(indent + citation.link)
