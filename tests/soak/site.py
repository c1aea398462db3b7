"""Sites of generated pages: a small one in two states, and one of thousands of pages."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Mapping
from pathlib import Path

_WORDS = (
    *("limit", "bucket", "queue", "reader", "writer", "lock", "page", "cache", "node", "shard"),
    *("token", "batch", "vector", "index", "disk", "flush", "retry", "window", "clock", "quorum"),
)
SLOW_PAGE = "aside/000-slow.md"
MTIME = 1_700_000_000


def old_pages() -> dict[str, str]:
    """Return the pages of the small site, by path, as they were at first."""
    pages = {SLOW_PAGE: _slow("first")}
    for number in range(30):
        pages[f"track{number % 3}/{number:02d}-page.md"] = page(number)
    pages["track0/_index.md"] = "---\ntitle: Track 0\n---\nAn introduction.\n"
    return pages


def new_pages() -> dict[str, str]:
    """Return the same site later: pages edited, removed, renamed and added."""
    pages = old_pages()
    pages[SLOW_PAGE] = _slow("second")
    for number in range(0, 30, 4):
        pages[f"track{number % 3}/{number:02d}-page.md"] = page(number + 100)
    for number in (5, 11):
        del pages[f"track{number % 3}/{number:02d}-page.md"]
    pages["track1/90-renamed.md"] = pages.pop("track1/01-page.md")
    for number in range(40, 46):
        pages[f"track{number % 3}/{number:02d}-page.md"] = page(number)
    return pages


def page(number: int) -> str:
    """Return a page of about 600 characters and two sections that depends on its number alone."""
    chosen = random.Random(number)
    paragraphs = "\n\n".join(
        " ".join(chosen.choice(_WORDS) for _ in range(30)).capitalize() + "." for _ in range(3)
    )
    return (
        f"---\ntitle: Page {number}\n---\n{paragraphs}\n\n"
        f"## Part {number}\n\nThe end of page {number}.\n"
    )


def _slow(edition: str) -> str:
    """Return a page that is parsed for about a fifth of a second: its front matter is long."""
    notes = "".join(f"  - note {number}: value {number}\n" for number in range(1000))
    return f"---\ntitle: Slow\nnotes:\n{notes}---\nThis is the {edition} edition.\n"


def write_site(root: Path, pages: Mapping[str, str]) -> None:
    """Make a content folder that holds exactly these pages, with times that never change."""
    shutil.rmtree(root, ignore_errors=True)
    for path, text in pages.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, (MTIME, MTIME + len(text)))


def write_many(root: Path, count: int, *, tracks: int) -> None:
    """Make a content folder of so many small pages."""
    pages = {
        f"track{number % tracks:02d}/{number:05d}-page.md": page(number) for number in range(count)
    }
    write_site(root, pages)
