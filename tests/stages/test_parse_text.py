"""Parsing: what stays in a page's text, what goes, and how each line is accounted for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragctl.records.pages import Page, SourceFile
from ragctl.stages.parse import parse


def page_of(text: str | bytes, name: str = "harbour.md") -> Page:
    data = text if isinstance(text, bytes) else text.encode()
    source = SourceFile(
        path=name,
        absolute=Path(name),
        url="/" + name.rpartition(".")[0],
        track="root",
        is_landing=False,
        size_bytes=len(data),
        mtime_ns=0,
    )
    return parse(source, data)


def labels(page: Page) -> list[str]:
    return [heading.label for heading in page.headings]


def assert_consistent(page: Page, lines: int) -> None:
    """Every source line is kept or counted, and headings and lines point where they say."""
    kept = set(page.source_lines)
    for removal in page.removals:
        assert 1 <= removal.first_line <= removal.last_line <= lines
        kept.update(range(removal.first_line, removal.last_line + 1))
    assert kept == set(range(1, lines + 1))
    assert len(page.source_lines) == (page.text.count("\n") + 1 if page.text else 0)
    assert list(page.source_lines) == sorted(page.source_lines)
    anchors = [heading.anchor for heading in page.headings]
    assert len(set(anchors)) == len(anchors)
    for heading in page.headings:
        assert heading.start_char == 0 or page.text[heading.start_char - 1] == "\n"
        index = page.text.count("\n", 0, heading.start_char)
        assert page.source_lines[index] == heading.line
        assert heading.label


@pytest.mark.parametrize("keep", ["<linux/tcp.h>", "Vec<u16>", "<pid>", "if (n<b && c>d)", "a < b"])
def test_angle_brackets_that_are_no_tags_stay(keep: str) -> None:
    assert keep in page_of(f"Use {keep} here, <b>boldly</b>.").text


@pytest.mark.parametrize(
    "code", ["`<b>x</b>`", "``a ` <br>``", "```\n<p>x</p>\n```", "    <i>x</i>"]
)
def test_tags_inside_code_stay(code: str) -> None:
    assert code in page_of(f"Text.\n\n{code}\n\nMore.").text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a <b>bold</b> word", "a bold word"),
        ("one<br>two", "one two"),
        ("one<br/>\ntwo", "one\ntwo"),
        ("H<sub>2</sub>O", "H2O"),
        ('see <a href="/x?a=1&b=2">this</a>', "see this"),
        ("see <a href=https://x.test/w?v=1>this</a>", "see this"),
        ("<p>first</p><p>second</p>", "first  second"),
        ("escaped \\<b> stays", "escaped \\<b> stays"),
        ("drop <table> now", "drop <table> now"),
        ("x <b and c> y", "x <b and c> y"),
        ("a [link](<b>) here", "a [link](<b>) here"),
        ("write `<b>` or <em>so</em>", "write `<b>` or so"),
    ],
)
def test_known_tags_go_and_their_words_stay_apart(written: str, read: str) -> None:
    assert page_of(written).text == read


def test_a_line_that_held_only_tags_is_dropped_and_counted() -> None:
    page = page_of("one\n\n<div>\n\ntwo\n\n</div>\n")
    assert page.text == "one\n\n\ntwo"
    assert [(r.first_line, r.kind) for r in page.removals] == [(3, "tag"), (6, "blank"), (7, "tag")]


def test_texts_around_a_dropped_line_stay_two_paragraphs() -> None:
    assert page_of("one\n<!-- note -->\ntwo").text == "one\n\ntwo"


def test_svg_goes_with_all_that_is_in_it_blank_lines_code_and_nested_svg() -> None:
    svg = "<svg viewBox='0 0 1 1'>\n\n    <g/>\n\n# no heading\n<svg><g/></svg>\n</SVG>"
    page = page_of(f"# Chart\n\nBefore {svg} after.\n\nEnd.")
    assert page.text == "# Chart\n\nBefore \n after.\n\nEnd."
    assert labels(page) == ["Chart"]
    assert_consistent(page, 11)


def test_unclosed_svg_costs_its_tags_only_and_is_reported() -> None:
    page = page_of("Before.\n\n<svg>\n<path d='M0'/>\n<text>mark</text>\n\nThe prose goes on.\n")
    assert page.text.endswith("The prose goes on.") and "path" not in page.text
    assert page.warnings == (
        "harbour.md:3: <svg> is never closed: only the tags that follow it were removed",
    )


def test_svg_in_a_listing_is_text() -> None:
    text = "```html\n<svg><g/></svg>\n```\n\nThe `<svg>` element."
    assert page_of(text).text == text


def test_headings_in_comments_are_gone_and_later_ones_are_not() -> None:
    page = page_of("<!--\n\n# Hidden\n\n```\n-->\n\n# Shown\n\nText <!-- aside --> here.")
    assert labels(page) == ["Shown"]
    assert page.text == "# Shown\n\nText  here."


def test_an_unclosed_comment_does_not_swallow_the_page() -> None:
    page = page_of("A.\n\n<!-- forgotten\nlost\n\n# Rest\n\nB.")
    assert page.text.endswith("# Rest\n\nB.") and "lost" not in page.text
    assert "never closed" in page.warnings[0]


def test_scripts_and_styles_go_with_their_content() -> None:
    page = page_of("A.\n\n<style>\n\n# a { }\n</style>\n<script>let x = 1 < 2;</script>\n\nB.")
    assert "{" not in page.text and "let" not in page.text
    assert not page.headings


def test_embedded_pictures_go_wherever_they_stand() -> None:
    blob = "QUJD" * 5000
    page = page_of(
        f"![a](data:image/png;base64,{blob})\n\nSee ![b][1].\n\n[1]: <data:image/gif;base64,{blob}>"
    )
    assert page.text == "![a]()\n\nSee ![b][1]."


def test_shortcodes_go_and_what_they_enclose_stays() -> None:
    page = page_of(
        'Use {{< ref "x" >}} and {{% tip %}}the rope{{% /tip %}}.\n\n{% raw %}knot{% endraw %}\n\n'
        "Write `{{< ref >}}` or {{</* ref */>}} or {{ site.title }}.\n\n```\n{{< ref >}}\n```"
    )
    assert page.text.startswith("Use  and the rope.\n\nknot\n\n")
    assert "`{{< ref >}}` or {{</* ref */>}} or {{ site.title }}." in page.text
    assert page.text.endswith("```\n{{< ref >}}\n```")


def test_highlight_shortcodes_become_fences_so_that_comments_are_no_headings() -> None:
    page = page_of("A.\n\n{% highlight python %}\n# tie\n<b>\n{% endhighlight %}\n\nB.")
    assert page.text == "A.\n\n```python\n# tie\n<b>\n```\n\nB."
    assert not page.headings


def test_liquid_comments_go() -> None:
    assert page_of("A.\n\n{% comment %}\nlicence\n{% endcomment %}\n\nB.").text == "A.\n\n\nB."


@pytest.mark.parametrize(
    ("marker", "kept"),
    [
        (":::note", ""),
        (":::tip Mind the tide", "Mind the tide"),
        (":::tip[Mind the tide]", "Mind the tide"),
        ("::: warning", ""),
        (":::{note} Mind the tide", "Mind the tide"),
        ("::::{grid} 1 1 2 2", ""),
    ],
)
def test_admonition_markers_go_and_titles_stay(marker: str, kept: str) -> None:
    page = page_of(f"A.\n\n{marker}\n\nInner.\n\n:::\n\nB.")
    assert ":::" not in page.text and "Inner." in page.text
    assert kept in page.text


def test_indented_admonitions_become_plain_text() -> None:
    page = page_of('A.\n\n!!! note "Mind the tide"\n\n    Some <b>text</b>.\n\n        code\n\nB.')
    assert page.text == "A.\n\nMind the tide\n\nSome text.\n\n    code\n\nB."


def test_module_code_goes_and_prose_about_trade_stays() -> None:
    page = page_of(
        "import A from './a';\nimport {\n  B,\n} from 'b'\nexport const c = {\n  d: [1],\n};\n\n"
        "import duties rise.\n\nexport is up.\n\n```js\nimport x from 'y'\n```\n\n<A>Inside</A>"
    )
    assert page.text == (
        "import duties rise.\n\nexport is up.\n\n```js\nimport x from 'y'\n```\n\nInside"
    )


def test_mdx_exports_with_blank_lines_and_component_attributes_go() -> None:
    page = page_of(
        "export const Box = () => {\n\n  return 1;\n};\n\n# Crates\n\n"
        "<Box style={{a: {b: 1}}} {...rest}>\n  heavy <br/> load\n</Box>\n\n{/* aside */}\n",
        "crates.mdx",
    )
    assert page.text == "# Crates\n\n  heavy  load"


def test_component_names_without_a_partner_are_type_parameters() -> None:
    text = "A List<Crate> or Option<Self> of <Boat>."
    assert page_of(text).text == text


def test_text_files_are_taken_as_they_are() -> None:
    page = page_of("# not a heading\n<b>kept</b>\n", "notes.txt")
    assert page.text == "# not a heading\n<b>kept</b>"
    assert page.title == "notes" and not page.headings


def test_everything_else_stays_to_the_byte() -> None:
    text = (
        "Footnote[^1] and $x_1 < y$ and a [ref][r].\n\n* a\n\n      deep\n\t\ttab  \n\n"
        "| a | b |\n|---|---|\n| 1 | `2|3` |\n\n> quote\n> more\n\n潮汐表。\u2028x\x0by\n\n"
        "[^1]: Note.\n[r]: https://x.test/?a=<b>"
    )
    assert page_of(text).text == text


@pytest.mark.parametrize(
    "data",
    [
        "Fähre – 9 Knoten".encode("utf-16"),
        "Fähre – 9 Knoten".encode("utf-32"),
        "\ufeffFähre – 9 Knoten".encode(),
        "Fähre – 9 Knoten".encode("cp1252"),
        "Fähre – 9 Knoten".encode("utf-16-le"),
    ],
)
def test_other_encodings_are_read(data: bytes) -> None:
    assert page_of(data).text == "Fähre – 9 Knoten"


def test_a_damaged_utf8_file_keeps_its_good_characters() -> None:
    page = page_of("Größe und Länge".encode() + b"\xff")
    assert page.text == "Größe und Länge\ufffd" and page.warnings


def test_nul_and_surrogates_become_replacement_characters_with_a_warning() -> None:
    page = page_of("Drück\0e é ".encode() + b"\xed\xa0\x80")
    assert "\0" not in page.text and "Drück\ufffde" in page.text
    page.text.encode("utf-8")
    assert len(page.warnings) == 2 and page.warnings[0].startswith("harbour.md: ")


def test_carriage_returns_become_newlines() -> None:
    assert page_of(b"a\r\nb\rc\r\n").text == "a\nb\nc"


MARKS = """
    <svg> </svg> <!-- --> <b> </b> <div> </div> <br> <script> </script> <Box> </Box> <a<b ` `` ```
    ~~~ # ## === --- ... +++ | |-| > - 1. {{< >}} {{% %}} {% %} {#a} {:.b} ::: !!! \\ [ ]( ) ![ * _
    &amp; &# data:a/b;base64,QQ== import export { } ' " = : title: draft: \x00 é 潮 word
"""
FRAGMENTS = st.sampled_from([*MARKS.split(), "\t", "\r"])
DOCUMENTS = st.lists(st.one_of(FRAGMENTS, st.sampled_from(["\n", "\n\n", " ", "    "]))).map(
    "".join
)


@given(DOCUMENTS, st.sampled_from(["a.md", "a.mdx", "a.txt"]))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_no_mixture_of_marks_raises_or_loses_a_line(text: str, name: str) -> None:
    page = page_of(text, name)
    clean = text.replace("\r\n", "\n").replace("\r", "\n")
    assert_consistent(page, clean.removesuffix("\n").count("\n") + 1)
    assert page_of(text, name) == page


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_no_bytes_raise_and_all_text_can_be_stored(data: bytes) -> None:
    page = page_of(data)
    page.text.encode("utf-8")
    assert not {"\0", "\r", "\ufeff"} & set(page.text)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_front_matter_of_any_text_never_raises(text: str) -> None:
    for fence in ("---", "+++"):
        page = page_of(f"{fence}\n{text}\n{fence}\nBody.")
        assert isinstance(page.title, str) and page.title


@pytest.mark.parametrize(
    "text",
    [
        "a`" * 60_000,
        "<a x='" * 20_000,
        "<!-- " * 25_000,
        "{{< x " * 20_000,
        ":::x" + " " * 120_000 + "y",
        "<svg>" * 25_000,
        "\n\n<svg>" + "<path d='M0 0L1 1'/>\n\n    <g>\n</g>" * 25_000,
        "潮" * 120_000,
        "## Setup\n\nx\n\n" * 5_000,
        "> " * 5_000 + "x",
        "".join("  " * depth + "- a\n" for depth in range(300)),
        "x<i>" * 30_000,
        "export const a = {\n" * 6_000,
    ],
    ids=lambda text: text.strip()[:8],
)
def test_hard_inputs_take_linear_time(text: str) -> None:
    started = time.process_time()
    page_of(text, "hard.mdx")
    assert time.process_time() - started < 4


@pytest.mark.corpus
def test_the_real_site_is_parsed_without_a_lost_line_and_fast(corpus_site: Path) -> None:
    characters = 0
    started = time.process_time()
    pages: list[tuple[Page, int]] = []
    for path in sorted(corpus_site.rglob("*.md")):
        data = path.read_bytes()
        name = path.relative_to(corpus_site).as_posix()
        characters += len(data)
        lines = data.decode().removesuffix("\n").count("\n") + 1
        pages.append((page_of(data, name), lines))
    seconds = time.process_time() - started
    for page, lines in pages:
        assert_consistent(page, lines)
        assert page.title and "<svg" not in page.text
    assert characters / seconds > 1_000_000


def test_an_unclosed_svg_swallows_no_paragraph_behind_it() -> None:
    page = page_of("Intro.\n\n<svg>\n<\n\n# H\n\nText that stays.\n\n> quote\n")
    assert "Text that stays." in page.text
    assert [heading.label for heading in page.headings] == ["H"]
