"""Questions with known answers: one JSON object a line.

A line holds ``id``, ``question``, ``kind`` and ``track`` (a label each), ``gold`` (the pages and
sections that answer it, ``{"url", "section"}``), ``must_contain`` (the facts, as strings) and
``answerable``. Only ``id`` and ``question`` must be there; other keys are left alone.
"""

from __future__ import annotations

import hashlib
import json
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
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


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFile:
    """The text of a question file, and the sha256 of its bytes."""

    path: Path
    text: str
    sha256: str

    def questions(self) -> tuple[KnownQuestion, ...]:
        """Return its questions; see :func:`parse_questions`."""
        return parse_questions(self.text, name=str(self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionLine:
    """A line of a question file: its number, and the question or why it holds none."""

    number: int
    question: KnownQuestion | None
    problem: str = ""


def open_questions(path: Path) -> QuestionFile:
    """Return a question file as it stands on disk.

    Raises :class:`~ragctl.errors.UsageError` where it cannot be read.
    """
    hint = "Give a file of questions, one JSON a line."
    try:
        data = path.read_bytes()
    except IsADirectoryError as error:
        raise UsageError(f"{path} is a directory", hint=hint) from error
    except (OSError, ValueError) as error:  # a name with NUL in it is a ValueError
        why = getattr(error, "strerror", None) or "no file has such a name"
        raise UsageError(f"{path} cannot be read: {why}", hint=hint) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f": line {data.count(bytes([10]), 0, error.start) + 1}"
        if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            where = " but UTF-16"
        raise UsageError(f"{path} is not UTF-8{where}", hint="Save it as UTF-8.") from error
    return QuestionFile(path=path, text=text, sha256=hashlib.sha256(data).hexdigest())


def read_questions(path: Path) -> tuple[KnownQuestion, ...]:
    """Return the questions of a file.

    Raises :class:`~ragctl.errors.UsageError` naming file and line for what cannot be used.
    """
    return open_questions(path).questions()


def parse_questions(text: str, *, name: str) -> tuple[KnownQuestion, ...]:
    """Return the questions of a text; ``name`` is what messages call it.

    Raises :class:`~ragctl.errors.UsageError` for the first line that cannot be used.
    """
    questions = []
    for line in question_lines(text):
        if line.question is None:
            raise _unusable(name, line.number, line.problem)
        questions.append(line.question)
    if not questions:
        raise no_questions(name)
    return tuple(questions)


def question_lines(text: str) -> Iterator[QuestionLine]:
    """Yield every line that is not blank, with its question or what is wrong with it."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            question = _question(parsed_line(line))
        except ValueError as error:
            yield QuestionLine(number=number, question=None, problem=str(error))
            continue
        if question.id in lines:
            why = f"id {question.id!r} is on line {lines[question.id]} too"
            yield QuestionLine(number=number, question=None, problem=why)
            continue
        lines[question.id] = number
        yield QuestionLine(number=number, question=question)


def parsed_line(line: str) -> object:
    """Return what a line of JSON says; raises ValueError in our own words for what is none."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"the line is no JSON: see column {error.pos + 1}") from error
    except RecursionError as error:
        raise ValueError("the line is nested too deeply") from error
    except ValueError as error:
        raise ValueError("the line holds a number of too many digits") from error


def no_questions(name: str) -> UsageError:
    """Return the error of a file without a line."""
    return UsageError(f"{name} holds no questions", hint="Write one JSON object a line.")


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
    if value is None:
        if default is None:
            raise ValueError(f"{key} is missing")
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
