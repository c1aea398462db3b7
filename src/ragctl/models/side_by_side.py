"""Several texts in work at once, each on a thread of its own."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

Made = TypeVar("Made")


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def side_by_side(made: Callable[[str], Made], texts: Sequence[str], *, at_once: int) -> list[Made]:
    """Return what is made of each text, in order, several at once; raises what any of them raised.

    The threads are daemons, which an interrupt does not wait for; the caller's is one of them.
    """
    todo = deque(enumerate(texts))
    found: dict[int, Made] = {}
    failures: list[BaseException] = []

    def work() -> None:
        while not failures:
            try:
                number, text = todo.popleft()
            except IndexError:
                return
            try:
                found[number] = made(text)
            except BaseException as error:
                failures.append(error)

    others = [
        threading.Thread(target=work, name="embedded model", daemon=True)
        for _ in range(min(at_once, len(texts)) - 1)
    ]
    for thread in others:
        thread.start()
    work()
    for thread in others:
        thread.join()
    if failures:
        raise failures[0]
    return [found[number] for number in range(len(texts))]
