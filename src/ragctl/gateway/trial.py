"""Tries one route with a tiny prompt, as ``ragctl gateway test`` shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragctl.errors import ModelError
from ragctl.records.answers import Prompt

if TYPE_CHECKING:
    from ragctl.gateway.routes import Route

TINY_PROMPT: Final = "Reply with this one word and nothing else: ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of asking a route: milliseconds are ``None`` for what it did not come to.

    ``connect_ms`` is also ``None`` where a proxy stands between.
    """

    route: str
    outcome: str
    ok: bool
    connect_ms: float | None
    first_token_ms: float | None
    total_ms: float
    error: str = ""
    hint: str = ""


def try_route(
    route: Route, *, connect: Callable[[], float | None], clock: Callable[[], float]
) -> Trial:
    """Ask a route within its own deadlines; breakers neither stop this nor hear of it.

    ``connect`` opens a connection and closes it, and returns the milliseconds it took.
    """
    began = clock()
    first: list[float] = []

    def note(_piece: str) -> None:
        if not first:
            first.append((clock() - began) * 1000)

    prompt = Prompt(text=TINY_PROMPT, question=TINY_PROMPT, template="none", passages=())
    connect_ms: float | None = None
    error = hint = ""
    try:
        generator = route.make(route.deadlines)
        connect_ms = connect()
        began = clock()
        draft = generator.generate(prompt, on_text=note)
        outcome, error = ("torn", draft.error) if draft.finish == "torn" else ("answered", "")
    except ModelError as failure:
        outcome, error, hint = failure.outcome, failure.message, failure.hint
    return Trial(
        route=route.name,
        outcome=outcome,
        ok=outcome == "answered",
        connect_ms=connect_ms,
        first_token_ms=first[0] if first else None,
        total_ms=(clock() - began) * 1000,
        error=error,
        hint=hint,
    )
