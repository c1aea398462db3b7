"""The programs of the embedded PostgreSQL: where they are, as whom they run, and how.

- They come from a Python package whose code is never run: only its folder is looked up.
- A program is told where things lie by its argument list and working directory, never through a
  command line that a shell parses again (as pg_ctl does), so blanks and quotes in a path are
  harmless.
- It gets a small environment of our making: a PGPORT, a locale or a secret of the caller does not
  reach a server that outlives the caller.
- As root it runs as an unprivileged user. No folder that exists has its mode changed for that:
  programs in a place that this user cannot reach are copied once.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragctl.errors import ServerError

ACCOUNT_NAME = "ragctl"
_ADMINISTRATION_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
_PARTS = ("bin", "lib", "share")
_LAUNCH = """"$0" -D "$1" </dev/null >>"$2" 2>&1 & echo "$!" """


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """As whom PostgreSQL runs. ``uid`` and ``gid`` are None for the account of this process."""

    uid: int | None = None
    gid: int | None = None

    @property
    def extra_groups(self) -> list[int] | None:
        """No further groups for another account; None (leave alone) for our own."""
        return None if self.uid is None else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """The folder of the PostgreSQL programs and their version, for example ``16.2``."""

    folder: Path
    version: str

    @property
    def major(self) -> str:
        """The part of the version that a cluster must share, for example ``16``."""
        return self.version.partition(".")[0]


def find_programs(packages: Sequence[str]) -> Path:
    """The folder of programs in the first of ``packages`` that is installed; runs none of it.

    Raises ServerError when none of them is there.
    """
    for package in packages:
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            folder = Path(place) / "pginstall" / "bin"
            if folder.is_dir():
                return folder
    raise ServerError(
        f"The programs of the embedded PostgreSQL are not installed (package {packages[0]}).",
        hint=f"pip install {packages[0]}, or point RAGCTL_DATABASE_URL at a server of your own.",
    )


def account_for(cluster: Path) -> Account:
    """As whom to run the server of ``cluster``.

    An ordinary user runs it as himself. PostgreSQL refuses to run as root, so root runs it as the
    owner of the cluster, or as the system user ``ragctl``, which is made if it is missing. Raises
    ServerError when it cannot be made.
    """
    if os.geteuid() != 0:
        return Account()
    if cluster.is_dir() and (owner := cluster.stat()).st_uid != 0:
        return Account(uid=owner.st_uid, gid=owner.st_gid)
    entry = _system_user() or _make_system_user()
    return Account(uid=entry.pw_uid, gid=entry.pw_gid)


def _system_user() -> pwd.struct_passwd | None:
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(ACCOUNT_NAME)
    return None


def _make_system_user() -> pwd.struct_passwd:
    program = shutil.which("useradd", path=_ADMINISTRATION_PATH)
    reason = "useradd is not installed"
    if program:
        options = ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin"]
        made = run([program, *options, ACCOUNT_NAME], account=Account(), cwd=Path("/"))
        reason = made.stdout.strip()
        if entry := _system_user():  # made by us, or by another root at the same moment
            return entry
    raise ServerError(
        f"PostgreSQL does not run as root, and the system user {ACCOUNT_NAME} cannot be made: "
        f"{reason}.",
        hint=f"Create a system user named {ACCOUNT_NAME}, or run ragctl as an ordinary user.",
    )


def run(
    command: Sequence[str | Path],
    *,
    account: Account,
    cwd: Path,
    text: str = "",
    keep_open: Sequence[int] = (),
    timeout_seconds: float = 60,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end as ``account``; its output and errors are both in ``stdout``.

    ``keep_open`` are descriptors that it inherits. Raises OSError when it cannot be started and
    ServerError when it takes longer than ``timeout_seconds``.
    """
    try:
        return subprocess.run(
            command,
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=timeout_seconds,
            cwd=cwd,
            env=_environment(),
            umask=0o077,
            pass_fds=tuple(keep_open),
            user=account.uid,
            group=account.gid,
            extra_groups=account.extra_groups,
        )
    except subprocess.TimeoutExpired as error:
        raise ServerError(
            f"{command[0]} was not done after {timeout_seconds:.0f} s.",
            hint="The disk may be very slow; try again, or set RAGCTL_DATA_DIR to another disk.",
        ) from error


def launch(postgres: Path, *, cluster: Path, log: Path, account: Account) -> int:
    """Start ``postgres`` on its own, and give its pid; 0 where even the shell came to grief.

    It gets a session of its own and none of our files, so neither Ctrl-C nor our end nor a reader
    of our output notices it. A shell in between makes it a child of init, which collects it when
    it ends. Raises OSError when the shell cannot be started.
    """
    started = subprocess.run(
        ["/bin/sh", "-c", _LAUNCH, postgres, cluster, log],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
        cwd=cluster,
        env=_environment(),
        umask=0o077,
        start_new_session=True,
        user=account.uid,
        group=account.gid,
        extra_groups=account.extra_groups,
    )
    return int(started.stdout or 0)


def _environment() -> dict[str, str]:
    """The little that PostgreSQL needs: no PG* setting, no locale and no secret of the caller."""
    kept = {name: os.environ[name] for name in ("TZ", "LD_LIBRARY_PATH") if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C", **kept}


def usable_programs(found: Path, account: Account, system_dir: Path) -> Programs:
    """The programs in ``found``, or a copy below ``system_dir`` where ``account`` cannot reach it.

    ``system_dir`` must exist, and other callers must be kept out, when a copy may be needed.
    Raises ServerError when the programs do not run on this machine.
    """
    try:
        return _try_out(found, account)
    except PermissionError:
        if account.uid is None:
            raise
    return _try_out(_copied(found, system_dir), account)


def _try_out(folder: Path, account: Account) -> Programs:
    answer = run([folder / "postgres", "--version"], account=account, cwd=Path("/"))
    version = answer.stdout.strip().rpartition(" ")[2]
    if answer.returncode != 0 or not version[:1].isdigit():
        raise ServerError(
            f"{folder / 'postgres'} does not run on this machine: {answer.stdout.strip()}",
            hint="Point RAGCTL_DATABASE_URL at a PostgreSQL server of your own.",
        )
    return Programs(folder=folder, version=version)


def _copied(found: Path, system_dir: Path) -> Path:
    """A copy of the programs that every account can run, made once for each package version."""
    package = found.parent.parent
    notes = sorted(package.parent.glob(f"{package.name}-*.dist-info"))
    name = notes[-1].stem if notes else f"{package.name}-unknown"
    target = system_dir / f"postgres-{name}"
    copy = target / package.name / "pginstall" / "bin"
    if copy.is_dir():
        return copy
    staging = system_dir / f"{target.name}.new"
    shutil.rmtree(staging, ignore_errors=True)
    try:
        for part in _PARTS:
            shutil.copytree(
                found.parent / part, staging / package.name / "pginstall" / part, symlinks=True
            )
        # Libraries that the programs look for relative to themselves (Linux, then macOS).
        for libraries in (f"{package.name}.libs", f"{package.name}/.dylibs"):
            if (package.parent / libraries).is_dir():
                shutil.copytree(package.parent / libraries, staging / libraries, symlinks=True)
        _open_to_all(staging)
        staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return copy


def _open_to_all(top: Path) -> None:
    """Let everyone read and run what we have just copied."""
    for folder, _, names in os.walk(top):
        Path(folder).chmod(0o755)
        for path in (Path(folder) / name for name in names):
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
