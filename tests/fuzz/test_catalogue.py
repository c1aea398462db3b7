"""Questions about the site, asked of any site: an answer that points to its pages, or none."""

from __future__ import annotations

from hypothesis import strategies as st

from ragctl.records.stored import StoredPage
from ragctl.stages.catalogue import Catalogue, catalogue_passage, recognise
from ragctl.stages.same_question import differences
from tests.fuzz.grammar import INLINES, ODD_CHARACTERS, WORDS
from tests.fuzz.property import fuzzed, in_time

TITLES = st.one_of(
    st.sampled_from(
        ["Hashing", "Rate limiter: a design", "The first page", "", "1.10", "How many"]
    ),
    st.sampled_from(ODD_CHARACTERS),
    INLINES,
)
SLUGS = st.sampled_from(
    ["01-hashing", "02-limits", "a", "2024-03-30-x", "٣-b", "²", "-", "1-1", "page", "first"]
)
TRACKS = st.sampled_from(["design", "blog", "root", "the", "a-b", "page", "İ", "first", "2024"])
QUESTION_WORDS = (
    "how many pages are in the design track", "which pages cover hashing", "what comes after",
    "before",
    "hashing", "first page", "last chapter", "what should I read first", "in order", "the",
    "design",
    "blog", "track", "chapter", "number 2", "3rd", "list", "all", "between", "and", "or", "of",
    "in",
    "longest", "newest", "where do I start", "is there a page about", "on this site", "?", "'", '"',
    "/design/01-hashing", "please", "can you tell me", "²", "٣", "99999999999999999999", "@0", "~0",
    "@s", "twenty first", "zeroth", "a page called", "more than", "does the site have anything on",
)  # fmt: skip
QUESTIONS = st.one_of(
    st.lists(
        st.one_of(
            st.sampled_from(QUESTION_WORDS),
            st.sampled_from(QUESTION_WORDS),
            st.sampled_from(WORDS),
            st.sampled_from(ODD_CHARACTERS),
        ),
        max_size=7,
    ).map(" ".join),
    INLINES,
)


def _page(track: str, slug: str, title: str, position: int) -> StoredPage:
    return StoredPage(
        id=position,
        url=f"/{track}/{slug}" if position else f"/{track}",
        track=track,
        title=title,
        position=position,
        source_path=f"{track}/{slug}.md",
        sha256="",
        parsed_with="",
        is_landing=position == 0,
        is_draft=False,
        size_bytes=1,
        mtime_ns=1,
        words=position,
        refused=0,
        passages=1,
    )


PAGES = st.lists(st.tuples(TRACKS, SLUGS, TITLES), max_size=6).map(
    lambda made: [_page(*one, position=n % 4) for n, one in enumerate(made)]
)


@fuzzed(QUESTIONS, PAGES, runs=120)
def test_a_question_about_a_site_is_answered_from_its_pages_or_left_alone(
    question: str, pages: list[StoredPage]
) -> None:
    headings = [(page.url, page.title) for page in pages]
    catalogue = Catalogue.of(pages, headings=lambda: headings)
    with in_time():
        answer = recognise(question, catalogue)
        passage = catalogue_passage(question, catalogue)
    urls = {page.url for page in pages}
    if answer is not None:
        assert answer.text.strip()
        assert {page.url for page in answer.pages} <= urls
    assert passage is None or passage.strip()


@fuzzed(QUESTIONS, QUESTIONS, runs=60)
def test_a_question_differs_from_itself_in_nothing(one: str, other: str) -> None:
    with in_time():
        assert differences(one, one) == ()
        assert bool(differences(one, other)) == bool(differences(other, one))
