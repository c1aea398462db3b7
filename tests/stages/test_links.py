"""Links of pages and sections in the styles that sites publish."""

from __future__ import annotations

import pytest

from ragctl.records.links import LinkStyle
from ragctl.records.pages import UrlStyle
from ragctl.stages.links import is_folder_index, link_to, page_link


@pytest.mark.parametrize(
    ("url", "anchor", "base", "link"),
    [
        ("/a/b", None, "", "/a/b"),
        ("/a/b", "part-1", "", "/a/b#part-1"),
        ("/a/b", "part", "https://s.example/", "https://s.example/a/b#part"),
        ("/a/b c", "größe", "https://s.example/x", "https://s.example/x/a/b%20c#gr%C3%B6%C3%9Fe"),
        ("/a/b?c#d", None, "", "/a/b%3Fc%23d"),
    ],
)
def test_a_link_opens_page_and_section(url: str, anchor: str | None, base: str, link: str) -> None:
    assert page_link(url, anchor, base_url=base) == link


@pytest.mark.parametrize(
    ("style", "page", "landing", "bundle", "root"),
    [
        ("plain", "/a/b#s", "/a#s", "/a/c#s", "/#s"),
        ("slash", "/a/b/#s", "/a/#s", "/a/c/#s", "/#s"),
        ("html", "/a/b.html#s", "/a/index.html#s", "/a/c/index.html#s", "/index.html#s"),
    ],
)
def test_pages_and_folders_are_addressed_as_the_site_publishes_them(
    style: UrlStyle, page: str, landing: str, bundle: str, root: str
) -> None:
    links = LinkStyle(url_style=style)
    assert link_to(links, "/a/b", "a/b.md", "s") == page
    assert link_to(links, "/a", "a/_index.md", "s") == landing
    assert link_to(links, "/a/c", "a/c/index.md", "s") == bundle
    assert link_to(links, "/", "index.md", "s") == root
    based = LinkStyle(base_url="https://s.example/docs/", url_style=style)
    assert link_to(based, "/a/b", "a/b.md", "s") == f"https://s.example/docs{page}"
    assert link_to(based, "/", "index.md", "s") == f"https://s.example/docs{root}"


@pytest.mark.parametrize(
    ("url", "source_path", "expected"),
    [
        ("/", "_index.md", True),
        ("/", "README.md", True),
        ("/a", "a/README.md", True),
        ("/a", "a.md", False),
        ("/a/readme", "a/readme.md", False),
        ("/caf\u00e9", "cafe\u0301/index.md", True),
    ],
)
def test_a_page_with_the_address_of_its_folder_is_its_index(
    url: str, source_path: str, expected: bool
) -> None:
    assert is_folder_index(url, source_path) is expected
