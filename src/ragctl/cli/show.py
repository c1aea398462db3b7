"""``ragctl show``: a passage or a page, as it is stored."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.completion import complete_pages
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.errors import UsageError
from ragctl.stages.embed import content_hash, embedded_text
from ragctl.stages.links import link_to, page_path

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.records.chunks import Chunk
    from ragctl.records.links import LinkStyle
    from ragctl.records.stored import PageText, StoredChunk, StoredPage
    from ragctl.settings import Settings

_PLACE = re.compile(r"c(\d{1,10})")
_FIRST_WORDS = 60

app = options.command_app("Show a passage or a page as it is stored.")


@app.command(epilog="Example: ragctl show /design/22-rate-limiter#c1200")
def show(
    ref: Annotated[
        str,
        typer.Argument(
            metavar="REF",
            help="A passage (/track/page#c1200), a page (/track/page), a link to a section, or "
            "the page's file.",
            autocompletion=complete_pages,
        ),
    ],
    text: Annotated[
        bool, typer.Option("--text", help="Print the text of the page or passage and nothing else.")
    ] = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show a passage with its place, neighbours and what was embedded, or a page's passages.

    A place inside a passage shows the passage that covers it.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    with wiring.open_database(settings) as database:
        shown = _find(ref, database, settings)
    output = Output(environ=os.environ)
    _remark_state(shown, output)
    passage = shown.passage
    if text:
        output.line(shown.text.text if passage is None else passage.chunk.body)
    elif json:
        output.json(_page_document(shown) if passage is None else _passage_document(shown, passage))
    elif passage is None:
        _show_page(shown, output)
    else:
        _show_passage(shown, passage, output)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A page with its passages, and the one that was asked for, if one was."""

    page: StoredPage
    text: PageText
    passages: Sequence[StoredChunk]
    passage: StoredChunk | None
    remark: str
    root: str | None
    links: LinkStyle
    document_prefix: str

    def link(self, anchor: str | None = None) -> str:
        return link_to(self.links, self.page.url, self.page.source_path, anchor)

    def source_lines(self, chunk: Chunk) -> tuple[int, int]:
        """Return the first and last line of the file that a passage comes from, 0 if unknown."""
        text = self.text.text[chunk.start_char : chunk.end_char]
        before = self.text.text[: chunk.start_char]
        first = before.count("\n") + text[: len(text) - len(text.lstrip())].count("\n")
        last = before.count("\n") + text.rstrip().count("\n")
        lines = self.text.source_lines
        if not 0 <= first <= last < len(lines):
            return 0, 0
        return lines[first], lines[last]


def _find(ref: str, database: Database, settings: Settings) -> _Shown:
    """Return what a reference names; raises :class:`~ragctl.errors.UsageError` for nothing."""
    links = wiring.link_style(settings)
    root = database.site.content_root()
    pages = database.pages.all()
    address, _, fragment = ref.strip().removeprefix(links.base_url.rstrip("/")).partition("#")
    page = _page(address, pages, links, root)
    text = database.pages.text(page.url)
    if text is None:
        raise UsageError(f"{page.url} has just been removed", hint="See `ragctl sources`.")
    passages = database.chunks.of_page(page.id)
    passage, remark = _passage(fragment, text, passages)
    identity = database.identity.load()
    return _Shown(
        page=page,
        text=text,
        passages=passages,
        passage=passage,
        remark=remark,
        root=root,
        links=links,
        document_prefix=identity.embedding.document_prefix if identity else "",
    )


def _page(
    address: str, pages: Sequence[StoredPage], links: LinkStyle, root: str | None
) -> StoredPage:
    """Find a page by its address, as it is stored or published, or by its file."""
    names = {name: page for page in pages for name in _names(page, links)}
    for wanted in dict.fromkeys((address, unquote(address))):
        for name in (wanted, wanted.rstrip("/"), f"/{wanted.strip('/')}"):
            if name in names:
                return names[name]
        for file in _as_file(wanted, root):
            if file in names:
                return names[file]
    near = difflib.get_close_matches(address, [page.url for page in pages], n=1, cutoff=0.0)
    raise UsageError(
        f"there is no page {address!r} in the database",
        hint=f"Did you mean {near[0]}? `ragctl sources` lists the pages."
        if near
        else "`ragctl sources` lists the pages.",
    )


def _names(page: StoredPage, links: LinkStyle) -> tuple[str, ...]:
    paths = {
        page_path(page.url, style=links.url_style, is_index=is_index) for is_index in (False, True)
    }
    return (page.source_path, *paths, page.url)


def _as_file(name: str, root: str | None) -> list[str]:
    """Return a path from here as a path below the content root, if it lies there."""
    if root is None or not name or "\0" in name:
        return []
    try:
        path = Path(name).resolve()
        return [path.relative_to(Path(root).resolve()).as_posix()]
    except (OSError, ValueError, RuntimeError):
        return []


def _passage(
    fragment: str, text: PageText, passages: Sequence[StoredChunk]
) -> tuple[StoredChunk | None, str]:
    """Return the passage that a fragment names, none for a page, and what to say about it."""
    if not fragment:
        return None, ""
    if not passages:
        raise UsageError(f"{text.url} has no passages", hint=f"See `ragctl show {text.url}`.")
    place = _PLACE.fullmatch(fragment)
    if place is None:
        return _at_anchor(unquote(fragment), text, passages), ""
    offset = int(place[1])
    if offset >= len(text.text):
        raise UsageError(
            f"{text.url} ends before character {offset:,}: it has {len(text.text):,}",
            hint=f"See `ragctl show {text.url}`.",
        )
    for passage in passages:
        if passage.chunk.start_char == offset:
            return passage, ""
    for passage in passages:
        if passage.chunk.start_char <= offset < passage.chunk.end_char:
            return passage, f"Character {offset:,} lies in {passage.chunk.ref}."
    near = min(passages, key=lambda passage: _distance(passage.chunk, offset))
    return near, f"No passage holds character {offset:,}; the nearest is {near.chunk.ref}."


def _distance(chunk: Chunk, offset: int) -> int:
    return max(chunk.start_char - offset, offset - chunk.end_char + 1)


def _at_anchor(anchor: str, text: PageText, passages: Sequence[StoredChunk]) -> StoredChunk:
    for passage in passages:
        if passage.chunk.anchor == anchor:
            return passage
    anchors = sorted({passage.chunk.anchor for passage in passages if passage.chunk.anchor})
    near = difflib.get_close_matches(anchor, anchors, n=1, cutoff=0.0)
    raise UsageError(
        f"no passage of {text.url} is at the anchor {anchor!r}",
        hint=f"Did you mean {text.url}#{near[0]}?" if near else f"See `ragctl show {text.url}`.",
    )


def _remark_state(shown: _Shown, output: Output) -> None:
    if shown.remark:
        output.remark(shown.remark)
    if shown.root is None:
        return
    try:
        data = (Path(shown.root) / shown.page.source_path).read_bytes()
    except OSError:
        output.remark(f"{shown.page.source_path} is not on this disk any more.", style="yellow")
        return
    if hashlib.sha256(data).hexdigest() != shown.text.sha256:
        output.remark(
            f"{shown.page.source_path} has changed since: its lines may have moved.",
            style="yellow",
        )


def _neighbour(shown: _Shown, passage: StoredChunk, step: int) -> Chunk | None:
    number = shown.passages.index(passage) + step
    return shown.passages[number].chunk if 0 <= number < len(shown.passages) else None


def _first_words(chunk: Chunk) -> str:
    words = " ".join(chunk.body[: 4 * _FIRST_WORDS].split())
    return words if len(words) <= _FIRST_WORDS else words[:_FIRST_WORDS].rsplit(" ", 1)[0] + " …"


def _place(shown: _Shown, chunk: Chunk) -> str:
    first, last = shown.source_lines(chunk)
    path = Path(shown.root) / shown.page.source_path if shown.root else shown.page.source_path
    return f"{path}:{first}" + (f"-{last}" if last > first else "")


def _show_passage(shown: _Shown, passage: StoredChunk, output: Output) -> None:
    chunk = passage.chunk
    facts = [
        ("passage", chunk.ref),
        ("page", shown.page.title),
        ("section", chunk.section or "-"),
        ("link", shown.link(chunk.anchor)),
        ("source", _place(shown, chunk)),
        ("characters", f"{chunk.start_char:,} to {chunk.end_char:,} of {len(shown.text.text):,}"),
    ]
    for name, step in (("before", -1), ("after", 1)):
        neighbour = _neighbour(shown, passage, step)
        facts.append((name, f"{neighbour.ref}  {_first_words(neighbour)}" if neighbour else "-"))
    is_same = content_hash(embedded_text(chunk)) == passage.content_hash
    state = "" if is_same else "  (NOT of what is stored now)"
    facts += [
        ("embedded", _embedded_in_words(shown, chunk)),
        ("hash", f"{passage.content_hash}{state}"),
    ]
    _show_facts(facts, output)
    output.line()
    output.line(chunk.body)


def _embedded_in_words(shown: _Shown, chunk: Chunk) -> str:
    parts = [repr(part) for part in (shown.document_prefix, chunk.breadcrumb) if part]
    return " + ".join((*parts, f"the body, {len(chunk.body):,} characters"))


def _show_facts(facts: Sequence[tuple[str, str]], output: Output) -> None:
    for name, value in facts:
        output.line(Text.assemble((f"{name:12}", "bold"), harmless(value)))


def _show_page(shown: _Shown, output: Output) -> None:
    page = shown.page
    source = Path(shown.root) / page.source_path if shown.root else page.source_path
    _show_facts(
        [
            ("page", page.url),
            ("title", page.title),
            ("track", page.track + (", landing page" if page.is_landing else "")),
            ("link", shown.link()),
            ("source", str(source)),
            ("parsed with", page.parsed_with),
            ("text", f"{len(shown.text.text):,} characters, {page.words:,} words"),
            ("passages", f"{len(shown.passages):,}"),
        ],
        output,
    )
    if not shown.passages:
        return
    output.line()
    table = new_table("passage", "characters", "lines", "section", text_columns=(0, 3))
    for passage in shown.passages:
        chunk = passage.chunk
        first, last = shown.source_lines(chunk)
        table.add_row(
            Text(harmless(chunk.ref)),
            f"{len(chunk.body):,}",
            f"{first}-{last}",
            Text(harmless(chunk.section or "")),
        )
    output.table(table)


def _passage_document(shown: _Shown, passage: StoredChunk) -> dict[str, object]:
    chunk = passage.chunk
    first, last = shown.source_lines(chunk)
    return {
        "schema": "ragctl.passage/1",
        "ref": chunk.ref,
        "url": chunk.url,
        "title": shown.page.title,
        "track": chunk.track,
        "section": chunk.section or "",
        "anchor": chunk.anchor or "",
        "link": shown.link(chunk.anchor),
        "position": chunk.position,
        "start_char": chunk.start_char,
        "end_char": chunk.end_char,
        "source": {"path": shown.page.source_path, "first_line": first, "last_line": last},
        "previous": _neighbour_document(_neighbour(shown, passage, -1)),
        "next": _neighbour_document(_neighbour(shown, passage, 1)),
        "breadcrumb": chunk.breadcrumb,
        "body": chunk.body,
        "embedded": {
            "prefix": shown.document_prefix,
            "text": embedded_text(chunk),
            "hash": passage.content_hash,
            "is_current": content_hash(embedded_text(chunk)) == passage.content_hash,
        },
    }


def _neighbour_document(chunk: Chunk | None) -> dict[str, object] | None:
    if chunk is None:
        return None
    return {"ref": chunk.ref, "section": chunk.section or "", "first_words": _first_words(chunk)}


def _page_document(shown: _Shown) -> dict[str, object]:
    page = shown.page
    passages = []
    for passage in shown.passages:
        chunk = passage.chunk
        first, last = shown.source_lines(chunk)
        passages.append(
            {
                "ref": chunk.ref,
                "section": chunk.section or "",
                "anchor": chunk.anchor or "",
                "start_char": chunk.start_char,
                "end_char": chunk.end_char,
                "characters": len(chunk.body),
                "source": {"first_line": first, "last_line": last},
            }
        )
    return {
        "schema": "ragctl.page/1",
        "url": page.url,
        "track": page.track,
        "title": page.title,
        "position": page.position,
        "landing": page.is_landing,
        "link": shown.link(),
        "source_path": page.source_path,
        "sha256": page.sha256,
        "parsed_with": page.parsed_with,
        "words": page.words,
        "text": shown.text.text,
        "passages": passages,
    }
