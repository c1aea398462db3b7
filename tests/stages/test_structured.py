"""The structured chunker: what it never cuts, how it labels, and that nothing is lost."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragctl.errors import SettingsError
from ragctl.files import find, read
from ragctl.protocols import Chunker
from ragctl.records.chunks import Chunk
from ragctl.records.pages import Heading, Page, SourceFile
from ragctl.stages.chunk.structured import StructuredChunker
from ragctl.stages.chunk.tokens import estimated_tokens, fitting_end
from ragctl.stages.embed import embedded_text
from ragctl.stages.parse import parse

FENCE = re.compile(r"^(?:[ \t>]|[-*+] |\d+[.)] )*(`{3,}|~{3,})(.*)$")
DELIMITER = re.compile(r"^[ \t>]*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")


def page_of(text: str, path: str = "guide/quay.md") -> Page:
    source = SourceFile(
        path=path,
        absolute=Path(path),
        url="/" + path.removesuffix(".md"),
        track="guide",
        is_landing=False,
        size_bytes=len(text),
        mtime_ns=0,
    )
    return parse(source, text.encode("utf-8", "surrogatepass"))


def cut(text: str, size: int = 400, **sizes: int) -> tuple[Chunk, ...]:
    return StructuredChunker(size, **sizes).chunk(page_of(text))


def fences(body: str) -> tuple[list[tuple[str, list[str]]], bool]:
    """Return each fence's opening line and code lines, and whether all are closed."""
    found: list[tuple[str, list[str]]] = []
    mark = ""
    for line in body.split("\n"):
        match = FENCE.match(line)
        if not mark and match and not (match[1][0] == "`" and "`" in match[2]):
            mark = match[1]
            found.append((line, []))
        elif mark and match and match[1].startswith(mark) and not match[2].strip():
            mark = ""
        elif mark:
            found[-1][1].append(line)
    return found, not mark


def rebuilt(page: Page, chunks: tuple[Chunk, ...]) -> str:
    return "".join("".join(page.text[c.start_char : c.end_char].split()) for c in chunks)


def assert_sound(page: Page, chunks: tuple[Chunk, ...]) -> None:
    """What holds for every page and every size."""
    assert rebuilt(page, chunks) == "".join(page.text.split())
    assert [c.position for c in chunks] == list(range(len(chunks)))
    assert len({c.ref for c in chunks}) == len(chunks)
    end = 0
    for chunk in chunks:
        assert end <= chunk.start_char < chunk.end_char
        assert not page.text[end : chunk.start_char].strip()
        end = chunk.end_char
        assert page.text[chunk.start_char : chunk.end_char] in chunk.body
        assert chunk.ref == f"{page.url}#c{chunk.start_char}"
        heading = heading_of(page, chunk)
        assert chunk.section == (heading.label if heading else None)
        assert chunk.anchor == (heading.anchor if heading else None)


def heading_of(page: Page, chunk: Chunk) -> Heading | None:
    """The heading in force where a passage begins; of headings on top of it, the last."""
    before = [h for h in page.headings if h.start_char <= chunk.start_char]
    found = before[-1] if before else None
    if found is None or page.text[found.start_char : chunk.start_char].strip():
        return found
    for heading in page.headings[len(before) :]:
        between = page.text[found.start_char : heading.start_char].strip()
        is_below = heading.level > found.level and "\n" not in between
        if heading.start_char >= chunk.end_char or not is_below:
            break
        found = heading
    return found


def test_it_is_a_chunker_and_names_all_that_changes_its_result() -> None:
    chunker: Chunker = StructuredChunker(700)
    assert chunker.name == "structured"
    assert chunker.parameters["size"] == 700
    assert set(chunker.parameters) == {"size", "small", "hard_tokens", "counter", "rules"}


@pytest.mark.parametrize("sizes", [(0, 0, 480), (-5, 0, 480), (100, -1, 480), (100, 0, 10)])
def test_sizes_that_cannot_work_are_refused_naming_them(sizes: tuple[int, int, int]) -> None:
    size, small, hard = sizes
    with pytest.raises(SettingsError) as caught:
        StructuredChunker(size, small=small, hard_tokens=hard)
    assert all(str(number) in caught.value.message for number in sizes)


def test_passages_follow_sections_and_the_breadcrumb_stays_out_of_the_body() -> None:
    text = (
        "---\ntitle: Quay\n---\n# Quay\n\nA word first, and one of some length for a lock.\n\n"
        "## Lock\n\n" + "Water rises slowly. " * 5 + "\n\n### Gate\n\n" + "It opens at six. " * 6
    )
    chunks = cut(text, small=40)
    assert [(c.section, c.anchor) for c in chunks] == [
        ("Quay", "quay"),
        ("Lock", "lock"),
        ("Gate", "gate"),
    ]
    assert [c.breadcrumb for c in chunks] == ["Quay", "Quay > Lock", "Quay > Lock > Gate"]
    assert chunks[2].body.startswith("### Gate\n\nIt opens")
    assert all(" > " not in c.body for c in chunks)


def test_tiny_sections_share_a_passage_under_one_parent_only() -> None:
    text = "# A\n\n## B\n\nbe\n\n### C\n\nce\n\n### D\n\nde\n\n## E\n\nee\n\n# F\n\nef"
    assert [c.section for c in cut(text, small=0)] == ["B", "C", "D", "E", "F"]
    joined = cut(
        "# T\n\n## X\n\n### C\n\nce\n\n### D\n\nde\n\n## Y\n\n" + "Text. " * 60 + "\n\n### E\n\nee",
        small=200,
    )
    assert [(c.section, c.body.count("#")) for c in joined] == [("T", 9), ("Y", 2), ("E", 3)]
    apart = cut(
        "# T\n\n" + "Text. " * 60 + "\n\n## X\n\n### C\n\nce\n\n## Y\n\n### E\n\nee", small=8
    )
    assert [c.section for c in apart] == ["T", "C", "E"]


def test_a_heading_without_text_goes_with_its_first_subsection_and_bears_its_name() -> None:
    chunks = cut("# A\n\n## B\n\n" + "Some text here. " * 40, small=0)
    assert chunks[0].section == "B" and chunks[0].body.startswith("# A\n\n## B\n\nSome text")
    assert {c.section for c in chunks[1:]} == {"B"}


def test_a_long_listing_is_cut_at_lines_and_closed_and_opened_again() -> None:
    code = [
        line
        for number in range(40)
        for line in (f"def step_{number}(x):", f"\t    return x + {number}  ", "")
    ]
    text = "# S\n\nIt is loaded at start:\n\n```python title='s.py'\n" + "\n".join(code) + "\n```\n"
    chunks = cut(text, 400)
    assert "loaded at start:" in chunks[0].body and "step_0" in chunks[0].body
    pieces = [fences(chunk.body) for chunk in chunks]
    assert all(is_closed for _, is_closed in pieces)
    opened = [found for found, _ in pieces]
    assert {line for found in opened for line, _ in found} == {"```python title='s.py'"}
    assert [line for found in opened for _, lines in found for line in lines] == code
    assert all(len(chunk.body) <= 400 for chunk in chunks)
    assert all(lines[0].startswith("def") for found in opened for _, lines in found)


def test_a_listing_that_fits_stays_whole() -> None:
    listing = "```sh\n" + "echo one\n\n" * 30 + "```"
    text = "# S\n\n" + "Words before it. " * 10 + "\n\n" + listing + "\n\n" + "Words behind. " * 10
    assert any(listing in chunk.body for chunk in cut(text, 400))


@pytest.mark.parametrize(
    ("lead", "first"), [("   ", "1. "), ("  ", "- "), ("> ", "> "), ("    ", "10. ")]
)
def test_listings_in_lists_and_quotes_are_cut_the_same_way(lead: str, first: str) -> None:
    code = [f"{lead}key_{number}: {{a: 1}}" for number in range(60)]
    text = f"# S\n\n{first}Intro:\n{lead.rstrip()}\n{lead}~~~yaml\n" + "\n".join(code)
    text += f"\n{lead}~~~\n\nEnd."
    pieces = [fences(chunk.body) for chunk in cut(text, 300)]
    assert all(is_closed for _, is_closed in pieces)
    assert [line for found, _ in pieces for _, lines in found for line in lines] == code
    assert {line for found, _ in pieces for line, _ in found} == {f"{lead}~~~yaml"}


def test_a_listing_that_begins_with_an_item_loses_the_mark_where_it_is_repeated() -> None:
    text = "- ```py\n" + "  a = 1\n" * 60 + "  ```\n"
    chunks = cut(text, 200)
    assert chunks[0].body.startswith("- ```py\n")
    assert all(chunk.body.startswith("  ```py\n") for chunk in chunks[1:])
    assert all(chunk.body.endswith("\n  ```") for chunk in chunks)


def test_a_listing_that_nobody_closed_is_closed_in_its_passages() -> None:
    chunks = cut("Intro line.\n\n```sh\necho one\n\n## Code\n\nLAST words.")
    assert chunks[-1].body.endswith("LAST words.\n```")
    assert all(fences(chunk.body)[1] for chunk in chunks)
    inside = cut("- a\n\n  ```sh\n  echo one\n\nText behind.", 60)
    assert [fences(chunk.body)[1] for chunk in inside] == [True] * len(inside)
    assert inside[-1].body == "Text behind."


def test_each_piece_of_a_table_has_header_and_delimiter() -> None:
    rows = [f"| row {number} | {number} |" for number in range(60)]
    chunks = cut("# T\n\nThe figures:\n\n| name | n |\n|:---|--:|\n" + "\n".join(rows), 300)
    assert "The figures:" in chunks[0].body
    assert all("| name | n |\n|:---|--:|\n| row" in chunk.body for chunk in chunks)
    assert [line for c in chunks for line in c.body.split("\n") if "| row" in line] == rows
    assert all(len(chunk.body) <= 300 for chunk in chunks)


def test_a_row_too_long_for_a_passage_is_cut_in_its_own_column() -> None:
    long_cell = "many words " * 300
    chunks = cut(f"| a | b |\n|---|---|\n| 1 | {long_cell}|\n| 2 | x |\n", 800)
    assert len(chunks) > 1
    assert all(chunk.body.startswith("| a | b |\n|---|---|\n|") for chunk in chunks)
    assert chunks[1].body.startswith("| a | b |\n|---|---|\n||")


def test_a_table_with_an_endless_delimiter_row_still_has_one_everywhere() -> None:
    chunks = cut(f"| a | b |\n|{'-' * 900}|{'-' * 900}|\n| 1 | 2 |\n| 3 | 4 |\n")
    assert all(estimated_tokens(chunk.body) <= 480 for chunk in chunks)
    for chunk in chunks:
        lines = chunk.body.split("\n")
        assert lines[0] in ("| a | b |", "|a|b|") and DELIMITER.match(lines[1])


def test_lists_are_cut_between_items_and_paragraphs_behind_sentences() -> None:
    items = [f"- Item {number} says this and that about locks." for number in range(30)]
    for chunk in cut("# L\n\nThey are:\n\n" + "\n".join(items), 300):
        assert chunk.body.split("\n")[-1] in items
        assert chunk.body.split("\n")[0] in ["# L", *items]
    prose = (
        "The gate e.g. Gate 4 opens. It `has. A` lock [with. A](http://a.b) link! So it is. " * 20
    )
    for chunk in cut(prose, 300):
        assert chunk.body.endswith((".", "!")) and not chunk.body.endswith(("e.g.", "has."))
        assert chunk.body.count("`") % 2 == 0 and chunk.body.count("[") == chunk.body.count("](")


def test_text_without_blanks_is_cut_at_its_own_marks_and_never_inside_a_character() -> None:
    for chunk in cut("水门每天早上六点开放，" * 60 + "。", 200):
        assert chunk.body.endswith(("，", "。"))
    for chunk in cut("e\u0301" * 500, 101):
        assert chunk.body[0] == "e"
    for chunk in cut("👩🏽‍🔧" * 200, 101):
        assert chunk.body[0] == "👩"


def test_an_html_table_and_a_details_block_stay_text() -> None:
    rows = "".join(f"<tr><td>{number}</td></tr>\n" for number in range(60))
    page = page_of(f"# H\n\n<table>\n{rows}</table>\n\n<details>\n\nInside.\n\n</details>\n")
    assert_sound(page, StructuredChunker(200).chunk(page))


def test_dense_text_keeps_the_hard_limit_of_tokens() -> None:
    for dense in (hashlib.sha512(b"a").hexdigest() * 80, "각" * 3000, "!?" * 4000):
        for chunk in cut(f"# Title of it\n\n{dense}\n\n```\n{dense}\n```", 2000):
            assert estimated_tokens(embedded_text(chunk)) + 2 <= 480


def test_a_heading_beyond_all_measure_leaves_a_breadcrumb_within_bounds() -> None:
    text = f"# {'Long title ' * 100}\n\n## {'b' * 900}\n\nText.\n\n### {'c ' * 500}\n\nText."
    page = page_of(text)
    chunks = StructuredChunker(hard_tokens=128).chunk(page)
    assert_sound(page, chunks)
    assert all(estimated_tokens(embedded_text(chunk)) + 2 <= 128 for chunk in chunks)


def test_a_page_without_text_gives_no_passage() -> None:
    assert cut("---\ntitle: T\n---\n") == ()


def test_headings_that_the_text_does_not_show_still_bound_passages() -> None:
    page = page_of("# A\n\n<div>\ntext one\n\n</div>\n\n> # B\n> quoted\n\n- # C\n  item\n")
    bare = replace(page, text=page.text, headings=page.headings)
    chunks = StructuredChunker(small=0).chunk(bare)
    assert [c.section for c in chunks] == ["A", "B", "C"]


WORDS = st.sampled_from(
    ["lock", "gate.", "The", "`a b`", "[x](y)", "e.g.", "潮汐。", "é", "x" * 90]
)
PARAGRAPH = st.lists(WORDS, min_size=1, max_size=60).map(" ".join)
HEADING = st.tuples(st.integers(1, 4), st.sampled_from(["Lock", "Gate", "Quay wall"])).map(
    lambda made: f"{'#' * made[0]} {made[1]}"
)
CODE = st.lists(
    st.sampled_from(["\tcall(x)", "", "    return 1", "if a:", "# note", "  # - x | y"]),
    min_size=1,
    max_size=30,
)
LISTING = st.tuples(
    st.sampled_from(["```", "~~~~"]), st.sampled_from(["py", "c++ {1}"]), CODE,
    st.sampled_from(["", "- ", "> ", "1. "]),
).map(
    lambda made: "\n".join(
        (made[3] if n == 0 or made[3] == "> " else " " * len(made[3])) + line
        for n, line in enumerate([made[0] + made[1], *made[2], made[0]])
    )
)  # fmt: skip
TABLE = st.integers(1, 20).map(
    lambda count: "| a | b |\n|---|:--|\n" + "\n".join(f"| r{n} | `x` |" for n in range(count))
)
LIST = st.lists(PARAGRAPH, min_size=1, max_size=6).map(
    lambda items: "\n".join(f"{'  ' * (n % 3)}- {item}" for n, item in enumerate(items))
)
BLOCK = st.one_of(
    PARAGRAPH, PARAGRAPH, HEADING, HEADING, LISTING, TABLE, LIST,
    st.sampled_from(["Like this:", "**Label**", "---", "> quoted\n> text", "<b>x</b>", "[a]: b"]),
)  # fmt: skip
PAGES = st.lists(BLOCK, max_size=14).map("\n\n".join)
SIZES = st.sampled_from([40, 120, 400, 1000])


@given(PAGES, SIZES, st.sampled_from([0, 200]))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_on_any_page_nothing_is_lost_torn_or_mislabelled(text: str, size: int, small: int) -> None:
    page = page_of(text)
    chunks = StructuredChunker(size, small=small).chunk(page)
    assert chunks == StructuredChunker(size, small=small).chunk(page)
    assert_sound(page, chunks)
    in_page = [line for _, lines in fences(page.text)[0] for line in lines]
    pieces = [fences(chunk.body) for chunk in chunks]
    assert [line for found, _ in pieces for _, lines in found for line in lines] == in_page
    assert all(is_closed for _, is_closed in pieces)
    for found, _ in pieces:
        assert all(line.endswith(("py", "c++ {1}")) for line, _ in found)
    for chunk in chunks:
        assert estimated_tokens(embedded_text(chunk)) + 2 <= 480
        lines = chunk.body.split("\n")
        for number, line in enumerate(lines):
            if line.startswith("| r") and not lines[number - 1].startswith("| r"):
                assert lines[number - 2 : number] == ["| a | b |", "|---|:--|"]
    assert_headings_keep_their_text(page, chunks)


def assert_headings_keep_their_text(page: Page, chunks: tuple[Chunk, ...]) -> None:
    starts = [heading.start_char for heading in page.headings] + [len(page.text)]
    for start, following in pairwise(starts):
        line_end = page.text.find("\n", start, following)
        if line_end >= 0 and page.text[line_end:following].strip():
            holder = next(c for c in chunks if c.start_char <= start < c.end_char)
            assert holder.end_char > line_end + 1


ODD = st.lists(
    st.sampled_from(
        ["#", "# a\n", "```", "~~~\n", "|", "|-|\n", "> ", "- ", "    ", "\n", "\n\n", "\t", "<b>",
         "a", "B. ", "\x1f", "\u3000", "\u2028", "각", "e\u0301", "`", "[", "](", "x" * 50,
         "9" * 30, "$$", "\r", "\x00", "\ud800", "1. "]
    ),
    max_size=120,
).map("".join)  # fmt: skip


@given(ODD, st.sampled_from([1, 7, 60, 800]), st.sampled_from([64, 480]))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_no_text_raises_or_passes_the_hard_limit(text: str, size: int, hard: int) -> None:
    for name in ("odd.md", "odd.mdx", "odd.txt"):
        page = page_of(text, name)
        chunks = StructuredChunker(size, hard_tokens=hard).chunk(page)
        assert_sound(page, chunks)
        for chunk in chunks:
            assert estimated_tokens(embedded_text(chunk)) + 2 <= hard


@given(ODD, st.integers(1, 50))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_fitting_end_is_the_furthest_one(text: str, tokens: int) -> None:
    if not text:
        return
    end = fitting_end(text, 0, len(text), tokens)
    assert 1 <= end <= len(text)
    assert end == 1 or estimated_tokens(text[:end]) <= tokens
    assert end == len(text) or estimated_tokens(text[: end + 1]) > tokens or text[end].isspace()


MONSTERS = {
    "line": "x" * 250_000,
    "words": "word " * 50_000,
    "sentences": "It is so. " * 25_000,
    "cjk": "水" * 100_000,
    "headings": "## Setup\n\ntext\n\n" * 10_000,
    "bare headings": "# a\n" * 5_000,
    "nested": "".join("  " * depth + "- a\n" for depth in range(400)),
    "quotes": "> " * 5_000 + "x",
    "items": "- a\n" * 8_000,
    "introductions": "so:\n\n" * 5_000,
    "rules": "---\n\n" * 5_000,
    "listing": "```py\n" + "a = 1\n" * 20_000 + "```",
    "code line": "```\n" + "a1" * 120_000 + "\n```",
    "blank code": "```\n" + "\n" * 50_000 + "```",
    "table": "|a|b|\n|-|-|\n" + "|x|y|\n" * 8_000,
    "columns": "|a" * 5_000 + "\n" + "|-" * 5_000 + "\n" + "|x" * 5_000,
    "backticks": "`a`` " * 30_000,
    "brackets": "[" * 100_000 + "](" * 20_000,
    "blanks": "# a" + "\n" * 50_000 + "b" + " " * 50_000 + "c",
    "colons": ":" * 100_000,
}


@pytest.mark.parametrize("name", MONSTERS)
def test_time_grows_with_the_text_alone(name: str) -> None:
    page = page_of(MONSTERS[name])
    started = time.process_time()
    chunks = StructuredChunker().chunk(page)
    assert time.process_time() - started < 3
    assert rebuilt(page, chunks) == "".join(page.text.split())
    assert all(estimated_tokens(embedded_text(chunk)) + 2 <= 480 for chunk in chunks)


@pytest.mark.parametrize("size", [50, 400])
def test_one_giant_line_gives_no_more_passages_than_it_must(size: int) -> None:
    raw = b"".join(hashlib.sha256(bytes([i % 256, i // 256])).digest() for i in range(2950))
    page = page_of(f"# Line\n\nSTART {base64.b32encode(raw).decode()} FINISH\n")
    chunks = StructuredChunker(size).chunk(page)
    assert len(chunks) <= math.ceil(len(page.text) / size) + 2
    assert "START" in chunks[0].body and "FINISH" in rebuilt(page, chunks[-2:])


@pytest.mark.corpus
def test_field_case_of_a_long_listing_comes_out_right(cases_dir: Path) -> None:
    source = (cases_dir / "B17" / "input" / "long-code.md").read_text()
    chunks = StructuredChunker(600).chunk(page_of(source))
    pieces = [fences(chunk.body) for chunk in chunks]
    assert all(is_closed for _, is_closed in pieces)
    python = [lines for found, _ in pieces for line, lines in found if "python" in line]
    expected = source.split('```python title="steps.py"\n')[1].split("\n```")[0].split("\n")
    assert [line for lines in python for line in lines] == expected and len(expected) == 120
    assert all(len(chunk.body) <= 600 for chunk in chunks)
    (yaml,) = [chunk.body for chunk in chunks if "yaml" in chunk.body]
    assert "  ```yaml\n  outer:\n    inner: 1\n  ```" in yaml
    first = next(chunk for chunk in chunks if "loaded at start:" in chunk.body)
    assert "def step_01" in first.body
    unclosed = page_of((cases_dir / "B17" / "input" / "unclosed.md").read_text())
    made = StructuredChunker(600).chunk(unclosed)
    assert any("LAST-WORDS of the page." in chunk.body for chunk in made)
    assert {chunk.section for chunk in made} == {"Unclosed"}


@pytest.mark.corpus
@pytest.mark.parametrize("size", [50, 400, 1200])
def test_field_case_of_giant_lines_comes_out_right(
    cases_dir: Path, tmp_path: Path, size: int
) -> None:
    subprocess.run([sys.executable, str(cases_dir / "B21" / "make.py"), str(tmp_path)], check=True)
    made = {}
    for path in tmp_path.glob("*.md"):
        page = page_of(path.read_text(), path.name)
        made[path.name] = StructuredChunker(size).chunk(page)
        assert_sound(page, made[path.name])
        assert all(estimated_tokens(embedded_text(chunk)) + 2 <= 480 for chunk in made[path.name])
        if path.name == "one-line.md" and size <= 400:
            assert len(made[path.name]) <= math.ceil(len(page.text) / size) + 2
    assert len(made["data-uri.md"]) <= 3
    assert not any(re.search("[A-Za-z0-9+/]{200}", c.body) for c in made["data-uri.md"])


@pytest.mark.corpus
def test_on_the_real_site_nothing_is_lost_and_every_listing_is_closed(corpus_site: Path) -> None:
    chunker = StructuredChunker()
    lengths = []
    for source in find(corpus_site).sources:
        page = parse(source, read(source))
        chunks = chunker.chunk(page)
        assert_sound(page, chunks)
        assert_headings_keep_their_text(page, chunks)
        for chunk in chunks:
            lengths.append(len(chunk.body))
            assert fences(chunk.body)[1], chunk.ref
            assert estimated_tokens(embedded_text(chunk)) + 2 <= 480, chunk.ref
    assert 2_500 < len(lengths) < 5_000
