"""A site as question files speak of it: pages by address, with the sections that passages have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragctl.evaluate.retrieval import folded

if TYPE_CHECKING:
    from ragctl.records.chunks import Chunk
    from ragctl.records.stored import PageText


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePage:
    """A page with its text and its passages in order."""

    url: str
    track: str
    title: str
    is_landing: bool
    text: str
    passages: tuple[Chunk, ...]

    @classmethod
    def of(cls, page: PageText, passages: Sequence[Chunk]) -> SitePage:
        """Return the page of a stored text and its passages."""
        return cls(
            url=page.url,
            track=page.track,
            title=page.title,
            is_landing=page.is_landing,
            text=page.text,
            passages=tuple(passages),
        )

    def sections(self) -> dict[str, str]:
        """Return the labels of its sections by their folded form, in order, each once."""
        labels: dict[str, str] = {}
        for passage in self.passages:
            if passage.section:
                labels.setdefault(folded(passage.section), passage.section)
        return labels

    def section_text(self, section: str) -> str:
        """Return what stands under a heading, headings below it included."""
        wanted = folded(section)
        return "\n".join(
            passage.body
            for passage in self.passages
            if wanted == folded(passage.section or "")
            or wanted in (folded(part) for part in passage.breadcrumb.split(" > "))
        )
