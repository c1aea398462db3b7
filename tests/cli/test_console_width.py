"""How wide the consoles are on which commands are shown."""

from __future__ import annotations

import io
import sys

import pytest

from ragctl.cli.output import Output


class Terminal(io.StringIO):
    """A text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("columns", "width"), [("0", 80), ("1", 1), ("40", 40)])
def test_a_terminal_of_no_width_is_taken_for_one_of_80_columns(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    output = Output(environ={"TERM": "xterm"})
    assert output.data.width == width
    output.line("shown")
    assert "shown" in terminal.getvalue()
