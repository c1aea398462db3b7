"""The scripted model server of a soak: healthy, but for what the plan of each call says."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tests.ollama_server import (
    OllamaServer,
    Reply,
    Request,
    chat_lines,
    embeddings,
)
from tests.openai_replies import CHAT as OPENAI_CHAT
from tests.openai_replies import delta, events
from tests.soak.ask_plans import Moment, Plan, case_of

MODELS: Final = ("nomic-embed-text", "llama3", "second")
SLOW_GAP_SECONDS: Final = 0.05
_SENTENCE: Final = re.compile(r"[A-Z][a-z ]{40,}\.")
_TAGS: Final = {
    "models": [{"name": f"{name}:latest", "digest": f"digest-of-{name}"} for name in MODELS]
}


class ScriptedModel:
    """Answers every request as its call's plan says, and tells ``on_moment`` where a call is."""

    def __init__(self, server: OllamaServer, *, on_moment: Callable[[Plan, Moment], None]) -> None:
        self._plans: dict[int, Plan] = {}
        self._seen: Counter[tuple[int, str]] = Counter()
        self._lock = threading.Lock()
        self._on_moment = on_moment
        server.on("/api/tags", self._tags)
        server.on("/api/embed", self._embed)
        server.on("/api/chat", self._chat)
        server.on(OPENAI_CHAT, self._openai)

    def expect(self, plan: Plan) -> None:
        """Take a call that is made now."""
        self._plans[plan.number] = plan

    def _fault(self, request: Request, place: str) -> tuple[Plan | None, str]:
        number = case_of(request)
        plan = self._plans.get(number) if number is not None else None
        if plan is None:
            return None, ""
        with self._lock:
            self._seen[plan.number, place] += 1
            seen = self._seen[plan.number, place]
        return plan, plan.faults.get(place, "") if seen <= plan.times else ""

    def _tags(self, request: Request) -> Reply:
        _, fault = self._fault(request, "tags")
        healthy = Reply(document=_TAGS)
        return Reply(document={"models": []}) if fault == "missing" else _spoilt(healthy, fault)

    def _embed(self, request: Request) -> Reply:
        plan, fault = self._fault(request, "embed")
        self._reached(plan, "embed")
        if fault == "missing":
            return Reply(status=404, document={"error": "model 'nomic-embed-text' not found"})
        count = len(request.inputs)
        numbers = {"short vectors": [0.5] * 12, "zeros": [0.0] * 768, "not finite": [1e60] * 768}
        if fault in numbers:
            return Reply(document={"embeddings": [numbers[fault]] * count})
        return _spoilt(embeddings(request), fault)

    def _chat(self, request: Request) -> Reply:
        place = "second" if str(request.body.get("model")).startswith("second") else "chat"
        plan, fault = self._fault(request, place)
        self._reached(plan, "chat")
        text = _answer_to(request)
        lines = chat_lines(text, " [1].", done={"done_reason": "stop", "eval_count": 9})
        return self._written(lines, chat_lines(f"{text} "), fault, plan)

    def _openai(self, request: Request) -> Reply:
        plan, fault = self._fault(request, "second")
        self._reached(plan, "chat")
        text = _answer_to(request)
        return self._written(events(text, " [1]."), [delta(f"{text} ")], fault, plan)

    def _written(
        self, lines: list[bytes], piece: list[bytes], fault: str, plan: Plan | None
    ) -> Reply:
        """Return a stream of lines, spoilt; ``piece`` is one that says nothing of an end."""
        spoilt: dict[str, Reply] = {
            "hang after text": Reply(packets=piece, end="hang"),
            "reset after text": Reply(packets=piece, end="reset"),
            "half a line": Reply(packets=[piece[0], lines[1][:20]]),
            "cut": Reply(packets=piece, end="cut"),
            "drip": Reply(packets=_bytes_of(piece[0]), gap_seconds=SLOW_GAP_SECONDS),
            "endless": Reply(packets=_endless(piece[0])),
            "repetition": Reply(packets=[*piece * 40, *lines]),
            "no text": Reply(packets=lines[-1:]),
            "error line": Reply(packets=[b'{"error": "CUDA out of memory"}\n']),
            "missing": Reply(status=404, document={"error": "model not found, try pulling it"}),
            "slow end": Reply(packets=piece, end="slow"),
        }
        if fault in spoilt:
            return spoilt[fault]
        return _spoilt(Reply(packets=self._told(lines, plan)), fault)

    def _told(self, lines: list[bytes], plan: Plan | None) -> Iterator[bytes]:
        yield lines[0]
        self._reached(plan, "text")
        yield from lines[1:]

    def _reached(self, plan: Plan | None, moment: Moment) -> None:
        if plan is not None:
            self._on_moment(plan, moment)


def _spoilt(healthy: Reply, fault: str) -> Reply:
    replies: dict[str, Reply] = {
        "503": Reply(status=503, document={"error": "loading the model"}),
        "429": Reply(status=429, headers={"Retry-After": "1"}, document={"error": "busy"}),
        "long wait": Reply(status=429, headers={"Retry-After": "600"}, document={"error": "busy"}),
        "500": Reply(status=500, document={"error": "llama runner has ended"}),
        "hang": Reply(end="hang"),
        "reset": Reply(end="reset"),
        "slow head": Reply(end="slow"),
        "garbage": Reply(raw=b"\xff\xfe<html>\x00 [1"),
        "wrong json": Reply(raw=b'[{"message": 5}]\n'),
    }
    if fault in replies:
        return replies[fault]
    if fault in ("cut", "slow end"):
        body = json.dumps(healthy.document).encode()
        return replace(healthy, packets=[body[:50]], end="cut" if fault == "cut" else "slow")
    return healthy


def _answer_to(request: Request) -> str:
    """Return a statement that the passages of a prompt support."""
    messages = request.body.get("messages", ())
    prompt = str(messages[-1]["content"]) if messages else ""
    found = _SENTENCE.search(prompt.partition("Passages:")[2])
    return found[0].removesuffix(".") if found else "Nothing is said"


def _bytes_of(line: bytes) -> Iterator[bytes]:
    for _ in range(400):
        yield from (bytes([one]) for one in line)


def _endless(line: bytes) -> Iterator[bytes]:
    for number in itertools.count():
        yield line.replace(b" ", b" %d " % number)
