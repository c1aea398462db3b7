"""What works on this machine, what does not, and the command that mends it.

Looking changes nothing: no server is made for the first time, no table, no model is fetched.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragctl import wiring
from ragctl.db.address import redacted
from ragctl.db.connect import Connection, require_creating, require_suitable, server_facts
from ragctl.db.database import Database
from ragctl.db.migrate import pending, require_readable
from ragctl.db.rights import Rights, rights
from ragctl.errors import DatabaseError, ModelError, RagctlError
from ragctl.evaluate.recall import at_width
from ragctl.evaluate.vector_index import RECALL_COMMAND, advice, index_status
from ragctl.freshness import changes_since
from ragctl.index_match import require_same_model

if TYPE_CHECKING:
    from ragctl.records.vectors import IndexIdentity
    from ragctl.settings import Settings

Outcome = Literal["pass", "warn", "fail"]
LEAST_FREE_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at; ``fix`` is what mends it, empty where nothing is to mend."""

    name: str
    outcome: Outcome
    message: str
    fix: str = ""


def examine(settings: Settings, *, environ: Mapping[str, str], folder: Path) -> tuple[Check, ...]:
    """Look at everything ragctl needs and return what was found, in the order of need."""
    checks = [
        *_guarded("settings", lambda: _settings(environ, folder)),
        *_guarded("prompt", lambda: _prompt(settings)),
        *_guarded("data directory", lambda: _data_directory(settings, environ)),
    ]
    found = _Found()
    checks += _guarded("database", lambda: _database(settings, found))
    is_broken = any(check.outcome == "fail" for check in checks)
    checks += _guarded("Ollama", lambda: _ollama(settings, found))
    checks += _guarded("embedded model", lambda: _offline_model(settings))
    if not is_broken:
        checks += _guarded("embedding", lambda: _embedding(settings, found))
    checks += _guarded("writing", lambda: _writing(settings, found))
    if not is_broken:
        checks += _guarded("site", lambda: _site(settings, found))
        checks += _guarded("vector index", lambda: _vector_index(found))
        checks += _guarded("room", lambda: _room(found))
    return tuple(checks)


@dataclass(slots=True)
class _Found:
    """What one check learns and a later one needs."""

    database: Database | None = None
    identity: IndexIdentity | None = None
    ollama_models: Mapping[str, str] | None = None
    is_empty: bool = True


def _guarded(name: str, look: Callable[[], Iterator[Check]]) -> list[Check]:
    checks: list[Check] = []
    try:
        checks.extend(look())
    except RagctlError as error:
        checks.append(Check(name=name, outcome="fail", message=error.message, fix=error.hint))
    return checks


def _settings(environ: Mapping[str, str], folder: Path) -> Iterator[Check]:
    files = [str(file.path) for file in wiring.settings_files(environ, folder)]
    message = f"read from {', '.join(files)}" if files else "defaults; no settings file is read"
    yield Check(
        name="settings",
        outcome="pass",
        message=message,
        fix="" if files else "ragctl config init",
    )


def _prompt(settings: Settings) -> Iterator[Check]:
    template = wiring.make_template(settings)
    if template.name.startswith("file:"):
        yield Check(
            name="prompt", outcome="pass", message=f"{settings.generation.prompt} ({template.name})"
        )


def _data_directory(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    directory = wiring.data_directory(settings, environ)
    existing = next(place for place in (directory, *directory.parents) if place.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        yield Check(
            name="data directory",
            outcome="fail",
            message=f"{directory} cannot be made or written",
            fix="Set RAGCTL_DATA_DIR to a folder of yours.",
        )
        return
    free = shutil.disk_usage(existing).free
    shown = f"{directory}, {free / 1e9:.1f} GB free"
    if free < LEAST_FREE_BYTES:
        yield Check(
            name="data directory",
            outcome="warn",
            message=f"{shown}: little space is left",
            fix="Free some space, or set RAGCTL_DATA_DIR to another disk.",
        )
    else:
        yield Check(name="data directory", outcome="pass", message=shown)


def _database(settings: Settings, found: _Found) -> Iterator[Check]:
    if not settings.database.url:
        server = wiring.embedded_server(settings)
        status = server.status()
        server.binary("postgres")
        if not status.initialised:
            yield Check(
                name="database",
                outcome="pass",
                message="embedded, made by the first ingest",
                fix="ragctl demo",
            )
            return
    try:
        connection = wiring.raw_connection(settings)
    except DatabaseError as error:
        if error.code == "database_missing" and not settings.database.url:
            name = settings.site.name
            yield Check(name="database", outcome="pass", message=f"site {name} is not made yet")
            return
        raise
    url = wiring.database_url(settings)
    facts = server_facts(connection)
    require_suitable(facts, url)
    kind = redacted(url) if settings.database.url else "embedded"
    yield Check(
        name="database",
        outcome="pass",
        message=f"{kind}, PostgreSQL {facts.version}, pgvector {facts.vector_version or '-'}, "
        f"{facts.encoding}",
    )
    if facts.encoding != "UTF8":
        yield Check(
            name="encoding",
            outcome="warn",
            message=f"the database is {facts.encoding}, which checks no text",
            fix="createdb --template=template0 --encoding=UTF8 NAME, then ingest into it",
        )
    todo = pending(connection, url)
    if todo:
        fresh = todo[0].version == 1
        if fresh:
            require_readable(connection, url)
            require_creating(facts, url)
        yield Check(
            name="schema",
            outcome="pass" if fresh else "warn",
            message="no tables yet"
            if fresh
            else f"older than this ragctl ({todo[0].name} is next)",
            fix="ragctl ingest PATH" if fresh else "ragctl db migrate",
        )
        if facts.vector_version is None and not facts.vector_creatable:
            yield Check(
                name="pgvector",
                outcome="warn",
                message=f"not made yet, and {facts.role} may hardly make it",
                fix=f"CREATE EXTENSION vector, as a superuser in database {facts.database}",
            )
        connection.close()
        return
    yield _rights(rights(connection))
    yield from _memory(settings, connection)
    found.database = Database.over(connection, url)
    found.identity = found.database.identity.load()
    found.is_empty = found.database.chunks.count() == 0


def _memory(settings: Settings, connection: Connection) -> Iterator[Check]:
    """Look at the memory of the embedded server; nothing where it is enough."""
    fit, outgrown = wiring.look_at_memory(settings, connection)
    if outgrown:
        remark = wiring.embedded_server(settings).status().remark
        shared, table = (size / 1e6 for size in (fit.shared_bytes, fit.table_bytes))
        yield Check(
            name="memory",
            outcome="warn",
            message=f"the passages, {table:,.0f} MB, have outgrown the {shared:,.0f} MB that the "
            f"server shares{': ' if remark else ''}{remark}",
            fix="ragctl db restart",
        )


def _room(found: _Found) -> Iterator[Check]:
    """Look for tables that have grown beyond their rows; nothing where there are none."""
    if found.database is None:
        return
    grown = [table for table in found.database.room.tables() if table.is_much]
    if grown:
        names = ", ".join(f"{table.name} {table.bloat:.1f}" for table in grown)
        spare = sum(table.spare_bytes for table in grown)
        yield Check(
            name="room",
            outcome="warn",
            message=f"tables have grown beyond their rows ({names} times): "
            f"at least {spare / 1e6:,.0f} MB can be given back",
            fix="ragctl db compact",
        )


def _rights(found: Rights) -> Check:
    what = "ask and ingest" if found.may_ingest else "ask, not ingest"
    message = f"{found.role} may {what if found.may_read else 'not even read'}"
    if found.is_read_only:
        message += ": the database is read-only"
    elif found.missing and found.may_read:
        message += f": it lacks {found.missing[0]}" + (" ..." if len(found.missing) > 1 else "")
    return Check(
        name="rights",
        outcome="pass" if found.may_ingest else "warn" if found.may_read else "fail",
        message=message,
        fix=""
        if found.may_read
        else f'GRANT SELECT ON ALL TABLES IN SCHEMA public TO "{found.role}"',
    )


def _vector_index(found: _Found) -> Iterator[Check]:
    """Look at how passages are searched; nothing where there are none."""
    if found.database is None or found.is_empty:
        return
    state = index_status(found.database)
    index, (recommended, why, command) = state.index, advice(state.extent.rows)
    message, fix = "none, searches are exact", ""
    if index is not None and state.in_use:
        used = at_width(index.measurement.figures, index.width) if index.measurement else None
        reached = f", recall {used.recall:.3f}" if used else ""
        message = f"hnsw, width {index.width}{reached}"
    elif index is not None:
        message = "hnsw, not in use: searches are exact"
    if state.stale:
        message, fix = f"{message}; {state.stale}", RECALL_COMMAND
    elif index is not None and index.in_use and state.others:
        names = ", ".join(other.name for other in state.others)
        message, fix = f"hnsw, not used beside {names}", f"DROP INDEX {names}"
    elif recommended == "hnsw" and index is None:
        message, fix = f"{message}; {why}", command
    yield Check(name="vector index", outcome="warn" if fix else "pass", message=message, fix=fix)


def _ollama(settings: Settings, found: _Found) -> Iterator[Check]:
    client = wiring.make_ollama(settings)
    try:
        found.ollama_models = client.models()
        version = client.version()
    except ModelError as error:
        origin = settings.origin("ollama.url")
        yield Check(
            name="Ollama",
            outcome="warn",
            message=f"{error.message} (address from {origin})",
            fix=error.hint or "ollama serve",
        )
        return
    names = ", ".join(sorted(found.ollama_models)) or "no models"
    yield Check(
        name="Ollama",
        outcome="pass",
        message=f"{version or 'answers'} at {wiring.ollama_address(settings)}: {names}",
    )


def _offline_model(settings: Settings) -> Iterator[Check]:
    usable, message, fix = wiring.offline_model_state(settings)
    yield Check(
        name="embedded model", outcome="pass" if usable else "warn", message=message, fix=fix
    )


def _embedding(settings: Settings, found: _Found) -> Iterator[Check]:
    try:
        chosen = wiring.make_embedder(settings, recorded=found.identity)
        identity = chosen.part.identity
        if found.identity is not None:
            require_same_model(found.identity, identity)
            wiring.require_embedding_model(found.identity, found.ollama_models)
    except ModelError as error:
        yield Check(name="embedding", outcome="fail", message=error.message, fix=error.hint)
        return
    told = "made the index and is here" if found.identity is not None else "would be used"
    yield Check(name="embedding", outcome="pass", message=f"{identity.label} {told}")


def _writing(settings: Settings, found: _Found) -> Iterator[Check]:
    generator = wiring.make_generator(settings)
    fix = ""
    if generator.reason and settings.generation.provider != "extractive":
        pull = f"ollama pull {settings.generation.model}"
        fix = pull if found.ollama_models is not None else f"ollama serve, then {pull}"
    yield Check(
        name="writing",
        outcome="warn" if generator.reason else "pass",
        message=f"answers quote the passages: {generator.reason}"
        if generator.reason
        else f"{generator.part.name} writes the answers",
        fix=fix,
    )


def _site(settings: Settings, found: _Found) -> Iterator[Check]:
    database = found.database
    if database is None or found.is_empty:
        yield Check(
            name="site",
            outcome="pass",
            message=f"site {settings.site.name} holds nothing yet",
            fix="ragctl ingest PATH/TO/CONTENT",
        )
        return
    pages = database.pages.all()
    shown = sum(not page.is_landing for page in pages)
    passages = sum(page.passages for page in pages)
    root, run = database.site.content_root(), database.runs.last()
    yield Check(
        name="site",
        outcome="pass",
        message=f"{root}: pages {shown:,}, passages {passages:,}",
    )
    silent = [page.url for page in pages if not page.is_landing and page.passages == 0]
    if silent:
        yield Check(
            name="passages",
            outcome="warn",
            message=f"{len(silent)} pages have no passages: {', '.join(silent[:3])}",
            fix="ragctl ingest  (it names them and says why)",
        )
    if root is None or run is None or not Path(root).is_dir():
        yield Check(
            name="files",
            outcome="warn",
            message=f"{root} is not on this machine: changes of the site cannot be seen",
        )
        return
    changes = changes_since(
        Path(root), pages, ingested_at=run.started_at, exclude=settings.site.exclude
    )
    unfinished = run.outcome in ("running", "stopped")
    message = f"{changes.count} files changed since the last ingest"
    if unfinished:
        message += ", which did not finish"
    yield Check(
        name="files",
        outcome="warn" if changes.count or unfinished else "pass",
        message=message,
        fix="ragctl ingest" if changes.count or unfinished else "",
    )
