"""Taking pieces out of a text while knowing, for each line that is left, where it came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from ragctl.records.pages import Removal
from ragctl.stages.parse.blocks import line_starts


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """``text[start:end]`` gives way to ``replacement``; ``kind`` is the class of a removal.

    ``joins`` says that lines around a removed line break become one.
    """

    start: int
    end: int
    replacement: str = ""
    kind: str = "tag"
    joins: bool = False


@dataclass(slots=True)
class Edited:
    """Lines that are left, the source line of each, and the source lines that are gone."""

    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    removed: list[tuple[int, str]] = field(default_factory=list)
    _gap: int = 0

    def drop(self, numbers: Iterable[int], kind: str, *, leaves_gap: bool) -> None:
        """Note lines as gone; a gap keeps the text before and behind them apart."""
        for number in numbers:
            self.removed.append((number, kind))
            if leaves_gap and not self._gap:
                self._gap = number

    def keep(self, lines: list[str], numbers: list[int]) -> None:
        """Add lines, behind one blank line where a gap would glue two texts together."""
        if not lines:
            return
        if self._gap and lines[0].strip() and self.lines and self.lines[-1].strip():
            self.lines.append("")
            self.numbers.append(self._gap)
        self._gap = 0
        self.lines.extend(lines)
        self.numbers.extend(numbers)


def without_overlaps(edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits in order; one that starts inside an earlier one is dropped."""
    result: list[Edit] = []
    end = 0
    for edit in sorted(edits):
        if edit.start >= end:
            result.append(edit)
            end = edit.end
    return result


def apply_edits(text: str, numbers: list[int], edits: list[Edit]) -> Edited:
    """Return ``text`` after ``edits`` (in order, without overlaps) as lines.

    ``numbers`` are the source lines of the text's lines. A line that had characters and has none
    left is dropped and noted, as is every line that lies wholly inside a removed piece.
    """
    lines = text.split("\n")
    starts = line_starts(lines)
    edited = Edited()
    line = index = 0
    while index < len(edits):
        first = bisect_right(starts, edits[index].start) - 1
        edited.keep(lines[line:first], numbers[line:first])
        line, index = _rebuild(_Source(text, lines, starts, numbers), edits, index, first, edited)
    edited.keep(lines[line:], numbers[line:])
    return edited


@dataclass(frozen=True, slots=True)
class _Source:
    text: str
    lines: list[str]
    starts: list[int]
    numbers: list[int]

    def end_of(self, line: int) -> int:
        return self.starts[line] + len(self.lines[line])


def _rebuild(
    source: _Source, edits: list[Edit], index: int, first: int, edited: Edited
) -> tuple[int, int]:
    """Rebuild the line at ``first`` and all that its edits reach; return next line and edit."""
    named = reached = first  # the line that gives the number, and the one whose end is to come
    kept: list[str] = []
    position = source.starts[first]
    kind = edits[index].kind
    while index < len(edits) and edits[index].start <= source.end_of(reached):
        edit = edits[index]
        kind = edit.kind
        kept.append(source.text[position : edit.start])
        kept.append(edit.replacement)
        position, index = edit.end, index + 1
        last = bisect_right(source.starts, edit.end) - 1
        if last == reached:
            continue
        inner = source.numbers[reached + 1 : last]
        has_text = any(piece.strip() for piece in kept)
        rest = source.text[edit.end : source.end_of(last)]
        if not has_text:
            edited.drop([source.numbers[named], *inner], kind, leaves_gap=True)
            kept, named = [], last
        elif edit.joins or not rest.strip():
            edited.drop([*inner, source.numbers[last]], kind, leaves_gap=False)
        else:
            edited.keep(["".join(kept)], [source.numbers[named]])
            edited.drop(inner, kind, leaves_gap=False)
            kept, named = [], last
        reached = last
    kept.append(source.text[position : source.end_of(reached)])
    line = "".join(kept)
    if line.strip():
        edited.keep([line], [source.numbers[named]])
    else:
        edited.drop([source.numbers[named]], kind, leaves_gap=True)
    return reached + 1, index


def merged(removed: Iterable[tuple[int, str]]) -> tuple[Removal, ...]:
    """Return single removed lines as ranges of one kind, in order."""
    ranges: list[list[int]] = []
    kinds: list[str] = []
    for number, kind in sorted(removed):
        if ranges and kinds[-1] == kind and ranges[-1][1] in (number, number - 1):
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
            kinds.append(kind)
    return tuple(
        Removal(first_line=first, last_line=last, kind=kind)
        for (first, last), kind in zip(ranges, kinds, strict=True)
    )
