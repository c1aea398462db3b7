"""Routes as an operator has them: answers that fall back, and ``ragctl gateway``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from tests.ollama_server import OllamaServer, Reply, chat, chat_lines
from tests.openai_replies import CHAT, completion, delta
from tests.program import Program, run_process

QUESTION = "When does the token bucket refill?"
KEY = "sk-secret-0123456789"
HANG = Reply(end="hang")
BUSY = Reply(status=503, raw=b"")
ROUTES = """\
[gateway]
retries = 0
budget_seconds = 60

[[routes]]
name = "primary"
model = "llama3"
url = "{first}"
connect_seconds = 1
first_token_seconds = 0.4

[[routes]]
name = "backup"
provider = "openai"
model = "m"
url = "{second}"
connect_seconds = 1
first_token_seconds = 10
{more}
"""


@pytest.fixture
def backup() -> Iterator[OllamaServer]:
    """A second model server, of OpenAI's kind, healthy."""
    with OllamaServer() as server:
        server.on(CHAT, completion("It refills lazily ", "[1]."))
        yield server


@pytest.fixture
def routed(
    ragctl: Program, site: Path, ollama: OllamaServer, backup: OllamaServer, tmp_path: Path
) -> Program:
    """The program after an ingest, with two routes in the user's own settings."""
    assert ragctl("ingest", str(site)).code == 0
    _set_routes(tmp_path, ollama.url, backup.url)
    return ragctl


def _set_routes(tmp_path: Path, first: str, second: str, more: str = "") -> None:
    own = tmp_path / "config/ragctl/config.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(ROUTES.format(first=first, second=second, more=more))


def _way(document: dict[str, object]) -> list[tuple[str, str]]:
    attempts = document["attempts"]
    assert isinstance(attempts, list)
    return [(attempt["route"], attempt["outcome"]) for attempt in attempts]


def _codes(document: dict[str, object]) -> list[str]:
    problems = document["problems"]
    assert isinstance(problems, list)
    return [problem["code"] for problem in problems]


def test_seven_states_of_a_primary_each_end_in_an_answer(
    routed: Program, ollama: OllamaServer, backup: OllamaServer, tmp_path: Path
) -> None:
    def ask() -> tuple[int, dict[str, object]]:
        done = routed("ask", QUESTION, "--json")
        return done.code, done.document

    code, healthy = ask()
    assert (code, healthy["route"], _codes(healthy)) == (0, "primary", [])
    assert _way(healthy) == [("primary", "answered")]
    assert backup.requests_to(CHAT) == []

    ollama.on("/api/chat", BUSY)
    code, busy = ask()
    assert (code, busy["route"], _codes(busy)) == (0, "backup", ["fallback"])
    assert _way(busy) == [("primary", "http 503"), ("backup", "answered")]

    ollama.on("/api/chat", HANG)
    for _ in range(2):
        code, hung = ask()
        assert (code, hung["route"]) == (0, "backup")
        assert _way(hung) == [("primary", "timeout (first token)"), ("backup", "answered")]

    ollama.requests.clear()
    for _ in range(2):
        code, opened = ask()
        assert (code, opened["route"]) == (0, "backup")
        assert _way(opened) == [("primary", "breaker open"), ("backup", "answered")]
    assert ollama.requests_to("/api/chat") == []

    _set_routes(tmp_path, ollama.url, "http://127.0.0.1:9")
    code, down = ask()
    assert (code, down["route"], down["degraded"]) == (7, "extractive", True)
    assert _way(down) == [
        ("primary", "breaker open"),
        ("backup", "connection refused"),
        ("extractive", "answered"),
    ]
    assert _codes(down)[0] == "no_route"
    assert "refills lazily" in str(down["answer"])


def test_every_process_sees_the_breaker_and_its_half_open_probe(
    routed: Program, ollama: OllamaServer, empty_url: str
) -> None:
    ollama.on("/api/chat", BUSY)
    ways = []
    for _ in range(4):
        done = run_process("ask", QUESTION, "--json")
        assert done.returncode == 0, done.stderr
        ways.append(_way(json.loads(done.stdout))[0])
    assert ways == [("primary", "http 503")] * 3 + [("primary", "breaker open")]
    ollama.on("/api/chat", chat("It refills lazily [1]."))
    with connect(empty_url) as connection:
        connection.execute("UPDATE breakers SET opened_at = opened_at - interval '31 s'")
    ollama.requests.clear()
    done = run_process("ask", QUESTION, "--json")
    assert json.loads(done.stdout)["route"] == "primary"
    assert routed("gateway", "status", "--json").document["routes"][0]["state"] == "closed"


def test_a_torn_answer_is_parted_on_the_terminal_and_absent_from_json(
    routed: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", Reply(packets=chat_lines("It fi"), end="reset"))
    done = routed("ask", QUESTION)
    assert done.code == 0
    before, parted, after = done.out.partition("--- primary broke off: ")
    assert before.startswith("It fi\n")
    assert parted
    assert "It refills lazily [1]." in after
    assert "Written by backup" in done.err
    document = routed("ask", QUESTION, "--json").document
    assert document["answer"] == "It refills lazily [1]."
    assert _way(document) == [("primary", "torn"), ("backup", "answered")]


def test_a_way_over_several_routes_is_in_the_trace(routed: Program, ollama: OllamaServer) -> None:
    ollama.on("/api/chat", BUSY)
    routed("ask", QUESTION)
    trace = routed("trace", "last", "--json").document
    tried = [span for span in trace["spans"] if span["name"] == "attempt"]
    first, second = (span["attributes"] for span in tried)
    assert (first["route"], first["outcome"]) == ("primary", "http 503")
    assert "503" in first["error"]
    assert (second["route"], second["outcome"]) == ("backup", "answered")
    assert second["first_token_ms"] > 0
    assert tried[1]["start_ms"] >= tried[0]["start_ms"] + tried[0]["duration_ms"]
    assert {trace["spans"][span["parent"]]["name"] for span in tried} == {"generate"}
    assert trace["route"] == "backup"


def test_prices_make_a_cost(routed: Program, ollama: OllamaServer, tmp_path: Path) -> None:
    prices = "price_input_per_million = 1.0\nprice_output_per_million = 4.0\n"
    with OllamaServer() as priced:
        reply = completion("It refills lazily [1].", prompt_tokens=1000, completion_tokens=10)
        priced.on(CHAT, reply)
        _set_routes(tmp_path, "http://127.0.0.1:9", priced.url, prices)
        document = routed("ask", QUESTION, "--json").document
    assert document["cost_usd"] == pytest.approx(0.00104)
    assert document["tokens"] == {"prompt": 1000, "output": 10}


def test_a_model_asked_for_by_name_and_quoting_set_the_routes_aside(
    routed: Program, ollama: OllamaServer, backup: OllamaServer
) -> None:
    ollama.on("/api/chat", BUSY)
    assert routed("ask", QUESTION, "--model", "llama3").code == 5
    routed.set(RAGCTL_GENERATION__PROVIDER="extractive")
    assert routed("ask", QUESTION).code == 0
    assert backup.requests_to(CHAT) == []
    routed.set(RAGCTL_GENERATION__PROVIDER="ollama")
    ollama.on("/api/chat", chat("It refills lazily [1]."))
    assert "routes are not used" in routed("ask", QUESTION).err


def test_without_routes_a_model_that_fails_is_followed_by_quotes(
    ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    ragctl("ingest", str(site))
    ollama.on("/api/chat", Reply(status=500, document={"error": "out of memory"}))
    done = ragctl("ask", QUESTION)
    assert done.code == 7
    assert "refills lazily" in done.out
    assert "ollama/llama3 did not answer: " in done.err
    assert "out of memory" in done.err
    ollama.on("/api/chat", chat(""))
    assert "the model returned no text" in ragctl("ask", QUESTION).err


def test_a_key_is_sent_and_is_in_no_output_trace_or_table(
    routed: Program,
    ollama: OllamaServer,
    backup: OllamaServer,
    tmp_path: Path,
    empty_url: str,
) -> None:
    _set_routes(tmp_path, "http://127.0.0.1:9", backup.url, 'api_key_env = "MY_KEY"')
    missing = routed("ask", QUESTION, "--json")
    assert (missing.code, _way(missing.document)[1]) == (7, ("backup", "no key"))
    routed.set(MY_KEY=KEY)
    assert routed("ask", QUESTION, "--json").document["route"] == "backup"
    assert backup.requests_to(CHAT)[-1].headers["Authorization"] == f"Bearer {KEY}"
    said = ""
    for reply in (
        Reply(status=401, document={"error": {"message": f"wrong key {KEY}"}}),
        Reply(raw=f"<html>Bearer {KEY}</html>".encode()),
        Reply(packets=[delta(f"{KEY} "), delta(f"and {KEY}")], end="reset"),
        completion(f"The key is {KEY} [1]."),
    ):
        backup.on(CHAT, reply)
        for command in (
            ("ask", QUESTION),
            ("ask", QUESTION, "--json"),
            ("ask", QUESTION, "--debug"),
            ("gateway", "test"),
            ("gateway", "status"),
            ("config", "--json"),
            ("trace", "last", "--json"),
        ):
            done = run_process(*command)
            said += (done.stdout + done.stderr).decode()
    for debugged in (("--mode", "hybrid"), ("--show-prompt",)):
        said += run_process("ask", QUESTION, "--debug", *debugged).stderr.decode()
    with connect(empty_url) as connection:
        for table in ("traces", "spans", "breakers"):
            rows = connection.execute(f"SELECT t::text FROM {table} t").fetchall()
            said += str(rows)
    assert "***" in said
    assert KEY not in said


@pytest.mark.parametrize("key", ["sk secret", "sk-sécret", "sk\nsecret"])
def test_a_key_that_no_header_takes_is_refused_and_not_repeated(
    key: str, routed: Program, backup: OllamaServer, tmp_path: Path
) -> None:
    _set_routes(tmp_path, "http://127.0.0.1:9", backup.url, 'api_key_env = "MY_KEY"')
    routed.set(MY_KEY=key)
    done = routed("ask", QUESTION)
    assert done.code == 2
    assert "MY_KEY" in done.err
    assert "cret" not in done.err


def test_a_route_on_this_machine_never_goes_through_a_proxy(
    routed: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", BUSY)
    proxies = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
    dead = dict.fromkeys(proxies, "http://127.0.0.1:9")
    done = run_process("ask", QUESTION, "--json", environ={**dead, "NO_PROXY": ""})
    assert done.returncode == 0, done.stderr
    assert _way(json.loads(done.stdout)) == [("primary", "http 503"), ("backup", "answered")]


def test_without_the_right_to_write_it_works_and_says_so_once(
    routed: Program, ollama: OllamaServer, empty_url: str
) -> None:
    with connect(empty_url) as connection:
        connection.execute(
            f"ALTER DATABASE {connection.info.dbname} SET default_transaction_read_only = on"
        )
    ollama.on("/api/chat", BUSY)
    done = routed("ask", QUESTION)
    assert done.code == 0
    assert "It refills lazily" in done.out
    assert done.err.count("not shared with other processes") == 1


def test_a_checkout_that_names_another_host_is_refused_with_the_line_to_add(
    routed: Program, tmp_path: Path
) -> None:
    checkout = routed.folder / "ragctl.toml"
    checkout.write_text('[[routes]]\nmodel = "m"\nurl = "http://models.example.org:8000"\n')
    done = routed("ask", QUESTION)
    assert done.code == 2
    assert "models.example.org" in done.err
    assert 'allowed_hosts = ["models.example.org"]' in done.err
    command = ("config", "set", "--user", "gateway.allowed_hosts", "models.example.org")
    assert routed(*command).code == 0
    assert "models.example.org:8000" in routed("config").out
    checkout.unlink()
    refused = routed("config", "set", "ollama.url", "http://gpubox:11434")
    assert refused.code == 2
    assert "gpubox" in refused.err
    assert not checkout.exists()
    assert routed("config", "set", "--user", "ollama.url", "http://gpubox:11434").code == 0


def test_status_lists_routes_in_order_and_reset_closes_a_breaker(
    routed: Program, ollama: OllamaServer
) -> None:
    before = routed("gateway", "status", "--json").document
    assert before["schema"] == "ragctl.gateway/1"
    assert [(row["name"], row["state"], row["failures"]) for row in before["routes"]] == [
        ("primary", "closed", 0),
        ("backup", "closed", 0),
    ]
    ollama.on("/api/chat", BUSY)
    for _ in range(3):
        routed("ask", QUESTION)
    (primary, _backup) = routed("gateway", "status", "--json").document["routes"]
    assert (primary["state"], primary["failures"]) == ("open", 3)
    assert "503" in primary["last_error"]
    assert 0 < primary["seconds_left"] <= 30
    said = routed("gateway", "status").out
    assert "1. primary" in said
    assert "open for" in said
    assert routed("gateway", "reset", "nobody").code == 2
    assert routed("gateway", "reset", "backup").out == ""
    assert routed("gateway", "reset").out == "reset primary\n"
    assert routed("gateway", "status", "--json").document["routes"][0]["state"] == "closed"


def test_test_asks_each_route_and_fails_when_one_does(
    routed: Program, ollama: OllamaServer, tmp_path: Path
) -> None:
    done = routed("gateway", "test", "--json", "--site", "demo")
    assert done.code == 0
    assert done.document["schema"] == "ragctl.gateway_test/1"
    for row in done.document["routes"]:
        assert (row["outcome"], row["ok"]) == ("answered", True)
        assert row["connect_ms"] >= 0
        assert 0 < row["first_token_ms"] <= row["total_ms"]
    ollama.on("/api/chat", HANG)
    done = routed("gateway", "test")
    assert done.code == 1
    assert "timeout (first token)" in done.out
    assert "primary" in done.err
    _set_routes(tmp_path, ollama.url, "http://127.0.0.1:9")
    rows = routed("gateway", "test", "--json").document["routes"]
    assert [row["outcome"] for row in rows] == ["timeout (first token)", "connection refused"]
    assert rows[1]["connect_ms"] is None


def test_without_routes_and_without_a_database_status_shows_the_implied_route(
    ragctl: Program,
) -> None:
    done = ragctl("gateway", "status")
    assert done.code == 0
    assert "ollama/llama3" in done.out
    assert "no [[routes]]" in done.err
    assert "not known" in done.err


def test_the_list_of_settings_shows_the_routes(routed: Program) -> None:
    document = routed("config", "--json").document
    assert [route["name"] for route in document["routes"]] == ["primary", "backup"]
    assert "routes[2]" in routed("config").out
    refused = routed("config", "set", "routes.primary.model", "x")
    assert refused.code == 2
    assert "[[routes]]" in refused.err
