"""Answers on a terminal: markdown while they are written, nothing hidden or lost."""

from __future__ import annotations

import io
import itertools
import re

import pytest

from ragctl.cli.markdown import MarkdownWriter, finished
from ragctl.cli.output import Output
from tests.screen import Screen

ANSWER = """\
## Two phases

The verifier works in **two phases** [1]. It includes <linux/bpf.h>, `Vec<u8>` and Vec<u8> [2], see
[the docs](https://evil.example/x), ![a picture](http://a.example/b.png) &amp; __init__, 2*3*4.
[1]: not a definition

- item *one* [1]
- item two

  goes on here
  - nested [3]

1. first
2. second

```c
int main(void) { return 0; } /* a long line of code that is longer than sixty columns */

    indented
```

| name | a header | value |
|---|---|--:|
| `foo` | something_that_is_very_long_without_any_blank_in_it_at_all | 12 |

> quoted text

The end [1], [2-3].
"""


class _Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def _shown(
    text: str, monkeypatch: pytest.MonkeyPatch, *, size: int = 3, rows: int = 24, columns: int = 60
) -> tuple[Screen, str]:
    """Return the screen after a text came in pieces of a size, and all that was written to it."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(rows))
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = _Terminal()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", terminal)
        output = Output(environ={"TERM": "xterm-256color"})
    ticks = itertools.count()
    writer = MarkdownWriter(output, clock=lambda: next(ticks) / 100)
    for start in range(0, len(text), size):
        writer.write(text[start : start + size])
    writer.close()
    screen = Screen(rows=rows, columns=columns)
    screen.feed(terminal.getvalue())
    return screen, terminal.getvalue()


def _joined(screen: Screen) -> str:
    return " ".join(" ".join(screen.lines).split())


def test_nothing_that_a_model_writes_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, _ = _shown(ANSWER, monkeypatch)
    shown = _joined(screen)
    for text in (
        "two phases [1]",
        "<linux/bpf.h>, Vec<u8> and Vec<u8> [2]",
        "[the docs](https://evil.example/x)",
        "![a picture](http://a.example/b.png)",
        "&amp; __init__, 2*3*4.",
        "[1]: not a definition",
        "• item one [1]",
        "The end [1], [2-3].",
    ):
        assert text in shown
    squeezed = "".join(screen.lines).replace(" ", "")
    assert "something_that_is_very_long_without_any_blank_i12n_it_at_all" in squeezed
    assert "longer" in squeezed and "thansixtycolumns*/" in squeezed
    assert "**two" not in shown and "```" not in shown


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize(("rows", "columns"), [(24, 60), (6, 60), (40, 200), (24, 20)])
def test_the_screen_is_the_same_however_the_text_came(
    size: int, rows: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = ANSWER + "".join(f"\n- line {number} of a long list" for number in range(20))
    whole, _ = _shown(text, monkeypatch, size=100_000, rows=1000, columns=columns)
    screen, _ = _shown(text, monkeypatch, size=size, rows=rows, columns=columns)
    assert screen.lines == whole.lines
    assert max(len(line) for line in screen.lines) <= columns


def test_a_block_higher_than_the_screen_is_whole_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    items = [f"item {number} of the list" for number in range(30)]
    screen, _ = _shown("\n".join(f"- {item}" for item in items), monkeypatch, rows=10)
    assert [line.removeprefix(" • ") for line in screen.lines if line] == items


def test_lines_that_did_not_change_are_not_painted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    paragraph = "word " * 100
    _, written = _shown(paragraph + "\n\nNext.\n", monkeypatch, columns=60)
    assert max(int(up) for up in re.findall(r"\x1b\[(\d+)A", written)) <= 2
    assert "\x1b[?25l" not in written


def test_control_characters_are_shown_as_replacements(monkeypatch: pytest.MonkeyPatch) -> None:
    _, written = _shown("a\x1b[31mred\x1b[0m \x9b2J \u202eright `\x07` &#27;[2J", monkeypatch)
    assert "\x1b[31m" not in written
    assert not set("\x9b\x07\u202e") & set(written)
    assert "&#27;[2J" in written


def test_a_remark_in_between_leaves_the_text_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setenv("COLUMNS", "60")
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", terminal)
        patch.setattr("sys.stderr", terminal)
        output = Output(environ={"TERM": "xterm"})
    writer = MarkdownWriter(output, clock=itertools.count().__next__)
    writer.write("The beginning ")
    output.remark("A line from elsewhere.")
    writer.write("and the end.")
    writer.close()
    screen = Screen(rows=24, columns=60)
    screen.feed(terminal.getvalue())
    assert screen.lines == ["A line from elsewhere.", "The beginning and the end.", ""]


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("One.\n\nTwo.", ""),
        ("One.\n\nTwo.\n", "One.\n\n"),
        ("- a\n\n  b", ""),
        ("- a\n- b\n\nText\n", "- a\n- b\n\n"),
        ("- a\n+1 more", ""),
        ("```\na\n\n\nb\n", ""),
        ("```\na\n```\nText\n", "```\na\n```\n"),
        ("| a |\n|---|\n| b |\n", ""),
    ],
)
def test_a_block_is_finished_when_nothing_can_be_added_to_it(text: str, done: str) -> None:
    assert text[: finished(text)] == done
