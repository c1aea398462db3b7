"""How much memory the embedded server shares: fitted, limited, the user's, refused, changed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from ragctl.db.embedded import has_outgrown, memory_fit, refit
from ragctl.db.server import EmbeddedServer
from ragctl.db.server_memory import (
    MEGABYTE,
    buffers_at_start,
    buffers_needed,
    group_limit_bytes,
    largest_relation_bytes,
)
from tests.db.test_server import Place, ask, making_a_place, pid_of

GIGABYTE = 1024 * MEGABYTE
LITTLE, ENOUGH = 80 * MEGABYTE, 8 * GIGABYTE


@pytest.fixture(scope="module")
def memory_place() -> Iterator[Place]:
    """One cluster for these tests; each leaves it sound and stopped."""
    with making_a_place() as made:
        yield made


def _server(place: Place, memory_bytes: int) -> EmbeddedServer:
    return EmbeddedServer(
        place.data_dir,
        system_dir=place.base / "system",
        short_dir=place.base,
        memory_bytes=memory_bytes,
        stop_timeout_seconds=20,
    )


@pytest.mark.parametrize(
    ("table", "memory", "at_start", "needed"),
    [
        (0, 8 * GIGABYTE, 128, 128),
        (10, 8 * GIGABYTE, 128, 128),
        (100, 8 * GIGABYTE, 500, 400),
        (400, 8 * GIGABYTE, 2000, 1600),
        (400, 2 * GIGABYTE, 512, 512),
        (10_000, 8 * GIGABYTE, 2048, 2048),
        (0, 256 * MEGABYTE, 64, 64),
        (0, 1 * MEGABYTE, 1, 1),
    ],
)
def test_memory_is_several_times_the_table_and_at_most_a_quarter(
    table: int, memory: int, at_start: int, needed: int
) -> None:
    size = table * MEGABYTE
    assert buffers_at_start(largest_bytes=size, memory_bytes=memory) == at_start * MEGABYTE
    assert buffers_needed(table_bytes=size, memory_bytes=memory) == needed * MEGABYTE


@pytest.mark.parametrize(
    ("membership", "files", "limit"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "700\n"}, 700),
        ("0::/a\n", {"a/memory.max": "500\n", "memory.max": "300\n"}, 300),
        ("0::/host/only\n", {"memory.max": "900\n"}, 900),
        ("0::/../..\n", {"memory.max": "900\n"}, 900),
        ("5:cpu:/x\n4:memory:/x\n0::/\n", {"memory/x/memory.limit_in_bytes": "600\n"}, 600),
        ("4:hugetlb,memory:/gone\n", {"memory/memory.limit_in_bytes": "600\n"}, 600),
        ("3:cpuset:/x\n", {"memory/memory.limit_in_bytes": "600\n"}, None),
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("garbage\n", {}, None),
    ],
)
def test_the_limit_of_a_container_is_found(
    tmp_path: Path, membership: str, files: dict[str, str], limit: int | None
) -> None:
    groups = tmp_path / "groups"
    for name, text in files.items():
        file = groups / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "cgroup").write_text(membership)
    assert group_limit_bytes(tmp_path / "cgroup", groups) == limit
    assert group_limit_bytes(tmp_path / "absent", groups) is None


def test_the_largest_relation_counts_with_all_its_files(tmp_path: Path) -> None:
    for name, size in {
        "1/100": 5000,
        "16384/200": 4000,
        "16384/200.1": 3000,
        "16384/200_fsm": 9,
        "pgsql_tmp/x": 90_000,
    }.items():
        file = tmp_path / "base" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
        os.truncate(file, size)
    assert largest_relation_bytes(tmp_path) == 7000
    assert largest_relation_bytes(tmp_path / "absent") == 0


def test_a_server_is_restarted_with_more_memory_once_nobody_is_connected(
    memory_place: Place,
) -> None:
    _server(memory_place, LITTLE).ensure_running()
    server = _server(memory_place, ENOUGH)
    first = pid_of(server)
    with connect(server.url("postgres")) as other:
        fit = memory_fit(other)
        assert (fit.shared_bytes, fit.is_ours) == (20 * MEGABYTE, True)
        assert has_outgrown(server, fit)
        assert not has_outgrown(_server(memory_place, LITTLE), fit)
        assert refit(server, "postgres") is False
        assert other.execute("SELECT 1").fetchone() == (1,)
    assert pid_of(server) == first
    assert refit(server, "postgres") is True
    assert pid_of(server) != first
    assert ask(server, "SHOW shared_buffers") == "128MB"
    assert refit(server, "postgres") is None
    server.stop()


def test_who_connects_at_the_last_moment_is_not_turned_out(memory_place: Place) -> None:
    server = _server(memory_place, ENOUGH)
    server.ensure_running()
    late = connect(server.url("postgres"))
    answers: list[object] = []

    def work() -> None:
        time.sleep(0.5)
        answers.append(late.execute("SELECT 1").fetchone())
        late.close()

    worker = threading.Thread(target=work)
    worker.start()
    assert server.restart_if_alone(lambda: True) is True
    worker.join()
    assert answers == [(1,)]
    assert ask(server, "SELECT 2") == 2
    server.stop()


@pytest.mark.parametrize("place_of_it", ["above ours", "ALTER SYSTEM"])
def test_memory_that_the_user_chose_is_left_alone(memory_place: Place, place_of_it: str) -> None:
    server = _server(memory_place, ENOUGH)
    server.ensure_running()
    file = memory_place.cluster / "postgresql.conf"
    before = file.read_text()
    if place_of_it == "ALTER SYSTEM":
        with connect(server.url("postgres")) as connection:
            connection.execute("ALTER SYSTEM SET shared_buffers = '40MB'")
    else:
        file.write_text(before.replace("shared_buffers = 128MB", "shared_buffers = 40MB"))
    server.restart()
    with connect(server.url("postgres")) as connection:
        fit = memory_fit(connection)
        assert (fit.shared_bytes, fit.is_ours) == (40 * MEGABYTE, False)
        assert not has_outgrown(server, fit)
        connection.execute("ALTER SYSTEM RESET shared_buffers")
    file.write_text(before)
    server.stop()


def test_a_server_that_gets_too_little_memory_starts_with_the_least(memory_place: Place) -> None:
    server = _server(memory_place, 1 << 60)
    server.ensure_running()
    server.stop()
    beyond_all = memory_place.cluster / "base" / "1" / "999999"
    beyond_all.write_bytes(b"")
    os.truncate(beyond_all, 1 << 42)
    try:
        assert server.ensure_running() is True
        assert ask(server, "SHOW shared_buffers") == "128MB"
        assert "did not start with 20971520MB" in server.status().remark
        assert refit(server, "postgres") is None  # it would be refused again
    finally:
        beyond_all.unlink()
    server.restart()
    assert server.status().remark == ""
    server.stop()
