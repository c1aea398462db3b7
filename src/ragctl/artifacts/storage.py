"""Files that are whole or not there, and records that can be read back from JSON."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import types
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ragctl.errors import ArtifactError

Record = TypeVar("Record")
NEW_FILE_MODE = 0o600
_BLOCK_BYTES = 1 << 20


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write in; it takes the place of ``path`` when the block ends well.

    What is written may hold pages, questions and answers: a new file is its owner's alone, as are
    folders made for it. One of the owner's that is replaced keeps its mode.

    Raises :class:`~ragctl.errors.UsageError` where the folder cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        make_folder(path.parent)
        with os.fdopen(_new_file(beside), "w+b") as file:
            yield file
            os.fchmod(file.fileno(), _mode_kept(path))
        beside.replace(path)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if not isinstance(error, OSError):
            raise
        raise ArtifactError(
            f"cannot write {path}: {error.strerror or error}",
            hint="Choose another folder, or make room.",
        ) from error


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, for their owner alone."""
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def _new_file(path: Path) -> int:
    """Open a file that was not there, never through a link or into what somebody has put there."""
    if os.path.lexists(path):
        path.unlink()
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, NEW_FILE_MODE)


def _mode_kept(path: Path) -> int:
    """Return the mode of a file of ours that is replaced, else that of a new one."""
    if not os.path.lexists(path):
        return NEW_FILE_MODE
    found = path.lstat()
    is_ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
    return stat.S_IMODE(found.st_mode) & 0o755 if is_ours else NEW_FILE_MODE


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file."""
    with replacing(path) as file:
        file.write(data)


def encoded_line(document: Mapping[str, object]) -> bytes:
    """Return a JSON document as one line."""
    return _encoded(json.dumps(document, ensure_ascii=False, allow_nan=False))


def write_document(path: Path, document: object) -> None:
    """Write one JSON document over several lines, so that a line holds one value."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    write_bytes(path, _encoded(text))


def write_texts(path: Path, texts: Iterable[str]) -> int:
    """Write a JSON array of texts, one a line, and return how many."""
    count = 0
    with replacing(path) as file:
        file.write(b"[")
        for text in texts:
            file.write(b",\n" if count else b"\n")
            file.write(_encoded(json.dumps(text, ensure_ascii=False)).rstrip(b"\n"))
            count += 1
        file.write(b"\n]\n")
    return count


def _encoded(text: str) -> bytes:
    # A lone surrogate has no UTF-8; as \udxxx it is the escape that JSON has for it.
    return text.encode("utf-8", "backslashreplace") + b"\n"


@contextmanager
def reading(path: Path, *, made_by: str) -> Iterator[BinaryIO]:
    """Open a file for reading; ``made_by`` is the command that makes it where it is missing."""
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise ArtifactError(f"there is no {path}", hint=f"Make it with `{made_by}`.") from error
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror or error}") from error
    with file:
        yield file


def read_text(path: Path, *, made_by: str) -> str:
    """Return a text file, every character as it was written."""
    with reading(path, made_by=made_by) as file:
        return _decoded(file.read(), str(path))


def read_document(path: Path, *, made_by: str) -> dict[str, Any]:
    """Return a file's JSON object."""
    return _object(read_text(path, made_by=made_by), str(path))


def read_texts(path: Path, *, made_by: str) -> list[str]:
    """Return a JSON array of texts."""
    loaded = _loaded(read_text(path, made_by=made_by), str(path))
    if not isinstance(loaded, list) or not all(isinstance(text, str) for text in loaded):
        raise ArtifactError(f"{path} is not a JSON array of texts")
    return loaded


def read_lines(path: Path, *, made_by: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place (``file:line``) and the JSON object of every line."""
    with reading(path, made_by=made_by) as file:
        for number, line in enumerate(file, start=1):
            place = f"{path}:{number}"
            yield place, _object(_decoded(line, place), place)


def _decoded(data: bytes, place: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{place} is not UTF-8: {error.reason}") from error


def _object(text: str, place: str) -> dict[str, Any]:
    loaded = _loaded(text, place)
    if not isinstance(loaded, dict):
        raise ArtifactError(f"{place} is not a JSON object")
    return loaded


def _loaded(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{place} is not JSON: {error}") from error


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal; ``""`` where there is none."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror or error}") from error
    return digest.hexdigest()


# Records -------------------------------------------------------------------------------------


def record_of(cls: type[Record], values: Mapping[str, Any], place: str) -> Record:
    """Return the record that a JSON object holds; keys that the record lacks are passed over.

    Raises :class:`~ragctl.errors.UsageError` for a value that is missing or of another type,
    naming ``place`` and the key.
    """
    hints = _hints(cls)  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for field in fields(cls):  # type: ignore[arg-type]
        if field.name in values:
            where = f"{place}: {field.name}"
            given[field.name] = _value(hints[field.name], values[field.name], where)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ArtifactError(f"{place}: {field.name} is missing")
    return cls(**given)


@lru_cache(maxsize=64)
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _value(kind: Any, value: Any, place: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return _value(next(kind for kind in arguments if kind is not type(None)), value, place)
    if origin is tuple:
        return _tuple(arguments, value, place)
    if isinstance(kind, type) and is_dataclass(kind):
        return record_of(kind, _required(value, dict, place), place)
    if origin is Literal:
        if value not in arguments:
            raise ArtifactError(f"{place}: {value!r} is none of {', '.join(map(repr, arguments))}")
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _required(value, dict if origin is not None else kind, place)


def _tuple(arguments: tuple[Any, ...], value: Any, place: str) -> tuple[Any, ...]:
    values = _required(value, list, place)
    kinds = [arguments[0]] * len(values) if arguments[1:] == (...,) else list(arguments)
    if len(kinds) != len(values):
        raise ArtifactError(f"{place}: {len(kinds)} values expected, {len(values)} found")
    return tuple(_value(kind, one, place) for kind, one in zip(kinds, values, strict=True))


def _required(value: Any, kind: type[Any], place: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ArtifactError(f"{place}: {kind.__name__} expected, {type(value).__name__} found")
    return value
