"""From what the passages have of a statement to a verdict and its reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from ragctl.records.answers import Claim, Verdict
from ragctl.stages.claims.asked import take_apart, weights_of
from ragctl.stages.claims.evidence import Coverage, Evidence, cover, weigh
from ragctl.stages.claims.passages import Passage, merged_passages, read_passage
from ragctl.stages.claims.statements import Statement, statements_of

if TYPE_CHECKING:
    from ragctl.records.search import Hit

LEAST_NEAR: Final = 0.28
LEAST_WHOLE: Final = 0.35
LEAST_CLEAR: Final = 0.42
LEAST_CERTAIN: Final = 0.6
LEAST_ALIKE: Final = 0.5
LEAST_DENIED: Final = 0.4
LEAST_AGAINST: Final = 0.7
LEAST_OTHER: Final = 0.4
MORE: Final = 0.1
CLEARLY_MORE: Final = 0.4
"""Shares of a statement's words. Below the first two it is unsupported, below the third weak. A
sentence must have ``LEAST_ALIKE`` of them before a name or number counts as swapped or an opposite
counts, and ``LEAST_DENIED`` before its denial does. One that has ``LEAST_AGAINST`` and perhaps says
the opposite is not what supports a statement. Another passage must hold ``LEAST_OTHER``, and
``MORE`` than the cited one, to be named instead; or ``CLEARLY_MORE``, where nothing else speaks
against the cited one and it has no ``LEAST_CERTAIN``. Chosen on labelled sentences so that under 5
in 100 true ones are flagged."""


def check_claims(answer_text: str, passages: Sequence[Hit]) -> tuple[Claim, ...]:
    """Return the asserting sentences of an answer, each with what its passages say of it.

    A sentence without a number of its own stays ``uncited`` even where the next one cites: a
    reader cannot tell how far back a number reaches. It is then held against all passages, and
    ``why`` says whether one of them supports it.
    """
    statements = statements_of(answer_text, passages=max((hit.n for hit in passages), default=0))
    read = {hit.n: read_passage(hit) for hit in passages} if statements else {}
    return tuple(_judge(statement, read) for statement in statements)


class _Findings:
    """What the passages have of a statement, found out as it is asked for, and once."""

    def __init__(self, statement: Statement, read: Mapping[int, Passage]) -> None:
        self.read = read
        self.passages = tuple(read.values())
        self.asked = take_apart(statement.text)
        self.weights = weights_of(self.asked, self.passages)
        self.coverage = cache(self._coverage)
        self.evidence = cache(self._evidence)

    def _coverage(self, n: int) -> Coverage:
        return cover(self.asked, self.read[n], self.weights)

    def _evidence(self, n: int) -> Evidence:
        return self._weighed(self.read[n], self.coverage(n))

    def together(self, numbers: Sequence[int]) -> Evidence:
        """Return what several passages have as if they were one."""
        merged = merged_passages([self.read[n] for n in numbers])
        found = self._weighed(merged, cover(self.asked, merged, self.weights))
        return replace(found, near=max(found.near, found.whole))

    def _weighed(self, passage: Passage, coverage: Coverage) -> Evidence:
        return weigh(self.asked, passage, self.weights, coverage, passages=self.passages)


def _judge(statement: Statement, read: Mapping[int, Passage]) -> Claim:
    found = _Findings(statement, read)
    cited = [n for n in statement.cites if n in read]
    if not cited:
        return _claim(statement, "uncited", _where_uncited(found))
    verdict, why = _verdict_on(cited, found)
    if verdict != "unsupported" and not _is_elsewhere(cited, found):
        return _claim(statement, verdict, why)
    better = _better(cited, found)
    if better:
        return _claim(statement, "misattributed", f"{why}; passage [{better}] supports it")
    return _claim(statement, verdict, why)


def _claim(statement: Statement, verdict: Verdict, why: str) -> Claim:
    return Claim(text=statement.text, cites=statement.cites, verdict=verdict, why=why)


def _verdict_on(cited: Sequence[int], found: _Findings) -> tuple[Verdict, str]:
    """Judge by the best of the cited passages, or by all of them together."""
    judged = []
    for n in cited:
        evidence = found.evidence(n)
        judged.append((_judgement(evidence, f"passage [{n}]"), evidence.near))
    if len(cited) > 1:
        together = found.together(cited)
        label = f"passages {''.join(f'[{n}]' for n in cited)}"
        judged.append((_judgement(together, label), together.near))
    order = ("supported", "weak", "unsupported")
    return min(judged, key=lambda one: (order.index(one[0][0]), -one[1]))[0]


def _judgement(evidence: Evidence, label: str) -> tuple[Verdict, str]:
    hard, soft = _faults(evidence, label), _doubts(evidence, label)
    if hard:
        return "unsupported", "; ".join(dict.fromkeys(hard))
    if soft:
        return "weak", "; ".join(soft)
    return "supported", f"its names, numbers and words are in {label}"


def _faults(evidence: Evidence, label: str) -> list[str]:
    """Return what speaks against a statement."""
    found = [f"the number {number} is not in {label}" for number in evidence.numbers]
    found += [f"{name} is not in {label}" for name in evidence.names]
    found += [f"the words “{quote[:60]}” are not in {label}" for quote in evidence.quotes]
    if evidence.swapped and evidence.alike >= LEAST_ALIKE:
        found.append(f"{label} has {evidence.swapped[1]} where it says {evidence.swapped[0]}")
    if evidence.opposites and not evidence.negation and evidence.alike >= LEAST_ALIKE:
        found.append(f"it says “{evidence.opposites[0]}”, {label} says the opposite")
    if evidence.negation == "passage" and evidence.near >= LEAST_DENIED:
        found.append(f"{label} says that it is not so")
    if any(evidence.turned) and _is_certain(evidence.turned):
        found.append(_contradiction(evidence.turned, label))
    if evidence.near < LEAST_NEAR and evidence.whole < LEAST_WHOLE:
        found.append(_few_words(evidence, label))
    return found


def _is_certain(turned: tuple[str, str]) -> bool:
    """Whether a turn contradicts: opposites and comparisons may be put otherwise, and cast doubt.

    Measured: as contradictions, they flagged one true sentence in a hundred more.
    """
    return "not" in turned or "…" in turned[0]


def _contradiction(turned: tuple[str, str], label: str) -> str:
    mine, theirs = turned
    if mine == "not":
        return f"it says that something is not so, {label} says that it is"
    if theirs == "not":
        return f"{label} says that it is not so"
    if mine == "than":
        return f"{label} compares the other way round"
    return f"it says “{mine}”, {label} says “{theirs}”"


def _few_words(evidence: Evidence, label: str) -> str:
    named = ", ".join(f"“{word}”" for word in evidence.words[:3])
    return f"{label} has few of its words" + (f": not {named}" if named else "")


def _doubts(evidence: Evidence, label: str) -> list[str]:
    """Return what makes the support of a statement weak."""
    far = (*evidence.far_numbers, *evidence.far_names)
    found = [f"{name} stands elsewhere in {label}" for name in far]
    if evidence.negation == "statement":
        found.append(f"it denies something, {label} does not")
    if evidence.negation == "passage":
        found.append(f"{label} denies something, it does not")
    if evidence.opposites and not evidence.negation:
        found.append(f"it says “{evidence.opposites[0]}”, {label} perhaps the opposite")
    elif any(evidence.turned) and not _is_certain(evidence.turned):
        found.append(_contradiction(evidence.turned, label))
    if evidence.near < LEAST_CLEAR:
        found.append(_few_words(evidence, label))
    return found


def _is_elsewhere(cited: Sequence[int], found: _Findings) -> bool:
    """Whether another passage has so much more of a statement that the citation must be wrong."""
    most = max(found.coverage(n).whole for n in cited)
    if most >= LEAST_CERTAIN:
        return False
    best = max((found.coverage(n).near for n in found.read if n not in cited), default=0.0)
    return best - most >= CLEARLY_MORE


def _better(cited: Sequence[int], found: _Findings) -> int | None:
    """Return the passage, not among the cited ones, that supports a statement clearly better."""
    most = max(found.coverage(n).near for n in cited)
    least = max(LEAST_OTHER, most + MORE)
    others = sorted((-found.coverage(n).near, n) for n in found.read if n not in cited)
    for negative, n in others:
        evidence = found.evidence(n)
        if -negative >= least and not (_faults(evidence, "") or _is_against(evidence)):
            return n
    return None


def _is_against(evidence: Evidence) -> bool:
    """Whether a passage perhaps says the opposite of a statement: it is not what supports it."""
    against = evidence.negation or evidence.opposites or any(evidence.turned)
    return bool(against) and evidence.alike >= LEAST_AGAINST


def better_passage(claim: Claim) -> int | None:
    """Return the passage that supports a misattributed claim."""
    named = re.search(r"passage \[(\d+)\] supports it$", claim.why)
    return int(named[1]) if claim.verdict == "misattributed" and named else None


def is_unfounded(claim: Claim) -> bool:
    """Whether a claim cites nothing and stands in none of the passages."""
    return claim.verdict == "uncited" and claim.why.startswith(_UNFOUNDED)


_UNFOUNDED: Final = "no citation, and no passage supports it"


def _where_uncited(found: _Findings) -> str:
    nearest = sorted(found.read, key=lambda n: (-found.coverage(n).near, n))
    if not nearest:
        return "no citation, and there are no passages"
    for n in nearest:
        if _judgement(found.evidence(n), "")[0] == "supported":
            return f"no citation; passage [{n}] supports it"
    reason = _judgement(found.evidence(nearest[0]), f"passage [{nearest[0]}]")
    if reason[0] == "weak":
        return f"no citation; closest is passage [{nearest[0]}]: {reason[1]}"
    return f"{_UNFOUNDED}: {reason[1]}"
