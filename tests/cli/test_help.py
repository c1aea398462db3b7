"""Help, usage errors and exit codes that belong to no command."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click
import pytest
import typer

from ragctl import errors
from ragctl.cli import commands
from ragctl.cli import main as main_module
from tests.program import Program, run_process


def _leaves(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    if path and command.epilog:
        yield path
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        assert child is not None
        yield from _leaves(child, (*path, name))


COMMANDS = list(_leaves(typer.main.get_command(main_module.app), ()))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_shows_an_example(command: tuple[str, ...], ragctl: Program) -> None:
    done = ragctl(*command, "--help")
    assert done.code == 0
    assert "Example" in done.out
    assert f"ragctl {' '.join(command)}" in done.out.rpartition("Example")[2]


def test_the_root_help_lists_every_command_with_the_first_words_of_its_own_help(
    ragctl: Program,
) -> None:
    shown = ragctl("--help").out
    for command in commands.COMMANDS:
        assert command.name in shown
        assert command.about[:40] in shown.replace("\n", " ")
    assert "Exit codes" in shown


def test_help_fits_into_sixty_columns() -> None:
    done = run_process("ask", "--help", environ={"COLUMNS": "60"})
    assert all(len(line) <= 60 for line in done.stdout.decode().splitlines())


def test_a_group_without_a_command_shows_its_help(ragctl: Program) -> None:
    done = ragctl("db")
    assert done.code == 2
    assert "migrate" in done.out + done.err


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("ask",), ("ask", "x", "--nope"), ("ask", "x", "-k", "many")]
)
def test_a_typo_is_a_usage_error_and_says_where_help_is(
    arguments: tuple[str, ...], ragctl: Program
) -> None:
    done = ragctl(*arguments)
    assert done.code == 2
    assert "--help" in done.err


def test_a_misspelled_command_is_answered_with_the_nearest(ragctl: Program) -> None:
    done = ragctl("inges", "x")
    assert done.code == 2
    assert "Did you mean ingest?" in done.err


def test_a_usage_error_with_json_is_a_document(ragctl: Program) -> None:
    done = ragctl("ask", "x", "--json", "--nope")
    assert done.code == 2
    assert done.document["schema"] == "ragctl.error/1"


def test_an_unknown_setting_is_refused_with_the_nearest_known_one(ragctl: Program) -> None:
    (ragctl.folder / "ragctl.toml").write_text("[site]\nbase_ulr = 'https://x.example'\n")
    done = ragctl("sources")
    assert done.code == 2
    assert "site.base_url" in done.err
    assert "ragctl.toml" in done.err


def test_a_bug_is_reported_as_one_without_a_traceback(
    ragctl: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object, **_named: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("ragctl.wiring.load_settings", broken)
    done = ragctl("sources", "--json")
    assert done.code == 70
    assert json.loads(done.out)["error"]["code"] == "bug"
    with pytest.raises(ZeroDivisionError):
        main_module.main(["sources", "--debug"])


def test_every_error_class_has_an_exit_code_and_a_name_of_its_own() -> None:
    def below(cls: type[errors.RagctlError]) -> list[type[errors.RagctlError]]:
        return [cls, *(deeper for child in cls.__subclasses__() for deeper in below(child))]

    named = [cls for cls in below(errors.RagctlError) if cls.__module__ == "ragctl.errors"]
    codes = [cls.code for cls in named]
    assert len(set(codes)) == len(codes)
    assert all(cls.__name__ in (errors.__doc__ or "") for cls in named)


GROUPS = sorted({path[:1] for path in COMMANDS if len(path) > 1})


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_the_help_of_a_group_shows_an_example_and_cuts_no_line(group: tuple[str, ...]) -> None:
    shown = run_process(*group, "--help", environ={"COLUMNS": "80"}).stdout.decode()
    _, _, below = shown.partition("\n")
    assert f"ragctl {group[0]}" in below.rpartition("Example")[2]
    assert "..." not in below.replace("[ARGS]...", "")
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_the_example_of_why_keeps_its_address_whole() -> None:
    shown = run_process("why", "--help", environ={"COLUMNS": "80"}).stdout.decode()
    assert "--page /design/22-rate-limiter" in shown
