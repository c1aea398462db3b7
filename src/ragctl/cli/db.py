"""``ragctl db``: the database itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.fitting import OUTGROWN, RESTART_COMMAND, fit_memory
from ragctl.cli.output import Output
from ragctl.cli.render import counted
from ragctl.db.address import shown, without_password
from ragctl.db.migrate import pending
from ragctl.errors import DatabaseError

if TYPE_CHECKING:
    from ragctl.db.server import ServerStatus
    from ragctl.settings import Settings

app = options.command_app(
    "Start, stop, look at, back up and migrate the database.",
    is_group=True,
    epilog="Example: ragctl db status",
)


@app.command(epilog="Example: ragctl db start")
def start(debug: options.Debug = False) -> None:
    """Start the embedded server; nothing where it runs already."""
    server = wiring.embedded_server(wiring.load_settings({}))
    started = server.ensure_running()
    status = server.status()
    _tell("started" if started else "already running", status)


@app.command(epilog="Example: ragctl db stop")
def stop(debug: options.Debug = False) -> None:
    """Stop the embedded server for everyone; the data stays."""
    server = wiring.embedded_server(wiring.load_settings({}))
    Output(environ=os.environ).line("stopped" if server.stop() else "not running")


@app.command(epilog="Example: ragctl db restart")
def restart(debug: options.Debug = False) -> None:
    """Stop the embedded server for everyone and start it with memory that fits what is stored."""
    server = wiring.embedded_server(wiring.load_settings({}))
    server.restart()
    _tell("restarted", server.status())


def _tell(done: str, status: ServerStatus) -> None:
    output = Output(environ=os.environ)
    output.line(f"{done}: pid {status.pid}, {status.data_directory}")
    if status.remark:
        output.remark(f"warning: {status.remark}", style="yellow")


@app.command(epilog="Example: ragctl db status --json")
def status(
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show the server, the database of the site and its schema; starts nothing."""
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    facts = _facts(settings)
    output = Output(environ=os.environ)
    if json:
        output.json({"schema": "ragctl.db_status/1", **facts})
        return
    for name, value in facts.items():
        output.line(f"{name.removesuffix('_bytes').replace('_', ' '):16} {_shown(name, value)}")
    if facts.get("outgrown"):
        output.remark(f"warning: {OUTGROWN}: {RESTART_COMMAND}", style="yellow")


def _shown(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("_bytes"):
        return f"{value / 1e6:,.0f} MB"
    return "-" if value in (None, "") else str(value)


def _facts(settings: Settings) -> dict[str, object]:
    facts: dict[str, object] = {"server": "given by URL" if settings.database.url else "embedded"}
    if not settings.database.url:
        state = wiring.embedded_server(settings).status()
        facts |= {
            "running": state.running,
            "pid": state.pid,
            "data_directory": str(state.data_directory),
            "log": str(state.log),
            "last_start": state.remark,
        }
        if not state.running:
            return facts
    facts["url"] = shown(wiring.database_url(settings))
    try:
        with wiring.raw_connection(settings) as connection:
            server = wiring.server_facts(connection)
            missing = pending(connection, wiring.database_url(settings))
            fit, outgrown = wiring.look_at_memory(settings, connection)
    except DatabaseError as error:
        return facts | {"problem": error.message}
    return facts | {
        "postgresql": server.version,
        "pgvector": server.vector_version,
        "encoding": server.encoding,
        "pending": [migration.name for migration in missing],
        "shared_memory_bytes": fit.shared_bytes,
        "passages_bytes": fit.table_bytes,
        "outgrown": outgrown,
    }


@app.command(epilog='Example: psql "$(ragctl db url)"')
def url(
    with_password: Annotated[
        bool, typer.Option("--with-password", help="Print the address with its password.")
    ] = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Print the address of the site's database, for psql and other programs.

    Its password, if it has one, is left out: psql takes that from PGPASSWORD or ~/.pgpass.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    address = wiring.database_url(settings)
    if not with_password:
        address = without_password(address)
    if not settings.database.url:
        wiring.embedded_server(settings).ensure_running()
    output = Output(environ=os.environ)
    if json:
        output.json({"schema": "ragctl.db_url/1", "url": address})
    else:
        output.line(address)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    epilog='Example: ragctl db psql -- -c "SELECT url, section FROM chunks LIMIT 3"',
)
def psql(
    ctx: typer.Context,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Open psql on the site's database; what follows -- goes to psql."""
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    server = wiring.embedded_server(settings)
    program = server.binary("psql")
    if not settings.database.url:
        wiring.require_tables(settings)
    address, secrets = wiring.program_address(settings)
    os.execve(program, [str(program), address, *ctx.args], {**os.environ, **secrets})


@app.command(epilog="Example: ragctl db dump backup.dump")
def dump(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Write the site's database to a file, in pg_dump's custom format."""
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    size_bytes = wiring.dump_site(settings, file)
    Output(environ=os.environ).line(f"wrote {file} ({size_bytes / 1e6:.1f} MB)")


@app.command(epilog="Example: ragctl db restore backup.dump --site copy")
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file made by `ragctl db dump`.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Put the dump in the place of what is there.")
    ] = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Fill the site's database from a dump, all or nothing; it must be empty, or --replace."""
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    left_out = wiring.restore_site(settings, file, replace=replace)
    output = Output(environ=os.environ)
    fit_memory(settings, output)
    place = "the database" if settings.database.url else f"site {settings.site.name}"
    output.line(f"restored {file} into {place}")
    if left_out:
        listed = ", ".join(counted(count, kind) for kind, count in left_out.items())
        output.remark(f"Left out, for it is not ragctl's and may run code: {listed}.")
    try:
        with wiring.open_database(settings):
            pass
    except DatabaseError as error:
        output.remark(f"{error.message[:1].upper()}{error.message[1:]}. {error.hint}")


@app.command(epilog="Example: ragctl db compact --dry-run")
def compact(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be given back, change nothing.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also tables with nothing much to give back.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Give back the disk that replaced and removed rows left, by writing their tables anew.

    The exact scan is as fast again as after the first ingest, and passages lie by track. Questions
    wait while a table is written, ingests until all is done. Stopped half-way, nothing is lost.
    """
    from ragctl.cli.compact import compact_document, compact_tables, plan, show_done, show_plan

    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    if dry_run:
        chosen = plan(settings, everything=everything)
        if json:
            output.json(compact_document(chosen, (), dry_run=True))
        else:
            show_plan(chosen, output)
        return
    pairs = compact_tables(settings, output, everything=everything, yes=yes)
    if json:
        done = [before for before, _ in pairs]
        output.json(compact_document(done, pairs, dry_run=False))
    else:
        show_done(pairs, output)


@app.command(epilog="Example: ragctl db migrate")
def migrate(
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Bring the tables to this version's schema; forward only, safe to repeat."""
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    applied = wiring.migrate_database(settings)
    output = Output(environ=os.environ)
    for migration in applied:
        output.line(f"applied {migration.name}")
    if not applied:
        output.line("nothing to do")
