"""Any server with OpenAI's HTTP interface: streamed chat completions, and embeddings.

``url`` is the address that ``/chat/completions`` is added to; one without a path means ``/v1``.
The stream is server-sent events (HTML standard, section 9.2), read leniently: every ``data:`` line
is one JSON document, comments keep the connection alive and count as no token.
"""

from __future__ import annotations

import json
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ragctl.addresses import without_password
from ragctl.errors import EmbeddingRefused, ModelError, ModelMissing, ModelReplyError
from ragctl.models.answer_stream import (
    LONGEST_LINE_BYTES,
    Ending,
    Guard,
    StreamedAnswer,
    count_or_none,
    lines_of,
)
from ragctl.models.http import HttpServer, Reply, json_object, one_line
from ragctl.models.pacing import Limits, Pace
from ragctl.models.retrying import TWICE_MORE, Retrying
from ragctl.models.vectors import fault_of
from ragctl.records.vectors import DIMENSIONS, EmbeddingIdentity, Purpose, Vector

if TYPE_CHECKING:
    from ragctl.models.byte_stream import ByteStream
    from ragctl.records.answers import Draft, Finish, Prompt

_CHAT: Final = "/chat/completions"
_EMBEDDINGS: Final = "/embeddings"
_DONE: Final = b"[DONE]"
_SHORTENS: Final = "text-embedding-3"
_FINISHES: Final[dict[str, Finish]] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "length": "length",
}


class OpenAiClient:
    """A server with OpenAI's interface; ``key_name`` is the variable that holds its key."""

    def __init__(
        self, url: str, *, connect_seconds: float = 5.0, key: str = "", key_name: str = ""
    ) -> None:
        address = url.rstrip("/")
        if not urlsplit(address).path:
            address += "/v1"
        self.server = HttpServer(
            address,
            connect_seconds=connect_seconds,
            server="the model server",
            hint=f"Check that it runs and the address is right: {without_password(address)}",
            key=key,
        )
        self._key_name = key_name

    def refusal(self, reply: Reply, *, model: str) -> ModelError:
        """Return the error for a reply whose status is not 200."""
        said = reply.error_text
        if reply.status in (401, 403):
            return ModelReplyError(
                f"{reply.url} answered {reply.status}, it wants a key: {said}",
                hint=f"Check the key in {self._key_name}."
                if self._key_name
                else "Name the variable that holds your key in api_key_env.",
                outcome=f"http {reply.status}",
            )
        if reply.status == 404 and "model" in said.lower():
            return ModelMissing(
                f"{self.server.shown_url} does not have the model {model}: {said}",
                hint="Correct the model's name.",
            )
        return self.server.refusal(reply)


class OpenAiGenerator:
    """Writes answers through ``/chat/completions``, streamed, at temperature 0 and seed 0.

    Limits and ``guard`` are those of :class:`~ragctl.models.ollama.OllamaGenerator`. The first
    token is the first text or reasoning: neither a keepalive nor an empty message is one.
    """

    def __init__(
        self,
        client: OpenAiClient,
        *,
        guard: Callable[[], Guard],
        model: str,
        name: str = "",
        max_tokens: int = 512,
        first_token_seconds: float = 60.0,
        stall_seconds: float = 20.0,
        total_seconds: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._guard = guard
        self._model = model
        self._name = name or f"openai/{model}"
        self._max_tokens = max_tokens
        self._limits = Limits(
            first_token_seconds=first_token_seconds,
            stall_seconds=stall_seconds,
            total_seconds=total_seconds,
        )
        self._clock = clock

    @property
    def name(self) -> str:
        """``openai/`` and the model, or the name it was given."""
        return self._name

    def generate(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Draft:
        """Write the answer; see :class:`~ragctl.protocols.Generator`."""
        answer = StreamedAnswer(self._guard(), on_text, token_limit=self._max_tokens)
        pace = Pace(self._client.server, self._limits, clock=self._clock)
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt.text}],
            "temperature": 0,
            "seed": 0,
            "max_tokens": self._max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        try:
            with self._client.server.stream(
                _CHAT, body=body, first_byte_seconds=pace.first_byte_seconds
            ) as stream:
                self._read(lines_of(self._packets(stream, pace)), answer, pace)
        except ModelError as error:
            answer.tear(error)
        return answer.draft(self.name)

    def _packets(self, stream: ByteStream, pace: Pace) -> Iterator[bytes]:
        if stream.status != 200:
            raise self._client.refusal(pace.whole(stream, _CHAT), model=self._model)
        yield from pace.packets(stream)

    def _read(self, lines: Iterator[bytes], answer: StreamedAnswer, pace: Pace) -> None:
        """Read events to the end: the tokens come after the message that says why it ended."""
        reason = ""
        tokens: tuple[int | None, int | None] = (None, None)
        for data in self._data(lines):
            if data == _DONE:
                break
            message = _Message.of(self._parsed(data))
            pace.has_begun = pace.has_begun or bool(message.text) or message.has_thought
            reason, tokens = message.reason or reason, message.tokens or tokens
            if message.text:
                answer.take(message.text)
            if answer.finish is not None:
                return
            if reason and message.tokens:
                break
        answer.take("", self._ending(reason, *tokens))

    def _ending(self, reason: str, prompt_tokens: int | None, output_tokens: int | None) -> Ending:
        if reason not in _FINISHES:
            said = f"it was ended by {one_line(reason)!r}" if reason else "the server closed it"
            raise ModelReplyError(
                f"{self._place}: the answer ended early: {said}", outcome="ended early"
            )
        return Ending(
            finish=_FINISHES[reason], prompt_tokens=prompt_tokens, output_tokens=output_tokens
        )

    def _data(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """Yield what the ``data:`` lines hold; a body that is no stream of events is one item."""
        first = True
        for line in lines:
            line = self._client.server.without_key(line.strip(b"\r\n"))
            line = line.removeprefix(b"\xef\xbb\xbf") if first else line
            if first and not line.startswith((b":", b"data:", b"event:", b"id:", b"retry:")):
                yield b"\n".join((line, *_up_to(lines, LONGEST_LINE_BYTES)))
                return
            first = False
            if line.startswith(b"data:"):
                yield line.removeprefix(b"data:").strip()
            elif not line.startswith((b":", b"event:", b"id:", b"retry:")):
                yield line  # half a line, or no event at all: said to be no JSON

    def _parsed(self, data: bytes) -> dict[str, object]:
        document = json_object(data, source=self._place, hint="Is this a model server's address?")
        if document.get("error"):
            error = document["error"]
            said = error.get("message", error) if isinstance(error, dict) else error
            raise ModelReplyError(
                f"{self._place} reports: {one_line(str(said))}", outcome="error reported"
            )
        return document

    @property
    def _place(self) -> str:
        return f"{self.name} ({self._client.server.shown_url})"


def _up_to(lines: Iterator[bytes], size: int) -> Iterator[bytes]:
    for line in lines:
        size -= len(line)
        if size < 0:
            return
        yield line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """One message of a stream: its text, why the answer ended (empty: it has not), tokens."""

    text: str
    reason: str
    has_thought: bool
    tokens: tuple[int | None, int | None] | None

    @classmethod
    def of(cls, document: dict[str, object]) -> _Message:
        """Read a message, or a whole reply of a server that does not stream."""
        choices, usage = document.get("choices"), document.get("usage")
        choice = choices[0] if isinstance(choices, list) and choices else None
        choice = choice if isinstance(choice, dict) else {}
        delta = choice.get("delta") or choice.get("message")
        delta = delta if isinstance(delta, dict) else {}
        text, reason, tokens = delta.get("content"), choice.get("finish_reason"), None
        if isinstance(usage, dict):
            tokens = (
                count_or_none(usage.get("prompt_tokens")),
                count_or_none(usage.get("completion_tokens")),
            )
        return cls(
            text=text if isinstance(text, str) else "",
            reason=reason if isinstance(reason, str) else "",
            has_thought=bool(delta.get("reasoning_content") or delta.get("reasoning")),
            tokens=tokens,
        )


class OpenAiEmbedder:
    """Embeds through ``/embeddings``, one request a call, several threads at once.

    Vectors with fewer than ``dimensions`` numbers are padded with zeros, which leaves every
    cosine unchanged; longer ones are refused. What may clear is tried again as
    :class:`~ragctl.models.ollama.OllamaEmbedder` does.
    """

    def __init__(
        self,
        client: OpenAiClient,
        *,
        model: str,
        document_prefix: str = "",
        query_prefix: str = "",
        dimensions: int = DIMENSIONS,
        timeout_seconds: float = 60.0,
        retrying: Retrying = TWICE_MORE,
    ) -> None:
        self._client = client
        self._model = model
        self._prefixes: dict[Purpose, str] = {"document": document_prefix, "query": query_prefix}
        self._dimensions = dimensions
        self._timeout_seconds = timeout_seconds
        self._retrying = retrying

    @property
    def identity(self) -> EmbeddingIdentity:
        """The model; such servers tell no digest."""
        return EmbeddingIdentity(
            provider="openai",
            model=self._model,
            digest="",
            dimensions=self._dimensions,
            document_prefix=self._prefixes["document"],
            query_prefix=self._prefixes["query"],
        )

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Return one vector a text, in order; see :class:`~ragctl.protocols.Embedder`."""
        if not texts:
            return []
        if not all(text.strip() for text in texts):
            raise EmbeddingRefused("a blank text cannot be embedded", reason="empty")
        prefix = self._prefixes[purpose]
        body: dict[str, object] = {"model": self._model, "input": [prefix + t for t in texts]}
        if self._model.startswith(_SHORTENS):
            body["dimensions"] = self._dimensions
        return self._retrying.call(
            lambda: self._once(body, count=len(texts)), may_clear=lambda error: error.may_clear
        )

    def _once(self, body: object, *, count: int) -> list[Vector]:
        reply = self._client.server.request(
            "POST", _EMBEDDINGS, body=body, timeout_seconds=self._timeout_seconds
        )
        if reply.status != 200:
            raise self._refusal(reply)
        rows = _rows_in_order(reply.json_object(), count=count, model=self._model)
        return [self._vector(row) for row in rows]

    def _refusal(self, reply: Reply) -> ModelError:
        said = reply.error_text
        if reply.status in (400, 413, 422) and _is_too_long(said):
            return EmbeddingRefused(
                f"the embedding model {self._model} refuses the text: {said}", reason="too_long"
            )
        return self._client.refusal(reply, model=self._model)

    def _vector(self, row: object) -> Vector:
        if not isinstance(row, list) or not {type(number) for number in row} <= {int, float}:
            raise ModelReplyError(f"{self._model} sent a vector that is not a list of numbers")
        if not 0 < len(row) <= self._dimensions:
            raise ModelReplyError(
                f"{self._model} gives vectors of {len(row)} numbers, "
                f"the index holds vectors of {self._dimensions}",
                hint=f"Choose a model with at most {self._dimensions} numbers.",
            )
        try:
            vector = array("f", row)
        except OverflowError as error:
            raise self._not_finite("a number out of range") from error
        if fault := fault_of(vector):
            raise self._not_finite(fault)
        vector.extend([0.0] * (self._dimensions - len(vector)))
        return vector

    def _not_finite(self, what: str) -> EmbeddingRefused:
        message = f"the embedding model {self._model} answered {what}"
        return EmbeddingRefused(message, reason="not_finite", hint="Change the text.")


def _rows_in_order(document: dict[str, object], *, count: int, model: str) -> list[object]:
    """Return the vectors in the order of the texts: servers may send them in any."""
    data = document.get("data")
    rows: dict[int, object] = {}
    for place, entry in enumerate(data if isinstance(data, list) else []):
        index = entry.get("index", place) if isinstance(entry, dict) else None
        if type(index) is int:
            rows[index] = entry.get("embedding")
    if sorted(rows) != list(range(count)):
        raise ModelReplyError(
            f"{model} sent {len(rows)} vectors for {count} texts: "
            f"{one_line(json.dumps(document)[:120])}"
        )
    return [rows[index] for index in range(count)]


def _is_too_long(said: str) -> bool:
    words = said.lower()
    return "too long" in words or "maximum" in words or ("context" in words and "length" in words)
