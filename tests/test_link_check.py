"""Links followed on sites that real generators built; see tests/data/built/README.md."""

from __future__ import annotations

import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragctl.errors import ContentError
from ragctl.files import find, read
from ragctl.link_check import follow_links, read_page
from ragctl.records.links import LinkReport, LinkStyle, StoredLink
from ragctl.records.pages import UrlStyle
from ragctl.stages.parse import parse
from ragctl.stages.parse.sluggers import SLUGGERS

BUILT = Path(__file__).parent / "data" / "built"


def links_of(content: Path, slugs: str) -> list[StoredLink]:
    """Return the links of a content folder as the database would give them."""
    links = []
    for source in find(content).sources:
        page = parse(source, read(source), slugger=SLUGGERS[slugs])
        sections: list[tuple[str | None, str | None]] = [(None, None)]
        sections += [(heading.anchor, heading.label) for heading in page.headings]
        links += [
            StoredLink(url=page.url, source_path=page.source_path, anchor=anchor, section=section)
            for anchor, section in sections
        ]
    return links


def follow(dist: Path, slugs: str, style: UrlStyle) -> LinkReport:
    links = links_of(BUILT / "content", slugs)
    return follow_links(links, dist, style=LinkStyle(base_url="https://x.example", url_style=style))


def site(folder: Path, pages: dict[str, str]) -> Path:
    for path, text in pages.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def link(url: str, anchor: str | None = None, section: str | None = None) -> StoredLink:
    return StoredLink(url=url, source_path=f"{url[1:]}.md", anchor=anchor, section=section)


TWO_LINES = "/harbour/01-signals", "Two lines of a heading"  # no heading for Python-Markdown


@pytest.mark.parametrize(
    ("built", "slugs", "style", "dead"),
    [
        ("hugo-0.168.0", "hugo", "slash", set()),
        ("hugo-0.168.0", "hugo", "plain", set()),
        ("hugo-0.111.3", "hugo-source", "slash", set()),
        ("mkdocs-1.6.1", "mkdocs", "slash", {TWO_LINES}),
        ("mkdocs-1.6.1", "mkdocs", "plain", {TWO_LINES}),
        ("mkdocs-1.6.1-unicode", "mkdocs-unicode", "slash", {TWO_LINES}),
        ("mkdocs-1.6.1-html", "mkdocs", "html", {TWO_LINES}),
        ("hugo-0.168.0-ugly", "hugo", "plain", set()),
        (
            "hugo-0.168.0-ugly",
            "hugo",
            "html",
            {("/harbour/berths", None), ("/harbour/berths", "Where to moor")},
        ),
    ],
)
def test_every_link_lands_with_the_rules_of_the_generator(
    built: str, slugs: str, style: UrlStyle, dead: set[tuple[str, str | None]]
) -> None:
    report = follow(BUILT / built, slugs, style)
    assert report.checked == 21
    assert {(link.url, link.section) for link in report.dead} == dead


@pytest.mark.parametrize(
    ("built", "slugs", "count"),
    [
        ("hugo-0.168.0", "github", 3),
        ("hugo-0.168.0", "mkdocs", 9),
        ("hugo-0.111.3", "hugo", 4),
        ("mkdocs-1.6.1", "github", 9),
    ],
)
def test_the_rules_of_another_generator_are_found_out(built: str, slugs: str, count: int) -> None:
    report = follow(BUILT / built, slugs, "slash")
    assert len(report.dead) == count
    assert {link.fault for link in report.dead} <= {"anchor missing", "other heading"}


def test_the_heading_of_the_same_words_is_named_in_place_of_a_dead_anchor() -> None:
    report = follow(BUILT / "mkdocs-1.6.1", "github", "slash")
    hints = {link.section: (link.link, link.fault, link.hint) for link in report.dead}
    assert hints["Größe der Lampen"] == (
        "/harbour/01-signals/#gr%C3%B6%C3%9Fe-der-lampen",
        "anchor missing",
        "#groe-der-lampen",
    )


@pytest.mark.parametrize(
    ("built", "style", "fits"),
    [
        ("mkdocs-1.6.1-html", "slash", "html"),
        ("hugo-0.168.0", "html", "slash"),
    ],
)
def test_another_style_of_addresses_is_found_out_and_the_right_one_named(
    built: str, style: UrlStyle, fits: str
) -> None:
    report = follow(BUILT / built, "hugo", style)
    gates = [link for link in report.dead if link.url == "/harbour/locks/02-gates"]
    assert [link.fault for link in gates] == ["page missing"] * 3
    assert f"site.url_style = '{fits}'" in gates[0].hint or "'plain'" in gates[0].hint


def test_an_anchor_that_opens_another_heading_does_not_land(tmp_path: Path) -> None:
    body = '<h2 id="notes">Release <em>notes</em></h2><h2 id="notes-1">Notes</h2>'
    dist = site(tmp_path, {"a.html": body})
    links = [
        link("/a"),
        link("/a", "notes", "Notes"),
        link("/a", "notes-1", "Notes"),
        link("/a", "notes", "Not on the page at all"),
    ]
    report = follow_links(links, dist, style=LinkStyle())
    assert [(dead.anchor, dead.fault, dead.hint) for dead in report.dead] == [
        ("notes", "other heading", "#notes-1")
    ]


def test_ids_count_wherever_they_stand_and_names_of_anchors_too(tmp_path: Path) -> None:
    pages = {
        "a.html": "<section id=one><h2>One</h2></section><a name='two'></a><H2>Two</H2>"
        '<h2 title="a > b" ID="three">Three</h2><p name="not">x</p>',
        "b/index.html": '<h2 id="größe">x</h2><h2 id="a&amp;b">x</h2>',
    }
    anchors = {"/a": ["one", "two", "three", "not"], "/b": ["größe", "a&b", "One"]}
    links = [link(url, anchor) for url, named in anchors.items() for anchor in (None, *named)]
    report = follow_links(links, site(tmp_path, pages), style=LinkStyle())
    assert [dead.anchor for dead in report.dead] == ["not", "One"]


def test_ids_in_comments_scripts_and_shown_code_are_none() -> None:
    page = read_page(
        '<!-- <p id="a"> --><script>x = \'<p id="b">\'</script><style>/* <p id="c"> */</style>'
        '<pre>&lt;p id="d"&gt; id="e"</pre><textarea id="f"><p id="g"></textarea><p data-id="h">'
        "<!-- <p id='i'>"
    )
    assert page.ids == set() or page.ids == {"f"}


def test_a_page_that_moved_is_found_by_its_name(tmp_path: Path) -> None:
    dist = site(tmp_path, {"docs/Gate/index.html": "<p>x</p>"})
    report = follow_links([link("/guide/gate")], dist, style=LinkStyle())
    assert [dead.hint for dead in report.dead] == ["docs/Gate/index.html is there"]


@pytest.mark.parametrize("pages", [{}, {"style.css": "x"}])
def test_a_folder_without_html_is_an_error(pages: dict[str, str], tmp_path: Path) -> None:
    folder = site(tmp_path / "dist", pages)
    with pytest.raises(ContentError, match=r"no such folder|no HTML"):
        follow_links([link("/a")], folder, style=LinkStyle())


class _Reference(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(reversed(attrs))
        found = values.get("id") or (values.get("name") if tag == "a" else "")
        if found:
            self.ids.add(found)


PIECES = st.sampled_from(
    ["<p", "<a", "<h2", ' id="x"', " id='y'", " id=z", ' name="n"', " data-id=q", ' title="a>b"',
     ">", "</h2>", "</p>", "text", "&lt;", "&amp;", "<!-- ", " -->", "<br/>", "\n", ' id="a&amp;b"']
)  # fmt: skip


@given(st.lists(PIECES, max_size=14).map("".join))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_tags_are_read_as_the_standard_library_reads_them(text: str) -> None:
    complete = f"<p>{text}></p>-->"
    reference = _Reference()
    reference.feed(complete)
    reference.close()
    assert read_page(complete).ids == reference.ids


def test_a_thousand_pages_take_seconds_at_most(tmp_path: Path) -> None:
    section = '<h2 id="part-{0}">Part {0}</h2><p class="x">' + "word <b>word</b> " * 60 + "</p>"
    page = "<!doctype html><body>" + "".join(section.format(number) for number in range(30))
    dist = site(tmp_path, {f"p{number}/index.html": page for number in range(1000)})
    links = [
        link(f"/p{number}", anchor)
        for number in range(1000)
        for anchor in (None, *(f"part-{part}" for part in range(31)))
    ]
    began = time.perf_counter()
    report = follow_links(links, dist, style=LinkStyle(url_style="slash"))
    assert time.perf_counter() - began < 8
    assert (report.checked, len(report.dead)) == (32_000, 1000)
