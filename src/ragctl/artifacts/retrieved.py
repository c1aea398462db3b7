"""Boundary 5, retrieve: ``retrieved.json``, the question and the passages found for it."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

from ragctl.artifacts.storage import read_document, record_of, write_document
from ragctl.artifacts.vectors import to_bytes
from ragctl.records.search import Hit
from ragctl.records.vectors import Vector

RETRIEVED_FILE = "retrieved.json"
MADE_BY = "ragctl stage retrieve --from DIR --question QUESTION"
SCHEMA = "ragctl.retrieved/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What a question found.

    ``search`` says where it was looked for, ``mode`` by what: ``hybrid``, ``vector`` or
    ``keyword``, empty in files from before there was a choice. ``pages`` are the addresses asked
    for. ``query_sha256`` is of the question's vector, empty where it has none.
    """

    question: str
    tracks: tuple[str, ...]
    k: int
    search: str
    embedding: str
    query_sha256: str
    hits: tuple[Hit, ...]
    mode: str = ""
    pages: tuple[str, ...] = ()


def write_retrieved(folder: Path, retrieved: Retrieved) -> None:
    """Write ``retrieved.json``; ranks and scores stand in it as they were, not rounded."""
    write_document(folder / RETRIEVED_FILE, {"schema": SCHEMA, **asdict(retrieved)})


def read_retrieved(folder: Path) -> Retrieved:
    """Return what ``retrieved.json`` holds."""
    path = folder / RETRIEVED_FILE
    return record_of(Retrieved, read_document(path, made_by=MADE_BY), str(path))


def vector_sha256(vector: Vector) -> str:
    """Return the sha256 of a vector's little-endian float32 bytes, empty where it has none."""
    if not vector:
        return ""
    return hashlib.sha256(to_bytes(vector)).hexdigest()
