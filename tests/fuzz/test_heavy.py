"""A page of 100 kB takes a moment, whatever it repeats: no rule is slower than the text is long.

What is repeated is a piece of markup, or several. The pairs of the table once took minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import strategies as st

from ragctl.audit.passages import audit_page
from ragctl.cli.markdown import finished
from ragctl.cli.output import harmless
from ragctl.errors import SettingsError
from ragctl.link_check import read_page
from ragctl.observe.redaction import redacted
from ragctl.records.answers import Claim
from ragctl.stages.bibliography import without_bibliography
from ragctl.stages.borders import split_sentences
from ragctl.stages.chunk.fixed import FixedChunker
from ragctl.stages.chunk.structured import StructuredChunker
from ragctl.stages.chunk.window import WindowChunker
from ragctl.stages.citations import read_marks
from ragctl.stages.claims import check_claims, statements_of
from ragctl.stages.extract import extract
from ragctl.stages.guards.hosts import hosts_in
from ragctl.stages.guards.instructions import instructions_in, without_markers
from ragctl.stages.guards.secrets import find_secrets, masked
from ragctl.stages.names import names_of
from ragctl.stages.refusals import is_refusal
from ragctl.stages.repetition import RepetitionGuard
from ragctl.stages.same_question import differences
from ragctl.stages.strict import without_doubtful
from ragctl.stages.template import template_of
from ragctl.stages.tokens import estimated_tokens
from tests.fuzz.grammar import INLINE, LINE_STARTS, ODD_CHARACTERS, PIECES, WHOLE_LINES, WORDS
from tests.fuzz.pages import as_bytes, page_of, stored
from tests.fuzz.property import fuzzed, in_time
from tests.hits import hit_of

BYTES = 100_000
HIT = hit_of("A token bucket holds at most 1,000 tokens. It never blocks.")
STATEMENT = "A token bucket holds 1,000 tokens [1]."


def _parsed_and_cut(text: str, name: str) -> None:
    page = page_of(text, name)
    StructuredChunker().chunk(page)


def _audited(text: str) -> None:
    page = page_of(text)
    audit_page(stored(page), (), source=as_bytes(text), size=1300)


def _cut_plainly(text: str) -> None:
    page = page_of(text, "guide/a.txt")
    FixedChunker().chunk(page)
    WindowChunker().chunk(page)


def _made_strict(text: str) -> None:
    claims = [
        Claim(text=one.text, cites=(), verdict="unsupported", why="not there")
        for one in statements_of(text, passages=1)
    ]
    without_doubtful(text, claims)


def _taken_for_template(text: str) -> None:
    try:
        template_of(text, name="own/1", source="own.txt")
    except SettingsError as error:
        assert error.hint


READERS: Mapping[str, Callable[[str], object]] = {
    "parse": lambda text: _parsed_and_cut(text, "guide/a.md"),
    "parse mdx": lambda text: _parsed_and_cut(text, "guide/a.mdx"),
    "cut plainly": _cut_plainly,
    "audit": _audited,
    "citations": lambda text: read_marks(text, passages=5),
    "bibliography": without_bibliography,
    "refusal": is_refusal,
    "sentences": split_sentences,
    "claims": lambda text: check_claims(text, (HIT,)),
    "claims of passage": lambda text: check_claims(STATEMENT, (hit_of(text),)),
    "strict": _made_strict,
    "extract": lambda text: extract("How many tokens does it hold?", (hit_of(text),)),
    "names": names_of,
    "tokens": estimated_tokens,
    "same question": lambda text: differences(text, f"{text} x"),
    "template": _taken_for_template,
    "repetition": lambda text: RepetitionGuard().feed(f"{text}\n"),
    "hosts": hosts_in,
    "instructions": lambda text: (instructions_in(text), without_markers(text)),
    "secrets": lambda text: (find_secrets(text), masked(text)),
    "terminal": lambda text: finished(harmless(text)),
    "built page": read_page,
    "redaction": redacted,
}

FOUND = [
    ("sentences", "`"), ("sentences", "``"), ("sentences", "a`b``c"), ("sentences", "a"),
    ("extract", "A. "), ("extract", "`"), ("bibliography", "[^1]"), ("bibliography", "[1][2]"),
    ("bibliography", "(]"), ("bibliography", "[a]("), ("refusal", "[1]"), ("claims", "Ab"),
    ("claims", "`"), ("claims of passage", "```"), ("same question", "“a"), ("template", "{"),
    ("template", "{ "), ("strict", ":::\n"), ("strict", "## a\n"), ("strict", "[a]:\n"),
    ("built page", "<a"), ("built page", "<A b={"), ("redaction", "http://"),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "piece"), FOUND)
def test_what_once_hung_takes_a_moment(reader: str, piece: str) -> None:
    with in_time():
        READERS[reader](_repeated(piece))


def _repeated(piece: str) -> str:
    """Return a piece over and over, of no more than 100 kB as UTF-8."""
    return piece * (BYTES // max(1, len(as_bytes(piece))))


ALL_PIECES = (*WORDS, *INLINE, *LINE_STARTS, *WHOLE_LINES, *ODD_CHARACTERS)
REPEATED = st.one_of(
    st.sampled_from(ALL_PIECES),
    st.sampled_from(ALL_PIECES).map("{}\n".format),
    st.lists(PIECES, min_size=2, max_size=3).map("".join),
    st.lists(st.sampled_from(ALL_PIECES), min_size=2, max_size=3).map("\n".join),
).map(lambda piece: _repeated(piece or " "))


@fuzzed(
    st.sampled_from(sorted(READERS)),
    st.sampled_from(["", "a ", "# a\n\n", "- ", "> ", "| a |\n|---|\n", "[1] ", "```\n"]),
    REPEATED,
    st.sampled_from(["", "x", "\n\nEnd.\n", "]", ">", "`", ")", "}", "\n```"]),
    runs=20,
)
def test_no_repetition_takes_longer_than_its_text(
    reader: str, start: str, repeated: str, end: str
) -> None:
    with in_time():
        READERS[reader](start + repeated + end)
