"""Where claims begin and end, what of an answer is none, and plain denials of a passage."""

from __future__ import annotations

import pytest

from ragctl.records.answers import Claim, Draft, Prompt
from ragctl.stages.check import find_problems
from ragctl.stages.claims import check_claims, is_unfounded, statements_of
from ragctl.stages.claims.words import numbers_of, stem, words_of
from ragctl.stages.refusals import is_refusal
from tests.hits import hit_of

PASSAGES = (
    hit_of("The bucket has a capacity. A window counts what came in.", 1),
    hit_of(
        "Tokens are added periodically and requests are only allowed if a token is available. "
        "Bursts are fine up to the size of the bucket.",
        2,
    ),
)


def claims_of(text: str) -> list[str]:
    return [statement.text for statement in statements_of(text, passages=3)]


def only(text: str) -> Claim:
    (claim,) = check_claims(text, PASSAGES)
    return claim


@pytest.mark.parametrize(
    "claims",
    [
        (
            "token bucket allows short bursts [1].",
            "tryConsume() returns 42 tokens [2].",
            "refillBuckets() deletes the database [2].",
        ),
        (
            "Map is full [1].",
            "bpf_map_update returns 5 [2].",
            "Élan works [3].",
            "Über alles gilt [1].",
        ),
        ("Буфер заполнен данными [1].", "Ёмкость равна пяти [2]."),
        ("It holds tokens.", "Élan works as well."),
        ("It holds tokens.", "tryConsume() takes one of them.", "free(p) gives one back."),
        ("The bucket refills. [1]", "tryConsume() returns 42 tokens. [2]"),
        ("The bucket refills.[1]", "It holds tokens.[2]", "the rest waits [3]."),
        ("The bucket refills. [passage 1]", "It holds tokens. [passage 2]"),
        ("Data is kept (see [1]).", "tokens are added [2]."),
        ("It holds tokens [2].", "[3] says more too."),
    ],
)
def test_each_sentence_is_a_claim_whatever_it_begins_with(claims: tuple[str, ...]) -> None:
    assert claims_of(" ".join(claims)) == list(claims)


@pytest.mark.parametrize(
    "claim",
    [
        "Some limits are soft, e.g. [1]. something small [1].",
        "Use e.g. tryConsume() or the like of it, i.e. bpf_map here [1].",
        "It waits... then goes on [1]... and ends there [2].",
        "Edit main.py or conf.d/x.conf before a start [1].",
        "It runs v1.2.3 of the program since 3.5 was withdrawn [1].",
        "The paper by É. Zola counts tokens [1].",
        "The call `a. b [1]. c` is code [1].",
    ],
)
def test_abbreviations_numbers_and_file_names_end_no_claim(claim: str) -> None:
    assert claims_of(claim) == [claim]


def test_what_follows_a_hedge_is_seen_though_it_begins_with_an_identifier() -> None:
    assert not is_refusal("The passages do not mention Redis. tryConsume() returns 42 tokens [2].")


@pytest.mark.parametrize(
    "denial",
    [
        "Tokens are not added periodically",
        "Tokens are never added",
        "Tokens aren't added periodically",
        "No tokens are added periodically",
        "Tokens are not added periodically, and requests are allowed if a token is available",
    ],
)
def test_a_plain_denial_is_unsupported_and_no_passage_is_named_for_it(denial: str) -> None:
    cited = only(f"{denial} [2].")
    assert cited.verdict == "unsupported"
    assert "says that something is not so, passage [2] says that it is" in cited.why
    assert "supports it" not in only(f"{denial} [1].").why
    assert is_unfounded(only(f"{denial}."))


def test_a_dropped_negation_is_unsupported_and_no_passage_is_named_for_it() -> None:
    passages = (
        PASSAGES[0],
        hit_of("Keys are never evicted. Tokens are not added periodically.", 2),
    )
    for text in ("Keys are evicted", "Tokens are added periodically"):
        (cited,) = check_claims(f"{text} [2].", passages)
        assert (cited.verdict, cited.why) == ("unsupported", "passage [2] says that it is not so")
        (other,) = check_claims(f"{text} [1].", passages)
        assert "supports it" not in other.why


def test_not_only_denies_nothing_and_the_affirmation_stays_supported() -> None:
    assert only("Tokens are added periodically [2].").verdict == "supported"
    assert only("Tokens are not only added periodically [2].").verdict != "unsupported"
    assert only("Tokens are added periodically [1].").verdict == "misattributed"


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("Naïve", ("Naïve",)),
        ("NaïveBayes", ("Naïve", "Bayes", "NaïveBayes")),
        ("ÉlanVital", ("Élan", "Vital", "ÉlanVital")),
        ("NAÏVE", ("NAÏVE",)),
        ("ПростойКлюч", ("Простой", "Ключ", "ПростойКлюч")),
        ("HTTPServer", ("HTTP", "Server", "HTTPServer")),
    ],
)
def test_words_are_parted_at_capitals_and_not_at_accents(word: str, words: tuple[str, ...]) -> None:
    assert words_of(word) == tuple(stem(one.lower()) for one in words)


@pytest.mark.parametrize("answered", ["Yes,", "No,", "**Yes**:", "Yes [2],", "Yes –", "Of course,"])
def test_yes_and_no_before_a_statement_are_no_words_of_it(answered: str) -> None:
    claim = only(f"{answered} bursts are fine [2].")
    assert (claim.verdict, claim.cites) == ("supported", (2,))
    why = only(f"{answered.replace('2', '1')} fine bursts pass the gate [1].").why
    assert not {"“Yes”", "“No”", "“course”"} & set(why.replace(",", " ").split())


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is rotated every quarter", set()),
        ("The first quarter of the year", set()),
        ("The breaker is half open", set()),
        ("The second half of the page", set()),
        ("It comes from a third-party library or a third party", set()),
        ("It uses a quarter of the memory", {"quarter"}),
        ("It falls to a quarter", {"quarter"}),
        ("Three quarters and one third", {"three", "quarters", "one", "third"}),
        ("It needs half the time, and the third step is cut in half", {"half", "third"}),
    ],
)
def test_words_that_are_nouns_too_count_where_they_are_numbers(
    text: str, numbers: set[str]
) -> None:
    assert set(numbers_of(text)) == numbers


ANSWER = "Bursts are fine [2].\n"


@pytest.mark.parametrize(
    "listing",
    [
        "\nSources:\n[1] Rate limiter http://example.org/limits\n[2] Queue",
        "\n**References:**\n\n1. Rate limiter\n2. Queue of all tasks\n",
        "\n## Citations\n\n- [1] Rate limiter - building blocks\n- [2] The queue of tasks",
        "Sources: [1] Rate limiter, [2] Queue of tasks",
        "\n[1] Rate limiter http://example.org/limits\n[2] Queue https://example.org/queue",
        "\nReferences\n- [Rate limiter of requests](/limits)\n",
    ],
)
def test_a_list_of_sources_at_the_end_is_no_claim(listing: str) -> None:
    assert claims_of(ANSWER + listing) == ["Bursts are fine [2]."]
    assert is_refusal("The passages do not mention Redis.\n" + listing)


@pytest.mark.parametrize(
    "text",
    [
        "Sources:\n[1] Tokens are added by a timer every second.",
        "Sources:\n- Tokens are added lazily by a timer of the kernel [1].",
        "References: a pointer to a value is one [1].",
        "Sources:\n\nThey are read before anything else [1].",
        "[1] says that http://example.org is down [2]",
    ],
)
def test_a_sentence_is_a_claim_though_it_stands_under_sources(text: str) -> None:
    assert len(claims_of(text)) == 1


@pytest.mark.parametrize(
    ("text", "is_problem"),
    [
        ("[1] [2]", True),
        ("[1], [2].", True),
        ("See [1] and [2].", True),
        ("Sources:\n[1] Rate limiter http://example.org/limits", True),
        ("Yes [1].", False),
        ("42 [1]", False),
        ("`free` [1]", False),
        ("Bursts are fine.", False),
        ("", False),
    ],
)
def test_an_answer_of_citations_alone_states_nothing(text: str, *, is_problem: bool) -> None:
    prompt = Prompt(text="", question="", template="", passages=PASSAGES)
    draft = Draft(text=text, route="test", finish="stop")
    found = {one.code: one.message for one in find_problems(draft, prompt, refused=False)}
    assert found.get("no_statement") == (
        "It states nothing: it only cites." if is_problem else None
    )
