"""The limits of the settings: slots in front of the models, questions a minute, giving way."""

from __future__ import annotations

import math
import os
import pwd
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ragctl.errors import RateLimited

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.gateway.giving_way import GivingWay
    from ragctl.protocols import Generator
    from ragctl.records.gateway import Place
    from ragctl.settings import Settings
    from ragctl.wiring.models import Chosen

SPARE_SECONDS = 15.0
"""What a generator may take beyond its budget before its slot is taken for lost."""


def with_slots(
    chosen: Chosen[Generator],
    settings: Settings,
    database: Database,
    *,
    on_wait: Callable[[Place], None],
    quotes_instead: bool = False,
) -> Chosen[Generator]:
    """Return who writes, behind the queue of the settings; as it was where there is none.

    ``quotes_instead`` is that of :func:`~ragctl.wiring.models.make_generator`. What quotes the
    passages takes no slot.
    """
    from ragctl.gateway.slots import QueuedGenerator
    from ragctl.stages.generate import ExtractiveGenerator

    limits = settings.limits
    if limits.generations == 0 or isinstance(chosen.part, ExtractiveGenerator):
        return chosen
    queued = QueuedGenerator(
        chosen.part,
        database.slots(at_once=limits.generations),
        work_seconds=_longest_seconds(settings) + SPARE_SECONDS,
        queue_seconds=limits.queue_seconds,
        last_resort=ExtractiveGenerator() if quotes_instead else None,
        on_wait=on_wait,
        clock=time.monotonic,
        sleep=time.sleep,
    )
    return replace(chosen, part=queued)


def _longest_seconds(settings: Settings) -> float:
    """Return the most that an answer may take, with routes or without."""
    alone = settings.generation.total_seconds + settings.ollama.connect_seconds
    return max(alone, settings.gateway.budget_seconds)


def admit_question(settings: Settings, database: Database) -> None:
    """Take one of the questions that the user may ask.

    Raises :class:`~ragctl.errors.RateLimited` where none is left.
    """
    per_minute = settings.limits.questions_per_minute
    if per_minute == 0:
        return
    user = settings.limits.user or _user_of_this_machine()
    permit = database.rates.take(user, per_minute=per_minute)
    if permit.may_go:
        return
    seconds = max(1, math.ceil(permit.seconds_left))
    allowed = "1 question" if per_minute == 1 else f"{per_minute:,} questions"
    raise RateLimited(
        f"{user} may ask {allowed} a minute, and has done so",
        hint=f"Ask again in {seconds} s.",
        seconds_left=permit.seconds_left,
    )


def _user_of_this_machine() -> str:
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # a container may run as a number without a name
        return str(number)


def make_giving_way(settings: Settings, database: Database) -> GivingWay | None:
    """Return what an ingest calls between batches, ``None`` where questions take no slots."""
    if settings.limits.generations == 0:
        return None
    from ragctl.gateway.giving_way import GivingWay

    return GivingWay(database.someone_asks, clock=time.monotonic, sleep=time.sleep)
