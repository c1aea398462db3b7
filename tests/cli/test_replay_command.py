"""``ragctl ask --replay`` as typed: a stored request, again, over a real database and HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer, Reply, chat, chat_lines
from tests.program import PAGES, Program

QUESTION = "How does the bucket refill?"
TODAY = "The token bucket refills lazily, when a request arrives [1]."


@pytest.fixture
def asked(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with the small site in its database, and one question asked."""
    assert ragctl("ingest", str(site)).code == 0
    assert ragctl("ask", QUESTION, "--track", "design").code == 0
    ollama.requests.clear()
    ollama.on("/api/chat", chat(TODAY))
    return ragctl


def sent(ollama: OllamaServer) -> str:
    """Return the last prompt that came to the model."""
    prompt: str = ollama.requests_to("/api/chat")[-1].body["messages"][-1]["content"]
    return prompt


def test_a_stored_request_is_rendered_written_and_checked_again(
    asked: Program, ollama: OllamaServer
) -> None:
    stored = asked("trace", "last", "--json", "--prompt").document
    done = asked("ask", "--replay", "last")
    assert done.code == 0, done.err
    assert sent(ollama) == stored["prompt"]
    assert not ollama.requests_to("/api/embed")  # the passages are those of the trace
    assert done.out.startswith(TODAY)
    for told in (
        "What changed",
        "2 of 2 passages as they were",
        "the same to the letter",
        "both by today's check",
        "- It refills lazily [1].",
        f"+ {TODAY}",
    ):
        assert told in done.out
    assert "not recorded" in done.err
    assert len(asked("trace", "--json").document["traces"]) == 1


def test_another_prompt_and_another_model_are_held_against_the_stored_ones(
    asked: Program, ollama: OllamaServer
) -> None:
    models = [{"name": f"{name}:latest", "digest": name} for name in ("llama3", "other")]
    ollama.on("/api/tags", Reply(document={"models": models}))
    identity = asked("trace", "--json").document["traces"][0]["id"]
    flags = ("--prompt", "strict", "--model", "other", "--json")
    done = asked("ask", "--replay", identity[:20], *flags)
    assert done.code == 0, done.err
    document = done.document
    assert document["schema"] == "ragctl.replay/1"
    assert (document["trace_id"], document["from"]) == (identity, "render")
    assert document["recorded"] is False
    changes = document["changes"]
    assert changes["template"]["after"].startswith("strict/")
    assert changes["route"] == {"before": "ollama/llama3", "after": "ollama/other"}
    assert changes["claims"]["after"] == {"supported": 1}
    assert changes["prompt_is_same"] is False
    assert document["answer"]["answer"] == TODAY
    assert "The passages do not say." in sent(ollama)
    assert ollama.requests_to("/api/chat")[-1].body["model"] == "other"


def test_from_generate_sends_the_stored_prompt_though_its_passages_are_gone(
    asked: Program, site: Path, ollama: OllamaServer
) -> None:
    stored = asked("trace", "last", "--json", "--prompt").document
    (site / "design/01-buckets.md").write_text("# Rate limiter\n\nAll of it is new.\n")
    (site / "design/02-queues.md").unlink()
    assert asked("ingest", str(site)).code == 0
    done = asked("ask", "--replay", "last", "--from", "generate")
    assert done.code == 0, done.err
    assert sent(ollama) == stored["prompt"]
    assert "0 of 2 passages as they were" in done.out
    assert "taken from the prompt" in done.out
    assert "1 supported" in done.out  # by the passage as it was sent


def test_from_render_takes_what_is_there_today_and_names_what_is_not(
    asked: Program, site: Path, ollama: OllamaServer
) -> None:
    page = "design/01-buckets.md"
    (site / page).write_text(PAGES[page].replace("lazily", "eagerly"))
    (site / "design/02-queues.md").unlink()
    assert asked("ingest", str(site)).code == 0
    done = asked("ask", "--replay", "last")
    assert done.code == 0, done.err
    assert "refills eagerly" in sent(ollama)
    assert "A queue holds work" not in sent(ollama)
    assert "has changed since, taken as it is today" in done.out
    assert "is gone, left out" in done.out
    for path in ("design/01-buckets.md", "design/_index.md"):
        (site / path).unlink()
    assert asked("ingest", str(site), "--yes").code == 0
    nothing = asked("ask", "--replay", "last")
    assert nothing.code == 3
    assert "none of the passages" in nothing.err


def test_from_check_asks_nobody(asked: Program, ollama: OllamaServer) -> None:
    asked.set(OLLAMA_HOST="http://127.0.0.1:9")
    done = asked("ask", "--replay", "last", "--from", "check")
    assert done.code == 0, done.err
    assert done.out.startswith("It refills lazily [1].")
    assert "verdicts of then are not kept" in done.out
    assert not ollama.requests


def test_a_question_whose_model_was_down_is_replayed_once_it_is_up(
    asked: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", Reply(status=500, document={"error": "out of memory"}))
    assert asked("ask", QUESTION, "--model", "llama3").code == 5
    ollama.on("/api/chat", chat(TODAY))
    for stage in ("render", "generate"):
        done = asked("ask", "--replay", "last", "--from", stage)
        assert done.code == 0, done.err
        assert "→ answered" in done.out
    assert asked("ask", "--replay", "last", "--from", "check").code == 2


def test_a_replay_that_is_torn_says_so_in_its_exit_code(
    asked: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", Reply(packets=chat_lines("At six "), end="reset"))
    done = asked("ask", "--replay", "last")
    assert done.code == 7
    assert "answered → incomplete" in done.out


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--replay", "last", "How?"), "together"),
        (("How?", "--from", "check"), "goes with --replay"),
        (("--replay", "last", "-k", "3"), "-k"),
        (("--replay", "last", "--track", "design"), "--track"),
        (("--replay", "last", "--from", "generate", "--prompt", "strict"), "the stored prompt"),
        (("--replay", "last", "--from", "check", "--model", "other"), "written anew"),
        (("--replay", "last", "--from", "check", "--no-model"), "written anew"),
        (("--replay", "ffff"), "no trace"),
        ((), "no question"),
    ],
)
def test_what_means_nothing_together_is_a_usage_error(
    flags: tuple[str, ...], why: str, asked: Program
) -> None:
    done = asked("ask", *flags)
    assert done.code == 2
    assert why in done.err


def test_a_trace_without_texts_or_passages_is_no_request_to_replay(asked: Program) -> None:
    assert asked("ask", "How many pages are there?").code == 0
    listed = asked("ask", "--replay", "last", "--json")
    assert listed.code == 2
    assert "list of pages" in listed.document["error"]["message"]
    asked.set(RAGCTL_TRACES__RECORD="numbers")
    assert asked("ask", QUESTION).code == 0
    numbers = asked("ask", "--replay", "last")
    assert numbers.code == 2
    assert "without texts" in numbers.err


def test_the_sources_stand_apart_from_the_answer_as_those_of_a_question_do(asked: Program) -> None:
    for stage in ("generate", "check"):
        assert "\n\nSources\n" in asked("ask", "--replay", "last", "--from", stage).out


def test_a_replay_says_that_it_leaves_nothing_out(
    ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", chat("The bucket holds 9000 tokens and never refills [1]."))
    assert ragctl("ingest", str(site)).code == 0
    assert ragctl("ask", QUESTION, "--track", "design", "--strict-citations").code == 0
    done = ragctl("ask", "--replay", "last", "--from", "check")
    assert "Strict citations are not applied in a replay" in done.err
    assert "9000 tokens" in done.out
    assert ragctl("ask", QUESTION, "--track", "design").code == 0
    assert "Strict" not in ragctl("ask", "--replay", "last", "--from", "check").err
