"""Pages to ingest: the handbook, and as many as wanted of its sections under other names."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from ragctl import wiring
from ragctl.files import find, read
from ragctl.protocols import Chunker
from ragctl.records.chunks import Chunk
from ragctl.settings import Settings
from tests.bench.rig import HANDBOOK

TRACKS = 20


def shipped_settings() -> Settings:
    """Return the settings that hold where nobody has set any."""
    return wiring.load_settings({}, environ={}, folder=HANDBOOK)


def cut_handbook(chunker: Chunker) -> tuple[Chunk, ...]:
    """Return the passages of the handbook."""
    parser = wiring.make_parser(shipped_settings())
    pages = (parser.parse(source, read(source)) for source in find(HANDBOOK).sources)
    return tuple(passage for page in pages for passage in chunker.chunk(page))


def write_pages(root: Path, count: int) -> None:
    """Make a content folder of so many pages of real prose, listings and tables.

    Each is a stretch of the handbook under a title of its own, so that no two passages are alike.
    """
    stretches = itertools.cycle(_stretches())
    for number in range(count):
        folder = root / f"track{number % TRACKS:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        text = f"---\ntitle: Page {number}\n---\n{next(stretches)}\n"
        (folder / f"{number:05d}-page.md").write_text(text, encoding="utf-8")


def _stretches() -> Sequence[str]:
    """Return the sections of the handbook below second headings, each with its heading."""
    found: list[str] = []
    for page in sorted(HANDBOOK.rglob("*.md")):
        _, *sections = page.read_text(encoding="utf-8").split("\n## ")
        found.extend(f"## {section}" for section in sections)
    return found
