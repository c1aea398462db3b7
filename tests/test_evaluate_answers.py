"""Figures of answers from hand-made ones: what counts for which figure, and who wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from ragctl.errors import ModelReplyError, ModelUnreachable
from ragctl.evaluate.answer_runs import answer_outcomes, answers_run, compare_answers
from ragctl.evaluate.answers import (
    MEANS,
    SHARES,
    ScoredAnswer,
    answer_figures,
    answer_values,
    evaluate_answers,
    score_answer,
)
from ragctl.evaluate.questions import Gold, KnownQuestion, QuestionFile
from ragctl.evaluate.runs import RunBase
from ragctl.records.answers import (
    Answer,
    Citation,
    Claim,
    Finish,
    Problem,
    Prompt,
    Timings,
    Verdict,
)
from ragctl.records.search import Hit
from ragctl.records.vectors import EmbeddingIdentity, IndexIdentity

PASSAGES = tuple(
    Hit(
        n=n, chunk_id=n, ref=f"/p{n}#c0", url=f"/p{n}", title="", track="t", section="S",
        anchor=None, body="", start_char=0, end_char=1, source_path="", score=1.0,
        vector_score=1.0,
    )
    for n in (1, 2)
)  # fmt: skip


def known(
    name: str = "q",
    *gold: tuple[str, str | None],
    facts: Sequence[str] = (),
    answerable: bool = True,
    kind: str = "natural",
) -> KnownQuestion:
    """A question with gold places and facts."""
    return KnownQuestion(
        id=name,
        question=f"What of {name}?",
        kind=kind,
        track="",
        gold=tuple(Gold(url=url, section=section) for url, section in gold),
        must_contain=tuple(facts),
        answerable=answerable,
    )


def given(
    text: str = "It is [1].",
    *cited: tuple[str, str | None],
    refused: bool = False,
    verdicts: Sequence[Verdict] = (),
    problems: int = 0,
    route: str = "ollama/a",
    finish: Finish = "stop",
    passages: tuple[Hit, ...] = PASSAGES,
) -> Answer:
    """An answer that cites some places."""
    return Answer(
        question="",
        text=text,
        refused=refused,
        degraded=route == "extractive",
        finish=finish,
        citations=tuple(
            Citation(
                n=1, title="", url=url, section=section, anchor=None, link=url, source_path="",
                passages=(1,),
            )
            for url, section in cited
        ),
        passages=passages,
        problems=(Problem(code="x", message=""),) * problems,
        route=route,
        attempts=(),
        prompt=Prompt(text="", question="", template="balanced/2", passages=passages),
        prompt_tokens=None,
        output_tokens=None,
        timings=Timings(),
        claims=tuple(Claim(text="", cites=(), verdict=verdict, why="") for verdict in verdicts),
    )  # fmt: skip


def scored(question: KnownQuestion, answer: Answer | None, ms: float = 1.0) -> ScoredAnswer:
    """Score an answer."""
    return score_answer(question, answer, ms=ms)


REFUSED = given("The passages do not say.", refused=True)


def test_refusing_is_measured_by_recall_and_by_precision() -> None:
    off_site = known(answerable=False)
    figures = answer_figures(
        [
            scored(known(), given()),
            scored(known(), REFUSED),
            scored(off_site, REFUSED),
            scored(off_site, REFUSED),
            scored(off_site, given()),
        ]
    )[-1]
    assert figures.means["answered"] == 1 / 2
    assert figures.means["refusal_recall"] == 2 / 3
    assert figures.means["refusal_precision"] == 2 / 3
    assert (figures.questions, figures.answerable, figures.refused) == (5, 2, 3)


def test_facts_are_looked_for_in_the_answer_without_its_citations() -> None:
    question = known("q", ("/p1", None), facts=("At most 64", "pfcount"))
    both = scored(question, given("At  most [1] 64, by PFCOUNT [2]."))
    assert both.missing == ()
    one = scored(question, given("It is at most 64 [1]."))
    assert one.missing == ("pfcount",)
    assert (answer_values(one)["facts"], answer_values(one)["any_fact"]) == (0.0, 1.0)
    refused = scored(question, given("The passages do not say at most 64.", refused=True))
    assert answer_values(refused)["any_fact"] == 0.0
    assert answer_values(scored(known(), given()))["facts"] is None


def test_an_answer_that_was_withheld_is_neither_answered_nor_refused() -> None:
    question = known("q", ("/a", None), facts=("withheld",))
    withheld = replace(given("This answer was withheld."), withheld=True)
    values = answer_values(scored(question, withheld))
    assert (values["answered"], values["facts"], values["gold_page"]) == (0.0, 0.0, 0.0)
    assert (values["cited"], values["refusal_precision"]) == (None, None)
    figures = answer_figures([scored(question, withheld)])[-1]
    assert (figures.refused, figures.words_median) == (0, 0)


def test_a_citation_is_valid_that_leads_to_a_passage_and_none_may_lead_nowhere() -> None:
    for text, cited in (("A [1].", 1.0), ("A [1]. B [9].", 0.0), ("A.", 0.0)):
        assert answer_values(scored(known(), given(text)))["cited"] == cited
    assert answer_values(scored(known(), REFUSED))["cited"] is None
    listed = given("Two pages.", ("/p1", None), route="catalogue", passages=())
    assert answer_values(scored(known(), listed))["cited"] is None


def test_gold_is_cited_by_page_and_by_section() -> None:
    question = known("q", ("/a", "The  part"), ("/b", None))
    for place, page, section in (
        (("/a", "the part"), 1.0, 1.0),
        (("/a", "Other"), 1.0, 0.0),
        (("/b", None), 1.0, 0.0),
        (("/c", "The part"), 0.0, 0.0),
    ):
        values = answer_values(scored(question, given("x [1].", place)))
        assert (values["gold_page"], values["gold_section"]) == (page, section)
    assert answer_values(scored(question, REFUSED))["gold_page"] == 0.0
    assert answer_values(scored(known("q", ("/a", None)), given()))["gold_section"] is None


def test_claims_are_a_mean_over_answers_and_a_count_over_all() -> None:
    figures = answer_figures(
        [
            scored(known(), given(verdicts=("supported", "supported", "weak", "uncited"))),
            scored(known(), given(verdicts=("supported",), problems=3)),
            scored(known(), REFUSED),
        ]
    )[-1]
    assert figures.means["supported"] == 3 / 4
    assert figures.claims == {"supported": 3, "weak": 1, "uncited": 1}
    assert figures.means["problems"] == 1.0


def test_counts_lengths_and_times() -> None:
    answers = [
        given("one two three [1]", route="extractive"),
        given("one [1]", finish="torn"),
        given("one two", route="catalogue", passages=()),
    ]
    rows = [
        scored(known(kind="b"), each, ms=ms)
        for each, ms in zip(answers, (10.0, 30.0, 20.0), strict=True)
    ]
    failed = scored(known(kind="a"), None, ms=9000.0)
    kinds = answer_figures([*rows, failed])
    assert [row.kind for row in kinds] == ["a", "b", "all"]
    overall = kinds[-1]
    assert (overall.words_median, overall.ms_median, overall.ms_p90) == (2, 20, 30)
    counts = (overall.extractive, overall.incomplete, overall.from_list, overall.failed)
    assert counts == (1, 1, 1, 1)
    assert kinds[0].means["answered"] == 0.0  # a failure is no answer
    assert kinds[0].means["problems"] is None
    assert set(overall.means) == set(MEANS)


def test_who_wins_is_decided_by_answering_then_facts_then_page() -> None:
    question = known("q", ("/a", None), facts=("fact",))
    off_site = known("off", answerable=False)
    good = given("The fact [1].", ("/a", None))
    pairs = [
        (question, REFUSED, good, "answered"),
        (question, given("No [1].", ("/a", None)), good, "facts"),
        (question, given("The fact [1].", ("/b", None)), good, "page"),
        (off_site, given(), REFUSED, "refused"),
    ]
    for known_question, worse, better, by in pairs:
        won = compare_answers([scored(known_question, worse)], [scored(known_question, better)])
        assert [each.by for each in won.won] == [by]
        assert (won.lost, won.alike) == ((), 0)
        lost = compare_answers([scored(known_question, better)], [scored(known_question, worse)])
        assert [each.by for each in lost.lost] == [by]
    alike = compare_answers([scored(question, good)], [scored(question, good)])
    assert (alike.won, alike.lost, alike.alike) == ((), (), 1)
    assert {each.figure for each in alike.differences} == set(MEANS)


def _asker(*outcomes: Answer | Exception) -> Callable[[str], Answer]:
    waiting = iter(outcomes)

    def ask(_question: str) -> Answer:
        outcome = next(waiting)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return ask


def _evaluated(*outcomes: Answer | Exception) -> list[ScoredAnswer]:
    ticks = count()
    return list(
        evaluate_answers(
            [known(f"q{number}") for number in range(len(outcomes))],
            ask=_asker(*outcomes),
            report=lambda done: None,
            clock=lambda: float(next(ticks)),
        )
    )


def test_a_failure_in_the_middle_is_counted_and_the_run_goes_on() -> None:
    slow = ModelUnreachable("too slow")
    found = _evaluated(given(), slow, slow, given(), slow)
    assert [each.error for each in found] == ["", "too slow", "too slow", "", "too slow"]
    assert [each.ms for each in found] == [1000.0] * 5


def test_a_model_that_never_answers_ends_the_run() -> None:
    broken = ModelReplyError("out of memory")
    with pytest.raises(ModelReplyError):
        _evaluated(broken, given())
    with pytest.raises(ModelReplyError):
        _evaluated(given(), broken, broken, broken, given())


def test_a_run_is_stored_by_its_route_without_any_text() -> None:
    embedding = EmbeddingIdentity(
        provider="ollama", model="n", digest="", dimensions=768, document_prefix="", query_prefix=""
    )
    rows = [scored(known("q", facts=("fact",)), given("No [1].", verdicts=("weak",)))]
    base = RunBase(
        at=datetime(2026, 3, 4, tzinfo=UTC),
        file=QuestionFile(path=Path("folder/questions.jsonl"), text="", sha256="aa"),
        identity=IndexIdentity(embedding=embedding, chunker="c", chunker_parameters={}),
        passages=7,
        k=5,
        program_version="1",
    )
    run = answers_run(rows, base, run_id="r", route="ollama/a")
    assert (run.kind, run.label, run.file) == ("answers", "ollama/a", "questions.jsonl")
    assert run.figures["facts"] == 0.0
    assert run.figures["supported"] == 0.0
    assert set(SHARES) <= set(run.figures)
    assert answer_outcomes(rows) == [
        {
            "id": "q",
            "answered": True,
            "refused": False,
            "failed": False,
            "missing": 1,
            "gold_page": None,
            "supported": 0.0,
            "problems": 0.0,
            "ms": 1.0,
        }
    ]
