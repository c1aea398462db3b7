"""Times one try at a route, so that what came of it can be told as an attempt."""

from __future__ import annotations

from collections.abc import Callable

from ragctl.records.answers import Attempt, Draft


class TimedTry:
    """Begins when it is made; hand its ``text`` to the generator in place of ``on_text``.

    ``since`` is when the first route was asked; ``clock`` returns seconds.
    """

    def __init__(
        self,
        route: str,
        on_text: Callable[[str], None],
        *,
        model: str = "",
        since: float,
        clock: Callable[[], float],
    ) -> None:
        self._route = route
        self._model = model
        self._on_text = on_text
        self._clock = clock
        self._began = clock()
        self._start_ms = (self._began - since) * 1000
        self._first_token_ms: float | None = None

    @property
    def ms(self) -> float:
        """How long it has taken so far."""
        return (self._clock() - self._began) * 1000

    def text(self, piece: str) -> None:
        """Pass a piece of text on, and note when the first one came."""
        if self._first_token_ms is None:
            self._first_token_ms = self.ms
        self._on_text(piece)

    def came_to(self, outcome: str, *, error: str = "") -> Attempt:
        """Return the attempt of a try that gave no draft."""
        return Attempt(
            route=self._route,
            outcome=outcome,
            ms=self.ms,
            start_ms=self._start_ms,
            model=self._model,
            error=error,
            first_token_ms=self._first_token_ms,
        )

    def wrote(self, draft: Draft) -> Attempt:
        """Return the attempt of a try that gave text, whole or not."""
        return Attempt(
            route=self._route,
            outcome="answered" if draft.finish == "stop" else draft.finish,
            ms=self.ms,
            start_ms=self._start_ms,
            model=self._model,
            error=draft.error,
            first_token_ms=self._first_token_ms,
            prefill_ms=draft.prefill_ms,
            decode_ms=draft.decode_ms,
            prompt_tokens=draft.prompt_tokens,
            output_tokens=draft.output_tokens,
        )
