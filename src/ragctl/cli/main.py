"""The program ``ragctl``: finds the command, runs it, and turns errors into words and exit codes.

A command's module is imported when it is called, so that ``--help`` stays fast: nothing here may
import psycopg, requests, rich or a model.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

import click
import typer
from typer.core import TyperGroup

from ragctl import __version__
from ragctl.cli.commands import COMMANDS
from ragctl.cli.refused import advice_on
from ragctl.cli.stopping import Interrupted, Stopping
from ragctl.cli.streams import prepare_streams, silence_output
from ragctl.errors import (
    EXIT_BUG,
    EXIT_DONE,
    EXIT_USAGE,
    RagctlError,
)

_EPILOG = """\
Exit codes: 0 done or answered; 1 something was left out or found; 2 usage or settings;
3 nothing to read or nothing ingested; 4 database; 5 model; 6 index made by another model or
chunker; 7 incomplete answer; 70 a bug of ragctl; 130/143 stopped."""

GARBAGE_THRESHOLDS = (50_000, 20, 20)
"""Python's own (700, 10, 10) has it look for garbage 140 times while an answer is given."""


_STOPS = (click.Abort, KeyboardInterrupt, Interrupted)
_ORDINARY = (click.ClickException, BrokenPipeError)
"""What --debug shows no traceback of."""


class ReaderGone(BaseException):
    """Whoever read our output closed it: ends the program without a word."""


class LazyGroup(TyperGroup):
    """The root command: knows its commands by name and loads the one that is called."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a closed pipe and Ctrl-C must not reach click, which would tell less."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error
        except KeyboardInterrupt as error:
            raise Interrupted from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of ``--help``."""
        return [command.name for command in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command; ``None`` for a name that is not ours."""
        for command in COMMANDS:
            if command.name == cmd_name:
                loaded = typer.main.get_command(importlib.import_module(command.module).app)
                loaded.name = cmd_name
                return loaded
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown name is answered with the nearest known one."""
        if args and self.get_command(ctx, args[0]) is None:
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            suggestion = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{suggestion}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group, from the table alone."""
        for group in dict.fromkeys(command.group for command in COMMANDS):
            with formatter.section(group):
                formatter.write_dl(
                    [
                        (command.name, command.about)
                        for command in COMMANDS
                        if command.group == group
                    ]
                )


def _print_version(value: bool) -> None:
    if value:
        click.echo(f"ragctl {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=LazyGroup,
    help="Ask a technical site questions in the terminal, and check every answer against the "
    "passage it cites.",
    epilog=_EPILOG,
    rich_markup_mode=None,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root(
    ctx: typer.Context,
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version and exit.",
        callback=_print_version,
        is_eager=True,
    ),
) -> None:
    """Show where the user stands when no command is given."""
    if ctx.invoked_subcommand is None:
        importlib.import_module("ragctl.cli.home").show_home()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``ragctl`` and exit with a documented code."""
    is_program = arguments is None
    if is_program:
        gc.set_threshold(*GARBAGE_THRESHOLDS)
        sys.excepthook = _show_traceback
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    prepare_streams()
    with Stopping(ends_process=is_program) as stopping:
        sys.exit(_flushed(_run(arguments, stopping)))


def _flushed(code: int) -> int:
    """Return the exit code after all output is written, or what it is where that cannot be."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:
        silence_output()
        if code == 0:
            code = _told(error, wants_json=False)
    return code


def _run(arguments: list[str], stopping: Stopping) -> int:
    wants_json = "--json" in arguments
    debug = "--debug" in arguments or bool(os.environ.get("RAGCTL_DEBUG"))
    try:
        command: Any = typer.main.get_command(app)
        result = command.main(args=arguments, prog_name="ragctl", standalone_mode=False)
    except SystemExit:
        raise
    except BaseException as error:
        if stopping.has_begun or isinstance(error, _STOPS):
            return stopping.end(error)
        if debug and isinstance(error, Exception) and not isinstance(error, _ORDINARY):
            raise
        return _told(error, wants_json=wants_json)
    if stopping.has_begun:  # while the command was looked up: typer made 130 of either signal
        return stopping.end(KeyboardInterrupt())
    return result if isinstance(result, int) else 0


def _told(error: BaseException, *, wants_json: bool) -> int:
    """Tell the user of an error and return the exit code it stands for."""
    if isinstance(error, RagctlError):
        _show_error(error.code, error.message, error.hint, wants_json=wants_json)
        return error.exit_code
    if isinstance(error, click.ClickException):
        _show_usage_error(error, wants_json=wants_json)
        return EXIT_USAGE
    if isinstance(error, BrokenPipeError | ReaderGone):
        return _reader_gone()
    if isinstance(error, OSError | UnicodeEncodeError) and (advice := advice_on(error)):
        _show_error(*advice, wants_json=wants_json)
        return EXIT_USAGE
    what = f"this is a bug in ragctl: {type(error).__name__}: {error}"
    hint = "Run again with --debug and report what it prints."
    _show_error("bug", what, hint, wants_json=wants_json)
    return EXIT_BUG


def _show_usage_error(error: click.ClickException, *, wants_json: bool) -> None:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "ragctl"
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(message, err=True)
        return
    one_line = " ".join(message.split())  # click puts choices on lines of their own, with tabs
    _show_error("usage", one_line, f"See `{path} --help`.", wants_json=wants_json)


def _show_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print what --debug shows: a traceback may quote servers and addresses, too."""
    import traceback

    from ragctl.observe.redaction import without_keys

    text = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.write(_printable(without_keys(text)))


def _show_error(code: str, message: str, hint: str, *, wants_json: bool) -> None:
    from ragctl.observe.redaction import without_keys

    message, hint = without_keys(message), without_keys(hint)
    if wants_json:
        document = {
            "schema": "ragctl.error/1",
            "error": {"code": code, "message": message, "hint": hint},
        }
        with suppress(OSError):  # the output may be what is at fault
            click.echo(json.dumps(document, indent=2))
            return
    with suppress(OSError):
        click.echo(_printable(f"ragctl: {message}"), err=True)
        if hint:
            click.echo(_printable(f"  {hint}"), err=True)


def _reader_gone() -> int:
    silence_output()  # `| head` has read enough
    return EXIT_DONE


def _printable(text: str) -> str:
    return "".join(
        character if character == "\n" or character.isprintable() else "\ufffd"
        for character in text
    )
