"""``ragctl sources`` and ``ragctl db`` as typed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ragctl.db.server import EmbeddedServer
from tests.program import Program, run_process


def test_sources_lists_pages_in_reading_order_with_totals(ragctl: Program, site: Path) -> None:
    ragctl("ingest", str(site))
    done = ragctl("sources", "--json")
    assert done.code == 0
    pages = done.document["pages"]
    assert [page["url"] for page in pages] == [
        "/design",
        "/design/01-buckets",
        "/design/02-queues",
        "/kernel/10-rcu",
    ]
    assert pages[1]["title"] == "Rate limiter"
    assert pages[0]["landing"] is True
    assert done.document["tracks"] == [
        {"track": "design", "pages": 2, "passages": 2, "words": sum(p["words"] for p in pages[:3])},
        {"track": "kernel", "pages": 1, "passages": 1, "words": pages[3]["words"]},
    ]


def test_sources_of_one_track_lists_that_track_alone(ragctl: Program, site: Path) -> None:
    ragctl("ingest", str(site))
    done = ragctl("sources", "--track", "kernel")
    assert "/kernel/10-rcu" in done.out
    assert "/design" not in done.out
    unknown = ragctl("sources", "--track", "kernal")
    assert unknown.code == 2
    assert "design, kernel" in unknown.err


def test_a_long_title_is_not_cut_in_a_pipe(ragctl: Program, site: Path) -> None:
    title = "A title that goes on " * 12
    (site / "kernel/10-rcu.md").write_text(f"---\ntitle: {title}\n---\nText.\n")
    ragctl("ingest", str(site))
    assert title.strip() in ragctl("sources").out


def test_db_status_and_url_tell_where_the_database_is(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    before = ragctl("db", "status", "--json").document
    assert before["pending"][0] == "0001_pages_and_passages"
    assert ragctl("db", "migrate").out.startswith("applied 0001")
    assert ragctl("db", "migrate").out == "nothing to do\n"
    after = ragctl("db", "status", "--json").document
    assert after["pending"] == []
    assert after["pgvector"]
    assert ragctl("db", "url").out.strip() == empty_url


def test_psql_runs_on_the_sites_database(ragctl: Program, site: Path) -> None:
    ragctl("ingest", str(site))
    done = run_process("db", "psql", "--", "-At", "-c", "SELECT count(*) FROM chunks")
    assert done.stdout.strip() == b"3", done.stderr


def test_the_embedded_server_serves_sites_of_their_own(
    ragctl: Program,
    site: Path,
    data_dir: Path,
    server: EmbeddedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RAGCTL_DATABASE_URL")
    for place in ("ragctl.wiring.databases", "ragctl.wiring"):
        monkeypatch.setattr(f"{place}.embedded_server", lambda _settings: server)
    assert ragctl("sources", "--site", "one").code == 3
    assert ragctl("ingest", str(site), "--site", "one").code == 0
    assert ragctl("sources", "--site", "two").code == 3
    assert len(ragctl("sources", "--site", "one", "--json").document["pages"]) == 4
    url = ragctl("db", "url", "--site", "one").out.strip()
    counted = subprocess.run(
        [server.binary("psql"), url, "-At", "-c", "SELECT count(*) FROM chunks"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert counted.stdout.strip() == "3"
