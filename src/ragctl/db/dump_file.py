"""What is in a dump, read as data: nothing that stands in it is ever run.

A dump in pg_dump's custom format holds SQL, and whoever made the file may have put anything there:
statements for the server, or lines that psql takes for commands of the shell. So it is never
handed to a server or to psql. ``pg_restore`` writes it out as text, which connects to nothing, and
of that text only the rows of tables and the positions of sequences are taken.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from ragctl.errors import DatabaseError, UsageError

CUSTOM_FORMAT: Final = b"PGDMP"
PIECE_BYTES: Final = 1 << 20
_ENTRY: Final = re.compile(r"(?P<id>\d+); \d+ \d+ (?P<kind>[A-Z][A-Z ]*[A-Z]) (?P<rest>.*)")
_PLACE: Final = re.compile(r"\S+ (?P<name>[a-z_]+) \S+")
_COPY: Final = re.compile(
    rb"COPY (?:[a-z_0-9]+\.)?([a-z_]+) "
    rb'\(("?[a-z_0-9]+"?(?:, "?[a-z_0-9]+"?)*)\) FROM stdin;\n'
)
_POSITION: Final = re.compile(
    rb"SELECT pg_catalog\.setval\('(?:[a-z_0-9]+\.)?([a-z_]+)', (\d{1,19}), (true|false)\);\n"
)
_END: Final = b"\\.\n"
_FOREIGN: Final = (
    *("FUNCTION", "PROCEDURE", "AGGREGATE", "TRIGGER", "EVENT TRIGGER", "RULE", "POLICY"),
    *("MATERIALIZED VIEW", "FOREIGN TABLE", "SERVER", "LANGUAGE", "PROCEDURAL LANGUAGE"),
    *("TYPE", "DOMAIN", "CAST", "OPERATOR", "PUBLICATION", "SUBSCRIPTION"),
)
_VIEW_RULE: Final = "_RETURN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of a dump's list of contents: ``name`` is empty where it is no plain name."""

    id: int
    kind: str
    name: str
    is_rule_of_view: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a sequence stood: its last value, and whether that was given out."""

    sequence: str
    value: int
    is_used: bool


class Rows:
    """The rows of one table: the columns, and the lines as PostgreSQL's text format has them.

    ``pieces`` can be read once, and must be before the next thing of the dump is asked for.
    """

    def __init__(self, table: str, columns: tuple[str, ...], source: IO[bytes]) -> None:
        self.table = table
        self.columns = columns
        self._source = source

    def pieces(self) -> Iterator[bytes]:
        """Yield the lines, over-long ones in several pieces. Raises DatabaseError at a torn end."""
        is_start = True
        while True:
            piece = self._source.readline(PIECE_BYTES)
            if is_start and piece == _END:
                return
            if not piece:
                raise DatabaseError(
                    f"the dump ends within the rows of {self.table}",
                    hint="Nothing was changed. Take another copy of it, or make it anew.",
                )
            yield piece
            is_start = piece.endswith(b"\n")


class DumpFile:
    """A dump in the custom format; ``program`` is the ``pg_restore`` that reads it."""

    def __init__(self, file: Path, *, program: Path) -> None:
        self._file = file.absolute()
        self._program = program
        self.entries = self._listed()

    def left_out(self, tables: Sequence[str], views: Sequence[str]) -> dict[str, int]:
        """Count what is in the dump and not ragctl's, by kind: ``{"function": 2}``."""
        known = {"TABLE": tables, "VIEW": views}
        foreign = Counter(
            entry.kind.lower()
            for entry in self.entries
            if (entry.kind in known and entry.name not in known[entry.kind])
            or (entry.kind in _FOREIGN and not entry.is_rule_of_view)
        )
        return dict(sorted(foreign.items()))

    def read(self, tables: Sequence[str]) -> Iterator[Rows | Position]:
        """Yield the rows of tables in this order, and the positions of all sequences.

        Raises :class:`~ragctl.errors.UsageError` where a table is there twice, and
        :class:`~ragctl.errors.DatabaseError` where the file is damaged or a table's rows are not
        in the form that ``pg_dump`` gives them.
        """
        chosen = self._chosen(tables)
        left = {entry.name for entry in chosen if entry.kind == "TABLE DATA"}
        with self._written_out(chosen) as source:
            while line := source.readline(PIECE_BYTES):
                if (match := _COPY.fullmatch(line)) and match[1].decode() in left:
                    left.remove(match[1].decode())
                    columns = tuple(match[2].decode().replace('"', "").split(", "))
                    yield Rows(match[1].decode(), columns, source)
                elif match := _POSITION.fullmatch(line):
                    yield Position(
                        sequence=match[1].decode(),
                        value=int(match[2]),
                        is_used=match[3] == b"true",
                    )
        if left:
            raise DatabaseError(
                f"the dump does not hold the rows of {', '.join(sorted(left))} as pg_dump writes "
                "them",
                hint="Nothing was changed. Make the dump anew with `ragctl db dump`.",
            )

    def _chosen(self, tables: Sequence[str]) -> list[Entry]:
        rows: dict[str, Entry] = {}
        for entry in self.entries:
            if entry.kind == "TABLE DATA" and entry.name in tables:
                if entry.name in rows:
                    raise UsageError(
                        f"the dump holds the table {entry.name} in two schemas",
                        hint="Dump the schema that ragctl uses alone: pg_dump --schema.",
                    )
                rows[entry.name] = entry
        positions = [entry for entry in self.entries if entry.kind == "SEQUENCE SET"]
        return [*(rows[name] for name in tables if name in rows), *positions]

    def _listed(self) -> tuple[Entry, ...]:
        with self._running(["--list"]) as source:
            lines = source.read().decode("utf-8", "replace").split("\n")
        found = []
        for line in lines:
            if match := _ENTRY.fullmatch(line):
                place = _PLACE.fullmatch(match["rest"])
                found.append(
                    Entry(
                        id=int(match["id"]),
                        kind=match["kind"],
                        name=place["name"] if place else "",
                        is_rule_of_view=f" {_VIEW_RULE} " in match["rest"],
                    )
                )
        return tuple(found)

    @contextmanager
    def _written_out(self, entries: Sequence[Entry]) -> Iterator[IO[bytes]]:
        with tempfile.NamedTemporaryFile("w", prefix="ragctl-", encoding="ascii") as chosen:
            chosen.writelines(f"{entry.id}; 0 0\n" for entry in entries)
            chosen.flush()
            options = ["--data-only", f"--use-list={chosen.name}", "--file=-"]
            with self._running(options) as source:
                yield source

    @contextmanager
    def _running(self, options: Sequence[str]) -> Iterator[IO[bytes]]:
        with (
            tempfile.TemporaryFile() as said,
            subprocess.Popen(
                [self._program, *options, self._file],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
            ) as process,
        ):
            assert process.stdout is not None
            try:
                yield process.stdout
            except BaseException:
                process.kill()
                raise
            if process.wait() != 0:
                said.seek(0)
                text = said.read(4000).decode("utf-8", "replace")
                first = next((line for line in text.split("\n") if line.strip()), "it broke off")
                raise DatabaseError(
                    f"pg_restore cannot read {self._file}: {first}",
                    hint="Nothing was changed. The file is damaged, or from a newer PostgreSQL.",
                )


def require_dump(file: Path) -> None:
    """Raise :class:`~ragctl.errors.UsageError` where a file is not a dump in the custom format."""
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is not a file", hint="Name one made with `ragctl db dump FILE`.")
    try:
        with file.open("rb") as opened:
            head = opened.read(len(CUSTOM_FORMAT))
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}", hint="Check the path and its rights."
        ) from error
    if head != CUSTOM_FORMAT:
        raise UsageError(
            f"{file} is not a dump in pg_dump's custom format",
            hint="Make one with `ragctl db dump FILE`.",
        )
