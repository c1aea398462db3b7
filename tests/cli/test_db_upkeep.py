"""``ragctl db compact`` and ``db restart`` as typed, and what other commands say of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from ragctl.db.server import EmbeddedServer
from tests.db.test_server import Place, making_a_place
from tests.program import Program

MEGABYTE = 1 << 20
ONCE_THERE = """
INSERT INTO chunks (track, url, body, embedding, page_id, position, ref, breadcrumb, start_char,
                    end_char, content_hash)
SELECT track, url, '', embedding, page_id, 100 + n, ref || '-' || n, '', 0, 1, ''
FROM chunks, generate_series(1, 1600) AS n;
DELETE FROM chunks WHERE position > 100;
"""


@pytest.fixture
def replaced(ragctl: Program, site: Path, empty_url: str) -> Program:
    """The program with the small site, which was much larger once."""
    assert ragctl("ingest", str(site)).code == 0
    with connect(empty_url) as connection:
        connection.execute("ALTER TABLE chunks SET (autovacuum_enabled = off)")
        connection.execute(ONCE_THERE.encode())
        connection.execute("ANALYZE")
    return ragctl


def _checks(ragctl: Program) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in ragctl("doctor", "--json").document["checks"]}


def test_what_replaced_passages_left_is_noticed_and_given_back(replaced: Program) -> None:
    asked = ("ask", "How does the bucket refill?", "--mode", "vector", "--json")
    passages = replaced(*asked).document["passages"]
    room = _checks(replaced)["room"]
    assert (room["outcome"], room["fix"]) == ("warn", "ragctl db compact")
    assert "chunks" in room["message"]
    planned = replaced("db", "compact", "--dry-run", "--json").document
    assert (planned["schema"], planned["dry_run"]) == ("ragctl.db_compact/1", True)
    assert [table["table"] for table in planned["tables"]] == ["chunks"]
    assert planned["tables"][0]["after_bytes"] is None
    assert planned["tables"][0]["bloat"] > 100
    shown = replaced("db", "compact", "--dry-run")
    assert "chunks" in shown.out
    assert "Nothing was changed" in shown.err
    assert replaced("db", "compact", "--dry-run", "--json").document == planned
    refused = replaced("db", "compact")
    assert refused.code == 2
    assert "--yes" in refused.err
    done = replaced("db", "compact", "--yes", "--json")
    assert done.code == 0
    (table,) = done.document["tables"]
    assert table["before_bytes"] == planned["tables"][0]["before_bytes"]
    assert table["before_bytes"] - table["after_bytes"] >= table["spare_bytes"]
    assert "must be free" in done.err
    assert "room" not in _checks(replaced)
    assert replaced("db", "compact", "--yes").out == "nothing to give back\n"
    assert replaced(*asked).document["passages"] == passages


def test_all_tables_are_written_anew_on_demand_and_a_vector_index_lives_on(
    ragctl: Program, site: Path
) -> None:
    ragctl("ingest", str(site))
    assert ragctl("index", "create", "hnsw", "--width", "40", "--yes").code == 0
    done = ragctl("db", "compact", "--all", "--yes")
    assert (done.code, "gave back" in done.out) == (0, True), done.err
    assert {"chunks", "pages", "traces"} <= {line.split()[0] for line in done.out.splitlines()}
    assert ragctl("index", "status", "--json").document["search"] == "hnsw"
    assert ragctl("ask", "How does the bucket refill?").code == 0


def test_tables_are_not_written_anew_beside_an_ingest_or_without_room(
    replaced: Program, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragctl.wiring.free_disk_bytes", lambda _settings: 1_000_000)
    full = replaced("db", "compact", "--yes")
    assert (full.code, "1.0 MB are free" in full.err) == (4, True)
    with connect(empty_url) as connection:
        connection.execute(
            "INSERT INTO ingest_lease (owner, host, pid, expires_at) "
            "VALUES ('x', 'elsewhere', 1, now() + interval '1 hour')"
        )
    busy = replaced("db", "compact", "--yes")
    assert (busy.code, "another ingest" in busy.err) == (4, True)


@pytest.fixture
def small_place() -> Iterator[Place]:
    """A folder for a server of this test's own."""
    with making_a_place() as made:
        yield made


def _server(place: Place, memory_bytes: int) -> EmbeddedServer:
    return EmbeddedServer(
        place.data_dir,
        system_dir=place.base / "system",
        short_dir=place.base,
        memory_bytes=memory_bytes,
    )


def test_an_outgrown_server_is_told_and_restarted_where_nobody_is_connected(
    ragctl: Program, site: Path, small_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = _server(small_place, 8192 * MEGABYTE)
    monkeypatch.delenv("RAGCTL_DATABASE_URL")
    for place in ("ragctl.wiring", "ragctl.wiring.databases"):
        monkeypatch.setattr(f"{place}.embedded_server", lambda _settings: server)
    small = _server(small_place, 80 * MEGABYTE)
    small.ensure_running()
    with connect(small.url("postgres")) as other:
        beside = ragctl("ingest", str(site))
        assert (beside.code, "Later: ragctl db restart" in beside.err) == (0, True)
        status = ragctl("db", "status", "--json").document
        assert (status["shared_memory_bytes"], status["outgrown"]) == (20 * MEGABYTE, True)
        assert "ragctl db restart" in ragctl("db", "status").err
        memory = _checks(ragctl)["memory"]
        assert (memory["outcome"], memory["fix"]) == ("warn", "ragctl db restart")
        assert other.execute("SELECT 1").fetchone() == (1,)
    alone = ragctl("ingest", str(site))
    assert (alone.code, "restarted with memory" in alone.err) == (0, True)
    assert ragctl("db", "status", "--json").document["outgrown"] is False
    assert "memory" not in _checks(ragctl)
    small.stop()
    small.ensure_running()
    restarted = ragctl("db", "restart")
    assert (restarted.code, restarted.out.startswith("restarted: pid")) == (0, True)
    assert ragctl("db", "status", "--json").document["shared_memory_bytes"] == 128 * MEGABYTE
    server.stop()
