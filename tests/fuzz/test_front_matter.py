"""Any bytes at the head of a file: metadata that JSON can hold, or text, and never an error."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from ragctl.records.pages import Page
from ragctl.stages.parse import parse
from ragctl.stages.parse.decoding import decode
from ragctl.stages.parse.front_matter import read_front_matter
from tests.fuzz.grammar import BLOCKS, FRONT_MATTER, METADATA_LINES
from tests.fuzz.pages import as_bytes, source_of
from tests.fuzz.property import fuzzed, in_time

ENCODINGS = st.sampled_from(
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "cp1252",
     "latin-1", "utf-7", "cp037"]
)  # fmt: skip
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\r", "\x85", "\u2028", "\x0b", "\x0c\n"])
TEXTS = st.builds(lambda head, body: f"{head}\n{body}", FRONT_MATTER, BLOCKS)


def _encoded(text: str, encoding: str, line_end: str) -> bytes:
    return text.replace("\n", line_end).encode(encoding, "replace")


FILES = st.one_of(
    st.builds(_encoded, TEXTS, ENCODINGS, LINE_ENDS),
    st.binary(max_size=200),
    st.builds(
        lambda start, inner, end: start + inner + end,
        st.sampled_from([b"---\n", b"+++\n", b"\xef\xbb\xbf---\r\n", b"\xff\xfe-\0-\0-\0\n\0",
                         b"\0---\n"]),
        st.binary(max_size=80),
        st.sampled_from([b"\n---\n", b"\n+++\n", b"\r---\r", b"", b"\n---\0\n", b"\n...\n"]),
    ),
    st.builds(
        lambda data, place, extra: data[:place] + extra + data[place:],
        st.builds(_encoded, TEXTS, ENCODINGS, LINE_ENDS),
        st.integers(0, 400),
        st.sampled_from([b"\0", b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xef\xbb\xbf", b"\r"]),
    ),
)  # fmt: skip


@fuzzed(FILES, st.sampled_from(["a.md", "a.mdx", "a.txt"]), runs=150)
def test_any_bytes_give_a_page_that_can_be_stored(data: bytes, name: str) -> None:
    with in_time():
        page = parse(source_of(data, name), data)
    _assert_storable(page)
    assert parse(source_of(data, name), data) == page


@fuzzed(FILES, runs=80)
def test_decoding_keeps_every_character_that_the_bytes_hold(data: bytes) -> None:
    text, remarks = decode(data)
    text.encode("utf-8")
    assert not {"\0", "\r", "\ufeff"} & set(text)
    if not remarks:
        assert decode(text.encode()) == (text, []) or text.count("\0")


@fuzzed(
    st.lists(METADATA_LINES, max_size=8),
    st.sampled_from(["---", "+++"]),
    runs=120,
    found=[(["title: A", "a: \u2028\u2028\u2028'"], "---")],
)
def test_metadata_takes_whole_lines_and_holds_what_json_can(lines: list[str], fence: str) -> None:
    written = decode(as_bytes("\n".join([fence, *lines, fence, "Text."])))[0].split("\n")
    with in_time():
        front = read_front_matter(written)
    assert 0 <= front.lines < len(written) or front.lines == len(written)
    assert "\n" not in front.title
    json.dumps(front.values, allow_nan=False)
    for number, remark in front.remarks:
        assert 1 <= number <= len(written) and remark


def _assert_storable(page: Page) -> None:
    page.text.encode("utf-8")
    page.title.encode("utf-8")
    assert page.title and not {"\0", "\r", "\ufeff"} & set(page.text)
    json.dumps(dict(page.front_matter), allow_nan=False)
    assert page.order[0] == page.order[0]
    for warning in page.warnings:
        assert warning.startswith(page.source_path)
