"""Code spans of running text, found in one pass: time grows with the text alone.

A run of backticks opens a span that the next run of the same length closes, as in CommonMark. A
regular expression for that looks for a partner of each run through all that follows.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_RUN: Final = re.compile(r"`+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSpan:
    """Where a span begins and ends, backticks included, and what stands between these."""

    start: int
    end: int
    content: str


def code_spans(
    text: str, start: int, end: int, *, has_escapes: bool = True
) -> tuple[list[int], list[int]]:
    """Return starts and ends of the code spans in ``text[start:end]``, in linear time.

    With ``has_escapes`` a backslash before an opening run takes its first backtick away.
    """
    runs = [match.span() for match in _RUN.finditer(text, start, end)]
    by_length: dict[int, list[int]] = {}
    for index, (first, last) in enumerate(runs):
        by_length.setdefault(last - first, []).append(index)
    starts: list[int] = []
    ends: list[int] = []
    index = 0
    while index < len(runs):
        first, last = runs[index]
        if has_escapes and _is_escaped(text, first, start):
            first += 1
        same = by_length.get(last - first, [])
        place = bisect_right(same, index)
        if first == last or place == len(same):
            index += 1
            continue
        closing = same[place]
        starts.append(first)
        ends.append(runs[closing][1])
        index = closing + 1
    return starts, ends


def spans_in_lines(text: str) -> Iterator[CodeSpan]:
    """Yield the code spans of a text in order: each in one line, and no backslash escapes one."""
    if "`" not in text:
        return
    line_start = 0
    for line in text.split("\n"):
        line_end = line_start + len(line)
        for start, end in zip(
            *code_spans(text, line_start, line_end, has_escapes=False), strict=True
        ):
            marks = len(line) - len(line[start - line_start :].lstrip("`")) - (start - line_start)
            yield CodeSpan(start=start, end=end, content=text[start + marks : end - marks])
        line_start = line_end + 1


def with_hidden_code(text: str) -> str:
    """Return a text of the same length in which what stands in code spans has become ``x``."""
    parts, done = [], 0
    for span in spans_in_lines(text):
        parts += [text[done : span.start], "`", "x" * (span.end - span.start - 2), "`"]
        done = span.end
    return "".join((*parts, text[done:]))


def without_code_spans(text: str, *, replacement: str) -> str:
    """Return a text with each code span replaced."""
    parts, done = [], 0
    for span in spans_in_lines(text):
        parts += [text[done : span.start], replacement]
        done = span.end
    return "".join((*parts, text[done:]))


def _is_escaped(text: str, offset: int, floor: int) -> bool:
    before = offset
    while before > floor and text[before - 1] == "\\":
        before -= 1
    return (offset - before) % 2 == 1
