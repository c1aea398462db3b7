"""An answer is the same however its stream is cut into packets, and whatever a server sends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from hypothesis import strategies as st

from ragctl.errors import ModelError
from ragctl.models.answer_stream import ThinkingFilter, lines_of
from ragctl.models.http import HttpServer
from ragctl.models.ollama import OllamaClient, OllamaGenerator
from ragctl.models.openai import OpenAiClient, OpenAiGenerator
from ragctl.records.answers import Draft, Prompt
from ragctl.stages.repetition import RepetitionGuard
from tests.fuzz.grammar import ANSWERS, PIECES
from tests.fuzz.property import fuzzed, in_time

PROMPT = Prompt(text="?", question="?", template="balanced/1", passages=())
CUTS = st.lists(st.integers(1, 40), max_size=20)
TEXTS = st.lists(
    st.one_of(
        PIECES,
        st.sampled_from(
            ["<think>", "</think>", "<thi", "nk>", "\n", " ", "It is so. ", "潮", "<", ""]
        ),
    ),
    max_size=12,
)
ODD_LINES = st.sampled_from(
    [b"", b" ", b"\r", b"{}", b"[]", b"null", b"1", b'"x"', b"{", b"\xff", b"\xef\xbb\xbf{}",
     b": ping",
     b'{"error": "no"}', b'{"error": {"message": "no"}}', b'{"error": null}', b"data:",
     b"data: [DONE]",
     b"data: {", b"event: x", b"id: 1", b"retry: 1", b'{"message": 1}',
     b'{"message": {"content": 1}}',
     b'{"done": true}', b'{"done": 1}', b'data: {"choices": []}', b'data: {"choices": [null]}',
     b'data: {"choices": [{"delta": {"content": null}}]}',
     b'data: {"usage": {"prompt_tokens": -1}}',
     b'{"message": {"content": "\\ud800"}}', b'{"done": true, "eval_count": 1e999}', b"NaN",
     b"[" * 3000,
     b'{"a":' * 3000, b'{"done": true, "eval_count": ' + b"9" * 5000 + b"}", b"\0", b"<html>"]
)  # fmt: skip


class Stream:
    """A body that comes in packets."""

    retry_after_seconds = None

    def __init__(self, status: int, packets: Sequence[bytes]) -> None:
        self.status = status
        self._packets = iter(packets)

    def read(self, *, timeout_seconds: float) -> bytes:
        """Return the next packet, nothing at the end."""
        return next(self._packets, b"")


class Server(HttpServer):
    """A server whose replies are given."""

    def __init__(self, status: int, packets: Sequence[bytes]) -> None:
        super().__init__(
            "http://127.0.0.1:1", connect_seconds=1, server="Model", hint="Start it.", key="s3cret"
        )
        self._given = status, packets

    @contextmanager
    def stream(  # type: ignore[override]
        self, path: str, *, body: object, first_byte_seconds: float
    ) -> Iterator[Stream]:
        """Yield the given reply."""
        yield Stream(*self._given)


def ollama(status: int, packets: Sequence[bytes]) -> OllamaGenerator:
    """Return a generator that reads a stream of JSON lines."""
    client = OllamaClient("http://127.0.0.1:1")
    client.server = Server(status, packets)
    return OllamaGenerator(client, guard=RepetitionGuard)


def openai(status: int, packets: Sequence[bytes]) -> OpenAiGenerator:
    """Return a generator that reads a stream of events."""
    client = OpenAiClient("http://127.0.0.1:1/v1")
    client.server = Server(status, packets)
    return OpenAiGenerator(client, guard=RepetitionGuard, model="m")


Maker = Callable[[int, Sequence[bytes]], OllamaGenerator | OpenAiGenerator]
MAKERS: st.SearchStrategy[Maker] = st.sampled_from([ollama, openai])


def _written(maker: Maker, texts: Sequence[str]) -> bytes:
    """Return the stream of an answer in these pieces."""
    if maker is ollama:
        lines = [json.dumps({"message": {"content": text}}) for text in texts]
        return "\n".join([*lines, '{"done": true, "eval_count": 3}\n']).encode()
    events = [json.dumps({"choices": [{"delta": {"content": text}}]}) for text in texts]
    events.append('{"choices": [{"delta": {}, "finish_reason": "stop"}]}')
    return "".join(f"data: {event}\r\n\r\n" for event in [*events, "[DONE]"]).encode()


def _cut(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    packets, place = [], 0
    for size in cuts:
        packets.append(data[place : place + size])
        place += size
    return [packet for packet in (*packets, data[place:]) if packet]


def _outcome(maker: Maker, status: int, packets: Sequence[bytes]) -> tuple[str, str, str]:
    """Return how an answer ended, its text and what was shown of it."""
    shown: list[str] = []
    try:
        draft: Draft = maker(status, packets).generate(PROMPT, on_text=shown.append)
    except ModelError as error:
        assert error.message and "s3cret" not in error.message
        return type(error).__name__, "", ""
    draft.text.encode("utf-8")
    assert draft.text and "\0" not in draft.text
    return draft.finish, draft.text, "".join(shown)


@fuzzed(MAKERS, TEXTS, CUTS, CUTS, runs=120)
def test_an_answer_does_not_depend_on_where_its_stream_is_cut(
    maker: Maker, texts: list[str], one: list[int], other: list[int]
) -> None:
    stream = _written(maker, texts)
    with in_time():
        whole = _outcome(maker, 200, [stream])
        assert _outcome(maker, 200, _cut(stream, one)) == whole
        assert _outcome(maker, 200, _cut(stream, [1, *other])) == whole
    assert whole[2].startswith(whole[1])


@fuzzed(MAKERS, st.lists(ODD_LINES, max_size=6), CUTS, st.sampled_from([200, 200, 404, 500]))
def test_whatever_a_server_sends_is_an_answer_or_an_error_of_the_model(
    maker: Maker, lines: list[bytes], cuts: list[int], status: int
) -> None:
    with in_time():
        _outcome(maker, status, _cut(b"\n".join(lines), cuts))


@fuzzed(st.binary(max_size=200), CUTS)
def test_lines_are_those_of_the_bytes_wherever_they_are_cut(data: bytes, cuts: list[int]) -> None:
    whole = [line for line in data.split(b"\n") if line.strip()]
    assert list(lines_of(iter(_cut(data, cuts)))) == whole


@fuzzed(TEXTS, CUTS)
def test_reasoning_is_taken_out_alike_wherever_a_tag_is_cut(
    texts: list[str], cuts: list[int]
) -> None:
    written = "".join(texts)
    pieces, place = [], 0
    for size in [*cuts, len(written)]:
        pieces.append(written[place : place + size])
        place += size
    by_piece, at_once = ThinkingFilter(), ThinkingFilter()
    shown = "".join(by_piece.feed(piece) for piece in pieces) + by_piece.flush()
    assert shown == at_once.feed(written) + at_once.flush()
    assert "<think>" in written or shown == written


@fuzzed(st.lists(ANSWERS, max_size=3), CUTS)
def test_repetition_is_found_alike_wherever_the_text_is_cut(
    texts: list[str], cuts: list[int]
) -> None:
    written = "\n".join(texts) + "\n"
    guard, place, kept = RepetitionGuard(), 0, None
    with in_time():
        at_once = RepetitionGuard().feed(written)
    for size in [*cuts, len(written)]:
        kept = guard.feed(written[place : place + size])
        place += size
        if kept is not None:
            break
    assert kept == at_once
    assert kept is None or 0 < kept <= len(written)
