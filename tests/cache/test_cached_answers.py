"""An answer is kept only where nothing is wrong with it, and comes back whole."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ragctl.artifacts.storage import record_of
from ragctl.cache.answers import CachedAnswers, CachePolicy
from ragctl.cache.documents import document_of
from ragctl.cache.embedder import QuestionMemory, RememberingEmbedder
from ragctl.errors import DatabaseError, ModelUnreachable
from ragctl.records.answers import (
    Answer,
    Attempt,
    Citation,
    Claim,
    Finish,
    Problem,
    Prompt,
    Timings,
)
from ragctl.records.cached import ContentState, KeptAnswer, NewAnswer
from ragctl.records.evidence import Evidence
from ragctl.records.search import Hit
from ragctl.records.vectors import EmbeddingIdentity, Purpose, Vector

QUESTION = "How does it refill?"
HIT = Hit(
    n=1, chunk_id=7, ref="/a#c0", url="/a", title="A", track="a", section=None, anchor=None,
    body="It refills lazily.", start_char=0, end_char=18, source_path="a.md", score=0.9,
    vector_score=0.9,
)  # fmt: skip
EVIDENCE = Evidence(top_cosine=0.9, idf_share=1.0, best_match=0.9, verdict="strong")
ANSWER = Answer(
    question=QUESTION, text="It refills lazily [1].", refused=False, degraded=False, finish="stop",
    citations=(
        Citation(n=1, title="A", url="/a", section=None, anchor=None, link="/a", source_path="a.md",
                 passages=(1,), support="supported"),
    ),
    passages=(HIT, replace(HIT, n=2, chunk_id=9)), problems=(), route="ollama/llama3",
    attempts=(Attempt(route="ollama/llama3", outcome="stop", ms=5.0),),
    prompt=Prompt(text="P", question=QUESTION, template="t", passages=(HIT,), evidence=EVIDENCE),
    prompt_tokens=10, output_tokens=3, timings=Timings(total=5.0),
    claims=(Claim(text="It refills lazily [1].", cites=(1,), verdict="supported", why=""),),
    evidence=EVIDENCE, cost_usd=0.02, trace_id="0199",
)  # fmt: skip


class Shelf:
    """An :class:`~ragctl.protocols.AnswerCache` in memory, through JSON like the real one."""

    def __init__(self, *, fails: bool = False) -> None:
        self.kept: dict[str, NewAnswer] = {}
        self.counted: list[str] = []
        self.fails = fails

    def content(self) -> ContentState:
        if self.fails:
            raise DatabaseError("gone", hint="")
        return ContentState(last_chunk_id=9, passages=2)

    def find(self, *, scope: str, question_key: str) -> KeptAnswer | None:
        new = self.kept.get(question_key)
        return self._given(new) if new and new.scope == scope else None

    def nearest(
        self, *, scope: str, vector: Vector, at_least: float, at_most: int
    ) -> Sequence[KeptAnswer]:
        return [self._given(new) for new in self.kept.values() if new.scope == scope][:at_most]

    def served(self, kept: KeptAnswer, *, counter: str) -> None:
        self.counted.append(counter)

    def count(self, counter: str) -> None:
        self.counted.append(counter)

    def keep(self, new: NewAnswer) -> None:
        self.kept[new.question_key] = new

    def _given(self, new: NewAnswer) -> KeptAnswer:
        return KeptAnswer(
            scope=new.scope,
            question_key=new.question_key,
            question=new.question,
            document=json.loads(json.dumps(new.document)),
            trace_id=new.trace_id,
            cached_at=datetime(2026, 1, 1, tzinfo=UTC),
            age_seconds=60.0,
        )


def _read(values: Mapping[str, Any]) -> Answer:
    return record_of(Answer, values, "kept")


def _answers(
    shelf: Shelf,
    *,
    semantic: Any = "off",
    differing: Sequence[str] = (),
    hints: list[KeptAnswer] | None = None,
    lost: list[DatabaseError] | None = None,
) -> CachedAnswers:
    return CachedAnswers(
        shelf,
        scope="s",
        policy=CachePolicy(reads=True, semantic=semantic, threshold=0.8),
        read=_read,
        differs=lambda _one, _other: differing,
        on_hint=(hints if hints is not None else []).append,
        on_lost=(lost if lost is not None else []).append,
        clock=lambda: 1.0,
    )


def _vector() -> Vector:
    return array("f", [1.0])


def _keep(shelf: Shelf, answer: Answer) -> None:
    answers = _answers(shelf)
    answers.known("Something else?", vector=_vector)
    answers.keep(answer, vector=None)


def test_an_answer_comes_back_whole_but_for_what_this_call_took() -> None:
    shelf = Shelf()
    _keep(shelf, ANSWER)
    given = _answers(shelf).known("how does it REFILL", vector=_vector)
    assert given is not None
    assert given.cached
    assert (given.cached_seconds, given.cached_question) == (60.0, "")
    assert (given.prompt_tokens, given.cost_usd, given.trace_id) == (None, 0.0, "")
    of_this_call = {
        name: getattr(ANSWER, name)
        for name in ("question", "timings", "attempts", "prompt_tokens", "output_tokens",
                     "cost_usd", "trace_id", "cached", "cached_at", "cached_seconds")
    }  # fmt: skip
    assert replace(given, **of_this_call) == ANSWER


def test_a_passage_that_was_altered_for_the_prompt_is_kept_as_it_was_sent() -> None:
    sent = replace(HIT, body="It [withheld].")
    altered = replace(ANSWER, prompt=replace(ANSWER.prompt, passages=(sent,)))
    document = json.loads(json.dumps(document_of(altered)))
    assert document["prompt"]["passages"][0]["body"] == "It [withheld]."
    assert document_of(ANSWER)["prompt"]["passages"] == [1]


@pytest.mark.parametrize("finish", ["length", "repetition", "torn"])
def test_what_did_not_end_as_it_should_is_not_kept(finish: Finish) -> None:
    shelf = Shelf()
    _keep(shelf, replace(ANSWER, finish=finish))
    assert shelf.kept == {}


def test_what_is_degraded_flagged_or_cached_is_not_kept() -> None:
    shelf = Shelf()
    flagged = replace(ANSWER, problems=(Problem(code="fallback", message=""),))
    for answer in (replace(ANSWER, degraded=True), flagged, replace(ANSWER, cached=True)):
        _keep(shelf, answer)
    assert shelf.kept == {}


def test_a_refusal_weak_evidence_and_the_list_of_pages_end_with_any_change() -> None:
    weak = replace(EVIDENCE, verdict="weak")
    for answer, ends in (
        (ANSWER, False),
        (replace(ANSWER, refused=True), True),
        (replace(ANSWER, evidence=weak), True),
        (replace(ANSWER, prompt=replace(ANSWER.prompt, about_site="3 pages.")), True),
    ):
        shelf = Shelf()
        _keep(shelf, answer)
        (new,) = shelf.kept.values()
        assert (new.on_any_change, new.chunk_ids) == (ends, (7, 9))
        assert new.content == ContentState(last_chunk_id=9, passages=2)


def test_a_close_question_is_told_of_or_answered_unless_the_guards_object() -> None:
    shelf, hints = Shelf(), list[KeptAnswer]()
    _keep(shelf, ANSWER)
    asked = "In what way does it refill?"
    assert _answers(shelf).known(asked, vector=_vector) is None
    assert _answers(shelf, semantic="hint", hints=hints).known(asked, vector=_vector) is None
    assert [hint.question for hint in hints] == [QUESTION]
    given = _answers(shelf, semantic="answer").known(asked, vector=_vector)
    assert given is not None
    assert (given.question, given.cached_question) == (asked, QUESTION)
    guarded = _answers(shelf, semantic="answer", differing=["names"])
    assert guarded.known(asked, vector=_vector) is None


def test_a_model_out_of_reach_costs_the_close_questions_alone() -> None:
    def unreached() -> Vector:
        raise ModelUnreachable("no model", hint="")

    shelf = Shelf()
    _keep(shelf, ANSWER)
    answers = _answers(shelf, semantic="answer")
    assert answers.known("Another?", vector=unreached) is None
    assert answers.known(QUESTION, vector=unreached) is not None


def test_a_cache_that_fails_is_told_of_and_left_alone() -> None:
    shelf, lost = Shelf(fails=True), list[DatabaseError]()
    answers = _answers(shelf, lost=lost)
    assert answers.known(QUESTION, vector=_vector) is None
    answers.keep(ANSWER, vector=None)
    assert len(lost) == 1
    assert shelf.kept == {}


def test_what_cannot_be_read_is_written_anew() -> None:
    shelf = Shelf()
    _keep(shelf, ANSWER)
    (key, new), *_ = shelf.kept.items()
    for document in ({}, {**new.document, "finish": "gone"}, {**new.document, "prompt": None}):
        shelf.kept[key] = replace(new, document=document)
        assert _answers(shelf).known(QUESTION, vector=_vector) is None


class CountingEmbedder:
    """An embedder that counts what it is asked."""

    identity = EmbeddingIdentity(
        provider="test", model="m", digest="", dimensions=1, document_prefix="", query_prefix=""
    )

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        self.asked += texts
        return [array("f", [float(len(text))]) for text in texts]


def test_a_question_is_embedded_once_and_a_document_always() -> None:
    inner = CountingEmbedder()
    memory = QuestionMemory(None, reads=True, on_lost=lambda _error: None)
    embedder = RememberingEmbedder(inner.identity, lambda: inner, memory)
    first = embedder.embed(["a", "bb", "a"], purpose="query")
    assert embedder.embed(["bb", "a"], purpose="query") == [first[1], first[0]]
    assert inner.asked == ["a", "bb"]
    for _ in range(2):
        embedder.embed(["a"], purpose="document")
    assert inner.asked == ["a", "bb", "a", "a"]
