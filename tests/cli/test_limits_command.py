"""Many who ask at once: slots, their line, questions a minute, and what is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from ragctl.db.connect import connect
from ragctl.db.database import Database
from tests.ollama_server import OllamaServer, Reply, Request, chat, chat_lines
from tests.program import Program

QUESTION = "How does the token bucket refill?"
ASKERS = 20
# Imports once, then a process for each question: what they print goes to files.
PROGRAM = """\
import os, sys
from ragctl.cli import main as program
import psycopg, requests, ragctl.cli.ask, ragctl.gateway.slots, ragctl.models.ollama
count, folder = int(sys.argv[1]), sys.argv[2]
children = {}
for number in range(count):
    pid = os.fork()
    if pid:
        children[pid] = number
        continue
    for stream, name in ((1, "out"), (2, "err")):
        opened = os.open(f"{folder}/{number}.{name}", os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, stream)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
    try:
        program.main(["ask", f"How does the token bucket refill in case {number}?"])
    except SystemExit as ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code)
for _ in range(count):
    pid, status = os.wait()
    print(children[pid], pid, os.waitstatus_to_exitcode(status))
"""


@pytest.fixture
def ingested(ragctl: Program, site: Path) -> Program:
    """The program after an ingest."""
    assert ragctl("ingest", str(site)).code == 0
    return ragctl


@pytest.fixture
def plain(ingested: Program, empty_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A plain connection to the database of the test."""
    with connect(empty_url) as opened:
        yield opened


def count(connection: psycopg.Connection[tuple[object, ...]], query: str) -> int:
    found = connection.execute(query.encode()).fetchone()
    assert found is not None
    return int(str(found[0]))


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


class BusyServer:
    """Answers slowly, and counts who is answered at once and in which order they came."""

    def __init__(self) -> None:
        self.most = 0
        self.order: list[int] = []
        self._working = 0
        self._met = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Reply:
        number = re.search(r"in case (\d+)\?", str(request.body["messages"]))
        assert number is not None
        with self._lock:
            self._working += 1
            self.most = max(self.most, self._working)
            self.order.append(int(number[1]))
            if self.most > 1:
                self._met.set()
        return Reply(packets=self._lines())

    def _lines(self) -> Iterator[bytes]:
        lines = chat_lines("It refills lazily [1].", done={"done_reason": "stop"})
        yield lines[0]
        if not self._met.wait(10):  # the first one waits for a second
            raise AssertionError("nobody else was let in")
        time.sleep(0.05)
        with self._lock:  # before the last line: whoever reads it may ask the next one
            self._working -= 1
        yield from lines[1:]


def test_twenty_at_once_are_all_answered_two_at_a_time_in_the_order_they_came(
    ingested: Program,
    ollama: OllamaServer,
    plain: psycopg.Connection[tuple[object, ...]],
    tmp_path: Path,
) -> None:
    plain.execute("CREATE TABLE drawn (ticket bigint, pid int)")
    plain.execute(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN INSERT INTO drawn VALUES (NEW.ticket, NEW.pid); RETURN NEW; END'"
    )
    plain.execute(
        "CREATE TRIGGER note AFTER INSERT ON generation_slots FOR EACH ROW EXECUTE FUNCTION note()"
    )
    server = BusyServer()
    ollama.on("/api/chat", server)
    ingested.set(RAGCTL_LIMITS__GENERATIONS="2", RAGCTL_LIMITS__QUEUE_SECONDS="200")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ASKERS), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    ended = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    errors = {n: (tmp_path / f"{n}.err").read_text() for n in range(ASKERS)}
    assert {code for _, _, code in ended} == {0}, errors
    for number in range(ASKERS):
        assert "It refills lazily [1]." in (tmp_path / f"{number}.out").read_text()
    assert server.most == 2
    _require_fair(server.order, ended, plain)
    assert any("Waiting for a free slot: " in error for error in errors.values())
    whole = "finish = 'stop' AND error_code IS NULL AND queue_ms >= 0 AND total_ms >= queue_ms"
    assert count(plain, f"SELECT count(*) FROM traces WHERE {whole}") == ASKERS
    assert count(plain, "SELECT count(*) FROM spans WHERE name = 'queue'") == ASKERS
    assert count(plain, "SELECT count(*) FROM generation_slots") == 0
    others = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    wait_for(lambda: count(plain, others) == 0)


def _require_fair(
    order: list[int],
    ended: list[tuple[int, ...]],
    connection: psycopg.Connection[tuple[object, ...]],
) -> None:
    """Hold the order of requests against that of tickets: only neighbours may change places."""
    number_of = {pid: number for number, pid, _ in ended}
    tickets = connection.execute("SELECT pid FROM drawn ORDER BY ticket").fetchall()
    drawn = [number_of[int(str(pid))] for (pid,) in tickets]
    assert sorted(drawn) == sorted(order) == list(range(ASKERS))
    off = [abs(drawn.index(number) - place) for place, number in enumerate(order)]
    assert max(off) <= 2, (drawn, order)


def test_without_limits_nobody_stands_in_line(
    ingested: Program, plain: psycopg.Connection[tuple[object, ...]]
) -> None:
    document = ingested("ask", QUESTION, "--json").document
    assert document["ms"]["queue"] is None
    assert count(plain, "SELECT last_ticket FROM generation_queue") == 0


def test_the_wait_is_in_the_document_the_trace_and_the_table(ingested: Program) -> None:
    ingested.set(RAGCTL_LIMITS__GENERATIONS="1")
    document = ingested("ask", QUESTION, "--json").document
    assert document["ms"]["queue"] >= 0
    trace = ingested("trace", "show", document["trace_id"], "--json").document
    assert trace["ms"]["queue"] == document["ms"]["queue"]
    assert "queue" in ingested("ask", QUESTION, "--verbose").err


def test_who_waits_too_long_gets_quotes_and_exit_code_7(ingested: Program, empty_url: str) -> None:
    ingested.set(RAGCTL_LIMITS__GENERATIONS="1", RAGCTL_LIMITS__QUEUE_SECONDS="0.2")
    with Database.over(connect(empty_url), empty_url) as database:
        other = database.slots(at_once=1)
        other.queue()
        assert other.take(work_seconds=60).is_taken
        done = ingested("ask", QUESTION)
        assert done.code == 7
        assert "Waiting for a free slot: 0 before you, 1 at work." in done.err
        assert "no slot was free for 0.2 s" in done.err
        assert "refills lazily" in done.out
        document = ingested("ask", QUESTION, "--json").document
        assert document["problems"][0]["code"] == "no_slot"
        assert document["degraded"]
        assert document["ms"]["queue"] >= 200
        other.release()
    assert ingested("ask", QUESTION).code == 0


def test_quoting_without_a_model_needs_no_slot(ingested: Program, empty_url: str) -> None:
    ingested.set(RAGCTL_LIMITS__GENERATIONS="1", RAGCTL_LIMITS__QUEUE_SECONDS="0")
    with Database.over(connect(empty_url), empty_url) as database:
        other = database.slots(at_once=1)
        other.queue()
        assert other.take(work_seconds=60).is_taken
        assert ingested("ask", QUESTION, "--no-model").code == 0


@pytest.mark.parametrize(
    ("number", "left"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, 1)]
)
def test_a_stopped_question_leaves_no_slot_behind_and_a_killed_one_holds_up_nobody(
    number: signal.Signals,
    left: int,
    ingested: Program,
    ollama: OllamaServer,
    plain: psycopg.Connection[tuple[object, ...]],
) -> None:
    ollama.on("/api/chat", Reply(packets=chat_lines("It "), end="hang"))
    ingested.set(RAGCTL_LIMITS__GENERATIONS="1", RAGCTL_LIMITS__QUEUE_SECONDS="30")
    process = subprocess.Popen(
        [sys.executable, "-m", "ragctl", "ask", QUESTION],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    taken = "SELECT count(*) FROM generation_slots WHERE taken_at IS NOT NULL"
    wait_for(lambda: count(plain, taken) == 1 and bool(ollama.requests_to("/api/chat")))
    os.kill(process.pid, number)
    process.communicate(timeout=20)
    assert count(plain, taken) == left
    ollama.on("/api/chat", chat("It refills lazily [1]."))
    assert ingested("ask", QUESTION).code == 0
    assert count(plain, "SELECT count(*) FROM generation_slots") == 0


def test_a_user_who_asks_too_often_is_told_when_to_come_back(
    ingested: Program, plain: psycopg.Connection[tuple[object, ...]]
) -> None:
    ingested.set(RAGCTL_LIMITS__QUESTIONS_PER_MINUTE="1", RAGCTL_LIMITS__USER="ann")
    assert ingested("ask", QUESTION).code == 0
    refused = ingested("ask", QUESTION)
    assert refused.code == 5
    assert "ann may ask 1 question a minute" in refused.err
    assert re.search(r"Ask again in (5\d|60) s\.", refused.err)
    error = ingested("ask", QUESTION, "--json").document["error"]
    assert error["code"] == "rate_limited"
    assert count(plain, "SELECT count(*) FROM traces WHERE error_code = 'rate_limited'") == 2
    ingested.set(RAGCTL_LIMITS__USER="bob")
    assert ingested("ask", QUESTION).code == 0


def test_questions_about_the_site_itself_are_not_counted(ingested: Program) -> None:
    ingested.set(RAGCTL_LIMITS__QUESTIONS_PER_MINUTE="1")
    assert ingested("ask", QUESTION).code == 0
    assert ingested("ask", "How many pages are in the track kernel?").code == 0
    assert ingested("ask", QUESTION).code == 5


def test_the_user_of_this_machine_is_who_asks(
    ingested: Program, plain: psycopg.Connection[tuple[object, ...]]
) -> None:
    import pwd

    ingested.set(RAGCTL_LIMITS__QUESTIONS_PER_MINUTE="9")
    assert ingested("ask", QUESTION).code == 0
    (asker,) = plain.execute("SELECT asker FROM question_rates").fetchall()
    assert asker == (pwd.getpwuid(os.getuid()).pw_name,)


@pytest.mark.parametrize("setting", ["GENERATIONS", "QUESTIONS_PER_MINUTE"])
def test_a_limit_that_cannot_be_kept_answers_nothing_and_names_the_rights(
    setting: str,
    ingested: Program,
    plain: psycopg.Connection[tuple[object, ...]],
    empty_url: str,
) -> None:
    plain.execute("DROP ROLE IF EXISTS reads_only")
    plain.execute("CREATE ROLE reads_only LOGIN")
    plain.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reads_only")
    url = empty_url.replace("postgres@", "reads_only@", 1)
    ingested.set(**{"RAGCTL_DATABASE_URL": url, f"RAGCTL_LIMITS__{setting}": "3"})
    done = ingested("ask", QUESTION)
    plain.execute("DROP OWNED BY reads_only")
    plain.execute("DROP ROLE reads_only")
    assert done.code == 4
    assert f"limits.{setting.lower()} is set" in done.err
    assert "GRANT SELECT, INSERT, UPDATE" in done.err
    assert "lazily" not in done.out


def test_an_answer_from_the_cache_is_not_counted_and_needs_no_slot(ingested: Program) -> None:
    ingested.set(
        RAGCTL_CACHE__ANSWERS="on",
        RAGCTL_LIMITS__QUESTIONS_PER_MINUTE="1",
        RAGCTL_LIMITS__GENERATIONS="1",
    )
    assert ingested("ask", QUESTION).code == 0
    document = ingested("ask", QUESTION, "--json").document
    assert document["cached"]
    assert ingested("ask", "Do readers wait for writers?").code == 5
