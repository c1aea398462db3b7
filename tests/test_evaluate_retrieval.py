"""Figures of retrieval from hand-made hits, and the file of questions."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest

from ragctl.errors import UsageError
from ragctl.evaluate.questions import Gold, KnownQuestion, parse_questions, read_questions
from ragctl.evaluate.retrieval import evaluate_retrieval, figures, prompt_tokens, score
from ragctl.prompts import shipped
from ragctl.records.search import Hit, Query
from ragctl.records.vectors import EmbeddingIdentity, Purpose, Vector
from ragctl.stages.render import render
from ragctl.stages.tokens import estimated_tokens


def known(
    *gold: tuple[str, str | None], facts: Sequence[str] = (), kind: str = "natural", name: str = "q"
) -> KnownQuestion:
    """A question with gold places and facts."""
    return KnownQuestion(
        id=name,
        question=f"What of {name}?",
        kind=kind,
        track="",
        gold=tuple(Gold(url=url, section=section) for url, section in gold),
        must_contain=tuple(facts),
        answerable=bool(gold),
    )


def hits(*places: tuple[str, str | None, str]) -> tuple[Hit, ...]:
    """Hits in order, each an address, a section and a body."""
    return tuple(
        Hit(
            n=n,
            chunk_id=n,
            ref=f"{url}#c{n}",
            url=url,
            title=url,
            track="t",
            section=section,
            anchor=None,
            body=body,
            start_char=0,
            end_char=len(body),
            source_path="",
            score=1 / n,
            vector_score=1 / n,
        )
        for n, (url, section, body) in enumerate(places, start=1)
    )


def test_the_rank_of_page_and_section_is_that_of_the_first_that_fits() -> None:
    found = hits(("/x", "One", ""), ("/a", "Other", ""), ("/a", "The  one", ""))
    scored = score(known(("/a", "the One")), found, prompt_tokens=7)
    assert (scored.page_rank, scored.section_rank) == (2, 3)
    assert scored.prompt_tokens == 7


def test_what_is_not_found_has_rank_zero_and_what_is_not_asked_none() -> None:
    found = hits(("/x", None, ""))
    assert score(known(("/a", "S")), found, prompt_tokens=1).page_rank == 0
    assert score(known(("/x", None)), found, prompt_tokens=1).section_rank is None
    unanswerable = score(known(), found, prompt_tokens=1)
    assert (unanswerable.page_rank, unanswerable.missing) == (None, None)


def test_several_gold_pages_are_alternatives() -> None:
    found = hits(("/b", "T", ""), ("/a", "S", ""))
    scored = score(known(("/a", "S"), ("/b", "U")), found, prompt_tokens=1)
    assert (scored.page_rank, scored.section_rank) == (1, 2)


def test_facts_may_lie_in_several_passages_in_any_case_and_spacing() -> None:
    found = hits(("/a", None, "At most  64\nmaps."), ("/b", None, "PFCOUNT counts."))
    facts = ("64 maps", "pfcount", "absent")
    assert score(known(("/a", None), facts=facts), found, prompt_tokens=1).missing == ("absent",)


def test_figures_are_shares_of_the_questions_that_count() -> None:
    first = hits(("/a", "S", "yes"))
    second = hits(("/x", None, ""), ("/a", "Other", ""))
    none = hits(("/x", None, ""))
    scored = [
        score(known(("/a", "S"), facts=["yes"], kind="k1", name="1"), first, prompt_tokens=10),
        score(known(("/a", "S"), facts=["yes"], kind="k1", name="2"), second, prompt_tokens=20),
        score(known(("/a", None), facts=["yes"], kind="k2", name="3"), none, prompt_tokens=30),
        score(known(kind="k2", facts=["no"], name="4"), none, prompt_tokens=40),
    ]
    k1, k2, overall = figures(scored)
    assert (k1.kind, k2.kind, overall.kind) == ("k1", "k2", "all")
    assert (k1.pages_at_1, k1.pages_at_k, k1.sections_at_k, k1.facts_at_k) == (0.5, 1, 0.5, 0.5)
    assert (k2.questions, k2.with_gold, k2.sections_at_k) == (2, 1, None)
    assert overall.mrr == pytest.approx((1 + 0.5 + 0) / 3)
    assert overall.facts_at_k == pytest.approx(1 / 3)
    assert (overall.prompt_tokens_median, overall.prompt_tokens_p90) == (25, 40)


def test_figures_of_nothing_are_no_figures() -> None:
    (overall,) = figures([])
    assert (overall.questions, overall.pages_at_1, overall.prompt_tokens_p90) == (0, None, 0)


class Lengths:
    """Embeds a text as its length, and remembers how it was asked."""

    identity = EmbeddingIdentity(
        provider="test",
        model="lengths",
        digest="",
        dimensions=1,
        document_prefix="",
        query_prefix="",
    )

    def __init__(self) -> None:
        self.calls: list[tuple[int, Purpose]] = []

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Return the lengths."""
        self.calls.append((len(texts), purpose))
        return [array("f", [len(text)]) for text in texts]


class Same:
    """Finds the same for every question, and remembers the queries."""

    def __init__(self) -> None:
        self.queries: list[Query] = []

    def retrieve(self, query: Query) -> tuple[Hit, ...]:
        """Return one passage."""
        self.queries.append(query)
        return hits(("/a", None, "body"))


def test_questions_are_embedded_in_batches_as_questions_and_each_is_searched() -> None:
    embedder, retriever = Lengths(), Same()
    done: list[int] = []
    scored = list(
        evaluate_retrieval(
            [known(("/a", None), name=str(number)) for number in range(5)],
            embedder=embedder,
            retriever=retriever,
            k=3,
            batch_size=2,
            prompt_tokens=lambda question, found: len(question) + len(found),
            report=done.append,
        )
    )
    assert embedder.calls == [(2, "query"), (2, "query"), (1, "query")]
    assert [query.k for query in retriever.queries] == [3] * 5
    assert retriever.queries[0].vector[0] == len(scored[0].question.question)
    assert done == [2, 4, 5]
    assert [each.page_rank for each in scored] == [1] * 5


def test_prompt_tokens_are_those_of_the_prompt_that_would_be_sent() -> None:
    found = hits(("/a", None, "body " * 100), ("/b", None, "body " * 4000))
    sent = render("Why?", found, template=shipped("strict"), budget_tokens=1000)
    counted = prompt_tokens("Why?", found, template=shipped("strict"), budget_tokens=1000)
    assert counted == estimated_tokens(sent.text)
    assert counted < 1000


def test_a_question_needs_an_id_and_a_question_only() -> None:
    (question,) = parse_questions('\n{"id": "a", "question": "Why?", "new": 1}\n\n', name="q.jsonl")
    assert question == KnownQuestion(
        id="a",
        question="Why?",
        kind="unnamed",
        track="",
        gold=(),
        must_contain=(),
        answerable=True,
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "q.jsonl:2: the line is no JSON: see column 2"),
        ("[" * 100_000, "q.jsonl:2: the line is nested too deeply"),
        ("1" * 5_000, "q.jsonl:2: the line holds a number of too many digits"),
        ("[]", "q.jsonl:2: the line is no JSON object"),
        ('{"question": "Why?"}', "q.jsonl:2: id is missing"),
        ('{"id": "a", "question": " "}', "q.jsonl:2: question must be a text"),
        ('{"id": "a", "question": "?", "gold": {}}', "gold must be a list"),
        ('{"id": "a", "question": "?", "gold": ["/a"]}', "an entry of gold is no JSON object"),
        ('{"id": "a", "question": "?", "gold": [{"section": "S"}]}', "url is missing"),
        ('{"id": "a", "question": "?", "gold": [{"url": "/a", "section": 1}]}', "section of gold"),
        ('{"id": "a", "question": "?", "must_contain": [1]}', "must_contain must hold texts"),
        ('{"id": "a", "question": "?", "answerable": "no"}', "answerable must be true or false"),
        ('{"id": "first", "question": "Again?"}', "id 'first' is on line 1 too"),
    ],
)
def test_a_malformed_line_is_named(line: str, why: str) -> None:
    first = json.dumps({"id": "first", "question": "Why?"})
    with pytest.raises(UsageError) as raised:
        parse_questions(f"{first}\n{line}\n", name="q.jsonl")
    assert why in raised.value.message
    assert raised.value.message.startswith("q.jsonl:2: ")


def test_a_file_without_questions_is_an_error() -> None:
    with pytest.raises(UsageError):
        parse_questions("\n\n", name="q.jsonl")


def test_a_file_that_holds_no_text_is_refused_in_our_own_words(tmp_path: Path) -> None:
    wide = tmp_path / "wide.jsonl"
    wide.write_bytes('{"id": "a"}'.encode("utf-16"))
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b'{"id": "a"}\n\xff')
    for path, why in (
        (tmp_path, "is a directory"),
        (wide, "is not UTF-8 but UTF-16"),
        (torn, "is not UTF-8: line 2"),
        (tmp_path / "none.jsonl", "cannot be read: No such file or directory"),
        (tmp_path / "a\0b", "cannot be read: no file has such a name"),
    ):
        with pytest.raises(UsageError) as caught:
            read_questions(path)
        assert caught.value.message == f"{path} {why}"
