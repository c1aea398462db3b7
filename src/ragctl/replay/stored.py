"""What a trace still holds of its request, and how the passages of then stand today.

A trace keeps ids, references and the exact prompt, not the passages. An id is never given to
another text; a page that was ingested anew has new ids, and its passages are known again by their
references. The prompt settles whether the text is the same, and it holds the text that was sent
where that is gone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from ragctl.errors import ContentError, UsageError
from ragctl.gateway.generator import FALLBACK, NO_ROUTE
from ragctl.records.answers import Draft, Finish
from ragctl.records.search import Hit
from ragctl.stages.guards.instructions import without_markers
from ragctl.stages.render import AS_DATA, sent_body

if TYPE_CHECKING:
    from ragctl.records.stored import StoredPage
    from ragctl.records.traces import Trace, TracedHit

Stage = Literal["render", "generate", "check"]
STAGES: Final[tuple[Stage, ...]] = ("render", "generate", "check")
State = Literal["same", "changed", "unknown", "gone"]

_FINISHES: Final[dict[str, Finish]] = {
    "stop": "stop",
    "length": "length",
    "repetition": "repetition",
    "torn": "torn",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A passage of a trace and what stands in its place today, ``None`` where it is gone.

    ``unknown`` is one that was stored anew and of which the trace has no text: it was not sent.
    """

    traced: TracedHit
    state: State
    now: Hit | None


def require_replayable(trace: Trace, stage: Stage) -> None:
    """Raise :class:`~ragctl.errors.UsageError` where a trace has nothing to begin a stage with."""
    again = "Ask the question anew with `ragctl ask`."
    if trace.question is None:
        raise UsageError(
            f"trace {trace.id} was kept without texts, so there is nothing to replay",
            hint='Set traces.record to "on" and ask again.',
        )
    if not trace.hits:
        raise UsageError(f"trace {trace.id} cannot be replayed: {_why_no_hits(trace)}", hint=again)
    if stage != "render" and trace.prompt is None:
        raise UsageError(f"trace {trace.id} has no prompt", hint="Give --from render.")
    if stage == "check" and stored_draft(trace) is None:
        raise UsageError(
            f"trace {trace.id} has no answer to check: it failed ({trace.error_code})",
            hint="Give --from generate, or --from render.",
        )


def _why_no_hits(trace: Trace) -> str:
    if trace.error_code is not None:
        return f"it failed ({trace.error_code}) before passages were sent"
    if trace.mode is None:
        return "the list of pages had the answer, no passage was searched for"
    return "no passage was found"


def standings(trace: Trace, today: Sequence[Hit]) -> tuple[Standing, ...]:
    """Return how each passage of a trace stands; ``today`` are those of its ids and references."""
    by_id = {hit.chunk_id: hit for hit in today}
    by_ref = {hit.ref: hit for hit in today}
    return tuple(
        _standing(traced, by_id.get(traced.chunk_id) or by_ref.get(traced.ref), trace.prompt)
        for traced in trace.hits
    )


def _standing(traced: TracedHit, found: Hit | None, prompt: str | None) -> Standing:
    if found is None:
        return Standing(traced=traced, state="gone", now=None)
    state: State = "same"
    if traced.in_prompt and prompt is not None:
        is_same = sent_body(found) in prompt or found.body in prompt
        state = "same" if is_same else "changed"
    elif found.chunk_id != traced.chunk_id:
        state = "unknown"
    return Standing(traced=traced, state=state, now=_scored(found, traced, n=traced.rank))


def _scored(hit: Hit, traced: TracedHit, *, n: int) -> Hit:
    return replace(
        hit,
        n=n,
        score=traced.score,
        vector_score=traced.vector_score,
        keyword_score=traced.keyword_score,
        named=traced.named,
    )


def still_there(found: Sequence[Standing]) -> tuple[Hit, ...]:
    """Return the passages that are there today, in the order of then, numbered from 1.

    Raises :class:`~ragctl.errors.ContentError` where none is left.
    """
    left = [each.now for each in found if each.now is not None]
    if not left:
        raise ContentError(
            "none of the passages of the trace is there any more",
            hint="Give --from generate to send the stored prompt, or ask anew.",
        )
    return tuple(replace(hit, n=n) for n, hit in enumerate(left, start=1))


def sent_passages(
    trace: Trace, found: Sequence[Standing], pages: Mapping[str, StoredPage]
) -> tuple[Hit, ...] | None:
    """Return the passages as they were sent, numbered as in the prompt.

    What changed since, or is gone, is cut out of the prompt. ``None`` where there is no prompt, or
    one that is not written as :func:`~ragctl.stages.render.render` writes it.
    """
    if trace.prompt is None:
        return None
    blocks = _blocks(trace)
    sent = []
    for each in found:
        if not each.traced.in_prompt:
            continue
        if each.state == "same" and each.now is not None:
            sent.append(each.now)
        elif each.traced.rank in blocks:
            title, body = blocks[each.traced.rank]
            sent.append(_as_sent(each.traced, title, body, trace, pages))
        else:
            return None
    return tuple(sent)


def _blocks(trace: Trace) -> dict[int, tuple[str, str]]:
    """Return title and text of each passage of a prompt by number."""
    prompt = trace.prompt or ""
    end = prompt.rfind(f"\n\nQuestion: {trace.question}\n")
    heads = []
    data = rf"(?:; {re.escape(AS_DATA)})?"
    at = 0
    for hit in trace.hits:
        section = re.escape(without_markers(f", section: {hit.section}")) if hit.section else ""
        head = re.compile(rf"^\[{hit.rank}\] \(page: (?P<title>.*?){section}{data}\)\n", re.M)
        found = head.search(prompt, at) if hit.in_prompt else None
        if found is not None:
            heads.append((hit.rank, found))
            at = found.end()
    ends = [head.start() - 2 for _, head in heads[1:]] + [end]
    return {
        rank: (head["title"], prompt[head.end() : stop])
        for (rank, head), stop in zip(heads, ends, strict=False)
        if stop >= head.end()
    }


def _as_sent(
    traced: TracedHit, title: str, body: str, trace: Trace, pages: Mapping[str, StoredPage]
) -> Hit:
    url, _, start = traced.ref.rpartition("#c")
    page = pages.get(url)
    cited = [each for each in trace.citations if traced.rank in each.passages]
    path = page.source_path if page else cited[0].source_path if cited else ""
    return Hit(
        n=traced.rank,
        chunk_id=traced.chunk_id,
        ref=traced.ref,
        url=url,
        title=title,
        track=page.track if page else "",
        section=traced.section,
        anchor=cited[0].anchor if cited else None,
        body=body,
        start_char=int(start) if start.isdigit() else 0,
        end_char=(int(start) if start.isdigit() else 0) + len(body),
        source_path=path,
        score=traced.score,
        vector_score=traced.vector_score,
        keyword_score=traced.keyword_score,
        named=traced.named,
    )


def stored_draft(trace: Trace) -> Draft | None:
    """Return what was written then, ``None`` where the question failed."""
    finish = _FINISHES.get(trace.finish)
    if trace.answer is None or finish is None:
        return None
    told = next((each.message for each in trace.problems if each.code == "incomplete"), "")
    return Draft(
        text=trace.answer,
        route=trace.route,
        finish=finish,
        error=told.partition(": ")[2],
        written_by_model=not trace.degraded,
        declined=trace.refused and trace.degraded,
        prompt_tokens=trace.prompt_tokens,
        output_tokens=trace.output_tokens,
        prefill_ms=trace.timings.prefill,
        decode_ms=trace.timings.decode,
        problems=tuple(each for each in trace.problems if each.code in (FALLBACK, NO_ROUTE)),
    )
