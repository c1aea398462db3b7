"""Traces as lines of JSON, one after the other, however many there are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragctl import __version__
from ragctl.artifacts.storage import encoded_line, replacing
from ragctl.cli.output import Output
from ragctl.cli.trace_documents import trace_document
from ragctl.observe.otlp import otlp_document

if TYPE_CHECKING:
    from ragctl.records.traces import Trace


def export_traces(traces: Iterable[Trace], *, form: str, file: Path | None) -> None:
    """Print traces in a form, ``jsonl`` or ``otlp-json``, or write them into a file."""
    output = Output(environ=os.environ)
    documents = _documents(traces, form)
    if file is None:
        output.json_lines(documents)
        return
    count = 0
    with replacing(file) as written:
        for document in documents:
            written.write(encoded_line(document))
            count += 1
    output.remark(f"{count:,} traces in {file}")


def _documents(traces: Iterable[Trace], form: str) -> Iterator[dict[str, Any]]:
    for trace in traces:
        if form == "otlp-json":
            yield otlp_document(trace, version=__version__)
        else:
            yield trace_document(trace, with_prompt=True)
