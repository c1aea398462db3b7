"""``ragctl why`` as typed: each factor made zero in turn, and named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ollama_server import OllamaServer, Reply, Request, chat
from tests.program import Done, Program

QUESTION = "How does the bucket refill?"
PAGE = "/design/01-buckets"


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with the small site in its database, and a model that cites all it is given."""
    assert ragctl("ingest", str(site)).code == 0
    ollama.on("/api/chat", chat("So it is [1][2][3]."))
    return ragctl


def _zero(done: Done) -> str:
    document = done.document
    assert document["schema"] == "ragctl.why/1"
    assert done.code == (0 if document["holds"] else 1)
    zero: str = document["first_zero"]
    assert bool(document["change"]) == bool(zero)
    return zero


def _factors(done: Done) -> dict[str, dict[str, Any]]:
    return {factor["name"]: factor for factor in done.document["factors"]}


def test_a_page_that_is_cited_holds_all_the_way(ingested: Program) -> None:
    done = ingested("why", QUESTION, "--page", PAGE, "--json")
    assert _zero(done) == ""
    factors = _factors(done)
    assert list(factors) == [
        *("file", "text", "passages", "stored", "rank", "retrieved", "prompt", "cited"),
    ]
    assert all(factor["holds"] and factor["value"] > 0 for factor in factors.values())
    best = done.document["best"]
    assert best["ref"].startswith(f"{PAGE}#c")
    assert 1 <= best["rank"] <= best["among"]
    ranks = done.document["ranks"]
    assert (done.document["mode"], ranks["vector"]) == ("hybrid", best)
    assert factors["rank"]["value"] == ranks["hybrid"]["rank"]
    assert ranks["keyword"]["rank"] == 1
    shown = ingested("why", QUESTION, "--page", PAGE)
    assert "No factor is zero" in shown.out
    assert best["ref"] in shown.out


@pytest.mark.parametrize(
    "page",
    ["design/01-buckets", "design/01-buckets.md", "/design/01-buckets/", "/design/01-buckets#c3",
     "https://site.example/design/01-buckets.html", "https://site.example/design/01-buckets/"],
)  # fmt: skip
def test_a_page_is_known_by_address_link_and_path(page: str, ingested: Program) -> None:
    ingested.set(RAGCTL_SITE__BASE_URL="https://site.example")
    document = ingested("why", QUESTION, "--page", page, "--json", "--no-answer").document
    assert document["page"] == PAGE
    assert document["holds"]


def test_a_page_that_is_nowhere_names_the_nearest(ingested: Program, ollama: OllamaServer) -> None:
    ollama.requests.clear()
    done = ingested("why", QUESTION, "--page", "/design/01-bucket")
    assert done.code == 1
    assert f"the nearest is {PAGE}" in done.out
    assert ollama.requests == []


def test_a_file_that_is_left_out_says_why_and_how_to_take_it(ingested: Program, site: Path) -> None:
    draft = ingested("why", QUESTION, "--page", "/kernel/11-draft", "--json")
    assert _zero(draft) == "file"
    assert "--drafts" in draft.document["change"]
    (site / "kernel/20-new.md").write_text("New words.\n")
    ingested.set(RAGCTL_SITE__EXCLUDE="20-*")
    excluded = ingested("why", QUESTION, "--page", "/kernel/20-new", "--json")
    assert _zero(excluded) == "file"
    assert "site.exclude" in excluded.document["change"]
    ingested.set(RAGCTL_SITE__EXCLUDE="")
    new = ingested("why", QUESTION, "--page", "/kernel/20-new", "--json")
    assert _zero(new) == "stored"
    assert _factors(new)["passages"]["value"] == 1
    ingested.set(RAGCTL_SITE__TRACKS="design")
    assert (
        "site.tracks"
        in ingested("why", QUESTION, "--page", "/kernel/20-new", "--json").document["change"]
    )
    (site / "design/01-buckets.md").unlink()
    gone = ingested("why", QUESTION, "--page", PAGE, "--json")
    assert _zero(gone) == "file"
    assert "gone" in _factors(gone)["file"]["told"]
    (site / "kernel/10-rcu.md").write_text("Other words.\n")
    stale = ingested("why", QUESTION, "--page", "/kernel/10-rcu", "--json", "--text", "other words")
    assert "changed since" in _factors(stale)["file"]["told"]
    assert _zero(stale) == "words"
    assert stale.document["change"] == "Run `ragctl ingest`."


def test_pages_without_passages_say_what_they_are(ingested: Program, site: Path) -> None:
    landing = ingested("why", QUESTION, "--page", "/design", "--json")
    assert _zero(landing) == "passages"
    assert "landing" in _factors(landing)["passages"]["told"]
    (site / "kernel/30-picture.md").write_text("<svg><text>Seen by nobody</text></svg>\n")
    ingested("ingest", str(site))
    empty = ingested("why", QUESTION, "--page", "/kernel/30-picture", "--json")
    assert _zero(empty) == "text"
    assert "svg" in _factors(empty)["text"]["told"]
    words = ingested(
        "why", QUESTION, "--page", "/kernel/30-picture", "--text", "seen by nobody", "--json"
    )
    assert "line 1" in _factors(words)["words"]["told"]


def test_a_refused_passage_is_a_zero_of_the_embedding(
    ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    from tests.ollama_server import embeddings

    def picky(request: Request) -> Reply:
        if any("refills" in text for text in request.inputs):
            return Reply(status=400, document={"error": "input length exceeds the context length"})
        return embeddings(request)

    ollama.on("/api/embed", picky)
    assert ragctl("ingest", str(site)).code == 1
    done = ragctl("why", "How?", "--page", PAGE, "--json")
    if not _factors(done)["stored"]["value"]:
        assert _zero(done) == "stored"
    assert "refused" in _factors(done)["stored"]["told"]


def test_a_section_is_known_by_label_and_anchor_and_an_unknown_one_names_the_nearest(
    ingested: Program,
) -> None:
    for section in ("The token bucket", "the-token-bucket", "#the-token-bucket"):
        done = ingested("why", QUESTION, "--page", PAGE, "--section", section, "--json")
        assert _zero(done) == "", done.out
    by_anchor = ingested("why", QUESTION, "--page", f"{PAGE}#the-token-bucket", "--json")
    assert by_anchor.document["section"] == "the-token-bucket"
    unknown = ingested("why", QUESTION, "--page", PAGE, "--section", "The tokn bucket", "--json")
    assert _zero(unknown) == "passages"
    assert "The token bucket" in _factors(unknown)["passages"]["told"]


def test_words_are_found_across_line_ends_and_case(ingested: Program) -> None:
    done = ingested("why", QUESTION, "--page", PAGE, "--text", "REFILLS  lazily,", "--json")
    assert _factors(done)["words"]["holds"]
    missing = ingested("why", QUESTION, "--page", PAGE, "--text", "no such words", "--json")
    assert _zero(missing) == "words"


def test_a_page_beyond_the_five_names_its_rank_and_the_k_that_would_do(
    ingested: Program,
) -> None:
    pages = ["/design/01-buckets", "/design/02-queues", "/kernel/10-rcu"]
    done = [ingested("why", QUESTION, "--page", page, "-k", "1", "--json") for page in pages]
    far = [one for one in done if _zero(one) == "retrieved"]
    assert len(far) == 2
    for one in far:
        best = one.document["ranks"]["hybrid"]
        assert best["rank"] > 1
        assert best["score"] < best["score_at_k"]
        assert f"-k {best['rank']}" in one.document["change"]
        assert "--track" in one.document["change"]


def test_another_track_than_the_page_s_is_a_zero_of_its_own(ingested: Program) -> None:
    done = ingested("why", QUESTION, "--page", PAGE, "--track", "kernel", "--json")
    assert _zero(done) == "rank"
    assert ingested("why", QUESTION, "--page", PAGE, "--track", "nowhere").code == 2


def test_a_passage_that_does_not_fit_the_window_is_lost_in_the_prompt(
    ingested: Program, site: Path
) -> None:
    (site / "kernel/10-rcu.md").write_text("Readers never wait for writers. " * 20)
    ingested("ingest", str(site))
    ingested.set(RAGCTL_GENERATION__NUM_CTX="300", RAGCTL_GENERATION__NUM_PREDICT="10")
    pages = ["/design/01-buckets", "/design/02-queues", "/kernel/10-rcu"]
    zeros = [_zero(ingested("why", QUESTION, "--page", page, "--json")) for page in pages]
    assert "prompt" in zeros


def test_an_answer_without_the_page_is_a_zero_at_the_end(
    ingested: Program, ollama: OllamaServer
) -> None:
    for reply, words in (
        (chat("I like trains."), "not by ollama/llama3"),
        (chat("The passages do not say."), "declined"),
        (Reply(status=500, document={"error": "out of memory"}), "no answer"),
    ):
        ollama.on("/api/chat", reply)
        done = ingested("why", QUESTION, "--page", PAGE, "--json")
        assert _zero(done) == "cited"
        assert words in _factors(done)["cited"]["told"]


def test_without_an_answer_no_model_writes(ingested: Program, ollama: OllamaServer) -> None:
    ollama.requests.clear()
    done = ingested("why", QUESTION, "--page", PAGE, "--no-answer", "--json")
    assert _zero(done) == ""
    assert _factors(done)["cited"]["holds"] is None
    assert ollama.requests_to("/api/chat") == []


def test_asking_why_leaves_no_trace(ingested: Program) -> None:
    ingested("why", QUESTION, "--page", PAGE)
    assert ingested("trace", "list", "--json").document["traces"] == []


def test_a_root_that_is_on_another_machine_is_not_held_against_the_page(
    ingested: Program, site: Path
) -> None:
    site.rename(site.with_name("elsewhere"))
    done = ingested("why", QUESTION, "--page", PAGE, "--json")
    assert _zero(done) == ""
    assert _factors(done)["file"]["holds"] is None
    assert _zero(ingested("why", QUESTION, "--page", "/nowhere", "--json")) == "file"


def test_when_no_passage_can_be_found_no_model_is_needed_and_else_it_is(ingested: Program) -> None:
    ingested.set(OLLAMA_HOST="http://127.0.0.1:9")
    assert ingested("why", QUESTION, "--page", "/nowhere").code == 1
    assert ingested("why", QUESTION, "--page", PAGE, "--mode", "vector").code == 5


def test_the_rank_that_decides_is_that_of_the_mode(ingested: Program) -> None:
    ranked = {
        "hybrid": "by nearness and words, which decides",
        "vector": "by nearness, which decides",
        "keyword": "by words, which decides",
    }
    for mode, told in ranked.items():
        done = ingested("why", QUESTION, "--page", PAGE, "--no-answer", "--mode", mode, "--json")
        rank = done.document["ranks"][mode]
        assert done.document["mode"] == mode
        assert _factors(done)["rank"]["value"] == rank["rank"]
        assert told in _factors(done)["rank"]["told"]
        assert f"{rank['ref']} scores {rank['score']:.3f}" in _factors(done)["rank"]["told"]
    by_words = ingested(
        "why", "Who waits?", "--page", PAGE, "--no-answer", "--mode", "keyword", "--json"
    )
    assert _zero(by_words) == "rank"
    assert "no passage holds a word" in _factors(by_words)["rank"]["told"]


def test_with_the_model_out_of_reach_words_decide_as_they_do_for_an_answer(
    ingested: Program,
) -> None:
    ingested.set(OLLAMA_HOST="http://127.0.0.1:9")
    done = ingested("why", QUESTION, "--page", PAGE, "--no-answer", "--json")
    assert _zero(done) == ""
    assert done.document["mode"] == "keyword"
    assert done.document["best"]["rank"] is None
    assert "by words, which decides (" in _factors(done)["rank"]["told"]


def test_a_title_of_a_page_harms_no_terminal(ingested: Program, site: Path) -> None:
    (site / "kernel/10-rcu.md").write_text("# A [bold] \x1b[31m\n\nWords here.\n")
    ingested("ingest", str(site))
    done = ingested("why", "What \x1b[2J?", "--page", "/kernel/10-rcu", "--section", "\x1b[31m")
    assert "\x1b" not in done.out + done.err


def test_no_page_is_a_usage_error(ingested: Program) -> None:
    assert ingested("why", QUESTION).code == 2
    assert ingested("why", QUESTION, "--page", " / ").code == 2
