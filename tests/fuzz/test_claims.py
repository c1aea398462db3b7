"""Any answer, held against any passages, gets a verdict for each statement, and in time."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from ragctl.records.answers import Claim, Verdict
from ragctl.records.search import Hit
from ragctl.stages.claims import check_claims, statements_of
from ragctl.stages.extract import extract
from ragctl.stages.strict import without_doubtful
from tests.fuzz.grammar import ANSWERS, BLOCKS, NESTED
from tests.fuzz.property import fuzzed, in_time
from tests.hits import hit_of

BODIES = st.one_of(
    BLOCKS,
    NESTED,
    st.just("A token bucket holds at most 1,000 tokens. It never blocks.\n\n| a | 250 ms |\n"),
)
HITS = st.lists(BODIES, max_size=3).map(
    lambda bodies: tuple(hit_of(body, n) for n, body in enumerate(bodies, start=1))
)


@fuzzed(ANSWERS, HITS, runs=60)
def test_each_statement_has_a_verdict_and_cites_what_is_there(
    text: str, hits: tuple[Hit, ...]
) -> None:
    with in_time():
        claims = check_claims(text, hits)
    assert len(claims) == len(statements_of(text, passages=len(hits)))
    for claim in claims:
        assert claim.verdict in get_args(Verdict)
        assert claim.text.strip()
        assert all(1 <= number <= len(hits) for number in claim.cites)
    assert check_claims(text, hits) == claims


@fuzzed(ANSWERS, st.data(), runs=60)
def test_what_is_left_of_an_answer_was_in_it(text: str, data: st.DataObject) -> None:
    verdicts: st.SearchStrategy[Verdict] = st.sampled_from(get_args(Verdict))
    claims = [
        Claim(text=one.text, cites=one.cites, verdict=data.draw(verdicts), why="not there")
        for one in statements_of(text, passages=3)
    ]
    with in_time():
        left = without_doubtful(text, claims)
    written = set(text.replace("**", "").split()) | {w for one in claims for w in one.text.split()}
    assert set(left.replace("**", "").split()) <= written | set(text.split())


@fuzzed(ANSWERS, BODIES, runs=40)
def test_an_extract_of_any_passage_quotes_it(question: str, body: str) -> None:
    hit = hit_of(body)
    with in_time():
        written = extract(question[:300], (hit,))
    assert written.strip()
