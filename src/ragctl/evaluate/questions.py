"""Questions with known answers: one JSON object a line.

A line holds ``id``, ``question``, ``kind`` and ``track`` (a label each), ``gold`` (the pages and
sections that answer it, ``{"url", "section"}``), ``must_contain`` (the facts, as strings) and
``answerable``. Only ``id`` and ``question`` must be there; other keys are left alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ragctl.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """A place that answers a question; ``section`` is ``None`` where any of the page does."""

    url: str
    section: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownQuestion:
    """A question and what a good retrieval brings for it."""

    id: str
    question: str
    kind: str
    track: str
    gold: tuple[Gold, ...]
    must_contain: tuple[str, ...]
    answerable: bool


def read_questions(path: Path) -> tuple[KnownQuestion, ...]:
    """Return the questions of a file.

    Raises :class:`~ragctl.errors.UsageError` naming file and line for what cannot be used.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}", hint="Give a file of questions, one JSON a line."
        ) from error
    return parse_questions(text, name=str(path))


def parse_questions(text: str, *, name: str) -> tuple[KnownQuestion, ...]:
    """Return the questions of a text; ``name`` is what messages call it."""
    questions: list[KnownQuestion] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            question = _question(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise _unusable(name, number, str(error)) from error
        if question.id in lines:
            raise _unusable(name, number, f"id {question.id!r} is on line {lines[question.id]} too")
        lines[question.id] = number
        questions.append(question)
    if not questions:
        raise UsageError(f"{name} holds no questions", hint="Write one JSON object a line.")
    return tuple(questions)


def _unusable(name: str, number: int, why: str) -> UsageError:
    return UsageError(
        f"{name}:{number}: {why}",
        hint='A line looks like {"id": "q1", "question": "…", "kind": "natural", '
        '"gold": [{"url": "/track/page", "section": "…"}], "must_contain": ["…"]}.',
    )


def _question(line: object) -> KnownQuestion:
    fields = _mapping(line, "the line")
    return KnownQuestion(
        id=_text(fields, "id"),
        question=_text(fields, "question"),
        kind=_text(fields, "kind", default="unnamed"),
        track=_text(fields, "track", default=""),
        gold=tuple(_gold(place) for place in _list(fields, "gold")),
        must_contain=tuple(_fact(fact) for fact in _list(fields, "must_contain")),
        answerable=_flag(fields, "answerable"),
    )


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no JSON object")
    return value


def _text(fields: Mapping[str, object], key: str, *, default: str | None = None) -> str:
    value = fields.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} must be a text")
    return value


def _flag(fields: Mapping[str, object], key: str) -> bool:
    value = fields.get(key, True)
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false")
    return value


def _list(fields: Mapping[str, object], key: str) -> list[object]:
    value = fields.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{key} must be a list")
    return value


def _gold(value: object) -> Gold:
    place = _mapping(value, "an entry of gold")
    section = place.get("section")
    if section is not None and not isinstance(section, str):
        raise ValueError("section of gold must be a text or null")
    return Gold(url=_text(place, "url"), section=section or None)


def _fact(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must_contain must hold texts")
    return value
