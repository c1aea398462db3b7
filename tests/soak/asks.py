"""Asks questions in many processes while all goes wrong that may, and looks at what is left.

``python -m tests.soak.asks --minutes 10 --processes 20 --asks 1000 --seed 1``
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import psycopg

from tests.ollama_server import OllamaServer
from tests.soak.ask_judge import Known, Limits, violations
from tests.soak.ask_model import ScriptedModel
from tests.soak.ask_plans import GROUPS, SIGNALS, Moment, Plan, plan
from tests.soak.askers import Asker, Ended
from tests.soak.leaks import Held, children_left, held, own_processes, private_kilobytes
from tests.soak.rig import Rig, a_rig, wait_until
from tests.soak.upheavals import Upheavals, edition

SITE: Final = "asked"
LIMITS: Final = Limits(
    embedding_seconds=3,
    first_token_seconds=3,
    stall_seconds=2,
    total_seconds=6,
    budget_seconds=12,
    queue_seconds=6,
)
SLOTS: Final = 8
GROWTH_KILOBYTES: Final = 8_192


class Soak:
    """A run: its rig, its model server, its calls and what was found."""

    def __init__(self, rig: Rig, server: OllamaServer, chosen: argparse.Namespace) -> None:
        self._rig = rig
        self._server = server
        self._seed: int = chosen.seed
        self._asks: int = chosen.asks
        self._seconds: float = chosen.minutes * 60
        self._base = rig.content.parent
        self._model = ScriptedModel(server, on_moment=self._at)
        self._running: dict[int, tuple[Plan, Asker, str]] = {}
        self._struck: set[int] = set()
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self.known = Known(limits=LIMITS, editions=(edition(rig.old), edition(rig.new)))
        self.faults: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.violations: list[str] = []
        self.slowest = 0.0
        self.calls = 0
        self._write_settings()
        (self._base / "temporary").mkdir()
        (self._base / "askers").mkdir()

    # The calls

    def run(self, processes: int) -> None:
        """Ask until time is up and as many calls were made as are wanted."""
        workers = [
            threading.Thread(target=self._work, args=(f"w{number:02d}",))
            for number in range(processes)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def begin(self) -> None:
        """Let the time of the run begin."""
        self._began = time.monotonic()

    def progress(self) -> float:
        """Return the share of the run that is behind us."""
        passed = (time.monotonic() - self._began) / self._seconds if self._seconds else 1.0
        return min(passed, self.calls / self._asks)

    def _work(self, name: str) -> None:
        asker = Asker(self._base / "askers" / name, self._environment())
        try:
            while self.progress() < 1:
                self.ask(plan(next(self._numbers), seed=self._seed), asker, name)
        finally:
            asker.close()

    def ask(self, planned: Plan, asker: Asker, name: str) -> Ended:
        """Make a call, judge it, and count it."""
        self._model.expect(planned)
        self._running[planned.number] = (planned, asker, name)

        def started(_pid: int) -> None:
            if planned.strike and planned.moment == "start":
                threading.Timer(planned.delay_seconds, self._strike, (planned,)).start()

        ended = asker.ask(
            planned.arguments,
            self._of_call(planned, name),
            limit_seconds=LIMITS.wall_seconds + 30,
            on_start=started,
        )
        with self._lock:
            del self._running[planned.number]
        found = self._judged(planned, ended)
        with self._lock:
            self.calls += 1
            self.faults.update(planned.befalls)
            self.outcomes[_outcome(ended)] += 1
            self.slowest = max(self.slowest, ended.seconds)
            for one in found:
                self.violations.append(f"{planned}: {one}")
                print(f"VIOLATION {planned}: {one}", flush=True)
        return ended

    def _judged(self, planned: Plan, ended: Ended) -> list[str]:
        deadline = time.monotonic() + 30
        while True:
            try:
                with self._rig.connect(f"ragctl_{SITE}") as connection:
                    return violations(planned, ended, self.known, connection)
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline:
                    return [f"could not be judged: {error}"]
                time.sleep(0.1)

    # The faults

    def _at(self, planned: Plan, moment: Moment) -> None:
        if planned.strike and planned.moment == moment:
            self._strike(planned)

    def _strike(self, planned: Plan) -> None:
        with self._lock:
            running = self._running.get(planned.number)
            if running is None or planned.number in self._struck:
                return
            self._struck.add(planned.number)
            _, asker, name = running
            if planned.strike in SIGNALS and asker.pid is not None:
                os.kill(asker.pid, signal.Signals[str(planned.strike)])
        if planned.strike == "database":
            query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s"
            try:
                with self._rig.connect("postgres") as connection:
                    connection.execute(query, [name])
            except psycopg.OperationalError:
                return

    # How calls are made

    def _write_settings(self) -> None:
        for group in GROUPS:
            folder = self._base / "groups" / group / "ragctl"
            folder.mkdir(parents=True)
            text = LIMITS.config(group).replace("{url}", f"{self._server.url}/v1")
            (folder / "config.toml").write_text(text)

    def _environment(self) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("RAGCTL_")}
        return {
            **kept,
            **LIMITS.environment(),
            "RAGCTL_DATA_DIR": str(self._base / "data"),
            "RAGCTL_SITE__NAME": SITE,
            "RAGCTL_LIMITS__GENERATIONS": str(SLOTS),
            "TMPDIR": str(self._base / "temporary"),
            "COLUMNS": "100",
        }

    def _of_call(self, planned: Plan, name: str) -> Mapping[str, str]:
        url = self._server.url
        if "tags" in planned.faults:
            url = url.replace("://", f"://case{planned.number}:x@")
        given = {
            "OLLAMA_HOST": url,
            "XDG_CONFIG_HOME": str(self._base / "groups" / planned.group),
        }
        if planned.strike == "database":
            database = self._rig.server.url(f"ragctl_{SITE}")
            given["RAGCTL_DATABASE_URL"] = database.replace("postgres@", f"{name}@")
        return given

    # What is left

    def look(self, postmasters: Iterable[int] = ()) -> Held:
        """Return what the server holds while nobody asks."""
        self._rig.server.ensure_running()
        status = self._rig.server.status()
        assert status.pid is not None
        cluster = status.data_directory
        folders = (
            *(self._base, self._base / "data", self._base / "temporary"),
            *(cluster, cluster / "pg_dynshmem", cluster / "base"),
        )
        url = self._rig.server.url("postgres")
        return held(url, (*set(postmasters) - {status.pid}, status.pid), cluster, folders)

    def come_to_rest(self, number: int = 10**6) -> list[str]:
        """Ask what every route answers, until breakers are closed; return what does not rest."""
        asker = Asker(self._base / "askers" / "rest", self._environment())
        deadline = time.monotonic() + 90
        try:
            while True:
                for group, faults in (
                    *((group, {}) for group in GROUPS),
                    ("routes", {"chat": "missing"}),
                    ("openai", {"chat": "missing"}),
                ):
                    number += 1
                    question = f"What is said of a lock and a queue? (case {number})"
                    healthy = Plan(number=number, seed=self._seed, group=group, faults=faults,
                                   question=question)  # fmt: skip
                    ended = self.ask(healthy, asker, "rest")
                left = self._unrested()
                if not left and ended.code == 0:
                    return []
                if time.monotonic() > deadline:
                    return [*left, f"a healthy call ended {ended.code}: {ended.err[-200:]}"]
                time.sleep(3)
        finally:
            asker.close()

    def _unrested(self) -> list[str]:
        with self._rig.connect(f"ragctl_{SITE}") as connection:
            return [
                f"{told}: {rows}"
                for told, query in _AT_REST.items()
                if (rows := connection.execute(query.encode()).fetchall())
            ]


_AT_REST: Final = {
    "a breaker is not closed": "SELECT route, consecutive_failures, opened_at, probe_until "
    "FROM breakers WHERE opened_at IS NOT NULL OR probe_until IS NOT NULL",
    "a slot is held": "SELECT * FROM generation_slots WHERE expires_at > clock_timestamp()",
    "a lease is held": "SELECT * FROM ingest_lease WHERE expires_at > clock_timestamp()",
    "a kept answer is not whole": "SELECT question, answer ->> 'finish' FROM answer_cache "
    "WHERE answer ->> 'finish' <> 'stop' OR (answer ->> 'degraded')::boolean "
    "OR jsonb_array_length(answer -> 'problems') > 0 OR answer ->> 'text' = ''",
    "a kept answer names what is not there": "SELECT c.question FROM cached_answers c "
    "JOIN answer_cache a USING (scope, question_key) WHERE stale IS NULL AND NOT a.chunk_ids <@ "
    "(SELECT array_agg(id) FROM chunks)",
    "a step without a trace": "SELECT trace_id FROM spans LEFT JOIN traces ON id = trace_id "
    "WHERE id IS NULL",
    "a question is traced twice": "SELECT question, count(*) FROM traces "
    "WHERE question LIKE '%(case %' GROUP BY 1 HAVING count(*) > 1",
}


def _outcome(ended: Ended) -> str:
    if ended.code == 0 and '"cached": true' in ended.out:
        return "0 answered from the cache"
    return _OUTCOMES.get(ended.code, f"{ended.code} undocumented")


_OUTCOMES: Final = {
    0: "0 answered or refused",
    4: "4 database",
    5: "5 model",
    7: "7 incomplete or extractive",
    130: "130 interrupted",
    143: "143 terminated",
    -2: "130 interrupted",
    -15: "143 terminated",
    -9: "killed",
}


class Watch:
    """Looks at the memory of the server every few seconds; a server's life begins with its pid."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.seen: dict[int, list[tuple[float, int]]] = {}

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_end: object) -> None:
        self._ended.set()
        self._thread.join()

    def settled(self) -> list[tuple[float, int]]:
        """Return what the server of the longest life used, in kilobytes, and when.

        The first quarter is left out: a server takes some memory as it warms up.
        """
        longest = max(self.seen.values(), key=lambda looks: looks[-1][0] - looks[0][0])
        return longest[len(longest) // 4 :]

    def _run(self) -> None:
        while not self._ended.wait(2):
            try:
                pid = self._rig.server.status().pid
                used = [private_kilobytes(one.pid) for one in own_processes(pid or 0)]
            except Exception:
                continue
            self.seen.setdefault(pid or 0, []).append((time.monotonic(), sum(used)))


def main() -> int:
    """Run the soak and print what was tried and found; 1 where something was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--asks", type=int, default=1000, help="at least so many")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    chosen = parser.parse_args()
    with a_rig() as rig, OllamaServer() as server, rig.site(SITE, like="new"):
        with rig.connect("postgres") as connection:
            for name in (*(f"w{number:02d}" for number in range(chosen.processes)), "rest"):
                connection.execute(f"CREATE ROLE {name} SUPERUSER LOGIN".encode())
        return _soaked(Soak(rig, server, chosen), rig, chosen)


def _soaked(soak: Soak, rig: Rig, chosen: argparse.Namespace) -> int:
    soak.come_to_rest(2 * 10**6)
    before, threads = soak.look(), threading.active_count()
    upheavals = Upheavals(rig, SITE, soak.known, seed=chosen.seed, progress=soak.progress)
    began = time.monotonic()
    soak.begin()
    with Watch(rig) as watch:
        upheavals.start()
        soak.run(chosen.processes)
        upheavals.stop()
    minutes = (time.monotonic() - began) / 60
    found = [*upheavals.violations, *(f"at rest: {one}" for one in soak.come_to_rest())]
    wait_until(lambda: threading.active_count() <= threads, seconds=15)
    after = soak.look(watch.seen)
    grown = after.grown_since(before)
    if threading.active_count() > threads:
        grown["connections of the model server"] = (threads, threading.active_count())
    found += [f"leak of {name}: {old} before, {new} after" for name, (old, new) in grown.items()]
    found += [f"a process is left: {one}" for one in children_left()]
    memory = watch.settled()
    if memory[-1][1] > memory[0][1] + GROWTH_KILOBYTES:
        found.append(f"the memory of the server grew: {memory[0][1]:,} to {memory[-1][1]:,} KB")
    _print(soak, upheavals, before, after)
    _print_memory(memory)
    print(f"slowest call {soak.slowest:.1f} s of {LIMITS.wall_seconds:.0f} allowed\n")
    for one in found:
        print(f"VIOLATION {one} (seed {chosen.seed})")
    count = len(soak.violations) + len(found)
    print(f"{soak.calls} calls in {minutes:.1f} minutes, {count} violations (seed {chosen.seed})")
    return 1 if count else 0


def _print(soak: Soak, upheavals: Upheavals, before: Held, after: Held) -> None:
    tables = {"fault": soak.faults, "outcome": soak.outcomes, "meanwhile": upheavals.done}
    for title, counted in tables.items():
        print(f"\n{title:40} {'times' if title == 'meanwhile' else 'calls':>8}")
        for name, count in sorted(counted.items()):
            print(f"{name:40} {count:8,}")
    print(f"\n{'held':40} {'before':>8} {'after':>8}")
    for name in Held.__slots__:
        print(f"{name:40} {getattr(before, name):8,} {getattr(after, name):8,}")


def _print_memory(looks: list[tuple[float, int]]) -> None:
    seconds, used = looks[-1][0] - looks[0][0], [one for _, one in looks]
    print(
        f"memory of a server within {seconds:.0f} s: "
        f"{used[0]:,} to {used[-1]:,} KB, most {max(used):,}"
    )


if __name__ == "__main__":
    sys.exit(main())
