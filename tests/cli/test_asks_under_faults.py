"""Forty questions, each with a fault of its own; scripts/soak asks tries thousands in processes."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from operator import le
from pathlib import Path

import psycopg
import pytest

from ragctl.db.connect import connect
from ragctl.wiring.limits import SPARE_SECONDS
from tests.ollama_server import OllamaServer
from tests.program import Program
from tests.soak.ask_judge import Edition, Known, Limits, violations
from tests.soak.ask_model import ScriptedModel
from tests.soak.ask_plans import CHAT_FAULTS, EMBED_FAULTS, GROUPS, Moment, Plan
from tests.soak.askers import Ended
from tests.soak.rig import wait_until
from tests.soak.site import old_pages, write_site

LIMITS = Limits(
    embedding_seconds=0.5,
    first_token_seconds=0.5,
    stall_seconds=0.3,
    total_seconds=0.8,
    budget_seconds=4,
    queue_seconds=5,
)
MAY_CLEAR = {"503", "429", "500", "reset", "cut", "not finite", "zeros", "long wait"}
CUTS: tuple[Moment, ...] = ("embed", "chat", "text")


def plans() -> Iterator[Plan]:
    """Yield a plan for each fault, with the groups of settings in turn."""
    faults = [
        *({"embed": fault} for fault in EMBED_FAULTS),
        *({"chat": fault} for fault in CHAT_FAULTS),
        {"chat": "hang", "second": "cut"},
        {},
        *({} for _ in CUTS),
    ]
    for number, befalls in enumerate(faults):
        cut = number - len(faults) + len(CUTS)
        yield Plan(
            number=number,
            seed=0,
            group=GROUPS[number % len(GROUPS)] if "second" not in befalls else "openai",
            question=f"What is said of a bucket and a queue? (case {number})",
            faults=befalls,
            times=1 if set(befalls.values()) & MAY_CLEAR else 99,
            strike="database" if cut >= 0 else None,
            moment=CUTS[cut] if cut >= 0 else "start",
        )


class Asking:
    """Makes the calls in this process and cuts its connections where a plan says so."""

    def __init__(self, program: Program, server: OllamaServer, url: str, folder: Path) -> None:
        self._program = program
        self._url = url
        self._model = ScriptedModel(server, on_moment=self._at)
        self._folder = folder
        for group in GROUPS:
            place = folder / group / "ragctl"
            place.mkdir(parents=True)
            text = LIMITS.config(group).replace("{url}", f"{server.url}/v1")
            (place / "config.toml").write_text(text)

    def ask(self, plan: Plan) -> Ended:
        """Make a call."""
        self._model.expect(plan)
        self._program.set(XDG_CONFIG_HOME=str(self._folder / plan.group))
        began = time.monotonic()
        done = self._program(*plan.arguments)
        return Ended(
            code=done.code, out=done.out, err=done.err, began=began, ended=time.monotonic()
        )

    def _at(self, plan: Plan, moment: Moment) -> None:
        if plan.strike == "database" and plan.moment == moment:
            with connect(self._url) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid() "
                    "AND query NOT LIKE '%onlooker%'"
                )


@pytest.fixture
def asking(ragctl: Program, ollama: OllamaServer, empty_url: str, tmp_path: Path) -> Asking:
    """The program after an ingest of the small site, with limits that a test can wait for."""
    content = tmp_path / "content"
    write_site(content, old_pages())
    assert ragctl("ingest", str(content)).code == 0
    ragctl.set(**LIMITS.environment(), RAGCTL_LIMITS__GENERATIONS="2", RAGCTL_CACHE__ANSWERS="on")
    return Asking(ragctl, ollama, empty_url, tmp_path / "groups")


def edition_of(connection: psycopg.Connection[tuple[object, ...]]) -> Edition:
    rows = connection.execute("SELECT url, ref, body FROM chunks").fetchall()
    found: dict[str, set[tuple[str, str]]] = {}
    for url, ref, body in rows:
        found.setdefault(str(url), set()).add((str(ref), str(body)))
    return {url: frozenset(passages) for url, passages in found.items()}


def at_rest() -> tuple[int, int]:
    """Return the open files and the threads of this process."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux does")
def test_whatever_befalls_a_question_it_ends_as_promised_and_leaves_nothing_behind(
    asking: Asking, empty_url: str
) -> None:
    found: list[str] = []
    asking.ask(Plan(number=999, seed=0, group="routes", question="What is a lock?", faults={}))
    with connect(empty_url) as connection:
        known = Known(limits=LIMITS, editions=(edition_of(connection),))
    before = at_rest()
    for plan in plans():
        ended = asking.ask(plan)
        with connect(empty_url) as onlooker:
            found += [f"{plan}: {one}" for one in violations(plan, ended, known, onlooker)]
            onlooker.execute("DELETE FROM breakers")  # the next fault is to be met, not avoided
    assert found == []
    assert wait_until(lambda: all(map(le, at_rest(), before))), (before, at_rest())
    with connect(empty_url) as onlooker:
        held = "SELECT FROM generation_slots WHERE expires_at > clock_timestamp() + interval '%s s'"
        longest = LIMITS.budget_seconds + SPARE_SECONDS
        assert not onlooker.execute((held % longest).encode()).fetchall()
        others = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        assert len(onlooker.execute(others.encode()).fetchall()) == 1
