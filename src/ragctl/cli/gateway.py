"""``ragctl gateway``: the routes to an answer, how they fare, and whether they work."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.addresses import normalise_host, without_password
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.errors import (
    EXIT_DONE,
    EXIT_FINDINGS,
    ContentError,
    DatabaseError,
    UsageError,
)

if TYPE_CHECKING:
    from ragctl.gateway.trial import Trial
    from ragctl.records.gateway import BreakerState
    from ragctl.settings import Settings

app = options.command_app(
    "Show how the routes to an answer fare, try them, close their breakers.",
    is_group=True,
    epilog="Example: ragctl gateway status",
)


@app.command(epilog="Example: ragctl gateway status")
def status(
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """List the routes in the order they are tried, with the state of each one's breaker."""
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    states = _states(settings, output)
    rows = [_row(settings, number, states) for number in range(len(wiring.make_routes(settings)))]
    if json:
        document = {"budget_seconds": settings.gateway.budget_seconds, "routes": rows}
        output.json({"schema": "ragctl.gateway/1", **document})
        return
    _remark_use(settings, output)
    for number, row in enumerate(rows, start=1):
        output.line(Text.assemble(f"{number}. ", (harmless(str(row["name"])), "bold")))
        output.line(f"   {row['provider']}/{row['model']} at {row['url']}")
        output.line(f"   {_state_in_words(row)}")
        if row["last_error"]:
            output.line(f"   last error: {row['last_error']}")


@app.command(epilog="Example: ragctl gateway test")
def test(
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Ask each route a tiny question within its deadlines; exit code 1 when one fails.

    Breakers neither stop this nor are changed by it.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    trials: list[Trial] = []
    for trial in wiring.try_routes(settings):
        trials.append(trial)
        if not json and not trial.ok:
            output.remark(f"{trial.route}: {trial.error}", style="yellow")
            if trial.hint:
                output.remark(f"  {trial.hint}")
    if json:
        rows = [_trial_document(trial) for trial in trials]
        output.json({"schema": "ragctl.gateway_test/1", "routes": rows})
    else:
        _show_trials(trials, output)
    raise typer.Exit(EXIT_DONE if all(trial.ok for trial in trials) else EXIT_FINDINGS)


@app.command(epilog="Example: ragctl gateway reset")
def reset(
    route: Annotated[
        str | None,
        typer.Argument(metavar="[ROUTE]", help="The route by its name; without it, all routes."),
    ] = None,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Close the breaker of one route or of all, so that they are asked at once."""
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    keys = {one.key: one.name for one in wiring.make_routes(settings)}
    if route is not None and route not in keys.values():
        raise UsageError(
            f"there is no route {route!r}", hint=f"Routes: {', '.join(keys.values())}."
        )
    wanted = [key for key, name in keys.items() if route in (None, name)]
    with wiring.open_database(settings) as database:
        done = database.breakers.reset(wanted)
    output = Output(environ=os.environ)
    for key in done:
        output.line(f"reset {keys[key]}")
    if not done:
        output.remark("No route had failures.")


def _states(settings: Settings, output: Output) -> dict[str, BreakerState]:
    try:
        with wiring.open_database(settings) as database:
            return database.breakers.all()
    except (ContentError, DatabaseError) as error:
        output.remark(f"How the routes fared is not known: {error.message}.", style="yellow")
        return {}


def _row(settings: Settings, number: int, states: dict[str, BreakerState]) -> dict[str, object]:
    listed = wiring.listed_routes(settings)[number]
    state = states.get(wiring.make_routes(settings)[number].key)
    return {
        "name": listed.name,
        "provider": listed.provider,
        "model": listed.model,
        "url": without_password(normalise_host(listed.url or settings.ollama.url)),
        "state": state.state if state else "closed",
        "failures": state.failures if state else 0,
        "seconds_open": _rounded(state.seconds_open) if state else None,
        "seconds_left": _rounded(state.seconds_left) if state else 0.0,
        "last_error": state.last_error if state else "",
        "updated_at": state.updated_at.isoformat() if state and state.updated_at else "",
    }


def _state_in_words(row: dict[str, object]) -> str:
    failures = f"failures in a row: {row['failures']}"
    if row["state"] == "closed":
        return f"closed, {failures}"
    if row["state"] == "half-open":
        return f"half-open, the next question tries it; {failures}"
    return f"open for {row['seconds_open']} s, {row['seconds_left']} s more; {failures}"


def _remark_use(settings: Settings, output: Output) -> None:
    provider = settings.generation.provider
    if provider != "auto":
        output.remark(f"The routes are not used: generation.provider is {provider}.")
    elif not settings.routes:
        output.remark("The settings name no [[routes]]: this one comes from generation.*.")


def _show_trials(trials: list[Trial], output: Output) -> None:
    headings = ("route", "outcome", "connect ms", "first token ms", "total ms")
    table = new_table(*headings, text_columns=(0, 1))
    for trial in trials:
        table.add_row(
            harmless(trial.route),
            trial.outcome,
            _milliseconds(trial.connect_ms),
            _milliseconds(trial.first_token_ms),
            _milliseconds(trial.total_ms),
        )
    if output.fits(table):
        output.table(table)
        return
    for trial in trials:
        output.line(f"{trial.route}: {trial.outcome}, total ms {_milliseconds(trial.total_ms)}")


def _trial_document(trial: Trial) -> dict[str, object]:
    return {
        "name": trial.route,
        "outcome": trial.outcome,
        "ok": trial.ok,
        "connect_ms": _rounded(trial.connect_ms),
        "first_token_ms": _rounded(trial.first_token_ms),
        "total_ms": _rounded(trial.total_ms),
        "error": trial.error,
    }


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
