"""The disk: which files are pages, at which address, and what is left out and why."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from ragctl.errors import ContentError
from ragctl.files import Found, find, read


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    return root


def urls(found: Found) -> list[str]:
    return [source.url for source in found.sources]


def reasons(found: Found) -> dict[str, tuple[str, bool]]:
    return {note.path: (note.reason, note.intended) for note in found.left_out}


def test_addresses_are_paths_without_extension_and_tracks_first_folders(tmp_path: Path) -> None:
    make(tmp_path, "about.md", "design/22-locks.md", "design/deep/a.MDX", "notes/b.txt")
    make(tmp_path, "notes/c.markdown", "notes/pic.png", ".git/x.md", "node_modules/y.md", "b/.h.md")
    found = find(tmp_path)
    assert [(source.url, source.track) for source in found.sources] == [
        ("/about", "root"),
        ("/design/22-locks", "design"),
        ("/design/deep/a", "design"),
        ("/notes/b", "notes"),
        ("/notes/c", "notes"),
    ]
    assert found.left_out == ()
    assert found.sources[0].path == "about.md"
    assert found.sources[0].size_bytes == len(read(found.sources[0]))


@pytest.mark.parametrize(
    ("names", "index", "url", "is_landing"),
    [
        (("d/index.md", "d/a.md"), "d/index.md", "/d", True),
        (("d/README.md", "d/e/a.md"), "d/README.md", "/d", True),
        (("d/_index.md",), "d/_index.md", "/d", True),
        (("d/note/index.md", "d/note/pic.png"), "d/note/index.md", "/d/note", False),
        (("d/note/index.mdx", "d/a.md"), "d/note/index.mdx", "/d/note", False),
        (("index.md", "d/a.md"), "index.md", "/", True),
        (("d/index.md", "d/README.md"), "d/README.md", "/d/README", False),
    ],
)
def test_index_files_are_landing_pages_where_they_introduce_others(
    tmp_path: Path, names: tuple[str, ...], index: str, url: str, is_landing: bool
) -> None:
    found = find(make(tmp_path, *names))
    source = next(source for source in found.sources if source.path == index)
    assert (source.url, source.is_landing) == (url, is_landing)


def test_of_two_files_with_one_address_the_second_is_left_out(tmp_path: Path) -> None:
    found = find(make(tmp_path, "d/a.md", "d/a.mdx", "e.md", "e/_index.md", "e/b.md"))
    assert urls(found) == ["/d/a", "/e", "/e/b"]
    assert reasons(found)["d/a.mdx"] == ("gives the same address as d/a.md: /d/a", False)
    assert reasons(found)["e/_index.md"] == ("gives the same address as e.md: /e", False)


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("drafts/*", ["/a/drafts/y", "/b/old-z", "/old-w"]),
        ("drafts", ["/b/old-z", "/old-w"]),
        ("**/old-*.md", ["/a/drafts/y", "/drafts/x"]),
        ("old-*.md", ["/a/drafts/y", "/drafts/x"]),
        ("/old-?.md", ["/a/drafts/y", "/b/old-z", "/drafts/x"]),
        ("b/", ["/a/drafts/y", "/drafts/x", "/old-w"]),
        ("a/**", ["/b/old-z", "/drafts/x", "/old-w"]),
    ],
)
def test_exclude_patterns_work_as_in_gitignore(
    tmp_path: Path, pattern: str, left: list[str]
) -> None:
    make(tmp_path, "drafts/x.md", "a/drafts/y.md", "b/old-z.md", "old-w.md")
    found = find(tmp_path, exclude=[pattern])
    assert sorted(urls(found)) == left
    assert found.left_out and all(note.intended for note in found.left_out)


def test_a_subfolder_and_tracks_limit_what_is_returned(tmp_path: Path) -> None:
    make(tmp_path, "a/x.md", "a/in/y.md", "ab/z.md", "w.md")
    assert urls(find(tmp_path, below=tmp_path / "a")) == ["/a/in/y", "/a/x"]
    assert urls(find(tmp_path, below=Path("a/in"))) == ["/a/in/y"]
    assert urls(find(tmp_path, tracks=["ab", "root"])) == ["/ab/z", "/w"]
    with pytest.raises(ContentError, match="not inside"):
        find(tmp_path / "a", below=tmp_path / "ab")
    with pytest.raises(ContentError) as caught:
        find(tmp_path, tracks=["nope"])
    assert "a, ab, root" in caught.value.hint


def test_links_never_leave_the_root_nor_loop(tmp_path: Path) -> None:
    outside = make(tmp_path / "outside", "secret.md", "s.md")
    root = make(tmp_path / "site", "a/x.md")
    (root / "a" / "up").symlink_to(root)
    (root / "a" / "again").symlink_to(root / "a")
    (root / "out").symlink_to(outside)
    (root / "out.md").symlink_to(outside / "secret.md")
    (root / "gone.md").symlink_to(root / "nothing.md")
    (root / "self.md").symlink_to(root / "self.md")
    (root / "copy.md").symlink_to(root / "a" / "x.md")
    (root / "alias").symlink_to(root / "a")
    found = find(root)
    assert urls(found) == ["/a/x", "/copy"]
    notes = reasons(found)
    assert notes.pop("alias") == ("symbolic link to a folder that is read as a", True)
    assert sorted(notes) == ["a/again", "a/up", "gone.md", "out", "out.md", "self.md"]
    assert not any(intended for _, intended in notes.values())


def test_decomposed_names_give_composed_addresses(tmp_path: Path) -> None:
    name = unicodedata.normalize("NFD", "größe")
    source = find(make(tmp_path, f"{name}/{name}.md")).sources[0]
    assert source.url == "/größe/größe" and source.track == "größe"
    assert read(source)


def test_names_with_newlines_and_foreign_bytes_are_read(tmp_path: Path) -> None:
    make(tmp_path, "two\nlines.md")
    (tmp_path / os.fsdecode(b"bad\xff.md")).write_bytes(b"text")
    found = find(tmp_path)
    assert urls(found) == ["/bad\ufffd", "/two\ufffdlines"]
    assert read(found.sources[0]) == b"text"


def test_files_that_look_like_pages_are_mentioned(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.rst", "c.html")
    os.mkfifo(tmp_path / "pipe.md")
    notes = reasons(find(tmp_path))
    assert notes["b.rst"] == (".rst files are not read", False)
    assert notes["c.html"] == (".html files are not read", True)
    assert notes["pipe.md"] == ("not a regular file", False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_files_and_folders_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.md", "c/d.md")
    (tmp_path / "b.md").chmod(0)
    (tmp_path / "c").chmod(0)
    try:
        assert sorted(reasons(find(tmp_path))) == ["b.md", "c"]
    finally:
        (tmp_path / "c").chmod(0o700)


def test_a_folder_that_is_none_or_holds_nothing_is_explained(tmp_path: Path) -> None:
    make(tmp_path, "site/src/content/a.md", "site/empty/x.png", "file.md")
    with pytest.raises(ContentError, match="no such folder") as absent:
        find(tmp_path / "site" / "conten")
    assert str(tmp_path / "site" / "src" / "content") in absent.value.hint
    with pytest.raises(ContentError, match="not a folder"):
        find(tmp_path / "file.md")
    with pytest.raises(ContentError, match=r"no pages \(\.md") as empty:
        find(tmp_path / "site" / "empty")
    assert str(tmp_path / "site" / "src" / "content") in empty.value.hint
    with pytest.raises(ContentError, match="excluded"):
        find(tmp_path / "site" / "src", exclude=["content"])


def test_a_file_that_went_away_is_named(tmp_path: Path) -> None:
    source = find(make(tmp_path, "a.md")).sources[0]
    source.absolute.unlink()
    with pytest.raises(ContentError, match=r"a\.md"):
        read(source)


@pytest.mark.corpus
def test_the_real_site_has_97_pages_and_3_landing_pages(corpus_site: Path) -> None:
    found = find(corpus_site)
    assert len(found.sources) == 100 and not found.left_out
    assert [source.url for source in found.sources if source.is_landing] == [
        "/dsa",
        "/gpu",
        "/kernel",
    ]


def test_a_file_too_large_for_a_page_is_left_out_unread(tmp_path: Path) -> None:
    make(tmp_path, "a.md")
    for name, megabytes in (("dump.md", 17), ("large.md", 16)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(megabytes * 2**20)
    found = find(tmp_path)
    assert urls(found) == ["/a", "/large"]
    assert reasons(found) == {"dump.md": ("larger than 16 MB: it is no page to read", False)}
