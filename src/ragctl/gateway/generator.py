"""The gateway: tries routes in order until one has written an answer.

What was tried is in the draft: an :class:`~ragctl.records.Attempt` a try, and a problem where the
first route did not write. No transaction and no lock is held while a model works.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ragctl.errors import ModelError, ModelUnreachable
from ragctl.gateway.breaker import counts_against
from ragctl.gateway.deadline import Deadlines, share_of
from ragctl.gateway.retry import wait_before_retry
from ragctl.gateway.timed import TimedTry
from ragctl.records.answers import Attempt, Draft, Problem, Prompt

if TYPE_CHECKING:
    from ragctl.gateway.routes import Route
    from ragctl.protocols import Breakers, Generator
    from ragctl.records.gateway import Permit

FALLBACK: Final = "fallback"
NO_ROUTE: Final = "no_route"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How routes are tried: time for all of them, tries again, and what a torn answer means.

    With ``replaces_torn`` an answer that broke off is written anew by the next route; without,
    it stays the answer.
    """

    budget_seconds: float
    retries: int
    replaces_torn: bool = True


class GatewayGenerator:
    """A :class:`~ragctl.protocols.Generator` over several routes, each with its own deadlines.

    Time is shared as :mod:`ragctl.gateway.deadline` says. ``last_resort`` writes where no route
    did; without one the last error is raised. ``on_restart`` is told, in a sentence, when text
    that was handed out has broken off and all that follows is written anew.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        *,
        policy: Policy,
        breakers: Breakers,
        last_resort: Generator | None,
        on_restart: Callable[[str], None],
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        chance: Callable[[], float],
    ) -> None:
        self._routes = tuple(routes)
        self._policy = policy
        self._breakers = breakers
        self._last_resort = last_resort
        self._on_restart = on_restart
        self._clock = clock
        self._sleep = sleep
        self._chance = chance

    @property
    def name(self) -> str:
        """The routes in the order they are tried."""
        return ", then ".join(route.name for route in self._routes)

    def generate(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Draft:
        """Write the answer; see :class:`~ragctl.protocols.Generator`."""
        began = self._clock()
        tried = _Tried(began, self._clock)
        for number, route in enumerate(self._routes):
            later = [one.deadlines for one in self._routes[number + 1 :]]
            left = self._policy.budget_seconds - (self._clock() - began)
            share = share_of(route.deadlines, later, left_seconds=left)
            if share is None:
                tried.note(route, "no time left", why="was not asked: no time was left")
                continue
            draft = self._asked(route, share, prompt, on_text, tried)
            if draft is not None and draft.finish == "torn" and self._policy.replaces_torn:
                tried.torn(route, draft)
                self._on_restart(f"{route.name} broke off: {draft.error}")
            elif draft is not None:
                return tried.finished(draft, route)
        return self._without_model(prompt, on_text, tried)

    def _asked(
        self,
        route: Route,
        share: Deadlines,
        prompt: Prompt,
        on_text: Callable[[str], None],
        tried: _Tried,
    ) -> Draft | None:
        """Ask one route within its share, again where that may help; ``None`` if it failed."""
        try:
            generator = route.make(share)
        except ModelError as error:
            tried.failed(route, error, tried.timed(route.name, on_text, model=route.model))
            return None
        permit = self._breakers.permit(route.key, probe_seconds=share.total_seconds + 5)
        if not permit.may_go:
            tried.kept_away(route, permit)
            return None
        return self._written(route, generator, permit, share, prompt, on_text, tried)

    def _written(
        self,
        route: Route,
        generator: Generator,
        permit: Permit,
        share: Deadlines,
        prompt: Prompt,
        on_text: Callable[[str], None],
        tried: _Tried,
    ) -> Draft | None:
        end = self._clock() + share.total_seconds
        tries = 0
        while True:
            timed = tried.timed(route.name, on_text, model=route.model)
            try:
                draft = generator.generate(prompt, on_text=timed.text)
                break
            except ModelError as error:
                tries += 1
                tried.failed(route, error, timed)
                wait = self._wait(error, tries=tries, left_seconds=end - self._clock())
                if wait is None:
                    self._tell(route, permit, error)
                    return None
                self._sleep(wait)
                generator = route.make(share.within(max(end - self._clock(), 0.001)))
            except BaseException:
                if permit.is_probe:
                    with suppress(Exception):
                        self._breakers.released(route.key)
                raise
        tried.answered(route, draft, timed)
        if draft.finish == "torn":
            self._breakers.failed(route.key, is_probe=permit.is_probe, error=draft.error)
        else:
            self._breakers.succeeded(route.key)
        return draft

    def _wait(self, error: ModelError, *, tries: int, left_seconds: float) -> float | None:
        return wait_before_retry(
            error,
            tries=tries,
            retries=self._policy.retries,
            left_seconds=left_seconds,
            chance=self._chance,
        )

    def _tell(self, route: Route, permit: Permit, error: ModelError) -> None:
        if counts_against(error):
            self._breakers.failed(route.key, is_probe=permit.is_probe, error=error.message)
        elif permit.is_probe:
            self._breakers.succeeded(route.key)  # it answers, if only that we are wrong

    def _without_model(
        self, prompt: Prompt, on_text: Callable[[str], None], tried: _Tried
    ) -> Draft:
        if self._last_resort is None or not prompt.passages:
            raise tried.error()
        timed = tried.timed(self._last_resort.name, on_text)
        draft = self._last_resort.generate(prompt, on_text=timed.text)
        return tried.quoted(draft, timed)


class _Tried:
    """What was tried for one question since ``began``, and why each route did not write."""

    def __init__(self, began: float, clock: Callable[[], float]) -> None:
        self._began = began
        self._clock = clock
        self._attempts: list[Attempt] = []
        self._why: dict[str, str] = {}
        self._at_length: dict[str, str] = {}
        self._error: ModelError | None = None

    def timed(self, route: str, on_text: Callable[[str], None], *, model: str = "") -> TimedTry:
        """Return what times a try that begins now."""
        return TimedTry(route, on_text, model=model, since=self._began, clock=self._clock)

    def note(self, route: Route, outcome: str, *, why: str) -> None:
        """Take a route that was not asked, and a sentence's end about it."""
        start_ms = (self._clock() - self._began) * 1000
        self._attempts.append(Attempt(route=route.name, outcome=outcome, ms=0.0, start_ms=start_ms))
        self._why[route.name] = f"{route.name} {why}"

    def kept_away(self, route: Route, permit: Permit) -> None:
        """Take a route that its breaker kept us from."""
        when = f", for {permit.seconds_left:.0f} s more" if permit.seconds_left else ""
        self.note(route, "breaker open", why=f"was not asked: its breaker is open{when}")

    def failed(self, route: Route, error: ModelError, timed: TimedTry) -> None:
        """Take a try that gave no text."""
        self._error = error
        attempt = timed.came_to(error.outcome, error=error.message)
        self._attempts.append(attempt)
        after = f" after {attempt.ms / 1000:.1f} s" if attempt.ms >= 50 else ""
        self._why[route.name] = f"{route.name} did not answer: {error.outcome}{after}"
        self._at_length[route.name] = f"{route.name} did not answer: {error.message}"

    def answered(self, route: Route, draft: Draft, timed: TimedTry) -> None:
        """Take a try that gave text, whole or not."""
        self._attempts.append(timed.wrote(draft))
        self._why.pop(route.name, None)
        self._at_length.pop(route.name, None)

    def torn(self, route: Route, draft: Draft) -> None:
        """Take a route whose answer is written anew by another."""
        self._why[route.name] = f"{route.name} broke off: {draft.error}"

    def finished(self, draft: Draft, route: Route) -> Draft:
        """Return the draft that a route wrote, with the way to it."""
        problems: tuple[Problem, ...] = ()
        if self._why:
            message = f"Written by {route.name}: {'; '.join(self._why.values())}."
            problems = (Problem(code=FALLBACK, message=message),)
        return replace(
            draft,
            route=route.name,
            attempts=tuple(self._attempts),
            problems=problems,
            cost_usd=route.cost_usd(draft),
        )

    def quoted(self, draft: Draft, timed: TimedTry) -> Draft:
        """Return the draft of the last resort, with the way to it."""
        reasons = "; ".join((self._why | self._at_length).values())
        quotes = "" if draft.declined else ", it quotes the passages"
        message = f"No model wrote this answer{quotes}: {reasons}."
        return replace(
            draft,
            attempts=(*self._attempts, timed.wrote(draft)),
            problems=(Problem(code=NO_ROUTE, message=message),),
        )

    def error(self) -> ModelError:
        """Return what to raise where nobody wrote; it knows what was tried."""
        error = self._error
        if error is None or len(self._why) > 1:
            hint = error.hint if error is not None else ""
            reset = "`ragctl gateway status` shows the routes, `ragctl gateway test` tries them."
            error = ModelUnreachable(
                f"no route wrote an answer: {'; '.join(self._why.values())}",
                hint=f"{hint} {reset}".strip(),
            )
        error.attempts = tuple(self._attempts)
        return error
