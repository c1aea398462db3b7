"""What can go wrong, as one tree.

::

    RagctlError
    ├── UsageError                 2   an option, argument or question that cannot be used
    │   ├── SettingsError              a setting: unknown, malformed, out of range
    │   ├── ArtifactError              a file of artifacts: absent, damaged, of another run
    │   └── ContentRootMismatch        the database holds another content root
    ├── ContentError               3   nothing to read, or nothing ingested yet
    ├── DatabaseError              4
    │   ├── DatabaseUnreachable        no server answers, none of its connections is free, or it
    │   │                              closed ours
    │   ├── DatabaseUnsuitable         too old, without pgvector, not UTF-8, or rights missing
    │   │   ├── DatabaseMissing            the server has no database of this name
    │   │   └── DatabaseReadOnly           a standby, or a role that may only read
    │   ├── SchemaMismatch             a newer schema, an edited migration, a foreign table
    │   ├── DatabaseBusy               another ingest is at work
    │   └── ServerError                the embedded server cannot be started or stopped
    ├── RateLimited                5   this user has asked too often; later the same passes
    ├── ModelError                 5
    │   ├── ModelUnreachable           no model server answers, or a stream broke off
    │   ├── ModelMissing               the server is there, the model is not
    │   ├── ModelReplyError            a reply that is not what the protocol promises
    │   └── EmbeddingRefused           the model refuses these texts; others may still pass
    └── IndexMismatch              6   the index was made by another model or chunker

An answer that broke off (exit code 7) is no error: it is shown, marked as incomplete.

Every class has an exit code; every error can say what to do next. Messages name the file,
setting or address at fault and never hold a password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:  # `--help` loads this module, and making the records takes longer than all else
    from ragctl.records.answers import Attempt

EXIT_DONE = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_NOTHING = 3
EXIT_DATABASE = 4
EXIT_MODEL = 5
EXIT_INDEX = 6
EXIT_INCOMPLETE = 7
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


class RagctlError(Exception):
    """The root of all errors that a user is told about.

    ``message`` says what is wrong and with which file, setting or address; ``hint`` what to do
    next, else the ``usual_hint`` of the class is told. Subclasses fix the exit code and ``code``,
    the name used in JSON.
    """

    exit_code: ClassVar[int] = EXIT_BUG
    code: ClassVar[str] = "error"
    usual_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.usual_hint


class UsageError(RagctlError):
    """An option, argument or question that cannot be used as given."""

    exit_code = EXIT_USAGE
    code = "usage"


class SettingsError(UsageError):
    """A setting that is unknown, malformed or out of its range."""

    code = "settings"


class ArtifactError(UsageError):
    """A file of artifacts that is absent, damaged or not of the same run as those beside it."""

    code = "artifact"
    usual_hint = "Make it anew: `ragctl stage --help` names the stage that writes it (--force)."


class ContentRootMismatch(UsageError):
    """The database holds another content root than the one given."""

    code = "content_root"


class ContentError(RagctlError):
    """There is nothing to read, or nothing has been ingested yet."""

    exit_code = EXIT_NOTHING
    code = "nothing"


class DatabaseError(RagctlError):
    """The database cannot do what is asked of it."""

    exit_code = EXIT_DATABASE
    code = "database"


class DatabaseUnreachable(DatabaseError):
    """No server answers at the address or has a connection free, or ours was closed."""

    code = "database_unreachable"


class DatabaseUnsuitable(DatabaseError):
    """The server answers but lacks something: version, pgvector, encoding or rights."""

    code = "database_unsuitable"


class DatabaseMissing(DatabaseUnsuitable):
    """The server answers but has no database of this name."""

    code = "database_missing"


class DatabaseReadOnly(DatabaseUnsuitable):
    """Nothing can be written: the server is a standby, or transactions are read-only."""

    code = "database_read_only"


class SchemaMismatch(DatabaseError):
    """The tables are newer than this program, were edited, or are not ragctl's."""

    code = "schema"


class DatabaseBusy(DatabaseError):
    """Another ingest is at work on this database."""

    code = "ingest_running"


class ServerError(DatabaseError):
    """The embedded server cannot be created, started or stopped."""

    code = "server"


class RateLimited(RagctlError):
    """A user has asked more questions than are allowed in a minute.

    Nothing is wrong with the question (that would be 2): as with a model that is busy, the same
    command passes after ``seconds_left``.
    """

    exit_code = EXIT_MODEL
    code = "rate_limited"

    def __init__(self, message: str, *, hint: str = "", seconds_left: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.seconds_left = seconds_left


class ModelError(RagctlError):
    """A model cannot be used; where nothing better is known, ``usual_hint`` is what to do.

    ``outcome`` says what happened in two or three words (``http 503``, ``timeout (connect)``);
    ``may_clear`` that the same request may pass a moment later, ``retry_after_seconds`` when, as
    far as the server tells. ``attempts`` are the routes that were tried in vain, if several could.
    """

    exit_code = EXIT_MODEL
    code = "model"
    usual_outcome: ClassVar[str] = "failed"
    usual_hint: ClassVar[str] = "Try again; `ragctl doctor` looks at the models."

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        outcome: str = "",
        may_clear: bool = False,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message, hint=hint or self.usual_hint)
        self.outcome = outcome or self.usual_outcome
        self.may_clear = may_clear
        self.retry_after_seconds = retry_after_seconds
        self.attempts: tuple[Attempt, ...] = ()


class ModelUnreachable(ModelError):
    """No model server answers in time, or the connection broke off."""

    code = "model_unreachable"
    usual_outcome = "unreachable"


class ModelMissing(ModelError):
    """The model server answers but does not have the model, or no model is installed."""

    code = "model_missing"
    usual_outcome = "model missing"


class ModelReplyError(ModelError):
    """A reply that breaks the protocol: too few vectors, wrong size, not JSON, an error line."""

    code = "model_reply"
    usual_hint = "Ask again; `ragctl gateway test` tells whether the model answers as it should."
    usual_outcome = "bad reply"


class EmbeddingRefused(ModelError):
    """The model refuses at least one text of a batch for what it is; others may pass.

    ``reason`` is ``empty`` (a blank text), ``too_long`` or ``not_finite``. The same batch sent
    again fails again: the caller halves it until the text at fault stands alone.
    """

    code = "embedding_refused"
    usual_hint = "Change the text; `ragctl doctor` names the embedding model."

    def __init__(self, message: str, *, reason: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class IndexMismatch(RagctlError):
    """The index was made by another embedding model or chunker than the one asked for."""

    exit_code = EXIT_INDEX
    code = "index_mismatch"
