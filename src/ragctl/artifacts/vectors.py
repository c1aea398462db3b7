"""Boundary 3, embed: ``vectors.npy``, and the passage and text of each of its rows.

``vectors.npy`` is version 1.0 of numpy's format: a header of 128 bytes that says type, order and
shape, then the rows as little-endian float32. It is written without knowing how many rows will
come; the shape is put in at the end.
"""

from __future__ import annotations

import ast
import os
import struct
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from ragctl.artifacts.storage import read_texts, reading, replacing, write_texts
from ragctl.errors import ArtifactError
from ragctl.records.vectors import Vector

VECTORS_FILE = "vectors.npy"
IDS_FILE = "vector_ids.json"
HASHES_FILE = "vector_hashes.json"
MADE_BY = "ragctl stage embed --from DIR"
BYTES_A_NUMBER: Final = 4
HEADER_BYTES: Final = 128
_MAGIC: Final = b"\x93NUMPY\x01\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The shape of an array of float32, and where its data begins in the file."""

    rows: int
    dimensions: int
    offset: int

    @property
    def row_bytes(self) -> int:
        """The size of one row."""
        return self.dimensions * BYTES_A_NUMBER

    @property
    def data_bytes(self) -> int:
        """The size of all rows."""
        return self.rows * self.row_bytes


@contextmanager
def writing_vectors(
    folder: Path, *, dimensions: int
) -> Iterator[Callable[[str, str, Vector], None]]:
    """Give a function that writes a row: reference, content hash, vector.

    The three files are whole when the block ends well.
    """
    ids: list[str] = []
    hashes: list[str] = []
    with replacing(folder / VECTORS_FILE) as file:
        file.write(npy_header("<f4", (0, dimensions)))

        def write(ref: str, content_hash: str, vector: Vector) -> None:
            if len(vector) != dimensions:
                raise ArtifactError(f"{ref} has {len(vector)} numbers, the index {dimensions}")
            file.write(to_bytes(vector))
            ids.append(ref)
            hashes.append(content_hash)

        yield write
        file.seek(0)
        file.write(npy_header("<f4", (len(ids), dimensions)))
    write_texts(folder / IDS_FILE, ids)
    write_texts(folder / HASHES_FILE, hashes)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVectors:
    """The rows of ``vectors.npy`` with their references and content hashes, in one order."""

    path: Path
    shape: Shape
    ids: tuple[str, ...]
    hashes: tuple[str, ...]

    def rows(self) -> Iterator[Vector]:
        """Yield the rows from first to last; memory holds one."""
        with reading(self.path, made_by=MADE_BY) as file:
            file.seek(self.shape.offset)
            for _ in range(self.shape.rows):
                yield from_bytes(file.read(self.shape.row_bytes))

    @contextmanager
    def opened(self) -> Iterator[Callable[[int], Vector]]:
        """Give a function that reads one row by its number, from 0."""
        with reading(self.path, made_by=MADE_BY) as file:

            def row(number: int) -> Vector:
                file.seek(self.shape.offset + number * self.shape.row_bytes)
                return from_bytes(file.read(self.shape.row_bytes))

            yield row


def read_vectors(folder: Path) -> StoredVectors:
    """Return the rows, not yet read.

    Raises :class:`~ragctl.errors.UsageError` where the size of the array is not rows x
    dimensions x 4 bytes, or its rows are not as many as the references.
    """
    path = folder / VECTORS_FILE
    with reading(path, made_by=MADE_BY) as file:
        shape = read_shape(file, str(path))
    ids = read_texts(folder / IDS_FILE, made_by=MADE_BY)
    hashes = read_texts(folder / HASHES_FILE, made_by=MADE_BY)
    for name, texts in ((IDS_FILE, ids), (HASHES_FILE, hashes)):
        if len(texts) != shape.rows:
            raise ArtifactError(
                f"{folder / name} names {len(texts)} rows, {VECTORS_FILE} holds {shape.rows}",
                hint=f"Run `{MADE_BY.replace('DIR', str(folder))} --force`.",
            )
    return StoredVectors(path=path, shape=shape, ids=tuple(ids), hashes=tuple(hashes))


def data_bytes_of(path: Path) -> int:
    """Return how many bytes of array data a ``.npy`` file really has."""
    with reading(path, made_by=MADE_BY) as file:
        offset = _read_header(file, str(path))[1]
        return os.fstat(file.fileno()).st_size - offset


# numpy's format ------------------------------------------------------------------------------


def npy_header(kind: str, shape: tuple[int, ...]) -> bytes:
    """Return the 128 bytes before the data of an array in C order."""
    said = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    length = HEADER_BYTES - len(_MAGIC) - 2
    return _MAGIC + struct.pack("<H", length) + said.ljust(length - 1).encode() + b"\n"


def read_shape(file: BinaryIO, place: str, *, size: int | None = None) -> Shape:
    """Return the shape of a float32 matrix and leave the file at its first row.

    ``size`` is that of the whole array with its header, by default the file's. Raises
    :class:`~ragctl.errors.UsageError` for another kind of array and where size and shape differ.
    """
    header, offset = _read_header(file, place)
    shape = header.get("shape")
    if header.get("descr") != "<f4" or header.get("fortran_order") is not False:
        raise ArtifactError(f"{place} is no array of little-endian float32 in C order")
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise ArtifactError(f"{place} has the shape {shape}, not rows and dimensions")
    found = Shape(rows=int(shape[0]), dimensions=int(shape[1]), offset=offset)
    there = (os.fstat(file.fileno()).st_size if size is None else size) - offset
    if there != found.data_bytes:
        raise ArtifactError(
            f"{place} holds {there:,} bytes of numbers; its {found.rows:,} rows x "
            f"{found.dimensions} dimensions x 4 bytes are {found.data_bytes:,}"
        )
    return found


def read_text_array(file: BinaryIO, place: str, *, expected: int) -> Iterator[str]:
    """Yield the texts of an array of them (``<U``); ``expected`` is how many there must be."""
    header, _ = _read_header(file, place)
    kind = str(header.get("descr"))
    if not kind.startswith("<U") or header.get("shape") != (expected,):
        raise ArtifactError(f"{place} is no array of {expected:,} texts")
    width = 4 * int(kind[2:])
    for _ in range(expected):
        yield file.read(width).decode("utf-32-le").rstrip("\0")


def _read_header(file: BinaryIO, place: str) -> tuple[dict[str, object], int]:
    start = file.read(10)
    if not start.startswith(_MAGIC[:6]) or len(start) < 10 or start[6] != 1:
        raise ArtifactError(f"{place} is not an array of numpy's format 1.0")
    length = int(struct.unpack("<H", start[8:10])[0])
    try:
        header = ast.literal_eval(file.read(length).decode("latin-1").strip())
    except (ValueError, SyntaxError) as error:
        raise ArtifactError(f"{place} has a header that cannot be read") from error
    if not isinstance(header, dict):
        raise ArtifactError(f"{place} has a header that cannot be read")
    return header, 10 + length


def to_bytes(vector: Vector) -> bytes:
    """Return a vector as little-endian float32."""
    if sys.byteorder == "big":
        vector = array("f", vector)
        vector.byteswap()
    return vector.tobytes()


def from_bytes(data: bytes) -> Vector:
    """Return the vector of little-endian float32 numbers."""
    vector = array("f", data)
    if sys.byteorder == "big":
        vector.byteswap()
    return vector
