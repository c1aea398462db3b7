"""How much memory the embedded server shares among its processes (``shared_buffers``).

A table that is larger than a quarter of it is read through a ring of a few pages, again for every
question, so it is fitted to the largest table that is stored. It is taken from the sizes of files
when the server starts: they are right after a crash, a restore and rows that somebody loaded by
hand, and need no server that runs. An index or the texts of traces may be the largest of all;
then more is set aside than the scan of passages needs, and memory that nothing is read into is
not used.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

MEGABYTE = 1 << 20
LEAST_BYTES = 128 * MEGABYTE
"""What PostgreSQL takes where nobody says anything."""

SHARE_OF_MEMORY = 4  # at most one part in so many
TIMES_THE_TABLE = 4  # smaller, and PostgreSQL reads the table through a ring
TIMES_AT_START = 5  # room for a quarter more rows before the next start has to give more


def buffers_at_start(*, largest_bytes: int, memory_bytes: int) -> int:
    """Return the bytes to share for a largest table, in whole megabytes.

    At least ``LEAST_BYTES``, but never more than a quarter of the memory.
    """
    wanted = max(LEAST_BYTES, TIMES_AT_START * largest_bytes)
    return _whole(min(wanted, memory_bytes // SHARE_OF_MEMORY))


def buffers_needed(*, table_bytes: int, memory_bytes: int) -> int:
    """Return the bytes below which a table of this size is outgrown; the same limits hold."""
    wanted = max(LEAST_BYTES, TIMES_THE_TABLE * table_bytes)
    return _whole(min(wanted, memory_bytes // SHARE_OF_MEMORY))


def _whole(size_bytes: int) -> int:
    return max(MEGABYTE, size_bytes // MEGABYTE * MEGABYTE)


def largest_relation_bytes(cluster: Path) -> int:
    """Return the size of the largest table or index in any database of a cluster; 0 for none.

    A relation is one file for each gigabyte: ``16384``, ``16384.1`` and so on. Its maps
    (``16384_fsm``) are small and not counted.
    """
    largest = 0
    for folder in _folders(cluster / "base"):
        sizes: Counter[str] = Counter()
        with contextlib.suppress(OSError), os.scandir(folder) as files:
            for file in files:
                with contextlib.suppress(OSError):  # somebody drops a table in this moment
                    sizes[file.name.partition(".")[0]] += file.stat().st_size
        largest = max(largest, *sizes.values(), 0)
    return largest


def _folders(base: Path) -> list[Path]:
    try:
        return [folder for folder in base.iterdir() if folder.name.isdecimal()]
    except OSError:
        return []


def memory_bytes() -> int:
    """Return the memory that a process of ours may use: the machine's, or less in a container."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = group_limit_bytes(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
    return min(physical, limit) if limit is not None else physical


def group_limit_bytes(membership: Path, groups: Path) -> int | None:
    """Return the tightest memory limit of the control groups of a process; ``None`` without one.

    ``membership`` is its ``/proc/PID/cgroup``, ``groups`` where groups are mounted. Version 2 has
    ``memory.max`` in one tree, version 1 ``memory.limit_in_bytes`` in the tree ``memory``; a limit
    further up holds too. In a container the path is often that of the host, and not there: its top
    is looked at in any case.
    """
    try:
        lines = membership.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return None
    limits = [limit for line in lines for limit in _limits(line, groups)]
    return min(limits, default=None)


def _limits(line: str, groups: Path) -> Iterator[int]:
    _, _, rest = line.partition(":")
    controllers, _, path = rest.partition(":")
    if controllers and "memory" not in controllers.split(","):
        return
    top, name = groups / "memory", "memory.limit_in_bytes"
    if not controllers:
        top, name = groups, "memory.max"
    place = top / path.strip("/")
    for folder in (place, *place.parents):
        with contextlib.suppress(OSError, ValueError):  # "max", or not there
            yield int((folder / name).read_text("ascii"))
        if folder == top:
            return
