"""``ragctl stats cost``: tokens and money, by route and by model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import counted, new_table
from ragctl.cli.stats_data import period_of, price_asked, prices_of, usage_of
from ragctl.cli.stats_overview import in_words, period_document
from ragctl.cli.stats_words import dollars
from ragctl.observe.cost import Cost, costs_by_model, costs_by_route, together, what_if

if TYPE_CHECKING:
    from ragctl.records.signals import Period


def cost(
    since: options.Since = "4w",
    what_if_price: Annotated[
        str | None,
        typer.Option(
            "--what-if",
            metavar="ROUTE|IN,OUT",
            help="What the same tokens would cost by a route of the settings, or at two prices "
            "in US dollars for a million tokens.",
        ),
    ] = None,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show what answers cost: tokens by route and model, and money where prices are set.

    Prices come from the routes of the settings as they are now. A failed try before a fallback is
    not counted: its tokens are not known.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    prices, period = prices_of(settings), period_of(since)
    asked = price_asked(what_if_price, prices) if what_if_price is not None else None
    with wiring.open_database(settings) as database:
        usage = usage_of(database, period)
    routes, models = costs_by_route(usage, prices), costs_by_model(usage, prices)
    tried = what_if(usage, asked) if asked and routes else None
    uncounted = sum(one.answers - one.counted for one in usage)
    if json:
        output.json(_document(period, routes, models, tried, uncounted))
        return
    if not routes:
        output.remark("No answer in this time was written with counted tokens.")
        return
    output.line(Text(in_words(period), style="bold"))
    _show("route", routes, output)
    if {one.key for one in routes} != {one.key for one in models}:
        output.line()
        _show("model", models, output)
    if tried is not None:
        output.line()
        _show("what if", (tried,), output)
    if uncounted:
        output.remark(f"{counted(uncounted, 'answer')} had no counted tokens.")
    if any(one.dollars is None for one in routes):
        output.remark("Routes without prices have no figure (see [[routes]]).")


def _show(heading: str, costs: Sequence[Cost], output: Output) -> None:
    listed = [*costs, together("all", costs)] if len(costs) > 1 else list(costs)
    table = new_table(
        *(heading, "answers", "tokens in", "out", "cost", "an answer", "100,000"),
        "prices of",
        text_columns=(0, 7),
    )
    for one in listed:
        table.add_row(Text(harmless(one.key)), *cost_cells(one))
    if output.fits(table):
        output.table(table)
        return
    for one in listed:
        answers, tokens_in, tokens_out, *money = cost_cells(one)
        output.line(Text(f"{heading} {harmless(one.key)}", style="bold"))
        output.line(f"  {answers} answers, tokens in {tokens_in}, out {tokens_out}")
        if one.dollars is None:
            output.line("  no price")
            continue
        output.line(f"  {money[0]}: an answer {money[1]}, 100,000 {money[2]}")
        if money[3]:
            output.line(f"  prices of {money[3]}")


def cost_cells(one: Cost) -> tuple[str, ...]:
    """Return answers, tokens in and out, money, and the day of the prices, as they are shown."""
    return (
        f"{one.counted:,}",
        f"{one.prompt_tokens:,}",
        f"{one.output_tokens:,}",
        dollars(one.dollars),
        dollars(one.per_answer),
        dollars(one.per_100000),
        harmless(one.read_on),
    )


def _document(
    period: Period,
    routes: Sequence[Cost],
    models: Sequence[Cost],
    tried: Cost | None,
    uncounted: int,
) -> dict[str, object]:
    return {
        "schema": "ragctl.cost/1",
        **period_document(period),
        "answers_without_tokens": uncounted,
        "routes": [_cost_document(one, "route") for one in routes],
        "models": [_cost_document(one, "model") for one in models],
        "all": _cost_document(together("all", routes), "name"),
        "what_if": _cost_document(tried, "price") if tried else None,
    }


def _cost_document(one: Cost, name: str) -> dict[str, object]:
    return {
        name: one.key,
        "answers": one.counted,
        "prompt_tokens": one.prompt_tokens,
        "output_tokens": one.output_tokens,
        "usd": _money(one.dollars),
        "usd_per_answer": _money(one.per_answer),
        "usd_per_100000": _money(one.per_100000),
        "prices_read_on": one.read_on,
    }


def _money(value: float | None) -> float | None:
    return None if value is None else round(value, 8)
