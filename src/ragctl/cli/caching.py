"""What ``ragctl ask`` says of the caches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragctl.errors import DatabaseError, DatabaseReadOnly, DatabaseUnsuitable, UsageError
from ragctl.pipeline.answer import embedded

if TYPE_CHECKING:
    from ragctl.cli.answering import Answering
    from ragctl.cli.output import Output
    from ragctl.records.answers import Answer
    from ragctl.records.cached import KeptAnswer
    from ragctl.records.vectors import Vector
    from ragctl.wiring import Search
    from ragctl.wiring.caching import CacheUse

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def cache_use(*, no_cache: bool, refresh: bool) -> CacheUse:
    """Return how the caches are used; raises :class:`~ragctl.errors.UsageError` for both."""
    if no_cache and refresh:
        raise UsageError(
            "--no-cache and --refresh exclude each other",
            hint="--refresh writes the answer anew and keeps it; --no-cache keeps nothing.",
        )
    return "off" if no_cache else "refresh" if refresh else "on"


def vector_of(question: str, search: Search) -> Vector:
    """Return the vector of a question, empty where words are to do."""
    return embedded(question, search.embedder, words_will_do=True)[0]


def say_kept(output: Output, kept: Answer, answering: Answering) -> None:
    """Show the text of a kept answer; before it, when it was written and for which question."""
    told = f"From the cache, {age_in_words(kept.cached_seconds or 0)} old"
    if kept.cached_question:
        told += f", written for another question: “{kept.cached_question}”"
    output.remark(f"{told}; --refresh writes it anew.", style="yellow")
    with answering:
        if kept.evidence:
            answering.evidence(kept.evidence)
        answering.prompt(kept.prompt)
        answering.text(kept.text)


def say_close(output: Output, close: KeptAnswer) -> None:
    """Say that a question close to this one was asked before, and where its answer is."""
    read = f" `ragctl trace show {close.trace_id}` shows its answer." if close.trace_id else ""
    when = age_in_words(close.age_seconds)
    output.remark(f"Something close was asked {when} ago: “{close.question}”.{read}")


def say_uncached(output: Output, error: DatabaseError) -> None:
    """Say that a cache could not be used."""
    reason = error.message
    if isinstance(error, DatabaseReadOnly):
        reason = "the database is read-only"
    elif isinstance(error, DatabaseUnsuitable):
        reason = "the caches cannot be used with these rights"
    output.remark(f"Not cached: {reason}.", style="yellow")


def age_in_words(seconds: float) -> str:
    """Return an age in its largest unit: ``2 days``, ``1 minute``, ``12 seconds``."""
    for size, unit in _UNITS:
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count != 1 else ''}"
    count = int(seconds)
    return f"{count} second{'s' if count != 1 else ''}"
