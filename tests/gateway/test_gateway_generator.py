"""Routes in order, over real HTTP on loopback, with deadlines scaled down."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from ragctl.errors import ModelError, ModelMissing, ModelUnreachable
from ragctl.gateway.breaker import OwnBreakers
from ragctl.gateway.deadline import Deadlines
from ragctl.gateway.generator import GatewayGenerator, Policy
from ragctl.gateway.routes import Route
from ragctl.models.ollama import OllamaClient, OllamaGenerator
from ragctl.models.openai import OpenAiClient, OpenAiGenerator
from ragctl.protocols import Breakers, Generator
from ragctl.records.answers import Draft, Prompt
from ragctl.records.search import Hit
from ragctl.stages.generate import ExtractiveGenerator
from ragctl.stages.repetition import RepetitionGuard
from tests.ollama_server import OllamaServer, Reply, chat, chat_lines
from tests.openai_replies import CHAT, completion, delta

HANG = Reply(end="hang")
BUSY = Reply(status=503, raw=b"starting")
TORN = Reply(packets=chat_lines("At fi"), end="hang")


@pytest.fixture
def servers() -> Iterator[tuple[OllamaServer, OllamaServer]]:
    """A first server of Ollama's kind and a second of OpenAI's, both healthy."""
    with OllamaServer() as first, OllamaServer() as second:
        first.on("/api/chat", chat("First [1]."))
        second.on(CHAT, completion("Second [1]."))
        yield first, second


@contextmanager
def nobody_accepts() -> Iterator[str]:
    """The address of a socket whose queue is full: connecting to it hangs."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(8):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def hit() -> Hit:
    return Hit(
        n=1, chunk_id=1, ref="/a#c0", url="/a", title="A", track="t", section=None, anchor=None,
        body="The lock opens at six in the morning.", start_char=0, end_char=10,
        source_path="a.md", score=0.9, vector_score=0.9,
    )  # fmt: skip


PROMPT = Prompt(text="...", question="When does the lock open?", template="t", passages=(hit(),))


def first_route(url: str, *, first: float = 0.4, total: float = 30.0, **more: Any) -> Route:
    def make(deadlines: Deadlines) -> Generator:
        return OllamaGenerator(
            OllamaClient(url, connect_seconds=deadlines.connect_seconds),
            guard=RepetitionGuard,
            first_token_seconds=deadlines.first_token_seconds,
            stall_seconds=0.4,
            total_seconds=deadlines.total_seconds,
        )

    limits = Deadlines(connect_seconds=0.4, first_token_seconds=first, total_seconds=total)
    return Route(name="first", key="first", deadlines=limits, make=make, **more)


def second_route(url: str, *, first: float = 5.0, total: float = 30.0, **more: Any) -> Route:
    def make(deadlines: Deadlines) -> Generator:
        return OpenAiGenerator(
            OpenAiClient(url, connect_seconds=deadlines.connect_seconds),
            guard=RepetitionGuard,
            model="m",
            first_token_seconds=deadlines.first_token_seconds,
            stall_seconds=0.4,
            total_seconds=deadlines.total_seconds,
        )

    limits = Deadlines(connect_seconds=1.0, first_token_seconds=first, total_seconds=total)
    return Route(name="second", key="second", deadlines=limits, make=make, **more)


class Asked:
    """A gateway over routes, with all that came of one question."""

    def __init__(
        self,
        *routes: Route,
        budget: float = 60.0,
        retries: int = 0,
        replaces_torn: bool = True,
        last_resort: bool = True,
        breakers: Breakers | None = None,
    ) -> None:
        self.pieces: list[str] = []
        self.restarts: list[str] = []
        self.waits: list[float] = []
        self.gateway = GatewayGenerator(
            routes,
            policy=Policy(budget_seconds=budget, retries=retries, replaces_torn=replaces_torn),
            breakers=breakers or OwnBreakers(clock=time.monotonic),
            last_resort=ExtractiveGenerator() if last_resort else None,
            on_restart=self._restart,
            clock=time.monotonic,
            sleep=self.waits.append,
            chance=lambda: 1.0,
        )

    def _restart(self, reason: str) -> None:
        self.restarts.append(reason)
        self.pieces.append("|")

    def __call__(self) -> Draft:
        return self.gateway.generate(PROMPT, on_text=self.pieces.append)


def outcomes(draft: Draft) -> list[tuple[str, str]]:
    return [(attempt.route, attempt.outcome) for attempt in draft.attempts]


def codes(draft: Draft) -> list[str]:
    return [problem.code for problem in draft.problems]


def test_a_healthy_first_route_writes_and_nobody_else_is_asked(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    ask = Asked(first_route(servers[0].url), second_route(servers[1].url))
    draft = ask()
    assert (draft.text, draft.route, draft.problems) == ("First [1].", "first", ())
    assert outcomes(draft) == [("first", "answered")]
    assert servers[1].requests == []
    assert ask.gateway.name == "first, then second"


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (BUSY, "http 503"),
        (Reply(status=500, raw=b""), "http 500"),
        (Reply(end="reset"), "connection lost"),
        (HANG, "timeout (first token)"),
        (Reply(packets=[], end="hang"), "timeout (first token)"),
        (Reply(packets=[b"\n"] * 100, gap_seconds=0.05), "timeout (first token)"),
        (Reply(raw=b"<html>proxy login</html>"), "garbage"),
        (Reply(packets=[b'{"message": {"con']), "garbage"),
        (Reply(packets=[b'{"error": "out of memory"}\n']), "error reported"),
        (Reply(status=302, headers={"Location": "/api/chat"}, raw=b""), "http 302"),
        (Reply(packets=[]), "ended early"),
        (chat(""), "no text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_first_route_that_gives_no_text_is_followed_by_the_second(
    reply: Reply, outcome: str, servers: tuple[OllamaServer, OllamaServer]
) -> None:
    servers[0].on("/api/chat", reply)
    ask = Asked(first_route(servers[0].url), second_route(servers[1].url))
    draft = ask()
    assert (draft.text, draft.route) == ("Second [1].", "second")
    assert outcomes(draft) == [("first", outcome), ("second", "answered")]
    assert codes(draft) == ["fallback"]
    assert draft.problems[0].message.startswith("Written by second: first did not answer: ")
    assert ("".join(ask.pieces), ask.restarts) == ("Second [1].", [])
    assert draft.written_by_model


def test_a_refused_and_a_hanging_connection_are_told_apart(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    refused = Asked(first_route("http://127.0.0.1:9"), second_route(servers[1].url))()
    assert outcomes(refused)[0] == ("first", "connection refused")
    with nobody_accepts() as url:
        hanging = Asked(first_route(url), second_route(servers[1].url))()
    assert outcomes(hanging)[0] == ("first", "timeout (connect)")
    assert hanging.text == "Second [1]."


def test_a_hang_never_eats_the_time_of_the_second_route(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    servers[0].on("/api/chat", HANG)
    servers[1].on(CHAT, Reply(packets=completion("Late [1].").packets, delay_seconds=1.5))
    first = first_route(servers[0].url, first=1.0, total=50.0)
    draft = Asked(first, second_route(servers[1].url, first=3.0), budget=5.4)()
    # the first may use 5.4 - (1 + 3) seconds, so that the second has its 4
    assert outcomes(draft) == [("first", "timeout (first token)"), ("second", "answered")]
    assert draft.attempts[0].ms < 3000
    assert draft.text == "Late [1]."


def test_a_stream_without_end_is_cut_in_time_for_the_second_route(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    endless = (line for n in range(10_000) for line in chat_lines(f"word{n} "))
    servers[0].on("/api/chat", Reply(packets=endless, gap_seconds=0.05))
    draft = Asked(
        first_route(servers[0].url), second_route(servers[1].url, first=3.0), budget=5.0
    )()
    assert outcomes(draft) == [("first", "torn"), ("second", "answered")]
    assert draft.text == "Second [1]."


def test_a_torn_answer_is_written_anew_and_what_was_shown_is_parted_from_it(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    servers[0].on("/api/chat", TORN)
    ask = Asked(first_route(servers[0].url), second_route(servers[1].url))
    draft = ask()
    assert "".join(ask.pieces) == "At fi|Second [1]."
    assert len(ask.restarts) == 1
    assert ask.restarts[0].startswith("first broke off: ")
    assert (draft.text, draft.finish) == ("Second [1].", "stop")
    assert outcomes(draft) == [("first", "torn"), ("second", "answered")]
    assert "first broke off" in draft.problems[0].message


def test_where_every_answer_is_torn_the_passages_are_quoted(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    servers[0].on("/api/chat", TORN)
    servers[1].on(CHAT, Reply(packets=[delta("At six")], end="reset"))
    ask = Asked(first_route(servers[0].url), second_route(servers[1].url))
    draft = ask()
    assert (draft.route, draft.written_by_model) == ("extractive", False)
    assert outcomes(draft) == [("first", "torn"), ("second", "torn"), ("extractive", "answered")]
    assert codes(draft) == ["no_route"]
    assert "".join(ask.pieces).startswith("At fi|At six|The lock opens")


def test_a_torn_answer_stays_where_nobody_is_to_write_it_anew(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    servers[0].on("/api/chat", TORN)
    ask = Asked(first_route(servers[0].url), replaces_torn=False)
    draft = ask()
    assert (draft.text, draft.finish, ask.restarts) == ("At fi", "torn", [])


def test_what_may_clear_is_tried_again_before_the_second_route_is(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    servers[0].on("/api/chat", BUSY, chat("First [1]."))
    ask = Asked(first_route(servers[0].url), second_route(servers[1].url), retries=1)
    draft = ask()
    assert outcomes(draft) == [("first", "http 503"), ("first", "answered")]
    assert (draft.problems, ask.waits) == ((), [0.25])
    servers[0].on("/api/chat", BUSY)
    servers[0].requests.clear()
    assert ask().route == "second"
    assert len(servers[0].requests) == 2


def test_a_wait_longer_than_the_budget_sends_the_question_to_the_second_route(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    busy = Reply(status=503, headers={"Retry-After": "3600"}, raw=b"")
    servers[0].on("/api/chat", busy)
    ask = Asked(first_route(servers[0].url), second_route(servers[1].url), retries=5)
    assert outcomes(ask()) == [("first", "http 503"), ("second", "answered")]
    assert ask.waits == []


def test_nothing_is_tried_again_after_text_was_shown(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    servers[0].on("/api/chat", Reply(packets=chat_lines("At fi"), end="reset"))
    ask = Asked(first_route(servers[0].url), second_route(servers[1].url), retries=5)
    assert outcomes(ask()) == [("first", "torn"), ("second", "answered")]
    assert len(servers[0].requests_to("/api/chat")) == 1


def test_three_failures_open_the_breaker_and_the_route_costs_nothing_any_more(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    servers[0].on("/api/chat", BUSY)
    ask = Asked(first_route(servers[0].url), second_route(servers[1].url))
    for _ in range(3):
        assert outcomes(ask())[0] == ("first", "http 503")
    draft = ask()
    assert outcomes(draft) == [("first", "breaker open"), ("second", "answered")]
    assert "its breaker is open" in draft.problems[0].message
    assert len(servers[0].requests_to("/api/chat")) == 3


def test_a_probe_that_is_stopped_by_the_user_leaves_the_next_one_free(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    now = [0.0]
    breakers = OwnBreakers(clock=lambda: now[0])
    for _ in range(3):
        breakers.failed("first", is_probe=False, error="x")
    now[0] = 31.0

    def stopped(_piece: str) -> None:
        raise KeyboardInterrupt

    ask = Asked(first_route(servers[0].url), breakers=breakers)
    with pytest.raises(KeyboardInterrupt):
        ask.gateway.generate(PROMPT, on_text=stopped)
    assert ask().route == "first"


def test_a_wrong_key_opens_no_breaker(servers: tuple[OllamaServer, OllamaServer]) -> None:
    servers[0].on("/api/chat", Reply(status=401, raw=b""))
    ask = Asked(first_route(servers[0].url), second_route(servers[1].url))
    assert [outcomes(ask())[0] for _ in range(4)] == [("first", "http 401")] * 4


def test_a_route_whose_key_is_not_here_is_passed_over(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    def make(_deadlines: Deadlines) -> Generator:
        raise ModelMissing("MY_KEY is not set", outcome="no key")

    limits = Deadlines(connect_seconds=1, first_token_seconds=1, total_seconds=1)
    keyless = Route(name="keyless", key="keyless", deadlines=limits, make=make)
    draft = Asked(keyless, second_route(servers[1].url))()
    assert outcomes(draft) == [("keyless", "no key"), ("second", "answered")]


def test_without_a_last_resort_the_error_says_what_became_of_each_route(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    servers[0].on("/api/chat", BUSY)
    alone = Asked(first_route(servers[0].url), last_resort=False)
    with pytest.raises(ModelError, match="503") as failed:
        alone()
    assert failed.value.hint
    both = Asked(first_route(servers[0].url), second_route("http://127.0.0.1:9"), last_resort=False)
    with pytest.raises(ModelUnreachable, match=r"first .*http 503; second .*refused"):
        both()


def test_the_cost_is_that_of_the_route_that_wrote(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    servers[0].on("/api/chat", BUSY)
    reply = completion("Second [1].", prompt_tokens=2000, completion_tokens=100)
    servers[1].on(CHAT, reply)
    priced = second_route(servers[1].url, price_input_per_million=0.5, price_output_per_million=2.0)
    draft = Asked(first_route(servers[0].url), priced)()
    assert draft.cost_usd == pytest.approx(0.001 + 0.0002)
    servers[1].on(CHAT, completion("Second [1]."))
    assert Asked(priced)().cost_usd is None


@contextmanager
def drips() -> Iterator[str]:
    """The address of a server that sends the head of its reply byte by byte, without end."""
    stop = threading.Event()

    def serve(listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not stop.wait(0.05):
                    connection.sendall(b"x")
        except OSError:
            return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        stop.set()


def test_a_head_that_comes_byte_by_byte_is_a_hang_like_any_other(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    with drips() as url:
        draft = Asked(first_route(url), second_route(servers[1].url))()
    assert outcomes(draft) == [("first", "timeout (first token)"), ("second", "answered")]


def test_attempts_tell_when_they_began_and_what_they_met_also_where_nobody_wrote(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    first, second = servers
    first.on("/api/chat", BUSY)
    routes = (first_route(first.url, model="m"), second_route(second.url))
    failed, wrote = Asked(*routes)().attempts
    assert (failed.model, failed.first_token_ms) == ("m", None)
    assert "503" in failed.error
    assert wrote.start_ms >= failed.start_ms + failed.ms
    assert wrote.first_token_ms is not None
    assert 0 < wrote.first_token_ms <= wrote.ms
    assert wrote.error == ""
    second.on(CHAT, BUSY)
    with pytest.raises(ModelUnreachable) as raised:
        Asked(*routes, last_resort=False)()
    assert [attempt.outcome for attempt in raised.value.attempts] == ["http 503", "http 503"]
