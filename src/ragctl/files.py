"""The disk: which files of a content folder are pages, at which address, and their bytes."""

from __future__ import annotations

import importlib.util
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ragctl.errors import ContentError
from ragctl.records.pages import ROOT_TRACK, LeftOut, SourceFile

SUFFIXES = (".md", ".markdown", ".mdx", ".txt")
_OTHER_PAGE_SUFFIXES = (".rst", ".adoc", ".asciidoc", ".org", ".ipynb")
_ATTACHMENT_SUFFIXES = (".html", ".htm")
_PDF = ".pdf"
_LARGEST_TEXT_BYTES: Final = 16 * 2**20
_LARGEST_PDF_BYTES: Final = 256 * 2**20


def page_suffixes() -> tuple[str, ...]:
    """Return the suffixes of files that are read: PDF only where the extra ``pdf`` is installed."""
    return (*SUFFIXES, _PDF) if importlib.util.find_spec("pypdf") else SUFFIXES


_SKIPPED_FOLDERS = frozenset(("node_modules",))
_LIKELY_FOLDERS = (
    "src/content",
    "website/src/content",
    "content",
    "docs",
    "posts",
    "pages",
    "blog",
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The pages of a content folder, sorted by path, and the files that give none, with reasons."""

    sources: tuple[SourceFile, ...]
    left_out: tuple[LeftOut, ...]


def find(
    root: Path,
    *,
    below: Path | None = None,
    tracks: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Found:
    """Return the pages below ``root``.

    A page's address is its path without the extension; its track is the first folder, ``root``
    for files that lie directly in the root. ``_index`` is the landing page of its folder;
    ``index`` and ``README`` are where the folder holds other pages, else they are the page.
    Hidden files and ``node_modules`` are passed over; symbolic links never leave the root.

    ``below`` (absolute, or relative to the root) and ``tracks`` limit what is returned.
    ``exclude`` holds patterns as in ``.gitignore``, relative to the root: ``*`` and ``?`` stay
    within a name, ``**`` crosses folders, a pattern without ``/`` fits a name at any depth, and
    one that fits a folder covers all that is below it.

    Raises :class:`~ragctl.errors.ContentError` where there is no such folder or no page in it.
    """
    root = _checked_root(root)
    prefix = "" if below is None else _checked_below(root, below)
    walk = _Walk(root, tuple(_compiled(pattern) for pattern in exclude))
    walk.run()
    sources, left_out = _addressed(walk)
    covered = [source for source in sources if source.path.startswith(prefix)]
    covered = [source for source in covered if not tracks or source.track in tracks]
    if not covered:
        raise _nothing_found(root, prefix, tracks, sources, bool(walk.excluded))
    notes = [note for note in left_out if note.path.startswith(prefix)]
    if tracks:
        notes = [note for note in notes if _track_of(note.path) in tracks]
    return Found(sources=tuple(covered), left_out=tuple(notes))


def read(source: SourceFile) -> bytes:
    """Return a file's bytes; raises :class:`~ragctl.errors.ContentError` if it is unreadable."""
    try:
        return source.absolute.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ContentError(
            f"cannot read {source.path}: {reason}", hint="check its rights"
        ) from error


def _checked_root(root: Path) -> Path:
    try:
        resolved = root.resolve(strict=True)
        is_folder = resolved.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise ContentError(f"no such folder: {_clean(str(root))}", hint=_guess(root)) from error
    if not is_folder:
        hint = f"give the folder it lies in: {_clean(str(root.parent))}"
        raise ContentError(f"not a folder: {_clean(str(root))}", hint=hint)
    return resolved


def _checked_below(root: Path, below: Path) -> str:
    """Return the prefix of the paths below a subfolder, empty for the root itself."""
    try:
        resolved = (below if below.is_absolute() else root / below).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise ContentError(
            f"no such folder: {_clean(str(below))}", hint="check its name below the content root"
        ) from error
    if not resolved.is_relative_to(root):
        raise ContentError(
            f"{_clean(str(below))} is not inside {_clean(str(root))}",
            hint="name a folder below the content root",
        )
    if not resolved.is_dir():
        raise ContentError(
            f"not a folder: {_clean(str(below))}", hint="name a folder below the content root"
        )
    relative = resolved.relative_to(root).as_posix()
    return "" if relative == "." else _clean(relative) + "/"


def _nothing_found(
    root: Path, prefix: str, tracks: Sequence[str], sources: list[SourceFile], excluded: bool
) -> ContentError:
    place = _clean(str(root / prefix))
    looked_for = ", ".join(SUFFIXES)
    if sources and tracks:
        known = ", ".join(sorted({source.track for source in sources}))
        return ContentError(f"no page in track {', '.join(tracks)}", hint=f"tracks here: {known}")
    if excluded and not sources:
        return ContentError(
            f"every page in {place} is excluded", hint="look at the exclude patterns"
        )
    return ContentError(f"no pages ({looked_for}) in {place}", hint=_guess(root))


def _guess(root: Path) -> str:
    """Name the nearest folder with pages among the usual ones, at, above or below ``root``."""
    for base in [root, *list(root.parents)[:3]]:
        for name in _LIKELY_FOLDERS:
            folder = base / name
            try:
                if folder.is_dir() and folder.resolve() != root.resolve() and _has_page(folder):
                    return f"did you mean {_clean(str(folder))}?"
            except OSError:
                continue
    return "give the folder that holds the site's markdown, such as website/src/content"


def _has_page(folder: Path) -> bool:
    entries = list(folder.glob("*"))[:1000] + list(folder.glob("*/*"))[:1000]
    return any(_suffix(entry.name) in SUFFIXES for entry in entries)


def _compiled(pattern: str) -> re.Pattern[str]:
    """Translate one exclude pattern; what it fits is a path or the head of one."""
    text = pattern.strip().removeprefix("./").rstrip("/")
    anchored = "/" in text
    text = text.lstrip("/")
    pieces: list[str] = []
    index = 0
    while index < len(text):
        if text.startswith("**/", index):
            pieces.append("(?:[^/]+/)*")
            index += 3
        elif text.startswith("**", index):
            pieces.append(".*")
            index += 2
        else:
            mark = text[index]
            pieces.append({"*": "[^/]*", "?": "[^/]"}.get(mark, re.escape(mark)))
            index += 1
    head = "" if anchored else "(?:.*/)?"
    return re.compile(head + "".join(pieces) + r"(?:/.*)?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    absolute: Path
    size_bytes: int
    mtime_ns: int


@dataclass(slots=True)
class _Walk:
    """Goes through the folders below a root; links to folders come last, each folder once."""

    root: Path
    patterns: tuple[re.Pattern[str], ...]
    suffixes: tuple[str, ...] = field(default_factory=page_suffixes)
    files: list[_File] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    excluded: int = 0
    _folders: dict[Path, str] = field(default_factory=dict)
    _links: list[tuple[Path, str]] = field(default_factory=list)

    def run(self) -> None:
        """Fill ``files`` and ``left_out``."""
        self._folder(self.root, "")
        while self._links:
            self._linked_folder(*self._links.pop(0))

    def _folder(self, folder: Path, path: str) -> None:
        pending = [(folder, path)]
        while pending:
            folder, path = pending.pop()
            self._folders[folder.resolve()] = path
            for entry in self._entries(folder, path):
                inner = f"{path}/{entry.name}" if path else entry.name
                if entry.name.startswith(".") or self._is_excluded(inner, entry):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED_FOLDERS:
                        pending.append((Path(entry.path), inner))
                else:
                    self._entry(Path(entry.path), inner, is_link=entry.is_symlink())

    def _entries(self, folder: Path, path: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if folder == self.root:
                reason = error.strerror or type(error).__name__
                raise ContentError(
                    f"cannot read {_clean(str(folder))}: {reason}", hint="check its rights"
                ) from error
            self._leave_out(path, f"folder cannot be read: {error.strerror}")
            return []

    def _is_excluded(self, path: str, entry: os.DirEntry[str]) -> bool:
        if not any(pattern.match(_clean(path)) for pattern in self.patterns):
            return False
        if entry.is_dir(follow_symlinks=False) or _suffix(entry.name) in self.suffixes:
            self.excluded += 1
            self._leave_out(path, "excluded", intended=True)
        return True

    def _entry(self, file: Path, path: str, *, is_link: bool) -> None:
        suffix = _suffix(file.name)
        is_page = suffix in self.suffixes
        if is_link:
            target = _resolved(file)
            if target is None:
                if is_page or not suffix:
                    self._leave_out(path, "symbolic link leads nowhere, or to itself")
                return
            if target.is_dir():
                self._links.append((file, path))
                return
            if is_page and not target.is_relative_to(self.root):
                self._leave_out(path, "symbolic link leaves the content root")
                return
        if is_page:
            self._page(file, path)
        elif suffix in _OTHER_PAGE_SUFFIXES:
            self._leave_out(path, f"{suffix} files are not read")
        elif suffix == _PDF:
            self._leave_out(path, "PDF, read where the extra pdf is installed", intended=True)
        elif suffix in _ATTACHMENT_SUFFIXES:
            self._leave_out(path, f"{suffix} files are not read", intended=True)

    def _page(self, file: Path, path: str) -> None:
        try:
            status = file.stat()
        except OSError as error:
            self._leave_out(path, f"cannot be read: {error.strerror}")
            return
        if not stat.S_ISREG(status.st_mode):
            self._leave_out(path, "not a regular file")
        elif not os.access(file, os.R_OK):
            self._leave_out(path, "cannot be read: permission denied")
        elif status.st_size > largest_bytes(file.name):
            limit = largest_bytes(file.name) // 2**20
            self._leave_out(path, f"larger than {limit} MB: it is no page to read")
        else:
            self.files.append(_File(path, file, status.st_size, status.st_mtime_ns))

    def _linked_folder(self, link: Path, path: str) -> None:
        target = _resolved(link)
        if target is None or not target.is_relative_to(self.root):
            self._leave_out(path, "symbolic link leaves the content root")
        elif link.parent.resolve().is_relative_to(target):
            self._leave_out(path, "symbolic link loops: it leads to a folder that it lies in")
        elif target in self._folders:
            read_as = self._folders[target] or "the content root"
            reason = f"symbolic link to a folder that is read as {_clean(read_as)}"
            self._leave_out(path, reason, intended=True)
        else:
            self._folder(link, path)

    def _leave_out(self, path: str, reason: str, *, intended: bool = False) -> None:
        self.left_out.append(LeftOut(path=_clean(path), reason=reason, intended=intended))


def largest_bytes(name: str) -> int:
    """Return how large a page may be: text is held in memory several times over, a PDF is not."""
    return _LARGEST_PDF_BYTES if _suffix(name) == _PDF else _LARGEST_TEXT_BYTES


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError):
        return None


def _suffix(name: str) -> str:
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


def _stem(name: str) -> str:
    return name[: name.rfind(".")]


def _clean(text: str) -> str:
    """Return a path's text as it can be stored and printed; undecodable bytes become U+FFFD."""
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _CONTROL.sub("\ufffd", decoded)


def _track_of(path: str) -> str:
    first, slash, _ = path.partition("/")
    return unicodedata.normalize("NFC", first) if slash else ROOT_TRACK


def _addressed(walk: _Walk) -> tuple[list[SourceFile], list[LeftOut]]:
    """Give each file its address; of two files with the same one the second is left out."""
    files = sorted(walk.files, key=lambda file: _clean(file.path))
    introduced = _folders_with_pages(files)
    left_out = list(walk.left_out)
    taken: dict[str, str] = {}
    sources: list[SourceFile] = []
    for file in files:
        folder, _, name = _clean(file.path).rpartition("/")
        is_index = _introduces(_stem(name), folder, introduced)
        shown = name if _suffix(name) == _PDF else _stem(name)
        address = folder if is_index else f"{folder}/{shown}".lstrip("/")
        url = unicodedata.normalize("NFC", f"/{address}")
        path = _clean(file.path)
        if url in taken:
            reason = f"gives the same address as {taken[url]}: {url}"
            left_out.append(LeftOut(path=path, reason=reason, intended=False))
            continue
        taken[url] = path
        is_landing = is_index and (_stem(name).lower() == "_index" or introduced[folder].has_others)
        sources.append(
            SourceFile(
                path=path,
                absolute=file.absolute,
                url=url,
                track=_track_of(path),
                is_landing=is_landing,
                size_bytes=file.size_bytes,
                mtime_ns=file.mtime_ns,
            )
        )
    return sources, sorted(left_out, key=lambda note: note.path)


@dataclass(slots=True)
class _Folder:
    """What a folder holds: other pages than its index (in it or below), and which index it has."""

    has_others: bool = False
    has_index: bool = False


def _folders_with_pages(files: list[_File]) -> dict[str, _Folder]:
    folders: dict[str, _Folder] = {}
    for file in files:
        folder, _, name = _clean(file.path).rpartition("/")
        stem = _stem(name).lower()
        here = folders.setdefault(folder, _Folder())
        if stem in ("index", "_index"):
            here.has_index = True
        elif stem != "readme":
            here.has_others = True
        for parent in _parents(folder):
            folders.setdefault(parent, _Folder()).has_others = True
    return folders


def _parents(folder: str) -> Iterator[str]:
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder


def _introduces(stem: str, folder: str, folders: dict[str, _Folder]) -> bool:
    """Whether a file has the address of its folder; a README beside an index has its own."""
    lowered = stem.lower()
    return lowered in ("index", "_index") or (lowered == "readme" and not folders[folder].has_index)
