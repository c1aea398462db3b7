"""The handbook's generated parts: the page of commands, and the table of settings.

``scripts/reference`` writes both; a test fails when they are stale. Nothing here depends on the
width of a terminal, on the environment, or on the version of click: help is taken from the
declarations, not from what is printed.
"""

from __future__ import annotations

import inspect
import typing
from collections import Counter
from collections.abc import Iterator
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click
import typer
from typer.models import ArgumentInfo

from ragctl.cli.demo import handbook
from ragctl.cli.main import app
from ragctl.route_settings import RouteSettings
from ragctl.settings import ENVIRONMENT_ALIASES, known_settings

if typing.TYPE_CHECKING:
    from ragctl.setting_values import KnownSetting

COMMANDS_PAGE = Path("operate/06-commands.md")
SETTINGS_PAGE = Path("operate/03-settings.md")
BEGIN = "<!-- settings: made by scripts/reference, do not edit -->"
END = "<!-- settings: end -->"
COMMANDS_THAT_SHARE = 3  # an option spelled and explained alike in as many is listed once

_HEAD = """\
---
title: All commands
weight: 6
description: Every command and subcommand with its arguments, options and an example, made from \
the help texts.
---

This page lists every command of `ragctl` with its arguments and options. It is made from the same \
texts that `--help` prints.
"""
_SHARED = """\
## Options that many commands share

These options mean the same wherever they stand. The sections below name them without explaining \
them again.
"""


def commands_page() -> str:
    """Return the page of commands as markdown."""
    commands = list(_all_commands(typer.main.get_command(app), "ragctl"))
    shared = _shared_options(commands)
    rows = [(_spelled(option), _sentence(option.help)) for option in shared.values()]
    rows.append(("`-h`, `--help`", "Show the help of a command and exit."))
    parts = [_HEAD, _SHARED, _table("Option", rows)]
    for path, command in commands:
        parts.extend(_section(path, command, shared))
    return "\n".join(parts)


def settings_tables() -> str:
    """Return the tables of settings, one a section, between their two markers."""
    parts = [BEGIN, ""]
    sections: dict[str, list[KnownSetting]] = {}
    for known in known_settings():
        sections.setdefault(known.key.partition(".")[0], []).append(known)
    for section, settings in sections.items():
        heading = "Ollama" if section == "ollama" else section.capitalize()
        parts += [
            f"### {heading} settings",
            "",
            f"The section `[{section}]` of a settings file holds these keys:",
            "",
            "| Setting | Default | Meaning |",
            "|---|---|---|",
            *(_setting_row(known) for known in settings),
            "",
        ]
    parts += [
        "### Route settings",
        "",
        "Each table `[[routes]]` of a settings file holds these keys:",
        "",
        "| Key | Default | Meaning |",
        "|---|---|---|",
        *(_route_row(declared) for declared in fields(RouteSettings)),
        "",
    ]
    return "\n".join([*parts, END])


def with_settings_tables(page: str) -> str:
    """Return a page whose part between the markers is made anew."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page of settings has lost its markers")
    return before + settings_tables() + after


def write(folder: Path) -> None:
    """Write both pages below a handbook's content folder."""
    (folder / COMMANDS_PAGE).write_text(commands_page(), encoding="utf-8")
    page = folder / SETTINGS_PAGE
    page.write_text(with_settings_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


# Commands ------------------------------------------------------------------------------------


def _all_commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _all_commands(below, f"{path} {name}")


def _options(command: click.Command) -> list[click.Option]:
    return [
        parameter
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
    ]


def _shared_options(commands: list[tuple[str, click.Command]]) -> dict[str, click.Option]:
    """Return the options that are explained alike in several commands, by their text."""
    options = [option for _, command in commands for option in _options(command)]
    counts = Counter(_row_key(option) for option in options)
    first = {_row_key(option): option for option in reversed(options)}
    return {key: first[key] for key, count in counts.items() if count >= COMMANDS_THAT_SHARE}


def _row_key(option: click.Option) -> str:
    return f"{_spelled(option)} {option.help}"


def _section(path: str, command: click.Command, shared: dict[str, click.Option]) -> Iterator[str]:
    yield f"## {path}"
    yield ""
    yield _about(command)
    yield ""
    yield f"```text\n{_usage(path, command)}\n```"
    yield ""
    rows = [*_argument_rows(command)]
    rows += [
        (_spelled(option), _sentence(option.help))
        for option in _options(command)
        if _row_key(option) not in shared
    ]
    if rows:
        yield _table("Argument or option", rows)
    common = [_spelled(option) for option in _options(command) if _row_key(option) in shared]
    if common:
        yield f"Shared options: {', '.join(common)}."
        yield ""
    examples = _examples(command)
    if examples:
        yield "Example:" if len(examples) == 1 else "Examples:"
        yield ""
        yield "\n".join(["```bash", *examples, "```"])
        yield ""


def _about(command: click.Command) -> str:
    """Return what a command does: its help and, of a group, what it does alone."""
    texts = [_paragraph(command.help)]
    if isinstance(command, click.Group):
        names = command.list_commands(click.Context(command))
        if command.invoke_without_command:
            texts.append(f"Called alone, it does this: {_lower(_paragraph(_own_words(command)))}")
        listed = ", ".join(f"`{name}`" for name in names)
        texts.append(f"Its commands: {listed}.")
    return " ".join(text for text in texts if text)


def _own_words(command: click.Command) -> str:
    return inspect.getdoc(inspect.unwrap(command.callback)) or "" if command.callback else ""


def _usage(path: str, command: click.Command) -> str:
    pieces = [path, "[OPTIONS]"]
    pieces += [_metavar(argument) for argument in _arguments(command)]
    if isinstance(command, click.Group):
        pieces.append("[COMMAND]" if command.invoke_without_command else "COMMAND")
    elif command.context_settings.get("allow_extra_args"):
        pieces.append("[-- ARGUMENTS]")
    return " ".join(pieces)


def _arguments(command: click.Command) -> list[click.Argument]:
    return [parameter for parameter in command.params if isinstance(parameter, click.Argument)]


def _metavar(argument: click.Argument) -> str:
    return argument.metavar or (argument.name or "").upper()


def _argument_rows(command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield the arguments; their help comes from the signature, because click 8.5 drops it."""
    function = inspect.unwrap(command.callback) if command.callback else None
    hints = typing.get_type_hints(function, include_extras=True) if function else {}
    for argument in _arguments(command):
        declared = getattr(hints.get(argument.name or ""), "__metadata__", ())
        told = next((info.help for info in declared if isinstance(info, ArgumentInfo)), "")
        yield f"`{_metavar(argument).strip('[]')}`", _sentence(told)


def _spelled(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    return f"{names[:-1]} {option.metavar}`" if option.metavar else names


def _examples(command: click.Command) -> list[str]:
    """Return the examples of an epilog, which begins with ``Example:`` or ``Examples:``.

    Several are parted by " | "; what echo or cat prints belongs to what reads it.
    """
    kind, colon, rest = " ".join((command.epilog or "").split()).partition(":")
    if not colon or kind not in ("Example", "Examples"):
        return []
    examples: list[str] = []
    for part in rest.strip().split(" | "):
        if examples and examples[-1].startswith(("echo ", "cat ")):
            examples[-1] += f" | {part}"
        else:
            examples.append(part)
    return examples


# Text ----------------------------------------------------------------------------------------


def _table(first: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"| {first} | What it does |", "|---|---|"]
    lines += [f"| {name} | {text} |" for name, text in rows]
    return "\n".join([*lines, ""])


def _setting_row(known: KnownSetting) -> str:
    default = "empty"
    if known.default not in ("", ()):
        number = isinstance(known.default, int | float) and not isinstance(known.default, bool)
        shown = str(known.default).lower() if known.kind is bool else known.default
        default = f"{known.default:g}" if number else f"`{shown}`"
    variables = [name for name, key in ENVIRONMENT_ALIASES.items() if key == known.key]
    facts = [_escaped(known.about), *_limits(known)]
    facts += [f"also the variable `{name}`" for name in variables]
    return f"| `{known.key}` | {default} | {'; '.join(facts)} |"


def _route_row(declared: Field[Any]) -> str:
    default = declared.default
    shown = "empty" if default in ("", None) else f"`{default}`"
    shown = f"{default:g}" if isinstance(default, float) else shown
    return f"| `{declared.name}` | {shown} | {_escaped(declared.metadata['about'])} |"


def _limits(known: KnownSetting) -> Iterator[str]:
    if known.choices and not all(choice in known.about for choice in known.choices):
        yield "one of " + ", ".join(f"`{choice}`" for choice in known.choices)
    if known.minimum is not None and known.maximum is not None:
        yield f"from {known.minimum:,.12g} to {known.maximum:,.12g}"
    elif known.minimum is not None:
        yield f"at least {known.minimum:,.12g}"
    elif known.maximum is not None:
        yield f"at most {known.maximum:,.12g}"


def _sentence(text: str | None) -> str:
    shown = _paragraph(text)
    return shown if shown.endswith((".", "!", "?")) else f"{shown}."


def _paragraph(text: str | None) -> str:
    return _escaped(" ".join((text or "").split()))


def _escaped(text: str) -> str:
    """Return a text that a cell of a table shows as it is; code in backquotes stays code."""
    parts = text.split("`")
    parts[::2] = [part.replace("<", r"\<") for part in parts[::2]]
    return "`".join(parts).replace("|", r"\|")


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


if __name__ == "__main__":
    write(handbook())
