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
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import click
import typer
from typer.core import TyperGroup

from ragctl import __version__
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyCommand:
    """A command that is imported when it is called; ``about`` is its line in ``--help``."""

    name: str
    module: str
    about: str
    group: str


COMMANDS = (
    LazyCommand(
        name="ingest",
        module="ragctl.cli.ingest",
        about="Read a site's content folder into the database.",
        group="Every day",
    ),
    LazyCommand(
        name="ask",
        module="ragctl.cli.ask",
        about="Answer a question from the site, with citations.",
        group="Every day",
    ),
    LazyCommand(
        name="open",
        module="ragctl.cli.opening",
        about="Open a source of the last answer in the browser.",
        group="Every day",
    ),
    LazyCommand(
        name="sources",
        module="ragctl.cli.sources",
        about="List the pages that are in the database.",
        group="Every day",
    ),
    LazyCommand(
        name="search",
        module="ragctl.cli.search",
        about="Find passages, and see why they were found.",
        group="Understand",
    ),
    LazyCommand(
        name="show",
        module="ragctl.cli.show",
        about="Show a passage or a page as it is stored.",
        group="Understand",
    ),
    LazyCommand(
        name="audit",
        module="ragctl.cli.audit",
        about="Check that what is stored is what it should be.",
        group="Understand",
    ),
    LazyCommand(
        name="eval",
        module="ragctl.cli.evaluate",
        about="Measure with known questions what is found and answered.",
        group="Understand",
    ),
    LazyCommand(
        name="demo",
        module="ragctl.cli.demo",
        about="Ingest the handbook that ships with ragctl and ask it something.",
        group="Every day",
    ),
    LazyCommand(
        name="trace",
        module="ragctl.cli.trace",
        about="Show what became of a question: passages, prompt, answer, time.",
        group="Understand",
    ),
    LazyCommand(
        name="feedback",
        module="ragctl.cli.feedback",
        about="Say whether an answer was good, and list what was said.",
        group="Understand",
    ),
    LazyCommand(
        name="why",
        module="ragctl.cli.why",
        about="Say why a page is in the answer to a question, or why not.",
        group="Understand",
    ),
    LazyCommand(
        name="stage",
        module="ragctl.cli.stage",
        about="Run one stage of the pipeline from the files before it.",
        group="Understand",
    ),
    LazyCommand(
        name="diff",
        module="ragctl.cli.diff",
        about="Show what changed between two folders of artifacts.",
        group="Understand",
    ),
    LazyCommand(
        name="links",
        module="ragctl.cli.links",
        about="Check every link against the built site.",
        group="Understand",
    ),
    LazyCommand(
        name="doctor",
        module="ragctl.cli.doctor",
        about="Look at what ragctl needs here, and say what to mend.",
        group="Operate",
    ),
    LazyCommand(
        name="config",
        module="ragctl.cli.config",
        about="Show, change and begin the settings.",
        group="Operate",
    ),
    LazyCommand(
        name="cache",
        module="ragctl.cli.cache",
        about="Show, clear and judge the caches of answers and of questions.",
        group="Operate",
    ),
    LazyCommand(
        name="stats",
        module="ragctl.cli.stats",
        about="Show how the site does for those who ask it, and what has changed.",
        group="Operate",
    ),
    LazyCommand(
        name="report",
        module="ragctl.cli.report",
        about="Write the signals, drift, gaps and cost as one page of HTML.",
        group="Operate",
    ),
    LazyCommand(
        name="gateway",
        module="ragctl.cli.gateway",
        about="Show how the routes to an answer fare, try them, close their breakers.",
        group="Operate",
    ),
    LazyCommand(
        name="bench",
        module="ragctl.cli.bench",
        about="Measure what this machine takes for an answer.",
        group="Operate",
    ),
    LazyCommand(
        name="sites",
        module="ragctl.cli.sites",
        about="List the sites on the embedded server, or remove one.",
        group="Operate",
    ),
    LazyCommand(
        name="index",
        module="ragctl.cli.index",
        about="Search more passages than the exact scan can: build, measure, drop an index.",
        group="Operate",
    ),
    LazyCommand(
        name="db",
        module="ragctl.cli.db",
        about="Start, stop, look at, back up and migrate the database.",
        group="Operate",
    ),
)


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
