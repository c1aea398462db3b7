"""``ragctl sites``, ``db dump`` and ``db restore`` as typed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from ragctl.db.embedded import drop_database
from ragctl.db.server import EmbeddedServer
from tests.program import Program


@pytest.fixture
def embedded(
    ragctl: Program, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Program]:
    """The program on the embedded server of this session, with sites of this test's own."""
    monkeypatch.delenv("RAGCTL_DATABASE_URL")
    for place in ("ragctl.wiring.databases", "ragctl.wiring"):
        monkeypatch.setattr(f"{place}.embedded_server", lambda _settings: server)
    yield ragctl
    for name in ("red", "blue"):
        drop_database(server, f"ragctl_{name}")


def test_sites_are_listed_and_removed_by_name(embedded: Program, site: Path) -> None:
    for name in ("red", "blue"):
        assert embedded("ingest", str(site), "--site", name).code == 0
    listed = {one["name"]: one for one in embedded("sites", "--json").document["sites"]}
    assert listed["red"]["root"] == str(site)
    assert (listed["red"]["pages"], listed["red"]["passages"]) == (3, 3)
    assert listed["blue"]["model"] == "ollama/nomic-embed-text"
    assert listed["blue"]["size_bytes"] > 1_000_000
    assert "red" in embedded("sites").out
    refused = embedded("sites", "remove", "red")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert embedded("sites", "remove", "red", "--yes").out == "removed red\n"
    assert "red" not in [one["name"] for one in embedded("sites", "--json").document["sites"]]
    assert embedded("ask", "How?", "--site", "blue").code == 0
    unknown = embedded("sites", "remove", "green", "--yes")
    assert unknown.code == 3
    assert "blue" in unknown.err


def test_a_dump_restores_into_an_empty_site_and_answers_alike(
    embedded: Program, site: Path, tmp_path: Path
) -> None:
    embedded("ingest", str(site), "--site", "red")
    file = tmp_path / "red.dump"
    assert embedded("db", "dump", str(file), "--site", "red").code == 0
    assert file.read_bytes()[:5] == b"PGDMP"
    assert embedded("db", "restore", str(file), "--site", "blue").code == 0
    red = embedded("ask", "How?", "--site", "red", "--json").document
    blue = embedded("ask", "How?", "--site", "blue", "--json").document
    assert red["passages"] == blue["passages"]


def test_a_dump_carries_a_vector_index_and_that_it_is_in_use(
    embedded: Program, site: Path, tmp_path: Path
) -> None:
    embedded("ingest", str(site), "--site", "red")
    made = embedded("index", "create", "hnsw", "--yes", "--site", "red")
    assert made.code == 0, made.err
    file = tmp_path / "red.dump"
    assert embedded("db", "dump", str(file), "--site", "red").code == 0
    for flags in ((), ("--replace",)):
        assert embedded("db", "restore", str(file), "--site", "blue", *flags).code == 0
        document = embedded("index", "status", "--site", "blue", "--json").document
        assert (document["search"], document["index"]["measured"]["stale"]) == ("hnsw", "")


def test_restore_replaces_only_when_told_to(embedded: Program, site: Path, tmp_path: Path) -> None:
    embedded("ingest", str(site), "--site", "red")
    file = tmp_path / "red.dump"
    embedded("db", "dump", str(file), "--site", "red")
    (site / "kernel/10-rcu.md").unlink()
    embedded("ingest", str(site), "--site", "red", "--yes")
    refused = embedded("db", "restore", str(file), "--site", "red")
    assert refused.code == 2
    assert "--replace" in refused.err
    assert len(embedded("sources", "--site", "red", "--json").document["pages"]) == 3
    assert embedded("db", "restore", str(file), "--site", "red", "--replace").code == 0
    assert len(embedded("sources", "--site", "red", "--json").document["pages"]) == 4


def test_a_file_that_is_no_dump_changes_nothing(
    embedded: Program, site: Path, tmp_path: Path
) -> None:
    embedded("ingest", str(site), "--site", "red")
    text, cut = tmp_path / "text", tmp_path / "cut"
    text.write_text("SELECT 1;")
    embedded("db", "dump", str(tmp_path / "whole"), "--site", "red")
    whole = (tmp_path / "whole").read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    for file, code in ((text, 2), (tmp_path / "absent", 2), (cut, 4)):
        done = embedded("db", "restore", str(file), "--site", "red", "--replace")
        assert done.code == code, done.err
        assert "Traceback" not in done.err
        assert len(embedded("sources", "--site", "red", "--json").document["pages"]) == 4


def test_a_site_of_an_older_ragctl_is_listed_so_and_can_be_kept_before_it_is_migrated(
    embedded: Program, server: EmbeddedServer, site: Path, tmp_path: Path
) -> None:
    embedded("ingest", str(site), "--site", "red")
    with connect(server.url("ragctl_red")) as connection:  # as it was before the last migration
        connection.execute("DROP TABLE question_rates, generation_slots, generation_queue CASCADE")
        connection.execute("ALTER TABLE traces DROP COLUMN queue_ms CASCADE")
        connection.execute("DELETE FROM schema_migrations WHERE version >= 14")
    file = tmp_path / "red.dump"
    assert embedded("db", "dump", str(file), "--site", "red").code == 0
    listed = embedded("sites")
    assert "made by an older ragctl" in listed.out
    assert "ragctl db migrate --site red" in listed.err
    assert embedded("ask", "How?", "--site", "red").code == 4
    restored = embedded("db", "restore", str(file), "--site", "blue")
    assert (restored.code, "`ragctl db migrate`" in restored.err) == (0, True)
    assert embedded("db", "migrate", "--site", "blue").code == 0
    assert embedded("ask", "How?", "--site", "blue").code == 0


def test_nothing_is_dumped_where_there_is_nothing(embedded: Program, tmp_path: Path) -> None:
    done = embedded("db", "dump", str(tmp_path / "x"), "--site", "red")
    assert done.code == 3
    assert not (tmp_path / "x").exists()
    done = embedded("db", "dump", str(tmp_path / "no/x"), "--site", "red")
    assert done.code in (2, 3)


def test_a_site_that_a_failed_restore_made_is_gone_again(
    embedded: Program, site: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.dump"
    broken.write_bytes(b"PGDMP" + b"x" * 400)
    done = embedded("db", "restore", str(broken), "--site", "blue")
    assert done.code == 4, done
    assert "blue" not in [one["name"] for one in embedded("sites", "--json").document["sites"]]
    embedded("ingest", str(site), "--site", "red")
    assert embedded("db", "restore", str(broken), "--site", "red", "--replace").code == done.code
    assert "red" in [one["name"] for one in embedded("sites", "--json").document["sites"]]


def test_a_pipe_is_no_dump(embedded: Program, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.dump"
    os.mkfifo(pipe)
    done = embedded("db", "restore", str(pipe), "--site", "blue")
    assert (done.code, "is not a file" in done.err) == (2, True)
