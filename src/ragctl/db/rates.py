"""The table ``question_rates``: how many questions each user has left (a token bucket).

A bucket holds as many questions as a minute allows and fills evenly, by the database's clock;
taking one and looking whether it is there are one statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg.rows import class_row

from ragctl.db.limits import limiting
from ragctl.db.statements import statement
from ragctl.db.values import storable
from ragctl.records.gateway import Permit

if TYPE_CHECKING:
    from ragctl.db.connect import Connection

_GRANTS = "GRANT SELECT, INSERT, UPDATE ON question_rates TO the role"


class QuestionRates:
    """How often each user may ask."""

    def __init__(self, connection: Connection, url: str) -> None:
        self._connection = connection
        self._url = url

    def take(self, asker: str, *, per_minute: int) -> Permit:
        """Take one question; where none is left, return in how many seconds there will be.

        Raises :class:`~ragctl.errors.DatabaseUnsuitable` where the role may not write.
        """
        values = {"asker": storable(asker), "per_minute": per_minute}
        with (
            limiting(
                self._connection, self._url, setting="limits.questions_per_minute", grants=_GRANTS
            ),
            self._connection.cursor(row_factory=class_row(Permit)) as cursor,
        ):
            permit = cursor.execute(statement("question_rates/take"), values).fetchone()
        assert permit is not None
        return permit
