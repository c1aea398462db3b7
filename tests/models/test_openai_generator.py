"""Streamed answers of a server with OpenAI's interface, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ragctl.errors import ModelError, ModelMissing, ModelReplyError, ModelUnreachable
from ragctl.models.openai import OpenAiClient, OpenAiGenerator
from ragctl.records.answers import Draft, Prompt
from ragctl.stages.repetition import RepetitionGuard
from tests.ollama_server import OllamaServer, Reply
from tests.openai_replies import CHAT, completion, delta, event, events

PROMPT = Prompt(text="Passages, question.", question="When?", template="t", passages=())
KEY = "sk-secret-0123456789"


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer() as running:
        yield running


def ask(server: OllamaServer, *, key: str = "", **options: Any) -> tuple[Draft, list[str]]:
    client = OpenAiClient(server.url, key=key, key_name="MY_KEY")
    generator = OpenAiGenerator(client, guard=RepetitionGuard, model="gpt-x", **options)
    pieces: list[str] = []
    return generator.generate(PROMPT, on_text=pieces.append), pieces


def test_the_request_asks_for_the_same_answer_every_time_with_the_key(
    server: OllamaServer,
) -> None:
    server.on(CHAT, completion("At six [1]."))
    ask(server, key=KEY, max_tokens=99)
    (request,) = server.requests
    assert request.body["messages"] == [{"role": "user", "content": "Passages, question."}]
    sent = {name: request.body[name] for name in ("model", "temperature", "seed", "max_tokens")}
    assert sent == {"model": "gpt-x", "temperature": 0, "seed": 0, "max_tokens": 99}
    assert request.body["stream_options"] == {"include_usage": True}
    assert request.headers["Authorization"] == f"Bearer {KEY}"


def test_a_netrc_of_the_user_does_not_replace_the_key(
    server: OllamaServer, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password wrong\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    server.on(CHAT, completion("At six."))
    ask(server, key=KEY)
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def test_pieces_come_as_they_are_with_the_tokens_of_the_last_message(
    server: OllamaServer,
) -> None:
    server.on(CHAT, completion("At ", "six [1].", prompt_tokens=900, completion_tokens=3))
    draft, pieces = ask(server)
    assert pieces == ["At ", "six [1]."]
    assert (draft.text, draft.finish, draft.route) == ("At six [1].", "stop", "openai/gpt-x")
    assert (draft.prompt_tokens, draft.output_tokens) == (900, 3)


def test_any_border_of_packets_gives_the_same_text(server: OllamaServer) -> None:
    whole = b"".join(events("Naïve ", "café – ok [1]"))
    for size in (1, 2, 3, 7, 50):
        packets = [whole[at : at + size] for at in range(0, len(whole), size)]
        server.on(CHAT, Reply(packets=packets))
        assert ask(server)[0].text == "Naïve café – ok [1]"


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"data: ", b"data:"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: b": keepalive\n\n" + data.replace(b"data: ", b": ping\n\nid: 7\ndata: "),
        lambda data: data.replace(b"data: ", b"event: message\nretry: 10\ndata: "),
        lambda data: data.replace(b"data: [DONE]\n\n", b""),
        lambda data: data.removesuffix(b"\n\n"),
    ],
    ids=["crlf", "no blank", "bom", "comments", "fields", "no [DONE]", "no last line end"],
)
def test_dialects_of_a_stream_are_understood(change: Any, server: OllamaServer) -> None:
    server.on(CHAT, Reply(packets=[change(b"".join(events("At ", "six [1].")))]))
    assert ask(server)[0].text == "At six [1]."


def test_a_server_that_does_not_stream_is_understood(server: OllamaServer) -> None:
    message = {"role": "assistant", "content": "At six [1]."}
    document = {
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }
    server.on(CHAT, Reply(document=document))
    draft, _ = ask(server)
    assert (draft.text, draft.output_tokens) == ("At six [1].", 2)


def test_reasoning_is_no_part_of_the_answer(server: OllamaServer) -> None:
    packets = [delta(reasoning_content="Hm."), delta("<think>x</think>At six."), *events("")]
    server.on(CHAT, Reply(packets=packets))
    assert ask(server)[0].text == "At six."


def test_the_limit_of_tokens_is_told_as_such(server: OllamaServer) -> None:
    server.on(CHAT, completion("At six, and", finish="length"))
    assert ask(server)[0].finish == "length"


BROKEN = {
    "html": (Reply(raw=b"<html><body>Welcome to nginx</body></html>"), "not JSON", "garbage"),
    "garbage": (Reply(raw=b"\x00\xff\xfe\x80"), "not JSON", "garbage"),
    "half a line": (Reply(packets=[b'data: {"choices": [{"de']), "not JSON", "garbage"),
    "array": (Reply(packets=[b"data: [1, 2]\n\n"]), "no object", "garbage"),
    "error": (
        Reply(packets=[event({"error": {"message": "overloaded", "type": "x"}})]),
        "reports: overloaded",
        "error reported",
    ),
    "nothing": (Reply(packets=[]), "ended early", "ended early"),
    "only the end": (completion(), "no text", "no text"),
    "filtered": (completion(finish="content_filter"), "content_filter", "ended early"),
    "reset": (Reply(end="reset"), "lost", "connection lost"),
    "redirect": (Reply(status=307, headers={"Location": CHAT}, raw=b""), "307", "http 307"),
    "401": (Reply(status=401, document={"error": {"message": "no"}}), "wants a key", "http 401"),
    "429": (Reply(status=429, headers={"Retry-After": "7"}, document={}), "429", "http 429"),
    "503": (Reply(status=503, raw=b"starting"), "503", "http 503"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_reply_that_is_no_answer_is_an_error_that_names_the_address(
    name: str, server: OllamaServer
) -> None:
    reply, words, outcome = BROKEN[name]
    server.on(CHAT, reply)
    with pytest.raises(ModelError) as failed:
        ask(server)
    assert words in failed.value.message
    assert failed.value.outcome == outcome
    assert name == "only the end" or server.url in failed.value.message
    assert failed.value.may_clear == (name in ("reset", "429", "503"))
    assert failed.value.retry_after_seconds == (7 if name == "429" else None)
    assert len(server.requests) == 1  # a redirect is not followed


def test_a_model_that_is_not_there_is_missing(server: OllamaServer) -> None:
    server.on(CHAT, Reply(status=404, document={"error": {"message": "no model gpt-x"}}))
    with pytest.raises(ModelMissing, match="gpt-x"):
        ask(server)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(packets=[delta("At six"), event({"error": "runner died"})]), "runner died"),
        (Reply(packets=[delta("At six")]), "ended early"),
        (Reply(packets=[delta("At six"), b"data: {half"]), "not JSON"),
        (Reply(packets=[delta("At six")], end="reset"), "lost"),
        (Reply(packets=[delta("At six")], end="hang"), "silent for 0.3 s"),
    ],
    ids=["error", "no end", "half a line", "reset", "stall"],
)
def test_what_breaks_off_after_the_first_token_is_torn(
    reply: Reply, words: str, server: OllamaServer
) -> None:
    server.on(CHAT, reply)
    draft, pieces = ask(server, stall_seconds=0.3)
    assert (draft.text, draft.finish, pieces) == ("At six", "torn", ["At six"])
    assert words in draft.error


@pytest.mark.parametrize("keepalive", [b": still here\n\n", delta(role="assistant")])
def test_neither_keepalives_nor_empty_messages_put_off_the_first_token(
    keepalive: bytes, server: OllamaServer
) -> None:
    server.on(CHAT, Reply(packets=[keepalive] * 200, gap_seconds=0.05))
    with pytest.raises(ModelUnreachable) as failed:
        ask(server, first_token_seconds=0.3)
    assert failed.value.outcome == "timeout (first token)"
    assert server.left.wait(5)


def test_an_answer_without_end_is_left_at_the_total(server: OllamaServer) -> None:
    server.on(CHAT, Reply(packets=(delta(f"word {n} ") for n in range(1000)), gap_seconds=0.05))
    draft, _ = ask(server, total_seconds=0.5)
    assert draft.finish == "torn"
    assert "not finished after 0.5 s" in draft.error


def test_a_server_that_ignores_the_limit_of_tokens_is_left(server: OllamaServer) -> None:
    server.on(CHAT, Reply(packets=(delta(f"w{n} ") for n in range(1000))))
    draft, _ = ask(server, max_tokens=20)
    assert draft.finish == "torn"
    assert "limit of 20 tokens" in draft.error


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=401, document={"error": {"message": f"Incorrect key {KEY}"}}),
        Reply(status=500, raw=KEY.encode()),
        Reply(raw=f"<html>{KEY}</html>".encode()),
        Reply(packets=[event({"error": f"key {KEY} is blocked"})]),
    ],
)
def test_a_key_that_a_server_repeats_is_in_no_message(reply: Reply, server: OllamaServer) -> None:
    server.on(CHAT, reply)
    with pytest.raises(ModelReplyError) as failed:
        ask(server, key=KEY)
    error: BaseException | None = failed.value
    while error is not None:
        assert KEY not in str(error)
        error = error.__cause__


def test_a_key_in_an_answer_is_not_shown(server: OllamaServer) -> None:
    server.on(CHAT, completion(f"Your key is {KEY}."))
    draft, pieces = ask(server, key=KEY)
    assert KEY not in draft.text + "".join(pieces)


def test_a_base_address_with_a_path_is_taken_as_it_is(server: OllamaServer) -> None:
    server.on("/api/openai/chat/completions", completion("At six."))
    client = OpenAiClient(f"{server.url}/api/openai/")
    generator = OpenAiGenerator(client, guard=RepetitionGuard, model="m", name="mine")
    assert generator.generate(PROMPT, on_text=lambda _piece: None).route == "mine"
