"""Questions that the site did not answer well, grouped into pages that could be written.

Questions are compared by the stems they share, each weighted by its idf over the passages of the
site, and joined by average linkage: the two groups whose questions are on average most alike,
again and again, as long as they are alike enough. No model is asked, and the same questions give
the same groups.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ragctl.records.signals import UncoveredQuestion

ALIKE: Final = 0.25
"""The least mean cosine of two groups that are joined."""

LABEL_WORDS: Final = 4
_MOST_PAGES: Final = 3
_MOST_EXAMPLES: Final = 3
_SAY_NOTHING: Final = frozenset(
    """
    actual|also|anyon|best|better|can|chang|compar|could|differ|difference|doe|els|everi|exampl
    |exist|explain|find|get|give|good|happen|help|if|instead|know|like|make|mani|mean|much|need
    |offer|often|page|pleas|possibl|provid|question|reason|recommend|say|set|show|site|start|tell
    |thing|think|tri|understand|us|use|want|way|well|without|work|would|wrong
    """.replace("\n", "")
    .replace(" ", "")
    .split("|")
)
"""Stems that a question has whatever it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Questions about one thing: ``asked`` of them, in ``wordings`` different wordings.

    ``words`` are the heaviest words, ``pages`` the nearest pages there are, ``examples`` the
    wordings asked most often.
    """

    words: tuple[str, ...]
    asked: int
    wordings: int
    reasons: tuple[tuple[str, int], ...]
    pages: tuple[str, ...]
    examples: tuple[str, ...]

    @property
    def label(self) -> str:
        """The heaviest words in a line; a question without any stands for itself."""
        return " ".join(self.words) or self.examples[0]


def find_gaps(
    questions: Sequence[UncoveredQuestion], weights: Mapping[str, float]
) -> tuple[Gap, ...]:
    """Return groups of questions, those asked most often first.

    ``weights`` holds the idf of stems over the site; a stem that is not in it weighs nothing.
    """
    wordings: dict[str, list[UncoveredQuestion]] = {}
    for question in questions:
        wordings.setdefault(_plain(question.question), []).append(question)
    keys = sorted(wordings)
    vectors = [_vector(wordings[key][0], weights) for key in keys]
    groups = _joined(vectors)
    gaps = [_gap([wordings[keys[at]] for at in group], weights) for group in groups]
    return tuple(sorted(gaps, key=lambda gap: (-gap.asked, -gap.wordings, gap.label)))


def stems_of(questions: Iterable[UncoveredQuestion]) -> set[str]:
    """Return the stems whose weights are needed."""
    return {stem for question in questions for stem, _ in question.words} - _SAY_NOTHING


def _plain(question: str) -> str:
    return " ".join(question.lower().split()).rstrip("?!. ")


def _vector(question: UncoveredQuestion, weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of a question's stems, with a length of one."""
    stems = {stem for stem, _ in question.words} - _SAY_NOTHING
    known = {stem: weights[stem] for stem in sorted(stems) if weights.get(stem, 0.0) > 0}
    length = math.sqrt(math.fsum(weight * weight for weight in known.values()))
    return {stem: weight / length for stem, weight in known.items()} if length else {}


def _joined(vectors: Sequence[Mapping[str, float]]) -> list[list[int]]:
    """Return groups of positions by average linkage, down to the least likeness.

    Likenesses are kept for pairs that share a stem alone, and joined ones follow from those of
    their parts (Lance and Williams 1967).
    """
    members: dict[int, list[int]] = {at: [at] for at in range(len(vectors))}
    alike = _likenesses(vectors)
    heap = [(-alike[a][b], a, b) for a in alike for b in alike[a] if a < b]
    heapq.heapify(heap)
    following = len(vectors)
    while heap:
        likeness, a, b = heapq.heappop(heap)
        if -likeness < ALIKE:
            break
        if a not in members or b not in members:
            continue
        new, following = following, following + 1
        size_a, size_b = len(members[a]), len(members[b])
        members[new] = members.pop(a) + members.pop(b)
        of_a, of_b = alike.pop(a), alike.pop(b)
        alike[new] = {}
        for other in sorted((of_a.keys() | of_b.keys()) - {a, b}):
            mean = (size_a * of_a.get(other, 0.0) + size_b * of_b.get(other, 0.0)) / (
                size_a + size_b
            )
            alike[other].pop(a, None)
            alike[other].pop(b, None)
            alike[other][new] = alike[new][other] = mean
            heapq.heappush(heap, (-mean, other, new))
    return [sorted(group) for group in members.values()]


def _likenesses(vectors: Sequence[Mapping[str, float]]) -> dict[int, dict[int, float]]:
    """Return the cosine of every two vectors that share a stem, both ways."""
    holders: dict[str, list[int]] = {}
    alike: dict[int, dict[int, float]] = {at: {} for at in range(len(vectors))}
    for at, vector in enumerate(vectors):
        for stem, weight in vector.items():
            for other in holders.get(stem, ()):
                product = weight * vectors[other][stem]
                alike[at][other] = alike[at].get(other, 0.0) + product
            holders.setdefault(stem, []).append(at)
    for at, row in alike.items():
        for other, cosine in row.items():
            if other < at:
                alike[other][at] = cosine
    return alike


def _gap(wordings: Sequence[Sequence[UncoveredQuestion]], weights: Mapping[str, float]) -> Gap:
    asked = [question for wording in wordings for question in wording]
    often = sorted(wordings, key=lambda wording: (-len(wording), wording[0].question))
    reasons = Counter(question.reason for question in asked)
    near: Counter[str] = Counter()
    for question in asked:
        for place, page in enumerate(question.pages, start=1):
            near[page] += 60 // place
    return Gap(
        words=_heaviest(asked, weights),
        asked=len(asked),
        wordings=len(wordings),
        reasons=tuple(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        pages=tuple(sorted(near, key=lambda page: (-near[page], page))[:_MOST_PAGES]),
        examples=tuple(wording[0].question for wording in often[:_MOST_EXAMPLES]),
    )


def _heaviest(
    questions: Sequence[UncoveredQuestion], weights: Mapping[str, float]
) -> tuple[str, ...]:
    """Return the words that weigh most in some questions, each as it is written most often."""
    weight: Counter[str] = Counter()
    written: dict[str, Counter[str]] = {}
    for question in questions:
        for stem in {stem for stem, _ in question.words} - _SAY_NOTHING:
            weight[stem] += round(1000 * weights.get(stem, 0.0))
        for stem, word in question.words:
            written.setdefault(stem, Counter())[word] += 1
    heaviest = sorted((stem for stem in weight if weight[stem] > 0), key=lambda s: (-weight[s], s))
    words: list[str] = []
    for stem in heaviest:
        word = min(written[stem], key=lambda one: (-written[stem][one], one))
        if not any(word in taken for taken in words):  # a part of write-ahead says nothing new
            words.append(word)
        if len(words) == LABEL_WORDS:
            break
    return tuple(words)
