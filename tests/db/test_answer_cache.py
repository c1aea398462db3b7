"""The tables of the caches: what they give back, drop, and do when many are at them."""

from __future__ import annotations

from array import array
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from ragctl.db.answer_cache import CacheBounds, StoredAnswers
from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.records.cached import ContentState, NewAnswer
from ragctl.records.vectors import EmbeddingIdentity

Connection = psycopg.Connection[tuple[object, ...]]
BOUNDS = CacheBounds(days=7, at_most=100)
MODEL = EmbeddingIdentity(
    provider="p", model="m", digest="d", dimensions=768, document_prefix="", query_prefix="q: "
)


def _new(number: int = 1, *, chunk_ids: tuple[int, ...] = (), scope: str = "s") -> NewAnswer:
    vector = array("f", [1.0, float(number)] + [0.0] * 766)
    return NewAnswer(
        scope=scope,
        question_key=f"k{number}",
        question=f"Question {number}\x00?",
        document={"text": "It is \x00 and \ud800."},
        chunk_ids=chunk_ids,
        on_any_change=False,
        content=ContentState(last_chunk_id=0, passages=0),
        vector=vector,
        trace_id="",
    )


@pytest.fixture
def answers(database: Database) -> StoredAnswers:
    """The answers of an empty database."""
    return database.answer_cache(bounds=BOUNDS)


def test_an_answer_is_found_by_scope_and_question_alone(answers: StoredAnswers) -> None:
    answers.keep(_new())
    kept = answers.find(scope="s", question_key="k1")
    assert kept is not None
    assert kept.document == {"text": "It is \ufffd and \ufffd."}
    assert kept.question == "Question 1\ufffd?"
    assert answers.find(scope="t", question_key="k1") is None
    assert answers.find(scope="s", question_key="k2") is None


def test_an_answer_counts_only_while_its_passages_are_there(
    answers: StoredAnswers, connection: Connection
) -> None:
    answers.keep(_new(chunk_ids=(3,)))
    assert answers.find(scope="s", question_key="k1") is None
    (stale,) = connection.execute("SELECT stale FROM cached_answers").fetchall()
    assert stale == ("passages changed",)
    answers.keep(_new(2))
    assert answers.status().entries == 1
    assert [(one.name, one.counted) for one in answers.counters()] == [
        ("answers dropped: passages changed", 1)
    ]


def test_the_nearest_come_first_and_none_is_too_far(answers: StoredAnswers) -> None:
    for number in (9, 1, 2):
        answers.keep(_new(number))
    answers.keep(_new(1, scope="other"))
    asked = array("f", [1.0, 1.0] + [0.0] * 766)
    found = answers.nearest(scope="s", vector=asked, at_least=0.9, at_most=5)
    assert [kept.question_key for kept in found] == ["k1", "k2"]
    assert found[0].cosine == pytest.approx(1.0)
    assert found[1].cosine == pytest.approx(3 / (2**0.5 * 5**0.5))


def test_twenty_at_once_keep_and_count_and_none_fails(
    migrated_url: str, database: Database
) -> None:
    def work(number: int) -> None:
        with Database.over(connect(migrated_url), migrated_url) as own:
            answers = own.answer_cache(bounds=BOUNDS)
            vectors = own.question_embeddings(MODEL, bounds=BOUNDS)
            for _ in range(3):
                answers.keep(_new(number % 4))
                vectors.remember(f"h{number % 4}", array("f", [1.0] * 768))
                kept = answers.find(scope="s", question_key=f"k{number % 4}")
                assert kept is not None
                answers.served(kept, counter="served")

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(work, range(20)))
    answers = database.answer_cache(bounds=BOUNDS)
    assert answers.status().entries == 4
    assert [one.counted for one in answers.counters() if one.name == "served"] == [60]


def test_vectors_belong_to_one_model_and_are_bounded(database: Database) -> None:
    bounds = CacheBounds(days=7, at_most=2)
    vectors = database.question_embeddings(MODEL, bounds=bounds)
    for number in range(4):
        vectors.remember(f"h{number}", array("f", [float(number + 1)] * 768))
    assert [vectors.known(f"h{number}") is not None for number in range(4)] == [
        *(False, False),
        *(True, True),
    ]
    other = EmbeddingIdentity(
        provider="p", model="m", digest="d", dimensions=768, document_prefix="", query_prefix="r: "
    )
    assert database.question_embeddings(other, bounds=bounds).known("h3") is None
    vectors.served("h3")
    assert (vectors.status().entries, vectors.status().hits) == (2, 1)
    assert vectors.clear() == 2
