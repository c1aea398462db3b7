"""Traces as OpenTelemetry takes them: the JSON mapping of its protocol (OTLP/JSON).

Names of attributes are those of the semantic conventions where there are such, ``ragctl.*``
otherwise. No text of a user or a model is in it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from ragctl.observe.tree import rooted

if TYPE_CHECKING:
    from ragctl.records.traces import Span, SpanValue, Trace

_INTERNAL: Final = 1
_CLIENT: Final = 3
_OK: Final = 1
_ERROR: Final = 2
_KINDS: Final = {"embed": _CLIENT, "search": _CLIENT, "attempt": _CLIENT}
_PROVIDERS: Final = ("ollama", "openai", "local")
_NAMES: Final = {
    ("attempt", "prompt_tokens"): "gen_ai.usage.input_tokens",
    ("attempt", "output_tokens"): "gen_ai.usage.output_tokens",
}
_GOOD_OUTCOMES: Final = ("answered", "stop", "length")


def otlp_document(trace: Trace, *, version: str) -> dict[str, Any]:
    """Return a trace as one message ``TracesData``; ``version`` is that of the program."""
    began_ns = round(trace.asked_at.timestamp() * 1_000_000) * 1000
    spans = rooted(trace)
    return {
        "resourceSpans": [
            {
                "resource": {
                    "attributes": _attributes(
                        {"service.name": "ragctl", "service.version": version}
                    )
                },
                "scopeSpans": [
                    {
                        "scope": {"name": "ragctl", "version": version},
                        "spans": [
                            _span(trace, span, position, began_ns)
                            for position, span in enumerate(spans)
                        ],
                    }
                ],
            }
        ]
    }


def span_id(trace_id: str, position: int) -> str:
    """Return the id of a span, 16 hexadecimal digits: the same for the same span."""
    return hashlib.sha256(f"{trace_id}/{position}".encode()).hexdigest()[:16]


def _span(trace: Trace, span: Span, position: int, began_ns: int) -> dict[str, Any]:
    start_ns = began_ns + round(span.start_ms * 1_000_000)
    told = {
        "traceId": trace.id.replace("-", ""),
        "spanId": span_id(trace.id, position),
        "name": span.name,
        "kind": _KINDS.get(span.name, _INTERNAL),
        "startTimeUnixNano": str(start_ns),
        "endTimeUnixNano": str(start_ns + round(max(span.duration_ms, 0.0) * 1_000_000)),
        "attributes": _attributes(_of_root(trace) if span.parent is None else _named(span)),
        "status": _status(trace, span),
    }
    if span.parent is not None:
        told["parentSpanId"] = span_id(trace.id, span.parent)
    return told


def _of_root(trace: Trace) -> dict[str, SpanValue]:
    told: dict[str, SpanValue | None] = {
        "ragctl.route": trace.route or None,
        "ragctl.template": trace.template,
        "ragctl.finish": trace.finish,
        "ragctl.refused": trace.refused,
        "ragctl.degraded": trace.degraded,
        "ragctl.mode": trace.mode,
        "ragctl.k": trace.k,
        "ragctl.tracks": trace.tracks or None,
        "ragctl.embedding_model": trace.embedding_model,
        "ragctl.problems": tuple(problem.code for problem in trace.problems) or None,
        "gen_ai.usage.input_tokens": trace.prompt_tokens,
        "gen_ai.usage.output_tokens": trace.output_tokens,
        "error.type": trace.error_code,
    }
    return {name: one for name, one in told.items() if one is not None}


def _named(span: Span) -> dict[str, SpanValue]:
    told = _model(span)
    if span.name == "search":
        told["db.system.name"] = "postgresql"
    for name, value in span.attributes.items():
        if name == "error":
            continue  # is the message of the status
        if name == "model":
            continue  # is among what is told of the model
        ours = "error.type" if name == "error_code" else f"ragctl.{span.name}.{name}"
        told[_NAMES.get((span.name, name), ours)] = value
    outcome = span.attributes.get("outcome")
    if span.name == "attempt" and isinstance(outcome, str):
        if outcome in _GOOD_OUTCOMES:
            told["gen_ai.response.finish_reasons"] = ("stop" if outcome == "answered" else outcome,)
        else:
            told["error.type"] = outcome
    return told


def _model(span: Span) -> dict[str, SpanValue]:
    """Return which model worked, and at what; nothing where none did."""
    if span.name not in ("embed", "attempt"):
        return {}
    model, route = (str(span.attributes.get(name, "")) for name in ("model", "route"))
    provider, _, rest = (route or model).partition("/")
    if provider in _PROVIDERS and rest:
        model = model if route and model else rest
    else:
        provider = ""
    if not model:
        return {}
    told: dict[str, SpanValue] = {
        "gen_ai.operation.name": "embeddings" if span.name == "embed" else "chat",
        "gen_ai.request.model": model,
    }
    return {**told, "gen_ai.provider.name": provider} if provider else told


def _status(trace: Trace, span: Span) -> dict[str, Any]:
    if span.parent is None:
        code, message = trace.error_code, trace.error_message
        return {"code": _ERROR, "message": message or code} if code else {"code": _OK}
    message = str(span.attributes.get("error", ""))
    outcome = span.attributes.get("outcome", "answered")
    if message or "error_code" in span.attributes or outcome not in _GOOD_OUTCOMES:
        return {"code": _ERROR, **({"message": message} if message else {})}
    return {}


def _attributes(values: dict[str, SpanValue]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: SpanValue) -> dict[str, Any]:
    if isinstance(value, tuple):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}
