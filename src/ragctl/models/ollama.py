"""Ollama over its native API: which models it has, embeddings, and streamed answers.

The native API and not the OpenAI-compatible one, which ignores ``num_ctx``. All replies are
checked before they are believed: a model server is software of another version on another
machine.
"""

from __future__ import annotations

import re
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ragctl.addresses import is_loopback, normalise_host, without_password
from ragctl.errors import EmbeddingRefused, ModelError, ModelMissing, ModelReplyError
from ragctl.models.answer_stream import (
    Ending,
    Guard,
    StreamedAnswer,
    count_or_none,
    lines_of,
)
from ragctl.models.http import (
    ConnectionLost,
    HttpServer,
    Reply,
    ServerBusy,
    ServerFaultError,
    json_object,
    one_line,
)
from ragctl.models.pacing import Limits, Pace
from ragctl.models.retrying import TWICE_MORE, Retrying
from ragctl.models.vectors import fault_of
from ragctl.records.vectors import DIMENSIONS, EmbeddingIdentity, Purpose, Vector

if TYPE_CHECKING:
    from ragctl.models.byte_stream import ByteStream
    from ragctl.records.answers import Draft, Prompt

_TOO_LONG: Final = re.compile(
    r"context (length|window)|input.{0,40}too (long|large)|exceed.{0,40}(context|maximum)", re.I
)
_NOT_FINITE: Final = re.compile(r"unsupported value: [+-]?(NaN|Inf)|\bNaN\b")


def model_name(name: str) -> str:
    """Return a model's name without ``:latest``, which Ollama adds where no tag is given."""
    return name.strip().removesuffix(":latest")


class OllamaClient:
    """An Ollama server: its address in any form of ``OLLAMA_HOST``, and what it holds."""

    def __init__(
        self,
        url: str,
        *,
        connect_seconds: float = 3.0,
        timeout_seconds: float = 10.0,
        key: str = "",
    ) -> None:
        address = normalise_host(url)
        shown = without_password(address)
        hint = (
            "Start it with: ollama serve (or point OLLAMA_HOST at where it runs)"
            if is_loopback(address)
            else f"Check OLLAMA_HOST={shown} with: curl {shown}/api/version"
        )
        self.server = HttpServer(
            address, connect_seconds=connect_seconds, server="Ollama", hint=hint, key=key
        )
        self._timeout_seconds = timeout_seconds

    def version(self) -> str:
        """Return the server's version as it tells it, ``""`` where it does not."""
        return str(self._get("/api/version").get("version") or "")

    def models(self) -> dict[str, str]:
        """Return the models it holds, name without ``:latest`` to digest (``""`` if untold)."""
        listed = self._get("/api/tags").get("models")
        found = {}
        for entry in listed if isinstance(listed, list) else []:
            name = entry.get("name") or entry.get("model") if isinstance(entry, dict) else None
            if isinstance(name, str):
                found[model_name(name)] = str(entry.get("digest") or "")
        return found

    def refusal(self, reply: Reply, *, model: str) -> ModelError:
        """Return the error for a reply whose status is not 200."""
        said = reply.error_text
        if reply.status == 404 and "model" in said.lower():
            return ModelMissing(
                f"Ollama at {self.server.shown_url} does not have the model {model}",
                hint=f"ollama pull {model}",
            )
        return self.server.refusal(reply)

    def _get(self, path: str) -> dict[str, object]:
        reply = self.server.request("GET", path, timeout_seconds=self._timeout_seconds)
        if reply.status != 200:
            raise self.server.refusal(reply)
        return reply.json_object()


class OllamaEmbedder:
    """Embeds through ``/api/embed``, one request a call, several threads at once.

    Lost connections, 429, 502, 503, 504, plain 500 and vectors that are not finite are tried
    again; a 400 never is.
    """

    def __init__(
        self,
        client: OllamaClient,
        *,
        model: str = "nomic-embed-text",
        document_prefix: str = "search_document: ",
        query_prefix: str = "search_query: ",
        dimensions: int = DIMENSIONS,
        timeout_seconds: float = 60.0,
        retrying: Retrying = TWICE_MORE,
    ) -> None:
        self._client = client
        self._model = model_name(model)
        self._prefixes: dict[Purpose, str] = {"document": document_prefix, "query": query_prefix}
        self._dimensions = dimensions
        self._timeout_seconds = timeout_seconds
        self._retrying = retrying
        self._digest: str | None = None
        self._lock = threading.Lock()

    @property
    def identity(self) -> EmbeddingIdentity:
        """The model with the digest the server tells; asks it once, the first time.

        Raises ModelUnreachable where no server answers.
        """
        return EmbeddingIdentity(
            provider="ollama",
            model=self._model,
            digest=self._told_digest(),
            dimensions=self._dimensions,
            document_prefix=self._prefixes["document"],
            query_prefix=self._prefixes["query"],
        )

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Return one vector a text, in order; see :class:`~ragctl.protocols.Embedder`.

        EmbeddingRefused has the reason ``empty`` for a blank text (never sent), ``too_long``
        for one over the model's context, ``not_finite`` for NaN, infinities or all zeros.
        """
        if not texts:
            return []
        if not all(text.strip() for text in texts):
            raise EmbeddingRefused("a blank text cannot be embedded", reason="empty")
        prefix = self._prefixes[purpose]
        body = {
            "model": self._model,
            "input": [prefix + text for text in texts],
            "truncate": False,
        }
        return self._retrying.call(lambda: self._once(body, count=len(texts)), may_clear=_may_clear)

    def _once(self, body: object, *, count: int) -> list[Vector]:
        reply = self._client.server.request(
            "POST", "/api/embed", body=body, timeout_seconds=self._timeout_seconds
        )
        if reply.status != 200:
            raise self._refusal(reply)
        document = reply.json_object()
        rows = document.get("embeddings")
        if not isinstance(rows, list):
            if "error" in document:
                said = one_line(str(document["error"]))
                raise ModelReplyError(f"{reply.url} reports: {said}", outcome="error reported")
            keys = ", ".join(sorted(document)) or "nothing"
            raise ModelReplyError(
                f"{reply.url} sent no list of embeddings but {one_line(keys)}",
                hint="Ollama 0.3 or newer is needed: ollama --version",
            )
        if len(rows) != count:
            raise ModelReplyError(f"{reply.url} sent {len(rows)} vectors for {count} texts")
        return [self._vector(row) for row in rows]

    def _refusal(self, reply: Reply) -> ModelError:
        said = reply.error_text
        if reply.status in (400, 413, 500) and _TOO_LONG.search(said):
            return EmbeddingRefused(
                f"too long for the embedding model {self._model}: {said}", reason="too_long"
            )
        if reply.status == 500 and _NOT_FINITE.search(said):
            return self._not_finite(f"NaN ({said})")
        return self._client.refusal(reply, model=self._model)

    def _not_finite(self, what: str) -> EmbeddingRefused:
        return EmbeddingRefused(
            f"the embedding model {self._model} answered {what}",
            reason="not_finite",
            hint="Change the text, or run the model on another device (OLLAMA_NUM_GPU=0).",
        )

    def _vector(self, row: object) -> Vector:
        """Check one vector; float32, so a number too large for it counts as infinite."""
        if not isinstance(row, list) or not {type(x) for x in row} <= {int, float}:
            kind = type(row).__name__ if not isinstance(row, list) else "not only numbers"
            raise ModelReplyError(f"{self._model} sent a vector that is {kind}")
        if len(row) != self._dimensions:
            raise ModelReplyError(
                f"{self._model} gives vectors of {len(row)} numbers, "
                f"the index holds vectors of {self._dimensions}",
                hint="Choose a model with that size, such as nomic-embed-text (768).",
            )
        try:
            vector = array("f", row)
        except OverflowError as error:
            raise self._not_finite("a number out of range") from error
        if fault := fault_of(vector):
            raise self._not_finite(fault)
        return vector

    def _told_digest(self) -> str:
        with self._lock:
            if self._digest is None:
                try:
                    self._digest = self._client.models().get(self._model, "")
                except ModelReplyError:
                    self._digest = ""
            return self._digest


def _may_clear(error: ModelError) -> bool:
    if isinstance(error, EmbeddingRefused):
        return error.reason == "not_finite"
    return isinstance(error, ConnectionLost | ServerBusy | ServerFaultError)


class OllamaGenerator:
    """Writes answers through ``/api/chat``, streamed, at temperature 0 and seed 0.

    Limits: ``first_token_seconds`` until the first line, ``stall_seconds`` of silence after it,
    ``total_seconds`` in all. A server that ignores ``num_predict`` is left after as many lines
    (a line is at least a token) or 32 bytes a token; such an answer is ``torn``. ``guard`` makes
    a fresh watch for each answer; the request is closed when it finds runaway repetition, and
    the draft (``repetition``) holds less than was handed to ``on_text``.
    """

    def __init__(
        self,
        client: OllamaClient,
        *,
        guard: Callable[[], Guard],
        model: str = "llama3",
        num_ctx: int = 4096,
        num_predict: int = 512,
        first_token_seconds: float = 60.0,
        stall_seconds: float = 20.0,
        total_seconds: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._guard = guard
        self._model = model_name(model)
        self._options = {
            "temperature": 0,
            "seed": 0,
            "num_ctx": num_ctx,
            "num_predict": num_predict,
        }
        self._token_limit = num_predict if num_predict > 0 else num_ctx
        self._limits = Limits(
            first_token_seconds=first_token_seconds,
            stall_seconds=stall_seconds,
            total_seconds=total_seconds,
        )
        self._clock = clock

    @property
    def name(self) -> str:
        """``ollama/`` and the model."""
        return f"ollama/{self._model}"

    def generate(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Draft:
        """Write the answer; see :class:`~ragctl.protocols.Generator`.

        Raises ModelReplyError where the model returned no text. Reasoning (``<think>`` blocks
        and the ``thinking`` field) is never part of the text; NUL and lone surrogates become
        U+FFFD.
        """
        answer = StreamedAnswer(self._guard(), on_text, token_limit=self._token_limit)
        pace = Pace(self._client.server, self._limits, clock=self._clock)
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt.text}],
            "stream": True,
            "options": self._options,
        }
        try:
            with self._client.server.stream(
                "/api/chat", body=body, first_byte_seconds=pace.first_byte_seconds
            ) as stream:
                for line in lines_of(self._packets(stream, pace)):
                    document = self._parsed(line)
                    answer.take(_piece(document), _ending(document))
                    if answer.finish is not None:
                        break
                else:
                    said = "the answer ended early: the server closed the stream"
                    raise ModelReplyError(said, outcome="ended early")
        except ModelError as error:
            answer.tear(error)
        return answer.draft(self.name)

    def _packets(self, stream: ByteStream, pace: Pace) -> Iterator[bytes]:
        if stream.status != 200:
            raise self._client.refusal(pace.whole(stream, "/api/chat"), model=self._model)
        for packet in pace.packets(stream):
            pace.has_begun = pace.has_begun or bool(packet.strip())  # every line is a token
            yield packet

    def _parsed(self, line: bytes) -> dict[str, object]:
        line = self._client.server.without_key(line)
        document = json_object(line, source=self.name)
        if "error" in document:
            said = one_line(str(document["error"]))
            raise ModelReplyError(f"{self.name} reports: {said}", outcome="error reported")
        return document


def _piece(line: dict[str, object]) -> str:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""


def _ending(line: dict[str, object]) -> Ending | None:
    """Return the end that the last line of a stream tells; None for a line before it."""
    if line.get("done") is not True:
        return None
    return Ending(
        finish="length" if line.get("done_reason") == "length" else "stop",
        prompt_tokens=count_or_none(line.get("prompt_eval_count")),
        output_tokens=count_or_none(line.get("eval_count")),
        prefill_ms=_milliseconds(line.get("prompt_eval_duration")),
        decode_ms=_milliseconds(line.get("eval_duration")),
    )


def _milliseconds(nanoseconds: object) -> float | None:
    count = count_or_none(nanoseconds)
    return None if count is None else count / 1e6
