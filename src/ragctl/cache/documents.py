"""Which answers may be kept, and how they become JSON and answers again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from ragctl.records.answers import Answer, Attempt, Timings

if TYPE_CHECKING:
    from ragctl.records.cached import KeptAnswer

CACHE_ROUTE: Final = "cache"
_OF_ONE_CALL: Final = ("cached", "cached_at", "cached_seconds", "cached_question", "trace_id")
_WEAK: Final = ("weak", "not covered")


def may_be_kept(answer: Answer) -> bool:
    """Tell whether an answer may be given again: a model wrote it to its end, nothing is wrong."""
    return (
        bool(answer.passages)
        and answer.finish == "stop"
        and not answer.degraded
        and not answer.problems
        and not answer.cached
    )


def ends_with_any_change(answer: Answer) -> bool:
    """Tell whether any change of content ends it: a refusal, weak evidence, the list of pages."""
    is_weak = answer.evidence is not None and answer.evidence.verdict in _WEAK
    return answer.refused or is_weak or bool(answer.prompt.about_site)


def document_of(answer: Answer) -> dict[str, Any]:
    """Return an answer as JSON; passages that were sent as found are named by their numbers."""
    document = asdict(answer)
    for name in _OF_ONE_CALL:
        del document[name]
    found = {hit.n: hit for hit in answer.passages}
    document["prompt"]["passages"] = [
        hit.n if found.get(hit.n) == hit else asdict(hit) for hit in answer.prompt.passages
    ]
    return document


def answer_of(
    kept: KeptAnswer,
    question: str,
    *,
    read: Callable[[Mapping[str, Any]], Answer],
    is_other: bool,
    total_ms: float,
) -> Answer:
    """Return what was kept as the answer to a question, with what this call of it took.

    No tokens were spent on it and it costs nothing. With ``is_other`` it says which question it
    was written for. Raises what ``read`` raises, and ``KeyError`` or ``TypeError`` for a document
    of another form.
    """
    document = dict(kept.document)
    found = {hit["n"]: hit for hit in document["passages"]}  # type: ignore[attr-defined]
    prompt = dict(document["prompt"])  # type: ignore[call-overload]
    prompt["passages"] = [found[hit] if isinstance(hit, int) else hit for hit in prompt["passages"]]
    return replace(
        read({**document, "prompt": prompt}),
        question=question,
        cached=True,
        cached_at=kept.cached_at,
        cached_seconds=kept.age_seconds,
        cached_question=kept.question if is_other else "",
        timings=Timings(total=total_ms),
        attempts=(Attempt(route=CACHE_ROUTE, outcome="answered", ms=total_ms),),
        prompt_tokens=None,
        output_tokens=None,
        cost_usd=0.0,
        trace_id="",
    )
