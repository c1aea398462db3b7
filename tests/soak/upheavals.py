"""What happens to a database while questions are asked: ingests, rebuilds, compacting, its end."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ragctl.errors import RagctlError
from tests.soak.ask_judge import Edition, Known
from tests.soak.rig import Rig, Stored, wait_until
from tests.soak.site import new_pages, old_pages, write_site

CALM: Final = ("ingest", "rebuild", "compact", "rebuild", "ingest")
ROUGH: Final = ("stop", "kill", "ingest", "kill", "rebuild", "stop", "compact")


class Upheavals:
    """Goes on with a site's database for ever: first what leaves its server up, later the rest.

    ``progress`` tells which share of the calls has been made.
    """

    def __init__(
        self, rig: Rig, site: str, known: Known, *, seed: int, progress: Callable[[], float]
    ) -> None:
        self._rig = rig
        self._site = site
        self._known = known
        self._chance = random.Random(f"upheavals {seed}")
        self._progress = progress
        self._is_new = True
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.done: Counter[str] = Counter()
        self.violations: list[str] = []

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after what is under way."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._ended.wait(self._chance.uniform(1, 4)):
            kinds = CALM if self._progress() < 0.6 else ROUGH
            kind = kinds[number % len(kinds)]
            number += 1
            try:
                getattr(self, f"_{kind}")()
            except (AssertionError, RagctlError) as error:
                self.violations.append(f"{kind} number {number}: {error}")
            self.done[kind] += 1

    def _ingest(self) -> None:
        began = time.monotonic()
        self._known.mixed.append((began, float("inf")))
        self._turn_over()
        self._known.mixed[-1] = (began, time.monotonic())

    def _rebuild(self) -> None:
        self._turn_over("--rebuild")

    def _turn_over(self, *more: str) -> None:
        self._is_new = not self._is_new
        write_site(self._rig.content, new_pages() if self._is_new else old_pages())
        self._must("ingest", str(self._rig.content), *more)

    def _compact(self) -> None:
        self._must("db", "compact", "--all", "--yes")

    def _must(self, *arguments: str) -> None:
        done = self._rig.run(self._site, *arguments)
        assert done.returncode == 0, f"ended {done.returncode}: {done.stderr.decode()[-400:]}"

    def _stop(self) -> None:
        with self._trouble():
            self._rig.server.stop()
            time.sleep(self._chance.uniform(0, 1))
            self._rig.server.ensure_running()

    def _kill(self) -> None:
        with self._trouble():
            pid = self._rig.server.status().pid
            assert pid is not None, "the server has no process"
            self._known.crashes.append(time.monotonic())
            os.kill(pid, signal.SIGKILL)
            assert wait_until(lambda: self._rig.server.status().pid != pid)
            self._rig.server.ensure_running()

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Note that the database is away; an end that is not known yet counts as for ever."""
        began = time.monotonic()
        self._known.troubles.append((began, float("inf")))
        yield
        self._known.troubles[-1] = (began, time.monotonic() + 1)


def edition(state: Stored) -> Edition:
    """Return the passages of each page in a state of a site, by reference and text."""
    return {
        url: frozenset((str(one["ref"]), str(one["body"])) for one in passages)
        for url, (_, passages) in state.pages.items()
    }
