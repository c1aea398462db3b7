"""SQL files: statements by name, and migrations in order.

In an installed wheel they lie inside the package, in a checkout beside ``src``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def _folder(name: str) -> Path:
    packed = _PACKAGE / name
    return packed if packed.is_dir() else _PACKAGE.parent.parent / name


@cache
def statement(name: str) -> bytes:
    """Return the SQL of ``sql/<name>.sql``, for example ``chunks/nearest``."""
    return (_folder("sql") / f"{name}.sql").read_bytes()


def statement_names() -> tuple[str, ...]:
    """Return the names of all statements, sorted."""
    folder = _folder("sql")
    return tuple(
        sorted(
            path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.sql")
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema: its number, the name of its file, its SQL and the SQL's sha256."""

    version: int
    name: str
    sql: bytes
    checksum: str


@cache
def migrations() -> tuple[Migration, ...]:
    """Return all migrations, oldest first."""
    found = []
    for path in sorted(_folder("migrations").glob("[0-9]*.sql")):
        sql = path.read_bytes()
        found.append(
            Migration(
                version=int(path.stem.partition("_")[0]),
                name=path.stem,
                sql=sql,
                checksum=hashlib.sha256(sql).hexdigest(),
            )
        )
    return tuple(found)
