"""Boundary 1, parse: ``parse.jsonl`` with a page a line, and its text in ``text/``."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragctl.artifacts.storage import (
    encoded_line,
    read_lines,
    read_text,
    record_of,
    replacing,
    write_bytes,
)
from ragctl.errors import ArtifactError, UsageError
from ragctl.records.pages import Page

PAGES_FILE = "parse.jsonl"
TEXT_FOLDER = "text"
MADE_BY = "ragctl stage parse --from DIR --root PATH"
_LONGEST_NAME_BYTES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLine:
    """What tells a page of ``parse.jsonl`` from another without reading its text.

    ``text_file`` is relative to the folder; ``chars`` counts code points of the text.
    """

    url: str
    track: str
    title: str
    source_path: str
    sha256: str
    chars: int
    text_file: str
    text_sha256: str
    is_landing: bool
    headings: tuple[dict[str, Any], ...] = ()


@contextmanager
def writing_pages(folder: Path) -> Iterator[Callable[[Page], None]]:
    """Give a function that writes a page; the line file is whole when the block ends well.

    Texts of pages that are no longer among them are then removed, those alone that an earlier
    ``parse.jsonl`` of this folder names.
    """
    if (folder / TEXT_FOLDER).is_symlink():
        raise ArtifactError(
            f"{folder / TEXT_FOLDER} is a link: nothing is written through it",
            hint="Remove it, or name another folder.",
        )
    before = _text_files(folder)
    names = _Names()
    with replacing(folder / PAGES_FILE) as file:

        def write(page: Page) -> None:
            name = f"{TEXT_FOLDER}/{names.of(page.url)}"
            data = page.text.encode("utf-8", "replace")
            write_bytes(folder / name, data)
            before.discard(name)
            file.write(encoded_line(_line(page, name, data)))

        yield write
    for name in before:
        (folder / name).unlink(missing_ok=True)


def read_pages(folder: Path) -> Iterator[Page]:
    """Yield the pages with their texts.

    Raises :class:`~ragctl.errors.UsageError` where a text is not the one that its line was
    written for: headings and source lines would point elsewhere.
    """
    for place, values in read_lines(folder / PAGES_FILE, made_by=MADE_BY):
        line = record_of(PageLine, values, place)
        path = _text_path(folder, line, place)
        text = read_text(path, made_by=MADE_BY)
        if hashlib.sha256(text.encode("utf-8")).hexdigest() != line.text_sha256:
            raise ArtifactError(
                f"{path} is not the text that {place} was written for",
                hint="Change the source file and parse again: "
                f"`{MADE_BY.replace('DIR', str(folder)).partition(' --root')[0]}`.",
            )
        yield _page(values, text, place)


def read_page_lines(folder: Path) -> Iterator[PageLine]:
    """Yield the lines alone, without opening a text."""
    for place, values in read_lines(folder / PAGES_FILE, made_by=MADE_BY):
        yield record_of(PageLine, values, place)


def texts_digest(folder: Path) -> str:
    """Return one sha256 over the names and contents of all texts; ``""`` without pages."""
    if not (folder / PAGES_FILE).is_file():
        return ""
    digest = hashlib.sha256()
    for line in read_page_lines(folder):
        text = read_text(_text_path(folder, line, PAGES_FILE), made_by=MADE_BY)
        digest.update(f"{line.text_file}\0{hashlib.sha256(text.encode()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _text_path(folder: Path, line: PageLine, place: str) -> Path:
    """Return the file of a page's text, which lies in the folder of texts and nowhere else."""
    if not _is_text_file(line.text_file):
        raise ArtifactError(f"{place}: text_file {line.text_file!r} is not in {TEXT_FOLDER}/")
    return folder / line.text_file


def _is_text_file(name: str) -> bool:
    return Path(name).parent == Path(TEXT_FOLDER) and Path(name).name not in ("", "..")


def _line(page: Page, text_file: str, data: bytes) -> dict[str, object]:
    values = asdict(page)
    number, name = page.order
    for key in ("text", "mtime_ns"):  # the time of a file is no part of what it says
        del values[key]
    first = {key: values.pop(key) for key in ("url", "track", "title", "source_path", "sha256")}
    return {
        **first,
        "chars": len(page.text),
        "text_file": text_file,
        "text_sha256": hashlib.sha256(data).hexdigest(),
        **values,
        "order": [None if math.isinf(number) else number, name],
        "source_lines": _runs(page.source_lines),
    }


def _page(values: dict[str, Any], text: str, place: str) -> Page:
    order = values.get("order")
    if isinstance(order, list) and order and order[0] is None:
        order = [math.inf, *order[1:]]
    try:
        numbers = [first + i for first, count in values["source_lines"] for i in range(count)]
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"{place}: source_lines are not pairs of line and count") from error
    return record_of(Page, {**values, "text": text, "order": order, "source_lines": numbers}, place)


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Return line numbers as runs of first number and count."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][0] + runs[-1][1]:
            runs[-1][1] += 1
        else:
            runs.append([number, 1])
    return runs


def _text_files(folder: Path) -> set[str]:
    try:
        return {line.text_file for line in read_page_lines(folder) if _is_text_file(line.text_file)}
    except UsageError:
        return set()


class _Names:
    """File names of texts: the address with ``__`` for ``/``, told apart where that is taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, url: str) -> str:
        name = url.strip("/").replace("/", "__") or "__root"
        if name.casefold() in self._taken or len(name.encode()) > _LONGEST_NAME_BYTES:
            cut = name.encode()[:_LONGEST_NAME_BYTES].decode("utf-8", "ignore")
            name = f"{cut}~{hashlib.sha256(url.encode()).hexdigest()[:12]}"
        self._taken.add(name.casefold())
        return f"{name}.txt"
