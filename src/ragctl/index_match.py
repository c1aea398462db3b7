"""What an index was made of and for, and that it is still asked and filled with the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ragctl.errors import ContentRootMismatch, IndexMismatch
from ragctl.records.vectors import EmbeddingIdentity, IndexIdentity

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.protocols import Chunker, Embedder


def require_same_root(database: Database, root: str, *, moved: bool) -> None:
    """Raise :class:`~ragctl.errors.ContentRootMismatch` where another root is recorded."""
    recorded = database.site.content_root()
    if recorded is not None and recorded != root and not moved:
        raise ContentRootMismatch(
            f"this database holds {recorded}, not {root}",
            hint="Give the other site a name of its own: --site NAME. "
            "If this is the same site in a new place: --moved.",
        )


def require_same_chunker(recorded: IndexIdentity | None, chunker: Chunker) -> None:
    """Raise :class:`~ragctl.errors.IndexMismatch` where passages were cut in another way."""
    if recorded is None:
        return
    before = (recorded.chunker, dict(recorded.chunker_parameters))
    now = (chunker.name, dict(chunker.parameters))
    if before != now:
        raise IndexMismatch(
            f"the passages were cut by {_cut(*before)}, the settings say {_cut(*now)}",
            hint="Cut and embed everything anew with `ragctl ingest --rebuild`, or set the "
            "chunking back.",
        )


def require_same_model(recorded: IndexIdentity | None, embedding: EmbeddingIdentity) -> None:
    """Raise :class:`~ragctl.errors.IndexMismatch` where vectors come from another model.

    Digests are compared where both are known: the same name can stand for a newer model.
    """
    if recorded is None:
        return
    before = recorded.embedding
    same_name = (before.provider, before.model) == (embedding.provider, embedding.model)
    digests = {before.digest, embedding.digest} - {""}
    if same_name and len(digests) < 2:
        return
    told = (before.label, embedding.label)
    if same_name:
        told = (
            f"{before.label} {before.digest[:12]}",
            f"{embedding.label} {embedding.digest[:12]}",
        )
    raise IndexMismatch(
        f"the index was made with {told[0]}, not with {told[1]}",
        hint="Embed everything anew with `ragctl ingest --rebuild`, or set embedding.provider "
        "and embedding.model back.",
    )


def agreed_identity(
    recorded: IndexIdentity | None, chunker: Chunker, embedder: Embedder, *, rebuilds: bool
) -> IndexIdentity:
    """Return the identity that this run writes; asks the embedder which model it is."""
    if not rebuilds:
        require_same_model(recorded, embedder.identity)
    return IndexIdentity(
        embedding=embedder.identity,
        chunker=chunker.name,
        chunker_parameters=chunker.parameters,
    )


def record_identity(database: Database, root: str, identity: IndexIdentity) -> None:
    """Record what the database holds and what made it, where that is not recorded yet."""
    if database.site.content_root() != root:
        database.site.record(root)
    if database.identity.load() != identity:
        database.identity.record(identity)


def _cut(name: str, parameters: Mapping[str, int | str]) -> str:
    shown = ", ".join(f"{key} {value}" for key, value in sorted(parameters.items()))
    return f"{name} ({shown})" if shown else name
