"""What a line of a source file may be missing from a page's text for.

Lines are judged one by one against signs that are easy to see: front matter, comments, SVG, tags,
shortcodes, module code, underlines of headings. A line with anything else on it is lost text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ragctl.audit.layout import is_fence, scan
from ragctl.stages.parse.decoding import decode

# Pieces with an opening and a closing mark, over any number of lines.
_REGIONS = (
    ("svg", re.compile(r"<svg\b", re.I), re.compile(r"</svg\s*>", re.I)),
    ("comment", re.compile(r"<!--"), re.compile(r"-->")),
    ("comment", re.compile(r"\{/\*"), re.compile(r"\*/\s*\}")),
    ("comment", re.compile(r"\{%-?\s*comment\b"), re.compile(r"endcomment\s*-?%\}")),
    ("tag", re.compile(r"<(?:script|style)\b", re.I), re.compile(r"</(?:script|style)\s*>", re.I)),
    ("shortcode", re.compile(r"\{\{[<%]"), re.compile(r"[>%]\}\}")),
    ("shortcode", re.compile(r"\{%"), re.compile(r"%\}")),
)
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
_PIECES = (
    ("svg", re.compile(r"<svg\b[^<>]*>", re.I)),
    ("tag", re.compile(rf"</?[A-Za-z](?:[^<>{{}}]|{_BRACES})*+>|<>|</>")),
    (
        "data_uri",
        re.compile(r"(?:^[ \t]*\[[^\]\n]*\]:[ \t]*<?)?data:[\w/+.;=-]*base64,[\w/+=%-]*>?", re.M),
    ),
)
_LINES = (
    ("shortcode", re.compile(r"[>\s]*(?:[-*+]\s+)?:{3,}")),
    ("shortcode", re.compile(r"\s*-{1,2}8<-")),
    ("shortcode", re.compile(r"\s*\{:?\s*[#.:\w][^{}]*\}\s*$")),
    ("shortcode", re.compile(r"(?:!!!|\?\?\?\+?|===[!+]?)\s*[\w -]*(?:\"[^\"]*\")?\s*$")),
)
_PARAGRAPH_END = re.compile(r"\n[ \t]*(?=\n)|\Z")  # of a comment that is never closed
_UNDERLINE = re.compile(r"[>\s]*(?:[-*+]\s+)?(?:=+|-+)\s*$")
_STATEMENT = re.compile(r"(?:import|export)\b")
_NOTHING = re.compile(r"[\s>*+|.-]*$")


def source_lines_of(data: bytes) -> list[str]:
    """Return the lines of a file as its bytes are read at ingest."""
    return decode(data)[0].removesuffix("\n").split("\n")


def missing_lines(lines: Sequence[str], kept: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield each line that has text and is not ``kept``, from 1, with the reason for it.

    The reason is empty where none can be seen: that line is lost.
    """
    held = set(kept)
    absent = [
        number
        for number, line in enumerate(lines, start=1)
        if number not in held and line.replace("\ufeff", "").strip()
    ]
    if not absent:
        return
    reasons = _Reasons(lines, frozenset(absent))
    for number in absent:
        yield number, reasons.of(number)


class _Reasons:
    def __init__(self, lines: Sequence[str], absent: frozenset[int]) -> None:
        self._lines = lines
        text, self._starts = _without_code(lines, absent)
        self._text = text
        self._spans = _apart([*_regions(text), *_pieces(text)])
        self._front = _front_matter_end(lines)
        self._module = frozenset(_module_lines(lines, absent))
        self._underlined = frozenset(_underlined_lines(lines, absent))

    def of(self, number: int) -> str:
        """Return why a line is missing, empty where that cannot be seen."""
        line = self._lines[number - 1]
        if number <= self._front:
            return "front_matter"
        if number in self._module:
            return "jsx"
        if number in self._underlined:
            return "underline"
        covered, left = self._covered(number)
        if covered and _NOTHING.match(left):
            return covered
        for kind, pattern in _LINES:
            if pattern.match(line) or (covered and pattern.match(left)):
                return kind
        return ""

    def _covered(self, number: int) -> tuple[str, str]:
        """Return the kind of what covers text of a line, empty for none, and the line without."""
        line = self._lines[number - 1]
        start = self._starts[number - 1]
        end = start + len(line)
        left = list(self._text[start:end])
        reason = ""
        index = bisect_left(self._spans, (end,)) - 1
        while index >= 0 and self._spans[index][1] > start:
            first, last, reason = self._spans[index]
            for place in range(max(first, start), min(last, end)):
                left[place - start] = " "
            index -= 1
        return reason, "".join(left)


def _without_code(lines: Sequence[str], absent: frozenset[int]) -> tuple[str, list[int]]:
    """Return the text with the inside of fences masked, and where each line starts.

    A fence of which the page has no line, as inside a comment, is none.
    """
    seen = [
        "x" * len(line) if number in absent and is_fence(line) else line
        for number, line in enumerate(lines, start=1)
    ]
    layout = scan("\n".join(seen))
    text = "\n".join(lines)
    pieces: list[str] = []
    done = 0
    for fence in layout.fences:
        end = min(fence.end, len(text))
        pieces += [text[done : fence.start], re.sub(r"[^\s]", "x", text[fence.start : end])]
        done = end
    return "".join((*pieces, text[done:])), layout.starts


def _apart(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return spans in order and without overlap: what begins earlier has what both cover."""
    result: list[tuple[int, int, str]] = []
    done = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end > done:
            result.append((max(start, done), end, kind))
            done = end
    return result


def _regions(text: str) -> Iterator[tuple[int, int, str]]:
    for kind, opening, closing in _REGIONS:
        place = 0
        while (first := opening.search(text, place)) is not None:
            last = closing.search(text, first.end())
            if last is None and kind != "comment":
                break
            last = last or _PARAGRAPH_END.search(text, first.end())
            if last is None:
                break
            yield first.start(), last.end(), kind
            place = last.end()


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    for kind, pattern in _PIECES:
        for match in pattern.finditer(text):
            yield match.start(), match.end(), kind


def _front_matter_end(lines: Sequence[str]) -> int:
    """Return the last line of a metadata block, or of what could be one; 0 for none."""
    fence = lines[0].rstrip()
    if fence not in ("---", "+++"):
        return 0
    closing = (fence, "...") if fence == "---" else (fence,)
    for number, line in enumerate(lines[1:], start=2):
        if line.rstrip() in closing:
            return number
    return next((number for number, line in enumerate(lines) if not line.strip()), len(lines))


def _module_lines(lines: Sequence[str], absent: frozenset[int]) -> Iterator[int]:
    """Yield the missing lines of ``import`` and ``export`` statements."""
    depth, inside, is_export = 0, False, False
    for number, line in enumerate(lines, start=1):
        if number not in absent and line.strip():
            depth, inside = 0, False
            continue
        if _STATEMENT.match(line):
            depth = depth if inside else 0
            inside, is_export = True, line.startswith("export")
        if inside:
            yield number
            depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
            # what is exported may go on in further lines, to a blank one
            inside = depth > 0 or (is_export and bool(line.strip()))


def _underlined_lines(lines: Sequence[str], absent: frozenset[int]) -> Iterator[int]:
    """Yield the underlines of headings, and the lines between a heading's first and its underline.

    A heading's first line is kept, with a mark before it.
    """
    run: list[int] = []
    for number in range(2, len(lines) + 1):
        if number not in absent or not (run or _is_kept_text(lines, absent, number - 1)):
            run = []
            continue
        run.append(number)
        if _UNDERLINE.match(lines[number - 1]):
            yield from run
            run = []


def _is_kept_text(lines: Sequence[str], absent: frozenset[int], number: int) -> bool:
    return number not in absent and bool(lines[number - 1].strip())
