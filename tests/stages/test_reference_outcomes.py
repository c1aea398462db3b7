"""What became of known failures of a first version, on facts of our own in its answers' place.

Each is one that the check of an answer is responsible for; the others are found by retrieval, the
chunker, the catalogue or the guard against repetition, and tested there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragctl.records.answers import Claim, Draft, Problem, Prompt
from ragctl.records.search import Hit
from ragctl.stages.check import find_problems
from ragctl.stages.claims import check_claims, is_unfounded
from ragctl.stages.refusals import is_refusal
from tests.hits import hit_of

QUEUES = hit_of(
    "A consumer group shares the partitions of a topic, so that each message is handled by one "
    "member. Offsets are committed by the group.",
    1,
    title="Kafka",
)
STORE = hit_of("Redis is fast because it keeps its data in memory.", 2, title="Why Redis is fast")
CACHE = hit_of(
    "A delete in the database's change log invalidates the cache. A lease refuses a late fill "
    "after the key was deleted; it does not invalidate the cache. Deletes can be lost, and a TTL "
    "of 120 seconds bounds the damage.",
    3,
    title="Caching",
)
EXTENSIONS = hit_of(
    "GIN and GiST index types come with extensions such as `pg_trgm`.", 4, title="Index extensions"
)
PARTIAL = hit_of(
    "A partial index covers only rows matching a condition, a subset.", 5, title="Partial indexes"
)
FIVE = (QUEUES, STORE, CACHE, EXTENSIONS, PARTIAL)


def only(text: str, passages: Sequence[Hit] = FIVE) -> Claim:
    (claim,) = check_claims(text, passages)
    return claim


def problems(text: str, passages: Sequence[Hit] = FIVE) -> list[Problem]:
    refused = is_refusal(text)
    prompt = Prompt(text="", question="", template="", passages=tuple(passages))
    draft = Draft(text=text, route="test", finish="stop")
    claims = () if refused else check_claims(text, passages)
    return list(find_problems(draft, prompt, refused=refused, claims=claims))


def test_the_right_claim_with_the_number_of_a_neighbouring_section_is_misattributed() -> None:
    claim = only("A partial index covers a subset of rows, as described in [4].")
    assert claim.verdict == "misattributed"
    assert "passage [5] supports it" in claim.why
    assert [p.code for p in problems(claim.text)] == ["misattributed_claim"]


def test_where_no_passage_has_it_the_wrong_number_is_unsupported() -> None:
    claim = only("A partial index covers a subset of rows, as described in [4].", FIVE[:4])
    assert claim.verdict == "unsupported"


def test_general_knowledge_added_without_a_citation_is_unfounded() -> None:
    text = (
        "A consumer group shares the partitions of a topic [1]. Redis, however, is not designed as "
        "a job queue. It lacks the scalability, durability and exactly-once processing of Kafka."
    )
    sound, first, second = check_claims(text, FIVE)
    assert sound.verdict == "supported"
    assert is_unfounded(first)
    assert is_unfounded(second)
    assert [p.code for p in problems(text)] == ["uncited_claim"]


def test_general_knowledge_with_a_citation_is_unsupported() -> None:
    claim = only("Redis can be used as a message broker with streams and acknowledgements [2].")
    assert claim.verdict == "unsupported"


def test_a_misreading_that_turns_the_passage_round_is_unsupported() -> None:
    claim = only("A lease does invalidate the cache [3].")
    assert (claim.verdict, claim.why) == ("unsupported", "passage [3] says that it is not so")


def test_a_number_other_than_the_passage_has_is_unsupported() -> None:
    assert (
        only("A TTL of 120 seconds bounds the damage of lost deletes [3].").verdict == "supported"
    )
    claim = only("A TTL of 300 seconds bounds the damage of lost deletes [3].")
    assert claim.verdict == "unsupported"
    assert "the number 300 is not in passage [3]" in claim.why


def test_a_refusal_is_an_outcome_of_its_own_and_no_failure_to_cite() -> None:
    text = "There is no mention of PFCOUNT in the provided passages."
    assert is_refusal(text)
    assert problems(text) == []


def test_a_hedge_before_a_cited_answer_is_an_answer_and_its_claim_is_checked() -> None:
    text = (
        "The passages do not directly answer the question. However, a lease refuses a late fill "
        "after the key was deleted [3]."
    )
    assert not is_refusal(text)
    assert only(text).verdict == "supported"


def test_describing_passage_after_passage_that_has_nothing_is_a_refusal() -> None:
    text = (
        "The passage [3] does not provide direct information on hashing. The passage [4] does not "
        "provide any information on hashing."
    )
    assert is_refusal(text)
