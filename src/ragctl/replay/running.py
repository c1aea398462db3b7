"""Runs a stored request again from a stage on: stages 6 to 8, with what is handed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragctl.answering import with_attempt
from ragctl.errors import UsageError
from ragctl.pipeline.answer import AnswerOptions, checked, weighed
from ragctl.records.answers import Answer, Claim, Draft, Prompt, Timings
from ragctl.replay.stored import (
    Stage,
    Standing,
    require_replayable,
    sent_passages,
    standings,
    still_there,
    stored_draft,
)
from ragctl.stages.claims import check_claims
from ragctl.stages.render import render
from ragctl.stages.tokens import estimated_tokens

if TYPE_CHECKING:
    from ragctl.pipeline.ingest import Clock
    from ragctl.protocols import Coverage, Generator
    from ragctl.records.evidence import Evidence
    from ragctl.records.search import Hit
    from ragctl.records.stored import StoredPage
    from ragctl.records.traces import Trace

_OF_THE_SEARCH = ("keyword_only",)
_OF_THE_PROMPT = (*_OF_THE_SEARCH, "passages_dropped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A request of then and its answer of today.

    ``claims_before`` are those of the stored answer by today's check, ``None`` where there is no
    answer, or its passages are not known any more.
    """

    trace: Trace
    stage: Stage
    passages: tuple[Standing, ...]
    claims_before: tuple[Claim, ...] | None
    answer: Answer


def replay(
    trace: Trace,
    stage: Stage,
    *,
    today: Sequence[Hit],
    pages: Mapping[str, StoredPage],
    options: AnswerOptions,
    coverage: Coverage,
    generator: Generator | None,
    on_prompt: Callable[[Prompt], None],
    on_text: Callable[[str], None],
    clock: Clock,
) -> Replayed:
    """Run a stored request again; ``today`` are the passages of its ids and references.

    From ``check`` the stored answer is taken, and no generator is needed. Evidence is weighed anew
    on the passages that are still there; problems of steps that do not run again stay. Raises
    :class:`~ragctl.errors.UsageError` where the trace has nothing to begin with,
    :class:`~ragctl.errors.ContentError` where no passage is left to render.
    """
    require_replayable(trace, stage)
    began = clock()
    found = standings(trace, today)
    sent = sent_passages(trace, found, pages)
    evidence = _evidence(trace, found, coverage, options)
    prompt, passages = (
        _rendered(trace, found, options) if stage == "render" else _as_stored(trace, found, sent)
    )
    prompt = replace(prompt, evidence=evidence)
    on_prompt(prompt)
    asked = clock()
    draft = _draft(trace, stage, prompt, generator, _held if options.block else on_text)
    ended = clock()
    answer = checked(
        prompt.question,
        with_attempt(draft, ms=(ended - asked) * 1000),
        prompt,
        passages,
        options,
        Timings(prefill=draft.prefill_ms, decode=draft.decode_ms, total=(ended - began) * 1000),
    )
    if options.block:
        on_text(answer.text)
    kept = _OF_THE_SEARCH if stage == "render" else _OF_THE_PROMPT
    stay = tuple(problem for problem in trace.problems if problem.code in kept)
    return Replayed(
        trace=trace,
        stage=stage,
        passages=found,
        claims_before=_claims_before(trace, sent),
        answer=replace(answer, problems=(*stay, *answer.problems)),
    )


def _held(_piece: str) -> None:
    """Keep a text back until it is known whether its reader may see it."""


def _evidence(
    trace: Trace, found: Sequence[Standing], coverage: Coverage, options: AnswerOptions
) -> Evidence | None:
    here = [each.now for each in found if each.now is not None]
    return weighed(trace.question or "", here, coverage, options.calibration) if here else None


def _rendered(
    trace: Trace, found: Sequence[Standing], options: AnswerOptions
) -> tuple[Prompt, tuple[Hit, ...]]:
    passages = still_there(found)
    prompt = render(
        trace.question or "",
        passages,
        template=options.template,
        budget_tokens=options.budget_tokens,
        least_share=options.least_share,
    )
    return prompt, passages


def _as_stored(
    trace: Trace, found: Sequence[Standing], sent: tuple[Hit, ...] | None
) -> tuple[Prompt, tuple[Hit, ...]]:
    """Return the prompt to the letter, and behind its passages those that were not sent."""
    if sent is None or trace.prompt is None:
        raise UsageError(
            f"the passages in the prompt of trace {trace.id} cannot be told apart any more",
            hint="Give --from render.",
        )
    prompt = Prompt(
        text=trace.prompt,
        question=trace.question or "",
        template=trace.template,
        passages=sent,
        tokens=tokens_before(trace) or 0,
    )
    unsent = [each.now for each in found if each.now is not None and not each.traced.in_prompt]
    return prompt, (*sent, *unsent)


def tokens_before(trace: Trace) -> int | None:
    """Return the tokens of a stored prompt by our own count, ``None`` where there is none."""
    if trace.prompt is None:
        return None
    return trace.prompt_counted or estimated_tokens(trace.prompt)


def _draft(
    trace: Trace,
    stage: Stage,
    prompt: Prompt,
    generator: Generator | None,
    on_text: Callable[[str], None],
) -> Draft:
    stored = stored_draft(trace)
    if stage == "check" and stored is not None:
        on_text(stored.text)
        return stored
    if generator is None:
        raise ValueError(f"from {stage} an answer has to be written, and nobody is there for it")
    return generator.generate(prompt, on_text=on_text)


def _claims_before(trace: Trace, sent: tuple[Hit, ...] | None) -> tuple[Claim, ...] | None:
    draft = stored_draft(trace)
    if draft is None or sent is None:
        return None
    return () if trace.refused else check_claims(draft.text, sent)
