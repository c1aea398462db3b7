"""The routes of the settings as a gateway: clients, keys from the environment, shared breakers."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from ragctl.addresses import normalise_host, without_password
from ragctl.route_settings import RouteSettings

if TYPE_CHECKING:  # the gateway is loaded where somebody writes an answer
    from ragctl.db.database import Database
    from ragctl.errors import DatabaseError
    from ragctl.gateway.deadline import Deadlines
    from ragctl.gateway.generator import GatewayGenerator
    from ragctl.gateway.routes import Route
    from ragctl.gateway.trial import Trial
    from ragctl.protocols import Breakers, Generator
    from ragctl.settings import Settings


def make_routes(settings: Settings, *, environ: Mapping[str, str] | None = None) -> list[Route]:
    """Return the routes of the settings in order; without any, the one that generation.* implies.

    Keys are looked up when a route is used: one whose variable is not set fails by itself.
    """
    environ = os.environ if environ is None else environ
    return [_route(one, settings, environ) for one in listed_routes(settings)]


def listed_routes(settings: Settings) -> tuple[RouteSettings, ...]:
    """Return the routes of the settings, or the one that is implied."""
    return settings.routes or (implied_route(settings),)


def implied_route(settings: Settings) -> RouteSettings:
    """Return the route that the settings of Ollama and of generation stand for."""
    generation = settings.generation
    model = generation.model.strip().removesuffix(":latest")
    return RouteSettings(
        name=f"ollama/{model}",
        model=generation.model,
        connect_seconds=settings.ollama.connect_seconds,
        first_token_seconds=generation.first_token_seconds,
        total_seconds=generation.total_seconds,
    )


def make_gateway(
    settings: Settings,
    *,
    database: Database | None,
    last_resort: Generator | None,
    on_restart: Callable[[str], None],
    on_lost: Callable[[DatabaseError], None],
) -> GatewayGenerator:
    """Return the gateway over the routes; without a database its breakers are its own.

    The implied route alone has its own time and no other route to write a torn answer anew.
    """
    from ragctl.gateway.generator import GatewayGenerator, Policy

    is_implied = not settings.routes
    generation = settings.generation
    implied_seconds = generation.total_seconds + settings.ollama.connect_seconds
    return GatewayGenerator(
        make_routes(settings),
        policy=Policy(
            budget_seconds=implied_seconds if is_implied else settings.gateway.budget_seconds,
            retries=settings.gateway.retries,
            replaces_torn=not is_implied,
        ),
        breakers=_breakers(database, on_lost),
        last_resort=last_resort,
        on_restart=on_restart,
        clock=time.monotonic,
        sleep=time.sleep,
        chance=random.random,
    )


def _breakers(database: Database | None, on_lost: Callable[[DatabaseError], None]) -> Breakers:
    from ragctl.gateway.breaker import GuardedBreakers, OwnBreakers

    own = OwnBreakers(clock=time.monotonic)
    return GuardedBreakers(database.breakers, own, on_lost=on_lost) if database else own


def _route(route: RouteSettings, settings: Settings, environ: Mapping[str, str]) -> Route:
    from ragctl.gateway.deadline import Deadlines
    from ragctl.gateway.routes import Route

    address = normalise_host(route.url or settings.ollama.url)

    def make(deadlines: Deadlines) -> Generator:
        from ragctl.wiring.keys import key_in

        key = key_in(route.api_key_env, environ, what=f"route {route.name!r}")
        if route.provider == "openai":
            from ragctl.wiring.openai import openai_generator

            return openai_generator(route, settings, deadlines, key)
        return _ollama(route, address, settings, deadlines, key)

    return Route(
        name=route.name,
        key="|".join((route.provider, without_password(address), route.model)),
        deadlines=Deadlines(
            connect_seconds=route.connect_seconds,
            first_token_seconds=route.first_token_seconds,
            total_seconds=route.total_seconds,
        ),
        make=make,
        model=route.model,
        price_input_per_million=route.price_input_per_million,
        price_output_per_million=route.price_output_per_million,
    )


def _ollama(
    route: RouteSettings, address: str, settings: Settings, deadlines: Deadlines, key: str
) -> Generator:
    from ragctl.models.ollama import OllamaClient, OllamaGenerator
    from ragctl.stages.repetition import RepetitionGuard

    return OllamaGenerator(
        OllamaClient(address, connect_seconds=deadlines.connect_seconds, key=key),
        guard=RepetitionGuard,
        model=route.model,
        num_ctx=settings.generation.num_ctx,
        num_predict=settings.generation.num_predict,
        first_token_seconds=deadlines.first_token_seconds,
        stall_seconds=settings.generation.stall_seconds,
        total_seconds=deadlines.total_seconds,
    )


def try_routes(settings: Settings, *, environ: Mapping[str, str] | None = None) -> Iterator[Trial]:
    """Ask each route a tiny question, one after the other."""
    from ragctl.gateway.trial import try_route
    from ragctl.models.http import time_to_connect

    for listed, route in zip(
        listed_routes(settings), make_routes(settings, environ=environ), strict=True
    ):
        url = normalise_host(listed.url or settings.ollama.url)
        seconds = listed.connect_seconds
        yield try_route(
            route,
            connect=partial(time_to_connect, url, seconds=seconds, clock=time.monotonic),
            clock=time.monotonic,
        )
