"""What a server and its clients hold, so that before and after can be compared."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import psutil
import psycopg


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Counts of what may leak; memory in kilobytes, without what processes share.

    ``files`` are those in folders for what is to be gone, ``descriptors`` the
    open files and sockets of the server's own processes, ``locks`` those of all sessions,
    ``shared_segments`` those that servers of ours have made.
    """

    connections: int
    locks: int
    server_processes: int
    descriptors: int
    memory_kilobytes: int
    files: int
    shared_segments: int

    def grown_since(self, before: Held) -> dict[str, tuple[int, int]]:
        """Return what is more than before, memory aside, with both counts."""
        counts = {one.name: (getattr(before, one.name), getattr(self, one.name))
                  for one in fields(self) if one.name != "memory_kilobytes"}  # fmt: skip
        return {name: pair for name, pair in counts.items() if pair[1] > pair[0]}


def held(url: str, postmasters: Sequence[int], cluster: Path, folders: Sequence[Path]) -> Held:
    """Look at a server from a connection of our own, which is not counted.

    ``postmasters`` are the processes that served, the last one serves now.
    """
    with psycopg.connect(url, autocommit=True, application_name="onlooker") as connection:
        connections = _count(
            connection,
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND application_name <> 'onlooker'",
        )
        locks = _count(connection, "SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()")
    own = list(own_processes(postmasters[-1]))
    return Held(
        connections=connections,
        locks=locks,
        server_processes=len(own),
        descriptors=sum(process.num_fds() for process in own),
        memory_kilobytes=sum(private_kilobytes(process.pid) for process in own),
        files=sum(1 for folder in folders for _ in folder.iterdir()),
        shared_segments=sum(1 for _ in _segments(postmasters, cluster)),
    )


def own_processes(postmaster: int) -> Iterator[psutil.Process]:
    """Yield the server and its helpers that live as long as it does."""
    server = psutil.Process(postmaster)
    yield server
    for child in server.children():
        title = " ".join(child.cmdline())
        if any(name in title for name in _HELPERS):
            yield child


_HELPERS = ("checkpointer", "background writer", "walwriter", "autovacuum launcher", "logical rep")


def private_kilobytes(pid: int) -> int:
    """Return the memory that a process shares with no other."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_"))


def _segments(postmasters: Sequence[int], cluster: Path) -> Iterator[int]:
    """Yield the segments that servers of a cluster made: a pid alone may be another's by now."""
    first = cluster.stat().st_ino  # PostgreSQL tries the keys from there on
    for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        key, segment, maker = (int(line.split()[column]) for column in (0, 1, 4))
        if maker in postmasters and 0 <= key - first < 16:
            yield segment


def children_left() -> list[str]:
    """Return the processes that this one started and that still run."""
    return [f"{child.pid} {child.name()}" for child in psutil.Process(os.getpid()).children()]


def _count(connection: psycopg.Connection[tuple[Any, ...]], query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])
