"""What changed from a stored answer to that of a replay. Pure: two records in, one out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar

from ragctl.observe.traces import outcome_of
from ragctl.replay.running import Replayed, tokens_before

if TYPE_CHECKING:
    from ragctl.records.answers import Answer, Citation, Claim, Problem

Kind = Literal["added", "removed", "changed"]
Value = TypeVar("Value")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair(Generic[Value]):
    """A value then and now."""

    before: Value
    after: Value

    @property
    def is_same(self) -> bool:
        """Whether nothing changed."""
        return self.before == self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Differs:
    """A thing that came, went or changed, by its name, and how."""

    kind: Kind
    name: str
    how: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """All that is held against each other.

    ``tokens`` are by our own count. ``text`` are the sentences of both answers in order, each with
    ``-`` (only then), ``+`` (only now) or a blank. ``claims`` counts verdicts, both sides by
    today's check; where the stored answer is checked again there is no side of then, for verdicts
    are not kept.
    """

    template: Pair[str]
    route: Pair[str]
    tokens: Pair[int | None]
    prompt_is_same: bool
    outcome: Pair[str]
    refused: Pair[bool]
    passages: tuple[Differs, ...]
    text: tuple[tuple[str, str], ...]
    citations: tuple[Differs, ...]
    claims: Pair[Mapping[str, int] | None]
    problems: tuple[Differs, ...]

    @property
    def is_same_text(self) -> bool:
        """Whether the answer has the same sentences in the same order."""
        return all(mark == " " for mark, _ in self.text)


def changes_of(replayed: Replayed) -> Changes:
    """Return what changed; what the trace holds is the side of then."""
    trace, answer = replayed.trace, replayed.answer
    before = None if replayed.claims_before is None else by_verdict(replayed.claims_before)
    checks_alone = replayed.stage == "check"
    return Changes(
        template=Pair(before=trace.template, after=answer.prompt.template),
        route=Pair(before=trace.route, after=answer.route),
        tokens=Pair(before=tokens_before(trace), after=answer.prompt.tokens),
        prompt_is_same=trace.prompt == answer.prompt.text,
        outcome=Pair(before=outcome_of(trace), after=outcome_of_answer(answer)),
        refused=Pair(before=trace.refused, after=answer.refused),
        passages=_passages(replayed),
        text=tuple(sentence_diff(trace.answer or "", answer.text)),
        citations=_citations(trace.citations, answer.citations),
        claims=Pair(before=None if checks_alone else before, after=by_verdict(answer.claims)),
        problems=_problems(trace.problems, answer.problems),
    )


def outcome_of_answer(answer: Answer) -> str:
    """Return what became of a question in one word, as traces have it."""
    if answer.finish in ("torn", "repetition"):
        return "incomplete"
    if answer.refused:
        return "refused"
    return "extractive" if answer.degraded else "answered"


def by_verdict(claims: Sequence[Claim]) -> dict[str, int]:
    """Return how many claims have each verdict, the most frequent first."""
    return dict(Counter(claim.verdict for claim in claims).most_common())


def sentence_diff(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of two texts with a mark each; lines end a sentence too."""
    one, other = _sentences(before), _sentences(after)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        if kind == "equal":
            yield from ((" ", sentence) for sentence in one[start:end])
            continue
        yield from (("-", sentence) for sentence in one[start:end])
        yield from (("+", sentence) for sentence in other[other_start:other_end])


def _sentences(text: str) -> list[str]:
    lines = (line.strip() for line in text.split("\n"))
    return [part for line in lines if line for part in _SENTENCE_END.split(line)]


def _passages(replayed: Replayed) -> tuple[Differs, ...]:
    """Return which passages are sent now and were not, and the other way round."""
    was = [each.traced.ref for each in replayed.passages if each.traced.in_prompt]
    now = [hit.ref for hit in replayed.answer.prompt.passages]
    return (
        *(Differs(kind="removed", name=ref) for ref in was if ref not in now),
        *(Differs(kind="added", name=ref) for ref in now if ref not in was),
    )


def _citations(before: Sequence[Citation], after: Sequence[Citation]) -> tuple[Differs, ...]:
    """By page and section: numbers may differ where a passage is gone."""
    one = {(each.url, each.section): each for each in before}
    other = {(each.url, each.section): each for each in after}
    return (
        *(Differs(kind="removed", name=_place(one[key])) for key in one if key not in other),
        *(Differs(kind="added", name=_place(other[key])) for key in other if key not in one),
        *(
            Differs(
                kind="changed",
                name=_place(each),
                how=f"{was or 'unchecked'} → {now or 'unchecked'}",
            )
            for key, each in other.items()
            if key in one and (was := one[key].support) != (now := each.support)
        ),
    )


def _place(citation: Citation) -> str:
    return f"{citation.url} — {citation.section}" if citation.section else citation.url


def _problems(before: Sequence[Problem], after: Sequence[Problem]) -> tuple[Differs, ...]:
    one = {each.code: each.message for each in before}
    other = {each.code: each.message for each in after}
    return (
        *(Differs(kind="removed", name=code, how=one[code]) for code in one if code not in other),
        *(Differs(kind="added", name=code, how=other[code]) for code in other if code not in one),
        *(
            Differs(kind="changed", name=code, how=f"{one[code]} → {other[code]}")
            for code in other
            if code in one and one[code] != other[code]
        ),
    )
