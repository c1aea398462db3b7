"""Stage 7 as it is traced: what is written, and the attempts that led to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragctl.errors import ModelError
from ragctl.observe import attributes
from ragctl.records.answers import Attempt, Draft, Prompt

if TYPE_CHECKING:
    from ragctl.observe.stopwatch import Stopwatch
    from ragctl.protocols import Generator
    from ragctl.records.search import Hit

NOTHING_FOUND = Draft(
    text="The passages do not cover this: none was found.",
    route="none",
    finish="stop",
    written_by_model=False,
    declined=True,
)
"""What is answered, without a model, where no passage was found."""


def written(
    prompt: Prompt,
    passages: Sequence[Hit],
    generator: Generator,
    *,
    on_text: Callable[[str], None],
    tracing: Stopwatch,
) -> Draft:
    """Return what was written, with an attempt at least: stage 7."""
    with tracing.span("generate") as writing:
        try:
            draft = generator.generate(prompt, on_text=on_text) if passages else NOTHING_FOUND
        except ModelError as error:
            met = Attempt(
                route=generator.name, outcome=error.outcome, ms=writing.ms, error=error.message
            )
            lay_attempts(error.attempts or (met,), tracing)
            raise
        if not passages:
            on_text(draft.text)
        draft = with_attempt(draft, ms=writing.ms)
        if draft.queue_ms is not None:
            tracing.lay("queue", start_ms=0.0, duration_ms=draft.queue_ms, told={})
        lay_attempts(draft.attempts, tracing, after_ms=draft.queue_ms or 0.0)
        writing.note(attributes.of_draft(draft))
    return draft


def with_attempt(draft: Draft, *, ms: float) -> Draft:
    """Return a draft with the attempts that led to it: one, where its generator names none."""
    attempt = Attempt(
        route=draft.route,
        outcome=draft.finish,
        ms=ms - (draft.queue_ms or 0.0),
        prefill_ms=draft.prefill_ms,
        decode_ms=draft.decode_ms,
        prompt_tokens=draft.prompt_tokens,
        output_tokens=draft.output_tokens,
    )
    return draft if draft.attempts else replace(draft, attempts=(attempt,))


def lay_attempts(attempts: Sequence[Attempt], tracing: Stopwatch, *, after_ms: float = 0.0) -> None:
    """Put the attempts into the tree, below the step that made them and that waited first."""
    for attempt in attempts:
        tracing.lay(
            "attempt",
            start_ms=after_ms + attempt.start_ms,
            duration_ms=attempt.ms,
            told=attributes.of_attempt(attempt),
        )
