"""Passages as they are found, for tests that need nothing of them but their text."""

from __future__ import annotations

from ragctl.records.search import Hit


def hit_of(body: str, n: int = 1, *, title: str = "Limits", section: str | None = None) -> Hit:
    """Return a passage as it is found."""
    return Hit(
        n=n,
        chunk_id=n,
        ref=f"/guide/{n}#c0",
        url=f"/guide/{n}",
        title=title,
        track="guide",
        section=section,
        anchor=None,
        body=body,
        start_char=0,
        end_char=len(body),
        source_path=f"guide/{n}.md",
        score=0.5,
        vector_score=0.5,
    )
