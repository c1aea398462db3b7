"""Faults at chosen points of an ingest, and what must be true after each of them.

A point is reached from outside, without a change to the program: the model server holds a
request, or a trigger in the trial's own database waits for a lock that the trial holds. The
trial then kills the client, its backend or the whole server. Whatever is stored in between must
be whole pages, and the next ingest must end with exactly the rows of a fresh one.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Literal, get_args

import psycopg

from ragctl.db.statements import migrations
from tests.soak.rig import Rig, Row, Stored, wait_until

Point = Literal["parse", "model", "write", "commit", "swap", "migration"]
Fault = Literal["SIGINT", "SIGTERM", "SIGKILL", "backend", "server"]
POINTS: tuple[Point, ...] = get_args(Point)
FAULTS: tuple[Fault, ...] = get_args(Fault)
_EXIT_CODES: Mapping[Fault, int] = {"SIGINT": 130, "SIGTERM": 143, "SIGKILL": -9}
_LOCK = 4711
_GATE = f"""
CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_advisory_xact_lock_shared({_LOCK}); RETURN coalesce(NEW, OLD); END $$;
"""
_GATES: Mapping[str, str] = {
    "write": "CREATE TRIGGER gate BEFORE INSERT ON chunks FOR EACH ROW "
    "WHEN (NEW.url = '{url}') EXECUTE FUNCTION gate()",
    "commit": "CREATE CONSTRAINT TRIGGER gate AFTER INSERT OR UPDATE ON pages "
    "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.url = '{url}') EXECUTE FUNCTION gate()",
    "delete": "CREATE TRIGGER gate BEFORE DELETE ON pages FOR EACH ROW EXECUTE FUNCTION gate()",
}
_MIGRATION_GATE = f"""
CREATE FUNCTION gate() RETURNS event_trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_advisory_xact_lock_shared({_LOCK}); END $$;
CREATE EVENT TRIGGER gate ON ddl_command_end WHEN TAG IN ('{{tag}}') EXECUTE FUNCTION gate();
"""
_TAGS = ("CREATE TABLE", "ALTER TABLE", "CREATE INDEX", "COMMENT", "CREATE VIEW")


class Missed(Exception):
    """The run was past the point before the fault came: the trial does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One fault: where, which, and the chance that decides the rest."""

    number: int
    point: Point
    fault: Fault
    seed: int

    def __str__(self) -> str:
        return f"{self.point}/{self.fault} (trial {self.number}, seed {self.seed})"


def trials(count: int, *, seed: int) -> Iterator[Trial]:
    """Yield trials that go through all points, each with every kind of fault in turn."""
    for number in range(count):
        turn, place = divmod(number, len(POINTS))
        fault = FAULTS[(turn + place) % len(FAULTS)]
        yield Trial(number=number, point=POINTS[place], fault=fault, seed=seed)


def survive(trial: Trial, rig: Rig, *, attempts: int = 5) -> None:
    """Carry a trial out; raises AssertionError where a promise was broken."""
    for attempt in range(attempts):
        chance = random.Random(f"{trial.seed} {trial.number} {attempt}")
        with suppress(Missed):
            _Attempt(trial, rig, chance, name=f"{trial.point}{trial.number}_{attempt}").carry_out()
            return
    raise AssertionError(f"{trial}: the point was missed {attempts} times")


class _Attempt:
    """One go at a trial, in a database of its own."""

    def __init__(self, trial: Trial, rig: Rig, chance: random.Random, *, name: str) -> None:
        self._trial = trial
        self._rig = rig
        self._chance = chance
        self._name = name
        self._database = f"ragctl_{name}"
        self._arguments = ["ingest", str(rig.content)]
        if trial.point == "swap":
            self._arguments.append("--rebuild")

    def carry_out(self) -> None:
        """Bring the run to the point, strike, look, and let the next run finish."""
        steps = None
        like: str | None = self._chance.choice(("old", "old", None))
        if self._trial.point in ("parse", "swap"):
            like = "old"
        elif self._trial.point == "migration":
            like, steps = None, self._chance.randrange(len(migrations()))
        elif like is None:
            steps = len(migrations())
        with self._rig.site(self._name, like=like, steps=steps):
            self._reach_and_strike(old=self._rig.stored(self._name))
            self._require_an_answer_or_nothing()
            done = self._rig.run(self._name, "ingest", str(self._rig.content))
            said = done.stderr.decode()
            assert done.returncode == 0, (
                f"{self._trial}: the next run ended {done.returncode}: {said}"
            )
            self._require_the_fresh_rows()

    # The way to the point, and the fault

    def _reach_and_strike(self, *, old: Stored) -> None:
        with ExitStack() as stack:
            if self._trial.point == "model":
                gate = self._rig.hold_requests(self._chance.randint(1, 3))
                stack.callback(self._rig.answer_at_once)
                process = stack.enter_context(self._started())
                _require(wait_until(gate.arrived.is_set), process, "no request came")
                time.sleep(self._chance.uniform(0, 0.02))
                self._strike(process)
            elif self._trial.point == "parse":
                self._strike_while_parsing(stack)
            else:
                self._strike_at_the_gate(stack)
        self._require_whole_pages(old)

    def _strike_while_parsing(self, stack: ExitStack) -> None:
        connection = stack.enter_context(self._rig.connect(self._database))
        last = "SELECT max(id) FROM ingest_runs"
        before = connection.execute(last).fetchone()
        gate = self._rig.hold_requests(1)
        stack.callback(self._rig.answer_at_once)
        process = stack.enter_context(self._started())
        begun = wait_until(lambda: connection.execute(last).fetchone() != before)
        _require(begun, process, "no run began")
        time.sleep(self._chance.uniform(0, 0.15))
        if gate.arrived.is_set():
            raise Missed
        self._strike(process)

    def _strike_at_the_gate(self, stack: ExitStack) -> None:
        with self._rig.connect(self._database) as connection:
            connection.execute(self._gate().encode())
        holder = self._rig.connect(self._database)
        stack.callback(holder.close)
        holder.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        process = stack.enter_context(self._started())
        waits = (
            "SELECT FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name = 'ragctl' AND wait_event = 'advisory'"
        )
        there = wait_until(
            lambda: process.poll() is not None or holder.execute(waits).fetchone() is not None
        )
        if process.poll() is not None and self._trial.point == "migration":
            raise Missed  # none of the migrations left to do holds such a command
        _require(there, process, "the gate was never reached")
        if self._chance.random() < 0.3:  # let it go, and strike somewhere behind the gate
            holder.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
        time.sleep(self._chance.uniform(0, 0.01))
        self._strike(process)

    def _gate(self) -> str:
        if self._trial.point == "migration":
            return _MIGRATION_GATE.replace("{tag}", self._chance.choice(_TAGS))
        kind = str(self._trial.point)
        if kind == "swap":
            kind = self._chance.choice(tuple(_GATES))
        old, new = _loosely(self._rig.old), _loosely(self._rig.new)
        with_passages = [url for url, page in new.items() if page[1] and page != old.get(url)]
        url = self._chance.choice(sorted(with_passages))
        return _GATE + _GATES[kind].replace("{url}", url)

    @contextmanager
    def _started(self) -> Iterator[subprocess.Popen[bytes]]:
        process = self._rig.start(self._name, *self._arguments)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def _strike(self, process: subprocess.Popen[bytes]) -> None:
        """Bring the fault about and see how the program ends."""
        if process.poll() is not None:
            raise Missed
        fault = self._trial.fault
        if fault in _EXIT_CODES:
            process.send_signal(signal.Signals[fault])
        else:
            self._kill_server_process(whole=fault == "server")
        self._rig.answer_at_once()
        began = time.monotonic()
        try:
            _, err = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self._trial}: the program hangs") from None
        seconds = time.monotonic() - began
        if process.returncode == 0:
            raise Missed  # it ended before the fault
        said = f"{self._trial}: ended {process.returncode} after {seconds:.1f} s: {err.decode()}"
        assert process.returncode == _EXIT_CODES.get(fault, 4), said
        assert b"Traceback" not in err, said
        if fault in ("SIGINT", "SIGTERM"):
            assert seconds < 2, said
            assert err.count(b"Interrupted") + err.count(b"Stopped") == 1, said

    def _kill_server_process(self, *, whole: bool) -> None:
        if whole:
            pid = self._rig.server.status().pid
        else:
            query = (
                "SELECT pid FROM pg_stat_activity WHERE datname = %s "
                "AND application_name = 'ragctl' ORDER BY backend_start LIMIT 1"
            )
            with self._rig.connect("postgres") as connection:
                row = connection.execute(query, [self._database]).fetchone()
            pid = row[0] if row else None
        if pid is None:
            raise Missed
        os.kill(pid, signal.SIGKILL)

    # What must be true afterwards

    def _require_whole_pages(self, old: Stored) -> None:
        """Require that each page is wholly as before or wholly new; a swap is all or nothing."""
        self._rig.server.ensure_running()
        stored = self._patiently(lambda: self._rig.stored(self._name))
        known = (_loosely(old), _loosely(self._rig.new))
        for url, page in _loosely(stored).items():
            assert page in (known[0].get(url), known[1].get(url)), f"{self._trial}: {url} is torn"
        missing = set(old.pages) & set(self._rig.new.pages) - set(stored.pages)
        assert not missing, f"{self._trial}: lost {sorted(missing)}"
        if self._trial.point == "swap":
            assert _loosely(stored) in known, f"{self._trial}: half of a rebuild"

    def _require_an_answer_or_nothing(self) -> None:
        asked = self._rig.run(self._name, "ask", "How?")
        said = asked.stderr.decode()
        told = f"{self._trial}: ask ended {asked.returncode}: {said}"
        assert "Traceback" not in said, told
        if self._trial.point == "migration":
            assert asked.returncode == 3 or "are older" in said, told
        else:
            assert asked.returncode == 3 or "did not finish" in said, told

    def _require_the_fresh_rows(self) -> None:
        stored, fresh = self._rig.stored(self._name), self._rig.new
        assert set(stored.pages) == set(fresh.pages), f"{self._trial}: other pages than afresh"
        for url, page in stored.pages.items():
            assert page == fresh.pages[url], f"{self._trial}: {url} differs from a fresh ingest"
        for table, rows in stored.others.items():
            assert rows == fresh.others[table], f"{self._trial}: {table} differs"

    def _patiently(self, look: Callable[[], Stored]) -> Stored:
        """Look again while the server recovers from the loss of a process."""
        deadline = time.monotonic() + 20
        while True:
            try:
                return look()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def _require(condition: bool, process: subprocess.Popen[bytes], what: str) -> None:
    if condition and process.poll() is None:
        return
    process.kill()
    _, err = process.communicate()
    raise AssertionError(f"{what}: {err.decode()}")


def _loosely(stored: Stored) -> dict[str, tuple[Row, tuple[Row, ...]]]:
    """Return pages without their number in the track, which is given at the end of a run."""
    return {
        url: ({name: value for name, value in row.items() if name != "position"}, passages)
        for url, (row, passages) in stored.pages.items()
    }
