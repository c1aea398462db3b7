"""The way to the socket of an embedded server: short, plain, and through folders of ours alone.

A socket path holds about 100 bytes, and a comma in a host means two hosts. Clients reach a cluster
at such a place through a short link in a private folder of the user in /tmp, the same one whatever
TMPDIR and XDG_RUNTIME_DIR say in this shell.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
import struct
from enum import Enum
from hashlib import sha256
from pathlib import Path

from ragctl.errors import ServerError

CLUSTER_NAME = "pg16"
SOCKET_NAME = ".s.PGSQL.5432"

_LONGEST_SOCKET_PATH_BYTES = 100
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._~+=-]+")
_PROBE_SECONDS = 2.0


class Reply(Enum):
    """What came back from the socket: nobody there, not now, or a server that takes commands."""

    NONE = "none"
    BUSY = "busy"
    READY = "ready"


class SocketWay:
    """The way from a data directory to the socket of its server, and as root to its cluster."""

    def __init__(self, data_dir: Path, *, system_dir: Path, short_dir: Path) -> None:
        self._direct = data_dir / CLUSTER_NAME
        self._system_dir = system_dir
        self._short_dir = short_dir
        self._key = sha256(os.fsencode(data_dir)).hexdigest()[:12]

    def directory(self) -> Path:
        """Return the folder that clients name, short enough and plain.

        Raises ServerError when the private folder that it leads through belongs to somebody else.
        """
        length = len(os.fsencode(self._direct / SOCKET_NAME))
        if length <= _LONGEST_SOCKET_PATH_BYTES and _PLAIN_PATH.fullmatch(str(self._direct)):
            return self._direct
        private = self._short_dir / f"ragctl-{os.geteuid()}"
        with contextlib.suppress(FileNotFoundError):
            _require_ours(private, forbidden=0o077)
        return private / self._key

    def prepare(self) -> None:
        """Make the links that lead to the socket and, as root, to the cluster."""
        direct = self._direct
        home = self._system_dir / self._key
        if os.geteuid() == 0 and not os.path.lexists(direct):
            direct.symlink_to(home / CLUSTER_NAME)
        if os.geteuid() == 0 and direct.is_symlink() and direct.readlink() == home / CLUSTER_NAME:
            for folder in (self._system_dir, home):
                make_private(folder, mode=0o711, forbidden=0o022)
        link = self.directory()
        if link == direct:
            return
        make_private(link.parent, mode=0o700, forbidden=0o077)
        if not link.is_symlink() or link.readlink() != direct:
            link.unlink(missing_ok=True)
            link.symlink_to(direct)

    def ask(self) -> Reply:
        """Say hello on the socket, as a client does, and see who answers."""
        address = os.fspath(self.directory() / SOCKET_NAME)
        names = b"user\0postgres\0database\0postgres\0application_name\0ragctl\0\0"
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_PROBE_SECONDS)
            try:
                client.connect(address)
                client.sendall(struct.pack("!ii", len(names) + 8, 3 << 16) + names)
                reply = client.recv(4096)
                client.sendall(struct.pack("!ci", b"X", 4))
            except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
                return Reply.NONE
            except (TimeoutError, BlockingIOError, BrokenPipeError, ConnectionResetError):
                return Reply.BUSY
        # 57P03: it starts, recovers or shuts down. Any other refusal comes from a server that runs.
        return Reply.BUSY if not reply or b"\0C57P03\0" in reply else Reply.READY


def make_private(folder: Path, *, mode: int, forbidden: int) -> None:
    """Make a folder unless it exists; raise ServerError when one that exists is not safe."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=mode)
        folder.chmod(mode)  # ours and new: undo what the umask took away
    _require_ours(folder, forbidden=forbidden)


def _require_ours(folder: Path, *, forbidden: int) -> None:
    """Raise ServerError unless ``folder`` is a folder of ours without any ``forbidden`` mode bit.

    A link is refused: in /tmp anybody could have put it there. Raises FileNotFoundError when there
    is nothing.
    """
    found = folder.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not ours or found.st_mode & forbidden:
        raise ServerError(
            f"{folder} is not safe: it is no folder, belongs to another user or is open to others.",
            hint=f"See who made it (ls -ld {folder}) and remove it, then try again.",
        )
