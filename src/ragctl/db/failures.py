"""What the driver's errors mean, in the words of a user: a table of causes, most special first."""

from __future__ import annotations

import re
from typing import Final

import psycopg
from psycopg import errors as sqlstates

from ragctl.db.address import redacted
from ragctl.errors import (
    DatabaseError,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseUnsuitable,
)

READ_ONLY_HINT: Final = (
    "Write to the primary server. If this is it: the role or the database has "
    "default_transaction_read_only on."
)
_RUN_AGAIN = "Run the command again; what was stored is kept."
_FOR_THE_ROLE = "or for the role: ALTER ROLE the_role SET"

_Cause = tuple[tuple[type[psycopg.Error], ...], type[DatabaseError], str, str]

# Which errors, what is raised for them, the message ({place}, {reason}), the hint.
_CAUSES: Final[tuple[_Cause, ...]] = (
    (
        (sqlstates.InsufficientPrivilege,),
        DatabaseUnsuitable,
        "the role of {place} lacks a right: {reason}",
        "Grant it, or use a role that owns the tables.",
    ),
    (
        (sqlstates.ReadOnlySqlTransaction,),
        DatabaseReadOnly,
        "{place} is read-only: {reason}",
        READ_ONLY_HINT,
    ),
    (
        (sqlstates.DiskFull,),
        DatabaseError,
        "the disk of {place} is full: {reason}",
        "Free some space and run the command again; what was stored is kept.",
    ),
    (
        (sqlstates.QueryCanceled,),
        DatabaseError,
        "{place} stopped a statement: {reason}",
        f"Give it more time with statement_timeout on the server, {_FOR_THE_ROLE} "
        "statement_timeout = '60s'",
    ),
    (
        (sqlstates.LockNotAvailable,),
        DatabaseError,
        "{place} did not get a lock that another session holds: {reason}",
        f"Run the command again when that has ended, or raise lock_timeout, {_FOR_THE_ROLE} "
        "lock_timeout = '10s'",
    ),
    (
        (sqlstates.IdleInTransactionSessionTimeout,),
        DatabaseUnreachable,
        "{place} closed the connection: {reason}",
        f"Raise idle_in_transaction_session_timeout, {_FOR_THE_ROLE} "
        "idle_in_transaction_session_timeout = '60s'",
    ),
    (
        (sqlstates.DeadlockDetected, sqlstates.SerializationFailure),
        DatabaseError,
        "{place} stopped a statement for another session: {reason}",
        _RUN_AGAIN,
    ),
    (
        (sqlstates.OutOfMemory, sqlstates.ConfigurationLimitExceeded),
        DatabaseError,
        "{place} has not enough for a statement: {reason}",
        "Free memory on the server, or raise the limit that it names.",
    ),
    (
        (psycopg.OperationalError, psycopg.InterfaceError),
        DatabaseUnreachable,
        "the connection to {place} was lost: {reason}",
        _RUN_AGAIN,
    ),
    (
        (sqlstates.UndefinedTable,),
        DatabaseError,
        "a table is missing in {place}: {reason}",
        "Run `ragctl db migrate`.",
    ),
    (
        (psycopg.Error,),
        DatabaseError,
        "the database {place} refused a statement: {reason}",
        "Run again with --debug for the whole message.",
    ),
)

# What a server says that lets nobody in, what is raised for it, the message, the hint.
_REFUSALS: Final[tuple[tuple[str, type[DatabaseError], str, str], ...]] = (
    (
        "password authentication|no password supplied|auth failed",
        DatabaseUnsuitable,
        "{place} refuses the user or password",
        "Check the address, or put the password into PGPASSWORD or ~/.pgpass.",
    ),
    (
        r'database ".*" does not exist|no such database',
        DatabaseMissing,
        "{place}: the database does not exist",
        "Create it with createdb, or correct the name.",
    ),
    (
        r'role ".*" does not exist|no pg_hba.conf entry|permission denied for database'
        "|not permitted to log in|not currently accepting connections",
        DatabaseUnsuitable,
        "{place}: {reason}",
        "Ask the server's owner for a role that may connect.",
    ),
    (
        "too many clients|too many connections|connection slots are reserved"
        "|no more connections allowed|query_wait_timeout",
        DatabaseUnreachable,
        "{place} turns connections away: {reason}",
        "Run the command again when others have ended. A server for many needs a higher "
        "max_connections or a pooler, a role of its own a higher CONNECTION LIMIT.",
    ),
    (
        "starting up|shutting down|not yet accepting connections|in recovery mode",
        DatabaseUnreachable,
        "{place} turns connections away for the moment: {reason}",
        "Run the command again in a moment.",
    ),
)
_NO_REASON = re.compile(r"This probably means|before or while processing|Is the server running")
_PREFIX = re.compile(
    r"^(?:connection failed: |consuming input failed: )?"
    r"(?:connection to server .*? failed: )?(?:[A-Z]+:  )?"
)


def told(error: psycopg.Error, place: str) -> DatabaseError:
    """Return what a user is told of an error of the driver; ``place`` has no password."""
    _, raised, message, hint = next(cause for cause in _CAUSES if isinstance(error, cause[0]))
    return raised(message.format(place=place, reason=one_line(error)), hint=hint)


def refusal(error: psycopg.OperationalError, place: str) -> DatabaseError:
    """Return what a user is told where no connection came about."""
    for said, raised, message, hint in _REFUSALS:
        if re.search(said, str(error)):
            return raised(message.format(place=place, reason=one_line(error)), hint=hint)
    return DatabaseUnreachable(
        f"no PostgreSQL answers at {place}: {one_line(error)}",
        hint="Check that the server runs and the address is right, or leave the address out to "
        "use the embedded server.",
    )


def one_line(error: Exception) -> str:
    """Return what an error says in one line, without a password and without a stop.

    A server's message has a primary line; of a failed connection the last line with a reason
    tells why, unless it only adds to the line before.
    """
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    lines = [line.strip() for line in redacted(primary or str(error)).split("\n") if line.strip()]
    lines = [line for line in lines if not _NO_REASON.match(line)]
    reasons = [line for line in lines if not line.startswith(("DETAIL:", "HINT:"))] or lines
    return _PREFIX.sub("", reasons[-1]).rstrip(".") if reasons else type(error).__name__
