"""The schema that all migrations together make, kept in ``schema.sql`` so that a change is seen.

``python -m tests.db.snapshot`` (a part of ``./scripts/reference``) writes it anew.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from ragctl.db.connect import connect
from ragctl.db.embedded import create_database
from ragctl.db.migrate import migrate
from ragctl.db.server import EmbeddedServer

SNAPSHOT = Path(__file__).parent / "schema.sql"
_NOISE = re.compile(r"--|SET |SELECT pg_catalog|\\(un)?restrict")


def unqualified(lines: list[str]) -> list[str]:
    """Return lines without the tables before columns, as later releases of 16 write them."""
    return [re.sub(r"\b(?!public\.)[a-z_]+\.(?=[a-z_])", "", line) for line in lines]


def schema_lines(server: EmbeddedServer, url: str) -> list[str]:
    """Return the schema of a database line by line, less comments and settings."""
    dumped = subprocess.run(
        [server.binary("pg_dump"), "--schema-only", "--no-owner", "--no-privileges", url],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [line for line in dumped.splitlines() if line.strip() and not _NOISE.match(line)]


def main() -> None:
    """Migrate an empty database of a server of our own, and write what came of it."""
    with tempfile.TemporaryDirectory(prefix="ragctl-schema-") as folder:
        base = Path(folder)
        base.chmod(0o711)
        server = EmbeddedServer(base / "data", system_dir=base / "system")
        create_database(server, "snapshot")
        url = server.url("snapshot")
        try:
            with connect(url) as connection:
                migrate(connection, url)
            SNAPSHOT.write_text("\n".join(schema_lines(server, url)) + "\n", encoding="utf-8")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
