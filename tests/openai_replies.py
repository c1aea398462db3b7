"""What a server with OpenAI's interface sends: events of a stream, embeddings."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.ollama_server import Reply, Request, unit_vector

CHAT = "/v1/chat/completions"
EMBEDDINGS = "/v1/embeddings"


def event(document: object) -> bytes:
    """Return one event with a document."""
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


def delta(text: str = "", *, finish: str | None = None, **more: object) -> bytes:
    """Return an event with a piece of text, or with the reason of the end."""
    inner: dict[str, object] = {"content": text} if text else {}
    return event({"choices": [{"index": 0, "delta": {**inner, **more}, "finish_reason": finish}]})


def events(
    *pieces: str, finish: str = "stop", usage: Mapping[str, int] | None = None
) -> list[bytes]:
    """Return a whole stream: role, pieces, end, tokens, ``[DONE]``."""
    parts = [delta(role="assistant"), *(delta(piece) for piece in pieces), delta(finish=finish)]
    if usage is not None:
        parts.append(event({"choices": [], "usage": dict(usage)}))
    return [*parts, b"data: [DONE]\n\n"]


def completion(*pieces: str, finish: str = "stop", **usage: int) -> Reply:
    """Return a whole streamed answer that ends as it should."""
    return Reply(packets=events(*pieces, finish=finish, usage=usage or None))


def openai_embeddings(request: Request, *, dimensions: int = 768) -> Reply:
    """Answer an embedding request, the last text first."""
    data = [
        {"object": "embedding", "index": index, "embedding": unit_vector(text, dimensions)}
        for index, text in enumerate(request.inputs)
    ]
    return Reply(document={"object": "list", "data": data[::-1]})
