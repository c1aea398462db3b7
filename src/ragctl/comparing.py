"""What changed between two folders of artifacts, boundary by boundary, in the order of the chain.

An answer is a function of its prompt, the prompt of the hits, the hits of the index, and so on up
to the bytes on disk: the first boundary that differs is where to look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragctl.artifacts.answers import (
    ANSWER_FILE,
    PROMPT_FILE,
    read_answer,
    read_prompt,
)
from ragctl.artifacts.manifest import STAGES, Folder
from ragctl.artifacts.pages import PAGES_FILE, read_page_lines
from ragctl.artifacts.passages import PASSAGES_FILE, read_passages
from ragctl.artifacts.retrieved import RETRIEVED_FILE, read_retrieved
from ragctl.artifacts.vectors import VECTORS_FILE, read_vectors

if TYPE_CHECKING:
    from ragctl.records.search import Hit
    from ragctl.records.vectors import Vector

COSINE_MOVED: Final = 1e-4
"""A vector has changed where its cosine with the other's is below 1 by more than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that differs: its name, ``added``, ``removed``, ``changed`` or ``moved``, and how.

    ``cosine`` is given for vectors, ranks and scores for hits: the one that ranks, and those by
    nearness and by words that it is made of.
    """

    name: str
    kind: str
    how: str = ""
    cosine: float | None = None
    rank_before: int | None = None
    rank_after: int | None = None
    score_before: float | None = None
    score_after: float | None = None
    vector_score_before: float | None = None
    vector_score_after: float | None = None
    keyword_score_before: float | None = None
    keyword_score_after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """What differs at one boundary.

    ``compared`` is false where neither folder has its file; one that only one of them has is a
    change.
    """

    name: str
    compared: bool
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The boundaries in order, and the parameters of stages that differ (stage, key, both).

    ``stale`` names the stages of the earlier and the later folder that must run again before
    their files say anything about the ones before them.
    """

    boundaries: tuple[Boundary, ...]
    parameters: tuple[tuple[str, str, Any, Any], ...]
    stale: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def first(self) -> Boundary | None:
        """The first boundary at which the two part, ``None`` where they are the same."""
        return next((boundary for boundary in self.boundaries if boundary.changes), None)


def compare(before: Path, after: Path) -> Comparison:
    """Return what changed from one folder to the other; parameters alone are no difference."""
    folders = Folder(before), Folder(after)
    return Comparison(
        boundaries=tuple(
            _boundary(name, file, changes, before, after)
            for name, file, changes in (
                ("pages", PAGES_FILE, _pages),
                ("passages", PASSAGES_FILE, _passages),
                ("vectors", VECTORS_FILE, _vectors),
                ("hits", RETRIEVED_FILE, _hits),
                ("prompt", PROMPT_FILE, _prompt),
                ("answer", ANSWER_FILE, _answer),
            )
        ),
        parameters=tuple(_parameters(*folders)),
        stale=(tuple(folders[0].stale()), tuple(folders[1].stale())),
    )


def _boundary(
    name: str,
    file: str,
    changes: Callable[[Path, Path], Iterator[Change]],
    before: Path,
    after: Path,
) -> Boundary:
    there = (before / file).is_file(), (after / file).is_file()
    if all(there):
        return Boundary(name=name, compared=True, changes=tuple(changes(before, after)))
    if not any(there):
        return Boundary(name=name, compared=False)
    kind = "removed" if there[0] else "added"
    return Boundary(name=name, compared=True, changes=(Change(name=file, kind=kind),))


def _parameters(before: Folder, after: Folder) -> Iterator[tuple[str, str, Any, Any]]:
    for stage in STAGES:
        records = before.stages.get(stage), after.stages.get(stage)
        one, other = (dict(record.parameters) if record else {} for record in records)
        for key in {**one, **other}:
            if one.get(key) != other.get(key):
                yield stage, key, one.get(key), other.get(key)


def _added_and_removed(
    before: Mapping[str, object], after: Mapping[str, object]
) -> Iterator[Change]:
    yield from (Change(name=name, kind="removed") for name in before if name not in after)
    yield from (Change(name=name, kind="added") for name in after if name not in before)


def _pages(before: Path, after: Path) -> Iterator[Change]:
    aspects = ("sha256", "text_sha256", "title", "headings", "track", "source_path", "is_landing")
    told = {"sha256": "source", "text_sha256": "text", "source_path": "path", "is_landing": "kind"}
    one, other = (
        {line.url: tuple(getattr(line, key) for key in aspects) for line in read_page_lines(folder)}
        for folder in (before, after)
    )
    yield from _added_and_removed(one, other)
    for url in one:
        if url not in other:
            continue
        differs = [
            told.get(key, key)
            for key, was, now in zip(aspects, one[url], other[url], strict=True)
            if was != now
        ]
        if differs:
            yield Change(name=url, kind="changed", how=", ".join(differs))


def _passages(before: Path, after: Path) -> Iterator[Change]:
    """By reference; a text that only stands elsewhere on its page has moved."""
    one, other = (
        {line.chunk.ref: (line.content_hash, line.chunk) for line in read_passages(folder)}
        for folder in (before, after)
    )
    gone = {(chunk.url, sha): ref for ref, (sha, chunk) in one.items() if ref not in other}
    moved: set[str] = set()
    for ref, (sha, chunk) in other.items():
        if ref not in one and (was := gone.pop((chunk.url, sha), None)):
            moved |= {ref, was}
            yield Change(name=ref, kind="moved", how=f"was {was}")
    yield from (change for change in _added_and_removed(one, other) if change.name not in moved)
    for ref, (sha, chunk) in one.items():
        if ref in other and (sha, chunk) != other[ref]:
            values, others = asdict(chunk), asdict(other[ref][1])
            differs = [key for key in values if values[key] != others[key]]
            yield Change(name=ref, kind="changed", how=", ".join(differs))


def _vectors(before: Path, after: Path) -> Iterator[Change]:
    one, other = read_vectors(before), read_vectors(after)
    rows = {ref: number for number, ref in enumerate(other.ids)}
    yield from _added_and_removed(dict.fromkeys(one.ids), rows)
    if one.shape.dimensions != other.shape.dimensions:
        how = f"{one.shape.dimensions} and {other.shape.dimensions} numbers"
        yield Change(name=VECTORS_FILE, kind="changed", how=how)
        return
    with other.opened() as row:
        for ref, vector in zip(one.ids, one.rows(), strict=True):
            if ref not in rows:
                continue
            now = row(rows[ref])
            if vector != now and (similarity := cosine(vector, now)) < 1 - COSINE_MOVED:
                yield Change(name=ref, kind="changed", cosine=similarity)


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors; 0 where one has no length."""
    product = math.sqrt(sum(map(mul, one, one)) * sum(map(mul, other, other)))
    return sum(map(mul, one, other)) / product if product else 0.0


def _hits(before: Path, after: Path) -> Iterator[Change]:
    one, other = read_retrieved(before), read_retrieved(after)
    if one.question != other.question:
        yield Change(name="question", kind="changed", how=f"{one.question!r}, {other.question!r}")
    ranked = {hit.ref: hit for hit in one.hits}, {hit.ref: hit for hit in other.hits}
    for ref in {**ranked[0], **ranked[1]}:
        was, now = ranked[0].get(ref), ranked[1].get(ref)
        if was is None or now is None or was.n != now.n:
            yield _moved_hit(ref, was, now)


def _moved_hit(ref: str, was: Hit | None, now: Hit | None) -> Change:
    return Change(
        name=ref,
        kind="added" if was is None else "removed" if now is None else "moved",
        rank_before=was.n if was else None,
        rank_after=now.n if now else None,
        score_before=was.score if was else None,
        score_after=now.score if now else None,
        vector_score_before=was.vector_score if was else None,
        vector_score_after=now.vector_score if now else None,
        keyword_score_before=was.keyword_score if was else None,
        keyword_score_after=now.keyword_score if now else None,
    )


def _prompt(before: Path, after: Path) -> Iterator[Change]:
    one, other = read_prompt(before), read_prompt(after)
    if one != other:
        place = next(
            (i for i, (was, now) in enumerate(zip(one, other, strict=False)) if was != now),
            min(len(one), len(other)),
        )
        how = f"{len(one):,} and {len(other):,} characters, apart from character {place:,} on"
        yield Change(name=PROMPT_FILE, kind="changed", how=how)


def _answer(before: Path, after: Path) -> Iterator[Change]:
    """Durations, costs and the number of the trace are no part of what an answer says."""
    one, other = read_answer(before), read_answer(after)
    apart = ("ms", "cost_usd", "trace_id", "attempts", "tokens", "passages", "prompt", "cached")
    for key in {**one, **other}:
        if key not in apart and one.get(key) != other.get(key):
            was, now = (_short(document.get(key)) for document in (one, other))
            yield Change(name=key, kind="changed", how=f"{was} -> {now}")


def _short(value: object, *, longest: int = 70) -> str:
    if isinstance(value, list):
        return f"{len(value)}"
    text = " ".join(str(value).split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
