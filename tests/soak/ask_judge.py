"""What must be true of every call of a soak, whatever befell it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row

from tests.soak.ask_plans import Plan
from tests.soak.askers import Ended

CODES: Final[Mapping[str, int]] = {
    **{"usage": 2, "settings": 2, "content_root": 2, "nothing": 3, "rate_limited": 5, "bug": 70},
    **dict.fromkeys(("database", "database_unreachable", "database_unsuitable"), 4),
    **dict.fromkeys(("database_missing", "schema", "ingest_running", "server"), 4),
    **dict.fromkeys(("model", "model_unreachable", "model_missing", "model_reply"), 5),
    **{"embedding_refused": 5, "index_mismatch": 6},
}
STOPPED: Final[Mapping[str, int]] = {"SIGKILL": -9, "SIGTERM": 143, "SIGINT": 130}
NOT_RECORDED: Final = "Not recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The time limits that calls are made with, and how late a busy machine may be."""

    embedding_seconds: float
    first_token_seconds: float
    stall_seconds: float
    total_seconds: float
    budget_seconds: float
    queue_seconds: float
    late_seconds: float = 4.0
    wall_late_seconds: float = 25.0

    @property
    def connect_seconds(self) -> float:
        """The time to connect to a model server."""
        return 1.0

    @property
    def embed_seconds(self) -> float:
        """The most that three tries to embed may take, with the waits between them."""
        return 3 * self.embedding_seconds + 2

    @property
    def wall_seconds(self) -> float:
        """The most that a call may take: two looks at the models, embedding, line and routes."""
        return (
            2 * 11
            + self.embed_seconds
            + self.queue_seconds
            + self.budget_seconds
            + self.wall_late_seconds
        )

    def environment(self) -> dict[str, str]:
        """Return the limits as settings."""
        return {
            "RAGCTL_OLLAMA__CONNECT_SECONDS": str(self.connect_seconds),
            "RAGCTL_EMBEDDING__TIMEOUT_SECONDS": str(self.embedding_seconds),
            "RAGCTL_GENERATION__FIRST_TOKEN_SECONDS": str(self.first_token_seconds),
            "RAGCTL_GENERATION__STALL_SECONDS": str(self.stall_seconds),
            "RAGCTL_GENERATION__TOTAL_SECONDS": str(self.total_seconds),
            "RAGCTL_GATEWAY__BUDGET_SECONDS": str(self.budget_seconds),
            "RAGCTL_LIMITS__QUEUE_SECONDS": str(self.queue_seconds),
        }

    def config(self, group: str) -> str:
        """Return the text of a settings file with the routes of a group."""
        if group not in ("routes", "openai"):
            return ""
        common = (
            f"connect_seconds = {self.connect_seconds}\n"
            f"first_token_seconds = {self.first_token_seconds}\n"
            f"total_seconds = {self.total_seconds}\n"
        )
        second = "openai" if group == "openai" else "ollama"
        url = 'url = "{url}"\n' if group == "openai" else ""
        return (
            f'[[routes]]\nname = "first"\nmodel = "llama3"\n{common}\n'
            f'[[routes]]\nname = "then"\nprovider = "{second}"\nmodel = "second"\n{url}{common}'
        )


Span = tuple[float, float]
Edition = Mapping[str, frozenset[tuple[str, str]]]
"""Of each page the passages, each by reference and text."""


@dataclass(slots=True)
class Known:
    """What is known of the world while calls are made.

    ``editions`` are the states of the site, each with the passages of a page by its address;
    ``mixed`` the times at which an ingest went from one to the other page by page. ``troubles`` are
    times at which the database was not there, ``crashes`` the moments at which a server was
    killed: what it was told half a second before may be lost.
    """

    limits: Limits
    editions: tuple[Edition, ...]
    mixed: list[Span] = field(default_factory=list)
    troubles: list[Span] = field(default_factory=list)
    crashes: list[float] = field(default_factory=list)

    def is_mixed(self, ended: Ended) -> bool:
        """Tell whether pages of several editions stood beside each other during a call."""
        return _within(self.mixed, ended)

    def troubled(self, ended: Ended) -> bool:
        """Tell whether the database was away while a call was made."""
        return _within(self.troubles, ended)

    def may_be_lost(self, ended: Ended) -> bool:
        """Tell whether what a call wrote may be lost in a crash."""
        return any(ended.began <= moment <= ended.ended + 2 for moment in self.crashes)


def _within(spans: Sequence[Span], ended: Ended) -> bool:
    return any(begin <= ended.ended + 0.5 and ended.began <= end for begin, end in spans)


def violations(
    plan: Plan, ended: Ended, known: Known, connection: psycopg.Connection[Any]
) -> list[str]:
    """Return the promises that a call broke."""
    document, told = _document(plan, ended)
    found = [*told, *_of_the_end(plan, ended, known)]
    if document is not None and document.get("schema") == "ragctl.answer/1":
        found += _of_the_answer(plan, ended, document, known)
        found += _of_passages(ended, document, known)
    if not known.may_be_lost(ended):
        found += _of_the_trace(plan, ended, document, known, connection)
    return found


def _document(plan: Plan, ended: Ended) -> tuple[dict[str, Any] | None, list[str]]:
    if not plan.as_json or ended.code < 0 or ended.code in (130, 143):
        return None, []
    try:
        document = json.loads(ended.out)
    except ValueError:
        return None, [f"ended {ended.code} without one JSON document: {ended.out[-200:]!r}"]
    if document["schema"] == "ragctl.answer/1":
        return document, []
    error = document["error"]
    if not error["hint"] or CODES.get(error["code"]) != ended.code:
        return document, [f"ended {ended.code} with the error {error}"]
    return document, []


def _of_the_end(plan: Plan, ended: Ended, known: Known) -> Iterator[str]:
    if "Traceback" in ended.err:
        yield f"a traceback: {ended.err[-400:]}"
    if "x@" in ended.err + ended.out or ":x" in ended.err:
        yield f"a password is shown: {ended.err[-200:]}"
    allowed = {0, 7}
    if plan.strike in STOPPED:
        allowed.add(STOPPED[str(plan.strike)])
        if plan.moment == "start":  # before the program's first line, or after its last
            allowed.add(-signal.Signals[str(plan.strike)])
    if plan.strike == "database" or known.troubled(ended):
        allowed.add(4)
    if "embed" in plan.faults or "tags" in plan.faults or plan.group == "named":
        allowed.add(5)
    if ended.code not in allowed:
        yield f"ended {ended.code}: {(ended.err or ended.out)[-400:]}"
    if ended.seconds > known.limits.wall_seconds:
        yield f"took {ended.seconds:.1f} s, more than {known.limits.wall_seconds:.1f}"
    if ended.code in (0, 7) and not ended.out.strip():
        yield f"ended {ended.code} and printed nothing: {ended.err[-200:]}"


def _of_the_answer(
    plan: Plan, ended: Ended, document: Mapping[str, Any], known: Known
) -> Iterator[str]:
    codes = {problem["code"] for problem in document["problems"]}
    incomplete = bool(codes & {"no_route", "no_slot"}) or document["finish"] in (
        "torn",
        "repetition",
    )
    if (ended.code == 7) != incomplete:
        yield f"ended {ended.code} with {document['finish']} and {sorted(codes)}"
    if not document["answer"] and not document["refused"]:
        yield "an empty answer"
    limits, took = known.limits, document["ms"]
    routes = sum(attempt["ms"] for attempt in document["attempts"]) / 1000
    for name, seconds, most in (
        ("embedding", (took["embed"] or 0) / 1000, limits.embed_seconds),
        ("the line", (took["queue"] or 0) / 1000, limits.queue_seconds),
        ("the routes", routes, limits.budget_seconds),
    ):
        if seconds > most + limits.late_seconds:
            yield f"{name} took {seconds:.1f} s, more than {most:.1f}"
    if not document["trace_id"] and NOT_RECORDED not in ended.err:
        yield "no trace, and nothing said of it"
    if NOT_RECORDED in ended.err and plan.strike != "database" and not known.troubled(ended):
        yield f"not recorded without a reason: {ended.err[-300:]}"


def _of_passages(ended: Ended, document: Mapping[str, Any], known: Known) -> Iterator[str]:
    """Yield what shows that an answer saw half of a change."""
    by_page: dict[str, set[tuple[str, str]]] = {}
    for passage in document["passages"]:
        by_page.setdefault(passage["url"], set()).add((passage["ref"], passage["body"]))
    fits = [
        {url for url, passages in by_page.items() if passages <= edition.get(url, frozenset())}
        for edition in known.editions
    ]
    for url in by_page.keys() - set().union(*fits):
        yield f"passages of {url} that never stood beside each other: {sorted(by_page[url])}"
    if not known.is_mixed(ended) and not any(fit == by_page.keys() for fit in fits):
        yield f"passages of two editions of the site: {sorted(by_page)}"
    numbers = {passage["n"] for passage in document["passages"]}
    for citation in document["citations"]:
        if not set(citation["passages"]) <= numbers:
            yield f"cites what was not found: {citation}"


_TRACE: Final = (
    "SELECT t.*, (SELECT count(*) FROM spans s WHERE s.trace_id = t.id) AS steps FROM traces t "
)


def _of_the_trace(
    plan: Plan,
    ended: Ended,
    document: Mapping[str, Any] | None,
    known: Known,
    connection: psycopg.Connection[Any],
) -> Iterator[str]:
    """Yield where what was kept of a call is missing, twice there, or says something else."""
    with connection.cursor(row_factory=dict_row) as cursor:
        if document is not None and document.get("trace_id"):
            key, where = document["trace_id"], "WHERE id = %s"
        elif "(case" in plan.question:
            key, where = plan.question, "WHERE question = %s"
        else:
            return
        rows = cursor.execute((_TRACE + where).encode(), [key]).fetchall()
    must = _must_be_traced(plan, ended, known)
    if len(rows) != 1:
        if must or len(rows) > 1 or (document or {}).get("trace_id"):
            yield f"ended {ended.code} and left {len(rows)} traces: {ended.err[-200:]}"
        return
    yield from _told_otherwise(rows[0], ended, document)


def _must_be_traced(plan: Plan, ended: Ended, known: Known) -> bool:
    if plan.strike == "database" or known.troubled(ended) or ended.code == -9:
        return False
    return ended.code in (0, 5, 7) or (ended.code in (130, 143) and plan.moment != "start")


def _told_otherwise(
    row: Mapping[str, Any], ended: Ended, document: Mapping[str, Any] | None
) -> Iterator[str]:
    failed = row["error_code"] is not None
    if failed != (ended.code not in (0, 7)) and ended.code >= 0:
        yield f"ended {ended.code}, and the trace says {row['error_code']}"
    if not failed and (row["steps"] == 0 or row["answer"] is None):
        yield f"the trace {row['id']} is not whole: {row['steps']} steps"
    if document is None:
        return
    if failed:
        if document["error"]["code"] != row["error_code"]:
            yield f"printed {document['error']['code']}, traced {row['error_code']}"
        return
    printed = {name: document[name] for name in _SAME}
    traced = {name: row[name] for name in _SAME}
    if printed != traced:
        yield f"printed {printed}, traced {traced}"
    codes = [[one["code"] for one in each["problems"]] for each in (document, row)]
    if codes[0] != codes[1]:
        yield f"printed the problems {codes[0]}, traced {codes[1]}"


_SAME: Final = ("question", "refused", "degraded", "cached", "finish", "route")
