"""Whether the files on disk are still what was ingested."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragctl.errors import ContentError
from ragctl.files import find, read
from ragctl.records.ingest import SiteChanges

if TYPE_CHECKING:
    from ragctl.records.pages import SourceFile
    from ragctl.records.stored import StoredPage


def changes_since(
    root: Path,
    pages: Sequence[StoredPage],
    *,
    ingested_at: datetime,
    exclude: Sequence[str] = (),
) -> SiteChanges:
    """Return which files differ from the stored pages.

    Size and time are compared first, content only where they differ. Files that never were
    ingested count when they are younger than ``ingested_at`` and lie in a track that was. A root
    that is not on this disk gives no changes: the database may serve a site built elsewhere.
    """
    try:
        found = find(root, exclude=exclude)
    except ContentError:
        return SiteChanges()
    stored = {page.source_path: page for page in pages}
    tracks = {page.track for page in pages}
    on_disk = {source.path for source in found.sources}
    born = ingested_at.timestamp() * 1e9
    return SiteChanges(
        edited=tuple(
            source.path
            for source in found.sources
            if source.path in stored and _is_edited(source, stored[source.path])
        ),
        added=tuple(
            source.path
            for source in found.sources
            if source.path not in stored and source.track in tracks and source.mtime_ns > born
        ),
        removed=tuple(path for path in stored if path not in on_disk),
    )


def _is_edited(source: SourceFile, page: StoredPage) -> bool:
    if (source.size_bytes, source.mtime_ns) == (page.size_bytes, page.mtime_ns):
        return False
    try:
        return hashlib.sha256(read(source)).hexdigest() != page.sha256
    except ContentError:
        return False
