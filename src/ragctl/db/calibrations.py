"""The table ``calibrations``: how evidence becomes a probability, by embedding model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import psycopg
from psycopg.rows import class_row

from ragctl.db.statements import statement
from ragctl.db.values import to_json
from ragctl.records.evidence import Calibration

if TYPE_CHECKING:
    from ragctl.db.connect import Connection


class Calibrations:
    """Keeps one calibration an embedding model, named as in ``EmbeddingIdentity.label``."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of(self, embedding_model: str) -> Calibration | None:
        """Return the calibration that was stored for a model, ``None`` where none was.

        A role that may not read them, for its grants are older, gets ``None``.
        """
        values = {"embedding_model": embedding_model}
        try:
            with self._connection.cursor(row_factory=class_row(Calibration)) as cursor:
                return cursor.execute(statement("calibrations/select"), values).fetchone()
        except psycopg.errors.InsufficientPrivilege:
            return None

    def store(self, calibration: Calibration, *, figures: Mapping[str, object]) -> None:
        """Keep a calibration and what it was measured at, in the place of an earlier one."""
        values = {name: getattr(calibration, name) for name in Calibration.__slots__}
        values["figures"] = to_json(dict(figures))
        self._connection.execute(statement("calibrations/upsert"), values)

    def forget(self, embedding_model: str) -> None:
        """Remove what was stored for a model: the calibration that ships serves again."""
        self._connection.execute(
            statement("calibrations/delete"), {"embedding_model": embedding_model}
        )
