"""Boundary 4, index: ``index.npz``, the rows at length 1 and the reference of each.

``numpy.load("index.npz")`` gives ``unit`` (float32, rows x dimensions) and ``ids`` (text). With
rows of length 1 the cosine similarity is one product a row, sorted descending, and no distance
can be taken for a similarity.
"""

from __future__ import annotations

import heapq
import math
import zipfile
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from typing import IO, BinaryIO, cast

from ragctl.artifacts.storage import replacing
from ragctl.artifacts.vectors import (
    StoredVectors,
    from_bytes,
    npy_header,
    read_shape,
    read_text_array,
    to_bytes,
)
from ragctl.errors import ArtifactError
from ragctl.records.vectors import Vector

INDEX_FILE = "index.npz"
MADE_BY = "ragctl stage index --from DIR"
_UNIT = "unit.npy"
_IDS = "ids.npy"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed time: the same rows make the same file


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A row of the index near to a question: its number from 0, reference and cosine."""

    row: int
    ref: str
    score: float


def write_index(folder: Path, vectors: StoredVectors) -> int:
    """Write the rows at length 1 and return how many; memory holds one at a time.

    Raises :class:`~ragctl.errors.UsageError` for a row without direction: zero or not finite.
    """
    shape = vectors.shape
    with replacing(folder / INDEX_FILE) as file, zipfile.ZipFile(file, "w") as archive:
        with _member(archive, _UNIT) as member:
            member.write(npy_header("<f4", (shape.rows, shape.dimensions)))
            for ref, vector in zip(vectors.ids, vectors.rows(), strict=True):
                member.write(to_bytes(unit(vector, name=f"{vectors.path}: the row of {ref}")))
        with _member(archive, _IDS) as member:
            width = max(map(len, vectors.ids), default=1) or 1
            member.write(npy_header(f"<U{width}", (len(vectors.ids),)))
            for ref in vectors.ids:
                member.write(ref.encode("utf-32-le", "replace").ljust(4 * width, b"\0"))
    return shape.rows


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    return archive.open(zipfile.ZipInfo(name, _EPOCH), "w", force_zip64=True)


def unit(vector: Vector, *, name: str) -> Vector:
    """Return a vector at length 1."""
    length = math.sqrt(sum(map(mul, vector, vector)))
    if not length or not math.isfinite(length):
        raise ArtifactError(f"{name} has no direction: its length is {length}")
    return array("f", [number / length for number in vector])


def nearest(
    folder: Path, query: Vector, *, k: int, among: Iterable[str] | None = None
) -> list[Neighbour]:
    """Return the ``k`` rows with the highest cosine to a query, best first.

    Every row is compared (about 0.1 ms a row of 768 numbers, without numpy); with ``among``,
    those alone whose reference is in it. Rows of the same score stay in the order of the file.
    """
    wanted = None if among is None else frozenset(among)
    direction = unit(query, name="the question's vector")
    scored = (
        Neighbour(row=number, ref=ref, score=sum(map(mul, row, direction)))
        for number, (ref, row) in enumerate(read_index(folder, dimensions=len(query)))
        if wanted is None or ref in wanted
    )
    return heapq.nsmallest(k, scored, key=lambda found: (-found.score, found.row))


def read_index(folder: Path, *, dimensions: int | None = None) -> Iterator[tuple[str, Vector]]:
    """Yield reference and row from first to last.

    Raises :class:`~ragctl.errors.UsageError` where the file is not what :func:`write_index`
    makes, or has rows of another size than ``dimensions``.
    """
    path = folder / INDEX_FILE
    try:
        with zipfile.ZipFile(path) as archive:
            yield from _rows(archive, path, dimensions)
    except FileNotFoundError as error:
        raise ArtifactError(f"there is no {path}", hint=f"Make it with `{MADE_BY}`.") from error
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise ArtifactError(
            f"{path} is no index: {error}",
            hint=f"Make it anew: `{MADE_BY.replace('DIR', str(folder))} --force`.",
        ) from error


def _rows(
    archive: zipfile.ZipFile, path: Path, dimensions: int | None
) -> Iterator[tuple[str, Vector]]:
    size = archive.getinfo(_UNIT).file_size
    with archive.open(_UNIT) as rows, archive.open(_IDS) as ids:
        shape = read_shape(cast("BinaryIO", rows), f"{path} ({_UNIT})", size=size)
        if dimensions is not None and shape.dimensions != dimensions:
            raise ArtifactError(
                f"{path} has rows of {shape.dimensions} numbers, the question's vector "
                f"has {dimensions}"
            )
        for ref in read_text_array(cast("BinaryIO", ids), f"{path} ({_IDS})", expected=shape.rows):
            yield ref, from_bytes(rows.read(shape.row_bytes))
