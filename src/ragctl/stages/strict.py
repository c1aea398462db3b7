"""An answer without the statements that do not hold: what ``--strict-citations`` shows.

Left out are statements that the check found unsupported or misattributed, and those that cite
nothing and stand in no passage. Weak ones stay, and so does what is no statement: code, tables,
questions. What is left is still markdown: an item that lost all its words goes with its bullet, a
lead-in or a heading with all that it introduced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragctl.records.answers import Answer, Claim, Problem
from ragctl.stages.check import cite, nearest_pages, with_support
from ragctl.stages.claims import is_unfounded

if TYPE_CHECKING:
    from ragctl.records.links import LinkStyle

NOTHING_HOLDS: Final = "The passages bear out no statement of the answer."
"""What is shown in place of an answer of which nothing is left."""

CLAIM_PROBLEMS: Final = ("unsupported_claim", "misattributed_claim", "uncited_claim")

_FENCE: Final = re.compile(r"\s*(```|~~~)")
_HEADING: Final = re.compile(r"\s{0,3}(#{1,6})\s")
_PREFIX: Final = re.compile(r"\s*(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?")
_STARTS_PART: Final = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s|\||```|~~~)")
_SENTENCE_END: Final = re.compile(r"[.!?][*_\"”)\]]*\s+")
_WORDLESS: Final = re.compile(r"[\W_]*")
_LEFT_BEHIND: Final = " :;,"
"""What stood between a claim that was cut out and the words behind it."""


def is_doubtful(claim: Claim) -> bool:
    """Whether a claim has no support where it says so, or nowhere."""
    return claim.verdict in ("unsupported", "misattributed") or is_unfounded(claim)


def strictly(answer: Answer, *, links: LinkStyle) -> Answer:
    """Return an answer with ``strict`` and ``left_out``; a refusal where nothing of it holds."""
    doubtful = tuple(claim for claim in answer.claims if is_doubtful(claim))
    if not doubtful:
        return replace(answer, strict=answer.text)
    is_empty = len(doubtful) == len(answer.claims)
    noun = "statement was" if len(doubtful) == 1 else "statements were"
    told = Problem(
        code="left_out", message=f"{len(doubtful)} {noun} left out: not supported by the passages."
    )
    return replace(
        answer,
        strict="" if is_empty else without_doubtful(answer.text, answer.claims),
        left_out=doubtful,
        refused=answer.refused or is_empty,
        nearest=nearest_pages(answer.passages, links=links) if is_empty else answer.nearest,
        problems=(*answer.problems, told),
    )


def as_shown(answer: Answer, *, links: LinkStyle) -> Answer:
    """Return what a reader sees of a strict answer: nothing of what was left out."""
    if not answer.left_out:
        return answer
    kept = tuple(claim for claim in answer.claims if not is_doubtful(claim))
    sources = cite(answer.strict or "", answer.prompt.passages, links=links)
    return replace(
        answer,
        text=answer.strict or NOTHING_HOLDS,
        claims=kept,
        citations=with_support(sources, kept),
        problems=tuple(one for one in answer.problems if one.code not in CLAIM_PROBLEMS),
    )


def without_doubtful(text: str, claims: Sequence[Claim]) -> str:
    """Return a text without its doubtful claims; ``claims`` are those of it in order.

    A text in which they cannot be found is reduced to the claims that hold.
    """
    spans = _located(text, claims)
    if spans is None:
        return "\n\n".join(claim.text for claim in claims if not is_doubtful(claim))
    cut = [span for span, claim in zip(spans, claims, strict=True) if is_doubtful(claim)]
    lines = text.split("\n")
    left = _cut_lines(lines, cut)
    _drop_lead_ins(lines, left)
    _drop_headings(lines, left)
    return _joined(left)


def _located(text: str, claims: Sequence[Claim]) -> list[tuple[int, int]] | None:
    """Return where each claim stands, or ``None`` where one cannot be found in order.

    A claim has the words of its sentence in one line, without marks of quotes before lines.
    """
    prose = _prose(text)
    found: list[tuple[int, int]] = []
    after = 0
    for claim in claims:
        words = (re.escape(word) for word in claim.text.split())
        match = re.compile(r"[\s>]*".join(words)).search(prose, after)
        if match is None:
            return None
        found.append(match.span())
        after = match.end()
    return found


def _prose(text: str) -> str:
    """Blank out what holds no claims (code, headings, tables); every character keeps its place."""
    kept, in_code = [], False
    for line in text.split("\n"):
        is_fence = bool(_FENCE.match(line))
        is_other = is_fence or in_code or _HEADING.match(line) or line.lstrip().startswith("|")
        in_code ^= is_fence
        kept.append("\0" * len(line) if is_other else line)
    return "\n".join(kept)


def _cut_lines(lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[str | None]:
    """Return lines without the spans of their text, ``None`` for one that lost all its words."""
    left: list[str | None] = []
    start = 0
    for line in lines:
        end = start + len(line)
        here = [(max(a, start) - start, min(b, end) - start) for a, b in spans]
        here = [(a, b) for a, b in here if a < b]
        left.append(_without(line, here) if here else line)
        start = end + 1
    return left


def _without(line: str, spans: Sequence[tuple[int, int]]) -> str | None:
    prefix = _PREFIX.match(line)
    indent = prefix.end() if prefix else 0
    kept, at = [], indent
    for a, b in (*spans, (len(line), len(line))):
        part = line[at:a].strip()
        kept.append(part.lstrip(_LEFT_BEHIND) if at > indent else part)
        at = max(b, at)
    body = " ".join(part for part in kept if part)
    if _WORDLESS.fullmatch(body):
        return None
    if body.count("**") % 2:  # what it closed, or opened, is gone
        body = body.replace("**", "")
    return line[:indent] + body


def _drop_lead_ins(lines: Sequence[str], left: list[str | None]) -> None:
    """Drop sentences that end with a colon and introduce what is gone."""
    following: int | None = None  # the next line with text, and the text that is left after it
    remaining: str | None = None
    introduces_gone: list[int] = []
    for place in range(len(lines) - 1, -1, -1):
        line = left[place]
        if line is not None and line.rstrip(" *_").endswith(":"):
            is_gone = following is not None and left[following] is None
            if is_gone and not (remaining is not None and _STARTS_PART.match(remaining)):
                introduces_gone.append(place)
        if lines[place].strip():
            following = place
            remaining = remaining if line is None else line
    for place in introduces_gone:
        line = left[place] or ""
        ends = [match.start() + 1 for match in _SENTENCE_END.finditer(line)]
        left[place] = line[: ends[-1]] if ends else None


def _drop_headings(lines: Sequence[str], left: list[str | None]) -> None:
    """Drop headings of which all that stood below is gone."""
    prose = _prose("\n".join(lines)).split("\n")
    levels = {
        n: len(match[1])
        for n, line in enumerate(lines)
        if (match := _HEADING.match(line)) and prose[n].startswith("\0")
    }
    section_ends = [len(lines)] * 7  # by level: where the next heading of it, or above, stands
    next_kept = next_text = len(lines)
    for place in range(len(lines) - 1, -1, -1):
        level = levels.get(place)
        if level is not None:
            if next_text < section_ends[level] <= next_kept:
                left[place] = None
            section_ends[level:] = [place] * (7 - level)
        if lines[place].strip():
            next_text = place
            next_kept = next_kept if left[place] is None else place


def _joined(left: Sequence[str | None]) -> str:
    """Join what is left; a line that is gone leaves no second blank line behind."""
    kept: list[str] = []
    is_gone = False
    for line in left:
        if line is None:
            is_gone = True
            continue
        if is_gone and not line.strip() and (not kept or not kept[-1].strip()):
            continue
        is_gone = False
        kept.append(line)
    return "\n".join(kept).strip("\n")
