"""A trace as OTLP/JSON: the field names and types of OpenTelemetry's protocol, and no text.

The fields are those of ``opentelemetry/proto/trace/v1/trace.proto`` and ``common.proto``, in the
JSON mapping of protobuf with the exceptions of the OTLP specification: ids are hexadecimal, enums
are numbers, 64-bit numbers are strings.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from ragctl.errors import ModelUnreachable
from ragctl.observe.otlp import otlp_document
from ragctl.observe.traces import trace_id, trace_of, trace_of_failure
from ragctl.records.traces import Span, Trace
from tests.observe.test_traces import ASKED, AT, SPANS, answered

ID = trace_id(AT, b"\x07" * 10)
TRACE = trace_of(ID, ASKED, answered("A secret answer [1]."), SPANS)
SPAN_FIELDS = {
    *("traceId", "spanId", "traceState", "parentSpanId", "flags", "name", "kind"),
    *("startTimeUnixNano", "endTimeUnixNano", "attributes", "droppedAttributesCount", "events"),
    *("droppedEventsCount", "links", "droppedLinksCount", "status"),
}
VALUES: dict[str, Any] = {
    "stringValue": str, "boolValue": bool, "intValue": str, "doubleValue": float,
    "arrayValue": dict,
}  # fmt: skip


def _spans(trace: Trace) -> list[dict[str, Any]]:
    document = json.loads(json.dumps(otlp_document(trace, version="1.2"), allow_nan=False))
    assert set(document) == {"resourceSpans"}
    (resource,) = document["resourceSpans"]
    assert set(resource) <= {"resource", "scopeSpans", "schemaUrl"}
    assert _told(resource["resource"]) == {"service.name": "ragctl", "service.version": "1.2"}
    (scope,) = resource["scopeSpans"]
    assert set(scope) <= {"scope", "spans", "schemaUrl"}
    assert scope["scope"] == {"name": "ragctl", "version": "1.2"}
    spans: list[dict[str, Any]] = scope["spans"]
    return spans


def _told(holder: dict[str, Any]) -> dict[str, Any]:
    told = {}
    for attribute in holder["attributes"]:
        assert set(attribute) == {"key", "value"}
        ((kind, value),) = attribute["value"].items()
        assert type(value) is VALUES[kind]
        if kind == "intValue":
            assert re.fullmatch(r"-?\d+", value)
        if kind == "arrayValue":
            assert set(value) == {"values"}
        told[attribute["key"]] = value
    assert len(told) == len(holder["attributes"])
    return told


def test_spans_have_the_fields_of_the_protocol() -> None:
    spans = _spans(TRACE)
    known = {span["spanId"] for span in spans}
    assert len(known) == len(SPANS)
    for span in spans:
        assert set(span) <= SPAN_FIELDS
        assert span["traceId"] == ID.replace("-", "")
        assert re.fullmatch(r"[0-9a-f]{32}", span["traceId"])
        assert re.fullmatch(r"[0-9a-f]{16}", span["spanId"])
        assert span["kind"] in (1, 2, 3, 4, 5)
        assert span["status"].get("code", 0) in (0, 1, 2)
        assert set(span["status"]) <= {"code", "message"}
        assert re.fullmatch(r"\d{19}", span["startTimeUnixNano"])
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        _told(span)
    assert "parentSpanId" not in spans[0]
    assert {span["parentSpanId"] for span in spans[1:]} <= known
    assert spans[3]["parentSpanId"] == spans[2]["spanId"]
    assert _spans(TRACE) == spans


def test_times_are_those_of_the_clock() -> None:
    root, search = _spans(TRACE)[:2]
    began = int(AT.timestamp()) * 1_000_000_000 + 891_000_000
    assert int(root["startTimeUnixNano"]) == began
    assert int(root["endTimeUnixNano"]) == began + 100_000_000
    assert int(search["startTimeUnixNano"]) == began + 20_000_000


def test_attributes_have_the_names_of_the_conventions_where_there_are_such() -> None:
    root, search, _, first, second = _spans(TRACE)
    told = _told(second)
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.request.model"] == "llama3"
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == ("9", "3")
    assert _told(first)["error.type"] == "http 500"
    assert first["status"] == {"code": 2, "message": "it echoed How?"}
    assert second["status"] == {}
    assert _told(search)["ragctl.search.tracks"] == {"values": [{"stringValue": "a"}]}
    assert _told(root)["ragctl.route"] == "ollama/llama3"


def test_no_text_of_user_or_model_is_exported() -> None:
    text = json.dumps(otlp_document(TRACE, version="1"))
    assert "secret" not in text
    assert "The passages" not in text


def test_a_failure_is_an_error_and_one_without_steps_has_a_root() -> None:
    failed = trace_of_failure(
        ID, ASKED, ModelUnreachable("no server"), prompt=None, text="", total_ms=5.0, spans=()
    )
    (root,) = _spans(failed)
    assert root["status"] == {"code": 2, "message": "no server"}
    assert _told(root)["error.type"] == "model_unreachable"
    assert _spans(replace(failed, error_message=None))[0]["status"]["message"] == (
        "model_unreachable"
    )


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("embed", {"model": "ollama/nomic"}, ("embeddings", "ollama", "nomic")),
        ("attempt", {"route": "ollama/llama3"}, ("chat", "ollama", "llama3")),
        ("attempt", {"route": "fast", "model": "org/m"}, ("chat", None, "org/m")),
        ("attempt", {"route": "openai/a/b", "model": "a/b"}, ("chat", "openai", "a/b")),
        ("attempt", {"route": "extractive"}, (None, None, None)),
        ("embed", {}, (None, None, None)),
    ],
)
def test_a_model_is_named_only_where_one_worked(
    name: str, attributes: dict[str, str], expected: tuple[str | None, ...]
) -> None:
    step = Span(name=name, start_ms=0.0, duration_ms=1.0, attributes=attributes, parent=0)
    told = _told(_spans(replace(TRACE, spans=(SPANS[0], step)))[1])
    names = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model")
    assert tuple(told.get(one) for one in names) == expected
