"""How likely passages can answer a question."""

from __future__ import annotations

import random

import pytest

from ragctl.records.evidence import Calibration, CoveredTerm, Evidence
from ragctl.records.search import Hit
from ragctl.stages.evidence import calibrate, evidence_of, judged, probability_of

CALIBRATION = Calibration(embedding_model="m", bias=-3.0, cosine=4.0, match=4.0)


def _hit(n: int, cosine: float | None) -> Hit:
    return Hit(
        n=n,
        chunk_id=10 + n,
        ref=f"/a/page#c{n}",
        url="/a/page",
        title="Title",
        track="a",
        section=None,
        anchor=None,
        body="Body.",
        start_char=0,
        end_char=5,
        source_path="a/page.md",
        score=cosine or 0.5,
        vector_score=cosine,
    )


def _term(
    term: str, idf: float, *held_by: int, passages: int = 5, is_name: bool = False
) -> CoveredTerm:
    return CoveredTerm(term=term, passages=passages, idf=idf, is_name=is_name, held_by=held_by)


def _evidence(cosine: float, match: float, *, rare_name: str = "") -> Evidence:
    return Evidence(top_cosine=cosine, idf_share=0.5, best_match=match, rare_name=rare_name)


def test_shares_are_of_the_idf_of_the_whole_question_unknown_terms_included() -> None:
    terms = [_term("refil", 3.0, 11), _term("bucket", 1.0, 11, 12), _term("paxo", 4.0, passages=0)]
    found = evidence_of([_hit(1, 0.5), _hit(2, 0.8)], terms, names=())
    assert found.top_cosine == 0.8
    assert found.idf_share == pytest.approx(4 / 8)
    assert found.best_match == pytest.approx(0.5 * 4 / 8)  # not 0.8 x 1/8


def test_the_rarest_written_name_that_stands_in_the_site_is_told_with_its_passage() -> None:
    terms = [
        _term("pfcount", 6.0, 12, passages=2, is_name=True),
        _term("hll", 5.0, 11, passages=4, is_name=True),
        _term("api", 1.0, 11, passages=300, is_name=True),
    ]
    hits = [_hit(1, 0.5), _hit(2, 0.4)]
    found = evidence_of(hits, terms, names={"pfcount", "hll", "api"})
    assert (found.rare_name, found.named_in) == ("pfcount", 2)
    assert evidence_of(hits, terms, names={"api"}).rare_name == ""  # too common to tell anything
    assert evidence_of(hits, terms, names=set()).rare_name == ""  # a run of plain words


def test_nothing_found_and_nothing_asked_are_no_error() -> None:
    assert evidence_of([], [], names=()).top_cosine is None
    assert evidence_of([_hit(1, None)], [_term("a", 1.0, 11)], names=()).best_match == 0.0


def test_verdicts_follow_the_probability() -> None:
    assert judged(_evidence(0.9, 0.8), CALIBRATION).verdict == "strong"
    assert judged(_evidence(0.5, 0.3), CALIBRATION).verdict == "weak"
    assert judged(_evidence(0.2, 0.1), CALIBRATION).verdict == "not covered"


def test_not_covered_is_never_said_where_a_rare_name_stands_in_the_site() -> None:
    found = judged(_evidence(0.2, 0.1, rare_name="pfcount"), CALIBRATION)
    assert found.verdict == "weak"
    assert found.probability == judged(_evidence(0.2, 0.1), CALIBRATION).probability


def test_without_a_calibration_or_a_vector_there_is_no_probability() -> None:
    assert judged(_evidence(0.2, 0.1), None).probability is None
    by_words = Evidence(top_cosine=None, idf_share=0.9, best_match=0.0)
    assert judged(by_words, CALIBRATION).verdict == ""


def test_fitting_tells_two_kinds_apart_and_knows_how_sure_it_is() -> None:
    chance = random.Random(4)
    good = [_evidence(chance.gauss(0.6, 0.1), chance.gauss(0.4, 0.1)) for _ in range(200)]
    bad = [_evidence(chance.gauss(0.4, 0.1), chance.gauss(0.2, 0.1)) for _ in range(50)]
    fitted = calibrate(good, bad, embedding_model="m")
    assert fitted.questions == 250
    assert sum(probability_of(one, fitted) > 0.5 for one in good) > 180
    assert sum(probability_of(one, fitted) < 0.5 for one in bad) > 40
    between = probability_of(_evidence(0.5, 0.3), fitted)
    assert 0.35 < between < 0.65  # even odds half way, whatever the mixture


def test_kinds_that_separate_wholly_still_give_finite_weights() -> None:
    fitted = calibrate([_evidence(0.9, 0.9)] * 10, [_evidence(0.1, 0.1)] * 10, embedding_model="m")
    assert abs(fitted.bias) < 100 and abs(fitted.cosine) < 100
    assert probability_of(_evidence(0.9, 0.9), fitted) > 0.75


def test_too_few_questions_are_refused_with_their_numbers() -> None:
    with pytest.raises(ValueError, match="3 answerable and 10 unanswerable"):
        calibrate([_evidence(0.9, 0.9)] * 3, [_evidence(0.1, 0.1)] * 10, embedding_model="m")
