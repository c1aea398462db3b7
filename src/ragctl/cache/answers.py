"""Answers that are given again: looked up before a question is searched for, kept afterwards."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from ragctl.cache.documents import answer_of, document_of, ends_with_any_change, may_be_kept
from ragctl.cache.keys import hash_of, normalised
from ragctl.errors import DatabaseError, DatabaseUnsuitable, ModelError, RagctlError
from ragctl.records.cached import ContentState, KeptAnswer, NewAnswer

if TYPE_CHECKING:
    from ragctl.protocols import AnswerCache
    from ragctl.records.answers import Answer
    from ragctl.records.vectors import Vector

CANDIDATES: Final = 5
SERVED: Final = "answers served"
SERVED_CLOSE: Final = "answers served to another question"
HINTS: Final = "hints given"
MISSED: Final = "answers not found"


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """How a cache is used: ``semantic`` says what a close question is worth.

    ``reads`` is false where everything is to be written anew; ``threshold`` is the least cosine of
    a question that may be the same.
    """

    reads: bool
    semantic: Literal["off", "hint", "answer"]
    threshold: float


class CachedAnswers:
    """Finds and keeps answers within one ``scope``; without a cache it does neither.

    ``differs`` tells why two questions are not the same, nothing where they may be; ``read`` makes
    a record of JSON. A close question goes to ``on_hint``, an error of the database once to
    ``on_lost``: then the cache is left alone.
    """

    def __init__(
        self,
        cache: AnswerCache | None,
        *,
        scope: str,
        policy: CachePolicy,
        read: Callable[[Mapping[str, Any]], Answer],
        differs: Callable[[str, str], Sequence[str]],
        on_hint: Callable[[KeptAnswer], None],
        on_lost: Callable[[DatabaseError], None],
        clock: Callable[[], float],
    ) -> None:
        self._cache = cache
        self._scope = scope
        self._policy = policy
        self._read = read
        self._differs = differs
        self._on_hint = on_hint
        self._on_lost = on_lost
        self._clock = clock
        self._content: ContentState | None = None

    def known(self, question: str, *, vector: Callable[[], Vector]) -> Answer | None:
        """Return the answer that was kept for a question, ``None`` where it must be written.

        ``vector`` is called where close questions count, and may raise a
        :class:`~ragctl.errors.ModelError`: then none is looked for.
        """
        if self._cache is None:
            return None
        began = self._clock()
        try:
            self._content = self._cache.content()
            if not self._policy.reads:
                return None
            kept = self._cache.find(scope=self._scope, question_key=_key(question))
            close = None if kept else self._close(question, vector, self._cache)
            if kept is None and close is not None and self._policy.semantic == "answer":
                kept = close
            answer = self._given(kept, question, began, is_other=kept is close) if kept else None
            if answer is None:
                self._missed(close)
        except DatabaseError as error:
            self._lost(error)
            return None
        return answer

    def keep(self, answer: Answer, *, vector: Vector | None) -> None:
        """Keep an answer where it may be given again; ``vector`` is that of its question."""
        if self._cache is None or self._content is None or not may_be_kept(answer):
            return
        new = NewAnswer(
            scope=self._scope,
            question_key=_key(answer.question),
            question=answer.question,
            document=document_of(answer),
            chunk_ids=tuple(hit.chunk_id for hit in answer.passages),
            on_any_change=ends_with_any_change(answer),
            content=self._content,
            vector=vector or array("f"),
            trace_id=answer.trace_id,
        )
        try:
            self._cache.keep(new)
        except DatabaseError as error:
            self._lost(error)

    def _close(
        self, question: str, vector: Callable[[], Vector], cache: AnswerCache
    ) -> KeptAnswer | None:
        if self._policy.semantic == "off":
            return None
        try:
            asked = vector()
        except ModelError:
            return None
        if not asked:
            return None
        candidates = cache.nearest(
            scope=self._scope,
            vector=asked,
            at_least=self._policy.threshold,
            at_most=CANDIDATES,
        )
        return next((one for one in candidates if not self._differs(one.question, question)), None)

    def _given(
        self, kept: KeptAnswer, question: str, began: float, *, is_other: bool
    ) -> Answer | None:
        """Return what was kept as an answer, ``None`` where it cannot be read."""
        total_ms = (self._clock() - began) * 1000
        try:
            answer = answer_of(
                kept, question, read=self._read, is_other=is_other, total_ms=total_ms
            )
        except (RagctlError, KeyError, TypeError, ValueError):
            return None
        self._note(lambda cache: cache.served(kept, counter=SERVED_CLOSE if is_other else SERVED))
        return answer

    def _missed(self, close: KeptAnswer | None) -> None:
        if close is not None and self._policy.semantic == "hint":
            self._on_hint(close)
            self._note(lambda cache: cache.count(HINTS))
        self._note(lambda cache: cache.count(MISSED))

    def _note(self, write: Callable[[AnswerCache], None]) -> None:
        """Write a figure that no answer depends on."""
        if self._cache is None:
            return
        try:
            write(self._cache)
        except DatabaseUnsuitable as error:
            self._lost(error)
        except DatabaseError:
            pass  # another session is at it, or keeping the answer will tell

    def _lost(self, error: DatabaseError) -> None:
        self._cache = None
        self._on_lost(error)


def _key(question: str) -> str:
    return hash_of(normalised(question))
