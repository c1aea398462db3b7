"""The handbook's generated parts are what the program says now."""

from __future__ import annotations

import re

import pytest

from ragctl.cli import commands, reference
from ragctl.cli.demo import handbook
from ragctl.settings import known_settings

STALE = "is stale: run scripts/reference"


def _page(name: object) -> str:
    return (handbook() / str(name)).read_text(encoding="utf-8")


def test_the_page_of_commands_is_what_the_help_says() -> None:
    page = _page(reference.COMMANDS_PAGE)
    assert page == reference.commands_page(), f"{reference.COMMANDS_PAGE} {STALE}"


def test_the_tables_of_settings_are_what_the_program_knows() -> None:
    page = _page(reference.SETTINGS_PAGE)
    assert page == reference.with_settings_tables(page), f"{reference.SETTINGS_PAGE} {STALE}"


def test_the_page_of_settings_lists_every_key_with_its_default() -> None:
    rows = re.findall(r"(?m)^\| `([a-z_.]+)` \| (.*?) \|", _page(reference.SETTINGS_PAGE))
    listed = {key: default.strip("`") for key, default in rows if "." in key}
    for known in known_settings():
        assert known.key in listed, f"{known.key} is missing: run scripts/reference"
        empty = known.default in ("", ())
        default = str(known.default).lower() if known.kind is bool else str(known.default)
        shown = "empty" if empty else default.removesuffix(".0")
        assert listed[known.key] == shown, f"{known.key} {STALE}"
    assert set(listed) == {known.key for known in known_settings()}


def test_every_command_has_a_heading_of_its_own_and_an_example_that_calls_it() -> None:
    page = reference.commands_page()
    sections = dict(re.findall(r"(?ms)^## (ragctl[a-z ]*)\n(.*?)(?=^## |\Z)", page))
    assert {f"ragctl {command.name}" for command in commands.COMMANDS} <= set(sections)
    for path, text in sections.items():
        if path != "ragctl" and " COMMAND\n" not in text:  # a group that cannot be called alone
            example = re.search(r"(?s)```bash\n(.*?)```", text)
            assert example is not None, path
            assert path in example[1]


def test_the_page_of_commands_depends_on_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = reference.commands_page()
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "dumb")
    assert reference.commands_page() == wide
    assert not re.search(r"(?m)^\| .* \|  ?\|$", wide), "an argument or option without a word"


def test_a_page_without_its_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="markers"):
        reference.with_settings_tables("# Settings\n")
