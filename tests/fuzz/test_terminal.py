"""No text from elsewhere moves the cursor, opens an address or turns the line around."""

from __future__ import annotations

import io
import json
import re
import unicodedata

from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from ragctl.cli.markdown import MarkdownWriter, finished
from ragctl.cli.output import Output, harmless
from tests.fuzz.grammar import ANSWERS, INLINES, ODD_CHARACTERS
from tests.fuzz.property import fuzzed, in_time

TEXTS = st.one_of(
    st.lists(st.one_of(st.sampled_from(ODD_CHARACTERS), INLINES), max_size=6).map("".join), ANSWERS
)
_OWN_ESCAPES = re.compile(r"\x1b\[[\d;]*[mAJ]")
_BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_harmful(character: str) -> bool:
    """Whether a character does something to a terminal other than to be seen."""
    return (
        (unicodedata.category(character) == "Cc" and character not in "\n\t")
        or unicodedata.category(character) == "Cs"
        or unicodedata.bidirectional(character) in _BIDI
        or character in "\u061c\u200e\u200f\u2028\u2029\ufff9\ufffa\ufffb"
        or "\U000e0000" <= character <= "\U000e007f"
    )


def console_of(stream: io.StringIO, *, columns: int = 80) -> Output:
    """Return an output that believes in a terminal and writes to a text."""
    output = Output(environ={"TERM": "xterm-256color"})
    output.has_links = output.has_markdown = output.is_terminal = True
    output.data = Console(
        file=stream, force_terminal=True, width=columns, height=20, markup=False, highlight=False,
        emoji=False, color_system="standard", legacy_windows=False,
    )  # fmt: skip
    return output


@fuzzed(TEXTS, runs=150, found=[("a\ud800",)])
def test_a_harmless_text_holds_nothing_that_acts(text: str) -> None:
    shown = harmless(text)
    assert len(shown) == len(text)
    assert not any(map(is_harmful, shown))
    assert harmless(shown) == shown
    shown.encode("utf-8")
    for before, after in zip(text, shown, strict=True):
        assert after == before or (after == "\ufffd" and is_harmful(before))


@fuzzed(TEXTS, TEXTS, runs=80, found=[("a", "\x1b\\\x1b]0;x\x07")])
def test_a_linked_text_holds_no_escape_but_our_own(text: str, target: str) -> None:
    stream = io.StringIO()
    output = console_of(stream)
    with in_time():
        output.line(Text("x ") + output.linked(text, f"https://s.example/{target}"))
    written = re.sub(r"\x1b\]8;id=\d+;[^\x1b]*\x1b\\|\x1b\]8;;\x1b\\", "", stream.getvalue())
    assert not any(map(is_harmful, _OWN_ESCAPES.sub("", written)))


@fuzzed(
    ANSWERS,
    st.lists(st.integers(1, 30), max_size=12),
    st.integers(20, 90),
    runs=60,
    found=[("```c\nI cannot answer that from the passages.", [], 20)],
)
def test_a_streamed_answer_is_shown_whole_and_alike_however_it_comes(
    text: str, cuts: list[int], columns: int
) -> None:
    stream = io.StringIO()
    with in_time(4.0):
        writer = MarkdownWriter(console_of(stream, columns=columns), clock=lambda: 0.0)
        place = 0
        for size in [*cuts, len(text)]:
            writer.write(text[place : place + size])
            place += size
        writer.close()
    written = _OWN_ESCAPES.sub("", stream.getvalue())
    assert not any(map(is_harmful, written))
    whole = re.sub(r"\s", "", written)  # long lines of code are cut, and filled up with blanks
    plain = re.sub(r"[`~]{3,}[^\n]*", " ", harmless(text))
    for word in re.findall(r"(?<![^ \n])[a-z]{3,}(?![^ \n])", plain):
        assert word in whole, f"{word!r} of {text!r}"


@fuzzed(ANSWERS, runs=60, found=[("a\u2028b\n\n- c\n\nd\n\ne\n",)])
def test_what_is_finished_ends_with_a_line_and_grows_with_the_text(text: str) -> None:
    clean = harmless(text)
    with in_time():
        length = finished(clean)
    assert 0 <= length <= len(clean)
    assert length == 0 or clean[length - 1] == "\n"


@fuzzed(
    st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=3), max_leaves=5),
    found=[("a\u200e",), ("\ud800\udc00",)],
)
def test_a_document_of_json_holds_nothing_that_acts_and_reads_back(value: object) -> None:
    from ragctl.cli.output import _json

    written = _json({"text": value}, indent=None)
    assert not any(map(is_harmful, written))
    # JSON cannot tell two halves of a surrogate pair from the character that they make.
    assert json.loads(written) == json.loads(json.dumps({"text": value}))
