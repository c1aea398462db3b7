"""The audit finds what was planted, class by class, and nothing in what is sound."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import ragctl
from ragctl.audit.layout import scan
from ragctl.audit.passages import CLASSES, PageAudit, audit_page
from ragctl.audit.removals import missing_lines
from ragctl.files import find, read
from ragctl.protocols import Chunker
from ragctl.records.chunks import Chunk
from ragctl.records.stored import PageText
from ragctl.stages.chunk.fixed import FixedChunker
from ragctl.stages.chunk.structured import StructuredChunker
from ragctl.stages.parse import parse

URL = "/track/page"
TEXT = """\
An introduction that says what the page is about.

## Listings

Before the listing stand some words.

```rust
fn main() {

    println!("hello");
}
```

## Tables & `code`

| name | meaning |
|:-----|--------:|
| one  | first   |
| two  | second  |

### Below

The end of the text, with words enough for a passage of its own."""


def page(text: str = TEXT) -> PageText:
    """A page whose source is its text."""
    return PageText(
        id=1,
        url=URL,
        track="track",
        title="Page",
        source_path="track/page.md",
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        is_landing=False,
        text=text,
        source_lines=list(range(1, text.count("\n") + 2)),
    )


def passage(text: str, begin: str, end: str, section: str | None, anchor: str = "") -> Chunk:
    """A passage from the first ``begin`` of a text to the ``end`` that follows."""
    start = text.index(begin)
    stop = text.index(end, start) + len(end)
    return Chunk(
        url=URL,
        track="track",
        position=start,
        ref=f"{URL}#c{start}",
        section=section,
        anchor=anchor or None,
        breadcrumb="Page",
        start_char=start,
        end_char=stop,
        body=text[start:stop],
    )


def sound() -> list[Chunk]:
    """Passages of the text that nothing is wrong with."""
    return [
        passage(TEXT, "An introduction", "is about.", None),
        passage(TEXT, "## Listings", "}\n```", "Listings", "listings"),
        passage(TEXT, "## Tables", "second  |", "Tables & code", "tables--code"),
        passage(TEXT, "### Below", "of its own.", "Below", "below"),
    ]


def audited(passages: list[Chunk], *, text: str = TEXT, size: int = 300) -> PageAudit:
    """What the audit finds."""
    return audit_page(page(text), passages, source=text.encode(), size=size)


def kinds(passages: list[Chunk], *, text: str = TEXT, size: int = 300) -> Counter[str]:
    """The classes of what the audit finds, with their counts."""
    return Counter(finding.kind for finding in audited(passages, text=text, size=size).findings)


def cut(begin: str, end: str, section: str | None, *, body: str | None = None) -> list[Chunk]:
    """The sound passages, those that overlap with a new one replaced by it."""
    new = passage(TEXT, begin, end, section)
    new = new if body is None else replace(new, body=body)
    kept = [
        old for old in sound() if old.end_char <= new.start_char or old.start_char >= new.end_char
    ]
    return sorted((*kept, new), key=lambda chunk: chunk.start_char)


def test_sound_passages_give_no_finding() -> None:
    audit = audited(sound())
    assert audit.findings == []
    assert audit.source == "compared"


def test_every_class_is_explained() -> None:
    assert len(CLASSES) == 10
    assert all(CLASSES.values())


def test_a_fence_that_is_not_closed_is_found() -> None:
    found = kinds(cut("## Listings", "fn main() {", "Listings"))
    assert found["open_fences"] == 1


def test_a_listing_that_begins_without_its_fence_is_found() -> None:
    found = kinds(cut("    println", "}\n```", "Listings"))
    assert found["open_fences"] == 1
    restored = cut("    println", "}\n```", "Listings")
    body = '```rust\n    println!("hello");\n}\n```'
    restored = [
        replace(chunk, body=body) if "println" in chunk.body else chunk for chunk in restored
    ]
    found = kinds(restored)
    assert found["open_fences"] == 0
    assert found["broken_refs"] == 0


def test_fences_that_balance_by_accident_are_found() -> None:
    text = "```c\nint a;\n\nint b;\n```\n\nWords.\n\n```c\nint c;\n\nint d;\n```"
    found = kinds([passage(text, "int b", "int c;", None)], text=text)
    assert found["open_fences"] == 1


def test_a_fence_within_a_longer_fence_is_text() -> None:
    text = "````md\n```\nnot closed\n````\n\nWords."
    assert kinds([passage(text, "````md", "Words.", None)], text=text) == Counter()


def test_a_fence_in_a_list_item_ends_with_the_item() -> None:
    text = "- ```sh\n  make\n\nWords after it.\n\n## Next\n\nMore words."
    layout = scan(text)
    assert [heading.written for heading in layout.headings] == ["Next"]
    assert not layout.in_fence(text.index("Words"))


def test_marks_in_indented_code_are_no_fence_and_no_heading() -> None:
    text = "Words.\n\n    ```\n    # no heading\n\nMore words."
    assert scan(text).headings == []
    assert kinds([passage(text, "Words.", "More words.", None)], text=text) == Counter()


def test_rows_without_their_header_are_found() -> None:
    found = kinds(cut("| two", "second  |", "Tables & code"))
    assert found["headless_rows"] == 1


def test_rows_behind_a_repeated_header_are_sound() -> None:
    for head in ("| name | meaning |\n|:-----|--------:|\n", "|name|meaning|\n|:-|-:|\n"):
        body = f"{head}| two  | second  |"
        found = kinds(cut("| two", "second  |", "Tables & code", body=body))
        assert found["headless_rows"] == 0
        assert found["broken_refs"] == 0


def test_rows_behind_a_shortened_header_are_found() -> None:
    body = "|name|mean…|\n|:-|-:|\n| two  | second  |"
    found = kinds(cut("| two", "second  |", "Tables & code", body=body))
    assert found["headless_rows"] == 1


def test_rows_carried_over_from_the_passage_before_are_found() -> None:
    body = "| two  | second  |\n\n### Below\n\nThe end of the text"
    found = kinds(cut("### Below", "The end of the text", "Below", body=body))
    assert found["headless_rows"] == 1


def test_a_heading_parted_from_its_text_is_found() -> None:
    found = kinds(cut("An introduction", "## Listings", None))
    assert found["parted_headings"] == 1


def test_a_heading_parted_from_its_subsection_is_found() -> None:
    text = "## Above\n\n### Below\n\nWords."
    passages = [passage(text, "## Above", "Above", "Above")]
    assert kinds(passages, text=text)["parted_headings"] == 1
    text = "## Empty\n\n## Next\n\nWords."
    passages = [passage(text, "## Empty", "Empty", "Empty")]
    assert kinds(passages, text=text)["parted_headings"] == 0


def test_passages_over_and_under_size_are_found() -> None:
    text = "Words. " * 60
    long = passage(text, "Words.", text.strip(), None)
    assert kinds([long], text=text, size=200)["over_size"] == 1
    assert kinds([long], text=text, size=400)["over_size"] == 0
    short = passage(text, "Words.", "Words.", None)
    assert kinds([short], text=text, size=200)["under_size"] == 1


def test_a_short_section_is_not_under_size() -> None:
    text = "## One\n\nTiny.\n\n## Two\n\nTiny too."
    passages = [
        passage(text, "## One", "Tiny.", "One"),
        passage(text, "## Two", "Tiny too.", "Two"),
    ]
    assert kinds(passages, text=text, size=1000) == Counter()


def test_lines_in_no_passage_are_found_by_file_and_line() -> None:
    passages = [chunk for chunk in sound() if chunk.section != "Below"]
    places = [finding.place for finding in audited(passages).findings]
    assert places == ["track/page.md:21", "track/page.md:23"]


def test_a_source_line_that_the_parser_lost_is_found() -> None:
    source = "Kept.\n\nLost in between.\n\nKept too.\n"
    parsed = replace(
        page("Kept.\n\nKept too."),
        sha256=hashlib.sha256(source.encode()).hexdigest(),
        source_lines=[1, 2, 5],
    )
    chunk = passage(parsed.text, "Kept.", "too.", None)
    audit = audit_page(parsed, [chunk], source=source.encode(), size=300)
    assert [finding.place for finding in audit.findings] == ["track/page.md:3"]
    changed = audit_page(parsed, [chunk], source=b"Other text.", size=300)
    assert (changed.source, changed.findings) == ("changed", [])
    assert audit_page(parsed, [chunk], source=None, size=300).source == "missing"


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("front_matter", "---\ntitle: A\n---"),
        ("front_matter", '+++\ntitle = "A"\n+++'),
        ("svg", '<svg viewBox="0 0 1 1">\n  <path d="M0 0"/>\n  text\n</svg>'),
        ("comment", "<!-- a comment\nover two lines -->"),
        ("comment", "{/* of MDX */}"),
        ("tag", '<div class="a">\n</div>'),
        ("tag", '<img src="a.png"\n     alt="b">'),
        ("shortcode", '{{< figure\n  src="a.png" >}}'),
        ("shortcode", "{% include a.html %}"),
        ("shortcode", ":::tip\n:::"),
        ("jsx", "import A from 'a'\nexport const b = {\n  c: 1\n}"),
    ],
)
def test_a_removal_is_told_from_a_loss(kind: str, source: str) -> None:
    lines = source.split("\n")
    reasons = [reason for _, reason in missing_lines([*lines, "Text."], [len(lines) + 1])]
    assert reasons == [kind] * len(lines)


def test_the_underline_of_a_heading_is_a_removal_and_a_rule_after_a_blank_is_not() -> None:
    assert list(missing_lines(["Title", "====="], [1])) == [(2, "underline")]
    assert list(missing_lines(["Text", "", "====="], [1, 2])) == [(3, "")]


def test_a_tag_in_a_listing_is_no_reason_to_leave_a_line_out() -> None:
    lines = ["```html", "<div>", "</div>", "```"]
    assert list(missing_lines(lines, [1, 4])) == [(2, ""), (3, "")]


def test_text_beside_a_tag_is_no_removal() -> None:
    assert list(missing_lines(["<b>bold words</b>", "Text."], [2])) == [(1, "")]


def test_a_label_of_another_heading_is_found() -> None:
    passages = [
        replace(chunk, section="Listings") if chunk.section == "Below" else chunk
        for chunk in sound()
    ]
    assert kinds(passages) == Counter(wrong_labels=1)


def test_a_label_that_covers_the_lesser_part_is_found() -> None:
    text = "## One\n\nShort.\n\n## Two\n\n" + "Words of the second. " * 20 + "The end."
    chunk = passage(text, "## One", "The end.", "One")
    assert kinds([chunk], text=text)["wrong_labels"] == 1
    below = text.replace("## Two", "### Two")
    chunk = passage(below, "## One", "The end.", "One")
    assert kinds([chunk], text=below)["wrong_labels"] == 0


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("A [link](https://a.b/c_(d))", "A link"),
        ("`code` and *emphasis* &amp; more ##", "code and emphasis & more"),
        ("[![badge](a.svg)](b) Name", "badge Name"),
        ("<linux/bpf.h>", "<linux/bpf.h>"),
        ("???", "???"),
    ],
)
def test_a_label_is_compared_as_a_reader_sees_it(written: str, label: str) -> None:
    text = f"## {written}\n\nWords."
    assert kinds([passage(text, "##", "Words.", label)], text=text)["wrong_labels"] == 0
    assert kinds([passage(text, "##", "Words.", "other")], text=text)["wrong_labels"] == 1


def test_a_reference_that_two_passages_have_is_found() -> None:
    twice = [*sound(), sound()[0]]
    assert kinds(twice) == Counter(duplicate_refs=1)


def test_an_anchor_that_two_headings_have_is_found() -> None:
    passages = [replace(chunk, anchor="same" if chunk.anchor else None) for chunk in sound()]
    assert kinds(passages) == Counter(duplicate_anchors=1)


@pytest.mark.parametrize(
    "fault",
    [
        {"ref": "/track/page#c1"},
        {"ref": "/other#c0"},
        {"body": "Other words altogether."},
        {"body": "Words from before.\n\nAn introduction that says what the page is about."},
        {"body": "An introduction  that says what the page is about."},
    ],
)
def test_a_reference_that_does_not_invert_is_found(fault: dict[str, str]) -> None:
    first, *others = sound()
    broken = replace(first, **fault)  # type: ignore[arg-type]
    assert kinds([broken, *others]) == Counter(broken_refs=1)


def test_lost_indentation_is_found() -> None:
    body = '```rust\nprintln!("hello");\n}\n```'
    found = kinds(cut("    println", "}\n```", "Listings", body=body))
    assert found["broken_refs"] == 1


def test_a_landing_page_without_passages_is_counted_and_no_finding() -> None:
    audit = audit_page(replace(page(), is_landing=True), [], source=None, size=300)
    assert audit.findings == []
    assert audit.removed["landing_page"] == 15


def _findings(site: Path, chunker: Chunker, *, size: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for source in find(site).sources:
        parsed = parse(source, read(source))
        stored = PageText(
            id=0,
            url=parsed.url,
            track=parsed.track,
            title=parsed.title,
            source_path=parsed.source_path,
            sha256=parsed.sha256,
            is_landing=False,
            text=parsed.text,
            source_lines=parsed.source_lines,
        )
        audit = audit_page(stored, chunker.chunk(parsed), source=read(source), size=size)
        counts.update(finding.kind for finding in audit.findings)
    return counts


@pytest.mark.corpus
def test_structured_passages_of_the_real_site_have_no_findings(corpus_site: Path) -> None:
    assert _findings(corpus_site, StructuredChunker(), size=1300) == Counter()


def test_structured_passages_of_the_handbook_have_no_findings() -> None:
    handbook = Path(ragctl.__file__).parent / "handbook"
    assert _findings(handbook, StructuredChunker(), size=1300) == Counter()


@pytest.mark.corpus
def test_the_baseline_of_the_real_site_is_far_from_zero(corpus_site: Path) -> None:
    counts = _findings(corpus_site, FixedChunker(size=800, overlap=100), size=800)
    assert counts["open_fences"] > 500
    assert counts["headless_rows"] > 100
    assert counts["parted_headings"] > 300
    assert counts["wrong_labels"] > 200
    assert counts["broken_refs"] > 3000
    assert counts["lost_lines"] == counts["duplicate_refs"] == counts["duplicate_anchors"] == 0


def test_plain_text_has_no_headings_and_no_fences() -> None:
    text = "# no heading\n\n```\n\nwords"
    plain = replace(page(text), source_path="track/page.txt")
    chunk = passage(text, "# no", "words", None)
    assert audit_page(plain, [chunk], source=None, size=300).findings == []


def test_what_stands_in_an_html_block_is_no_heading() -> None:
    text = "<div>\n# no heading\n\n# Heading\n\n<iface>\n# neither\n"
    assert [heading.written for heading in scan(text).headings] == ["Heading"]


def test_a_heading_that_shows_nothing_is_in_force_nowhere() -> None:
    text = "# One\n\nWords.\n\n## ![](picture.png)\n\nMore words."
    assert [heading.written for heading in scan(text).headings] == ["One"]


def test_a_comment_that_is_never_closed_takes_the_lines_to_the_next_blank_one() -> None:
    lines = ["Text.", "", "<!-- open", "still", "", "lost"]
    assert list(missing_lines(lines, [1])) == [(3, "comment"), (4, "comment"), (6, "")]


def test_the_body_may_begin_as_it_goes_on() -> None:
    text = "~~~\n"
    body = "~~~\n~~~"
    chunk = replace(passage(text, "~~~", "~~~", None), body=body)
    assert kinds([chunk], text=text) == Counter()
