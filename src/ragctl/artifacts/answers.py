"""Boundaries 6 to 8: ``prompt.txt`` (render), ``draft.json`` (generate), ``answer.json`` (check).

``prompt.txt`` is the exact string that is sent: what the model saw is answered by opening it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragctl.artifacts.storage import (
    read_document,
    read_text,
    record_of,
    write_bytes,
    write_document,
)
from ragctl.errors import ArtifactError
from ragctl.records.answers import Draft

PROMPT_FILE = "prompt.txt"
DRAFT_FILE = "draft.json"
ANSWER_FILE = "answer.json"
ANSWER_SCHEMA = "ragctl.answer/1"


def write_prompt(folder: Path, text: str) -> None:
    """Write the prompt, without a character more."""
    write_bytes(folder / PROMPT_FILE, text.encode("utf-8", "replace"))


def read_prompt(folder: Path) -> str:
    """Return the prompt to the character."""
    return read_text(folder / PROMPT_FILE, made_by="ragctl stage render --from DIR")


def write_draft(folder: Path, draft: Draft) -> None:
    """Write what a generator wrote, before any check."""
    write_document(folder / DRAFT_FILE, {"schema": "ragctl.draft/1", **asdict(draft)})


def read_draft(folder: Path) -> Draft:
    """Return what a generator wrote."""
    path = folder / DRAFT_FILE
    values = read_document(path, made_by="ragctl stage generate --from DIR")
    return record_of(Draft, values, str(path))


def write_answer(folder: Path, document: Mapping[str, object]) -> None:
    """Write the ``ragctl.answer/1`` document."""
    write_document(folder / ANSWER_FILE, document)


def read_answer(folder: Path) -> dict[str, Any]:
    """Return the ``ragctl.answer/1`` document."""
    path = folder / ANSWER_FILE
    document = read_document(path, made_by="ragctl stage check --from DIR")
    if document.get("schema") != ANSWER_SCHEMA:
        raise ArtifactError(f"{path} is no {ANSWER_SCHEMA} document")
    return document
