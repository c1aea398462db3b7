"""Stored calibrations, and the terms of a question that evidence is computed from."""

from __future__ import annotations

import psycopg

from ragctl.db.database import Database
from ragctl.records.evidence import Calibration
from ragctl.records.search import Query
from ragctl.stages.names import names_asked
from tests.db.test_search import _store, _vector

CALIBRATION = Calibration(embedding_model="m/1", bias=-3.0, cosine=4.0, match=5.0, questions=40)


def test_a_calibration_belongs_to_one_model_and_the_last_one_counts(database: Database) -> None:
    assert database.calibrations.of("m/1") is None
    database.calibrations.store(CALIBRATION, figures={"recall": 0.9})
    later = Calibration(embedding_model="m/1", bias=-2.0, cosine=1.0, match=1.0, questions=50)
    database.calibrations.store(later, figures={})
    assert database.calibrations.of("m/1") == later
    assert database.calibrations.of("m/2") is None
    database.calibrations.forget("m/1")
    assert database.calibrations.of("m/1") is None


def test_terms_tell_which_passages_hold_them_and_unknown_words_weigh_most(
    database: Database, connection: psycopg.Connection[tuple[object, ...]]
) -> None:
    _store(database, 1, ["The bucket refills lazily.", "A queue holds work.", "bpf_reg_state"])
    database.chunks.refresh_terms()
    found = database.retriever("vector", names_asked=names_asked).retrieve(
        Query(text="", vector=_vector(100), k=2)
    )
    terms = database.coverage(names_asked=names_asked).of(
        "Does the bucket queue proposers for bpf_reg_state <script>?", found
    )
    by_term = {term.term: term for term in terms}
    held = {hit.chunk_id for hit in found}
    for term in terms:
        holding = connection.execute(
            "SELECT id FROM chunks WHERE search @@ plainto_tsquery('simple', %s)", (term.term,)
        ).fetchall()
        assert set(term.held_by) == {row[0] for row in holding} & held
    assert by_term["propos"].passages == 0 and not by_term["propos"].held_by
    assert by_term["propos"].idf == max(term.idf for term in terms)
    assert by_term["bpfregstate"].is_name
    assert not by_term["bucket"].is_name
    assert "bucketqueue" not in by_term  # a run of words that names nothing here
    assert list(terms) == sorted(terms, key=lambda term: -term.idf)


def test_a_question_of_stop_words_and_no_passages_have_no_terms(database: Database) -> None:
    coverage = database.coverage(names_asked=names_asked)
    assert coverage.of("what is the?", []) == ()
    assert all(not term.held_by for term in coverage.of("bucket \\ ' \0", []))
