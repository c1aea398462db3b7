"""Questions about the site itself, in many wordings, and questions that only look like one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragctl.records.links import StoredLink
from ragctl.records.stored import StoredPage
from ragctl.stages.catalogue import Catalogue, CatalogueAnswer, headings_of, recognise


def _page(url: str, title: str, position: int) -> StoredPage:
    return StoredPage(
        id=1,
        url=url,
        track=url.split("/")[1],
        title=title,
        position=position,
        source_path=f"{url[1:]}.md",
        sha256="",
        parsed_with="",
        is_landing=position == 0,
        is_draft=False,
        size_bytes=1,
        mtime_ns=1,
        words=100,
        refused=0,
        passages=1,
    )


PAGES = [
    _page("/blog/2023-01-09-boot", "How a machine boots", 1),
    _page("/blog/2024-03-30-strings", "Strings in two words", 2),
    _page("/blog/2025-06-30-stopping", "Stopping a query", 3),
    _page("/design", "System design", 0),
    _page("/design/01-hashing", "Hashing", 1),
    _page("/design/02-partitioning", "Partitioning: spreading data", 2),
    _page("/design/03-rate-limiter", "Rate limiter", 3),
    _page("/design/04-saga", "The saga pattern", 4),
    _page("/design/05-locks", "Locks", 5),
    _page("/essays/naming", "On naming things", 1),
    _page("/essays/reviews", "Reviewing code kindly", 2),
    _page("/kernel", "Linux internals", 0),
    _page("/kernel/10-rcu", "RCU", 1),
    _page("/kernel/11-page-tables", "Page tables", 2),
    _page("/kernel/12-verifier", "The eBPF verifier", 3),
    _page("/kernel/13-locks", "Locks in the kernel", 4),
]
HEADINGS = [
    ("/design/01-hashing", "Consistent hashing"),
    ("/design/02-partitioning", "Consistent hashing"),
    ("/kernel/10-rcu", "Grace periods"),
]
SITE = Catalogue.of(PAGES, headings=lambda: HEADINGS)


def _ask(question: str, site: Catalogue = SITE) -> CatalogueAnswer:
    found = recognise(question, site)
    assert found, question
    return found


def _urls(answer: CatalogueAnswer) -> list[str]:
    return [page.url for page in answer.pages if not page.is_landing]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("How many chapters does the system design track have?", "has 5 pages"),
        ("how many chapters are in design", "has 5 pages"),
        ("Could you tell me how many pages there are in the design track, please?", "has 5 pages"),
        ("How many kernel chapters are there?", "has 4 pages"),
        ("What is the number of posts on the blog?", "has 3 pages"),
        ("How many essays have been published here so far?", "has 2 pages"),
        ("How many pages does this site have in total?", "14 pages in 4 tracks"),
        ("How many tracks are there?", "4 tracks with 14 pages"),
        ("How long is the kernel track, in pages?", "has 4 pages"),
        ("kernel: how many chapters?", "has 4 pages"),
    ],
)
def test_pages_are_counted_without_landing_pages(question: str, words: str) -> None:
    assert words in _ask(question).text


@pytest.mark.parametrize(
    "question",
    [
        "Which chapters on this site cover consistent hashing?",
        "What pages mention consistent hashing?",
        "Are there any chapters about consistent hashing?",
        "In which chapters is consistent hashing discussed?",
        "Where can I read about consistent hashing?",
        "How many chapters talk about consistent hashing?",
        "Does the site cover consistent hashing?",
    ],
)
def test_pages_are_found_by_the_words_of_titles_and_headings(question: str) -> None:
    found = _ask(question)
    assert _urls(found) == ["/design/01-hashing", "/design/02-partitioning"]
    assert "under \u201cConsistent hashing\u201d" in found.text


def test_titles_alone_and_a_track_limit_what_is_found() -> None:
    assert _urls(_ask("Which pages have locks in their title?")) == [
        "/design/05-locks",
        "/kernel/13-locks",
    ]
    assert _urls(_ask("Which chapters of the kernel track are about locks?")) == [
        "/kernel/13-locks"
    ]
    assert recognise("Which pages have grace periods in their title?", SITE) is None


def test_words_of_a_title_in_another_order_will_do_where_they_stand_side_by_side_nowhere() -> None:
    found = _ask("Which chapters are about kernel locks?")
    assert _urls(found) == ["/kernel/13-locks"]


@pytest.mark.parametrize(
    "question",
    [
        "List the chapters of the kernel track.",
        "Show me the table of contents for kernel",
        "What are the titles in the kernel section?",
        "Which chapters does the kernel track have?",
        "In what order should I read the Linux internals track?",
        "what's in the kernel track?",
        "Give me every chapter of the kernel track please",
    ],
)
def test_a_track_is_listed_in_reading_order(question: str) -> None:
    found = _ask(question)
    assert _urls(found) == [page.url for page in PAGES[-4:]]
    assert "2. \u201cPage tables\u201d [3]" in found.text


@pytest.mark.parametrize(
    ("question", "url"),
    [
        ("What comes right after the rate limiter page in the design track?", "/design/04-saga"),
        ("Which chapter follows the saga one?", "/design/05-locks"),
        ("What should I read before the saga chapter?", "/design/03-rate-limiter"),
        ("What comes after chapter 11 of the kernel track?", "/kernel/12-verifier"),
        ('What precedes "The saga pattern"?', "/design/03-rate-limiter"),
        ("What comes after /design/01-hashing?", "/design/02-partitioning"),
        ("I've just finished the partitioning chapter. What's next?", "/design/03-rate-limiter"),
        ("After the verifier page, which page is next?", "/kernel/13-locks"),
        ("In the kernel track, what comes before page tables?", "/kernel/10-rcu"),
        ("Next chapter after RCU?", "/kernel/11-page-tables"),
    ],
)
def test_the_page_after_or_before_another_is_named_first(question: str, url: str) -> None:
    assert _urls(_ask(question))[0] == url


def test_at_the_ends_of_a_track_nothing_comes_after_or_before() -> None:
    assert "nothing comes after it" in _ask("What comes after the locks page in design?").text
    assert "nothing comes before it" in _ask("Which chapter comes before hashing?").text


def test_all_pages_after_another_are_listed_where_the_question_asks_for_several() -> None:
    found = _ask("Which chapters come after the rate limiter chapter?")
    assert _urls(found) == ["/design/03-rate-limiter", "/design/04-saga", "/design/05-locks"]


@pytest.mark.parametrize(
    ("question", "url"),
    [
        ("What is the first chapter of the design track?", "/design/01-hashing"),
        ("Which page closes the kernel track?", "/kernel/13-locks"),
        ("What is the last essay?", "/essays/reviews"),
        ("What is the third chapter in design?", "/design/03-rate-limiter"),
        ("What is the newest blog post?", "/blog/2025-06-30-stopping"),
        ("What does the kernel track start with?", "/kernel/10-rcu"),
        ("What is chapter 12 of the kernel track?", "/kernel/12-verifier"),
        ("What's page number 2 of the design track called?", "/design/02-partitioning"),
        ("Which track is the saga page in?", "/design/04-saga"),
        ("What track does the chapter on RCU belong to?", "/kernel/10-rcu"),
        ("Where can I find the essay on naming things?", "/essays/naming"),
        ("Which chapter number is the rate limiter?", "/design/03-rate-limiter"),
        ("What should I read first in the design track?", "/design/01-hashing"),
        ("I'm new to Linux internals. Where should I start?", "/kernel/10-rcu"),
        ("Where do I start in the kernel track?", "/kernel/10-rcu"),
    ],
)
def test_one_page_is_asked_for(question: str, url: str) -> None:
    assert _urls(_ask(question)) == [url]


def test_numbers_are_those_of_the_file_names_and_a_missing_one_is_said() -> None:
    found = _ask("What is chapter 1 of the kernel track?")
    assert "no page 1: its 4 pages go from number 10 to 13" in found.text


def test_where_no_track_fits_every_track_is_named_with_its_beginning() -> None:
    question = "What should I read first on this site if I'm new to operating systems?"
    found = _ask(question)
    assert "No track and no title is about \u201coperating systems\u201d." in found.text
    assert _urls(found) == [
        "/blog/2023-01-09-boot",
        "/design/01-hashing",
        "/essays/naming",
        "/kernel/10-rcu",
    ]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Which tracks does the site have?", "14 pages in 4 tracks"),
        ("What are the main sections of this site?", "System design (design) [2]: 5 pages"),
        ("Which track has the most pages?", "has the most pages: 5"),
        ("Which track is bigger, kernel or blog?", "The others: blog 3"),
        ("Does RCU come before page tables in the kernel track?", "comes before"),
        ("Which chapter comes between hashing and the rate limiter?", "Partitioning"),
    ],
)
def test_tracks_and_places_are_told_and_compared(question: str, words: str) -> None:
    assert words in _ask(question).text


@pytest.mark.parametrize(
    "question",
    [
        "How many tokens does the bucket hold?",
        "What comes after the handshake?",
        "What comes after the locks?",
        "What comes before the verifier in the load path?",
        "How many pages does the kernel have?",
        "How many pages does the kernel allocate at boot?",
        "How many pages are in the page cache?",
        "Which pages are evicted first?",
        "Which page comes first in the LRU list?",
        "What is the first page of a process's address space?",
        "What is the first page?",
        "What does the kernel cover?",
        "What is in the kernel?",
        "How big is the kernel?",
        "How does the kernel start?",
        "Where does the kernel start?",
        "Where should I start the transaction?",
        "What should I read first, the header or the body?",
        "What does the verifier track in bpf_reg_state?",
        "How many tracks does a tape have?",
        "Which section is .bss in?",
        "How many topics are there?",
        "How many topics does Kafka have?",
        "How many sections does an ELF file have?",
        "List the steps of the saga pattern.",
        "List the locks in the kernel.",
        "Which posts are shown in the timeline?",
        "How many posts can a user publish a day?",
        "What are the chapters of the Rust book?",
        "Which chapters cover zero-knowledge proofs?",
        "Is there a page about Kubernetes operators?",
        "What is chapter 11 bankruptcy?",
        "Does the rate limiter come before the load balancer?",
        "How long is the design phase?",
        "What is RCU?",
    ],
)
def test_a_question_that_only_looks_like_one_goes_the_normal_way(question: str) -> None:
    assert recognise(question, SITE) is None


def test_a_name_that_fits_two_pages_names_none() -> None:
    assert recognise("Which track is the page about the pattern of locks in?", SITE) is None
    twins = [*PAGES, _page("/essays/saga", "The saga pattern", 3)]
    assert recognise("What comes after the saga pattern page?", Catalogue.of(twins)) is None


def test_only_the_tracks_asked_for_are_known() -> None:
    kernel = Catalogue.of(PAGES, tracks=("kernel",))
    assert "has 4 pages" in _ask("How many chapters are there?", kernel).text
    assert recognise("How many chapters does the design track have?", kernel) is None
    assert "page 11" in _ask("What is chapter 11?", kernel).text.casefold()


def test_headings_are_read_only_for_a_question_about_a_topic() -> None:
    def unread() -> list[tuple[str, str]]:
        raise AssertionError("headings were read")

    site = Catalogue.of(PAGES, headings=unread)
    _ask("How many chapters does the design track have?", site)
    assert recognise("How does the token bucket refill?", site) is None


def test_headings_are_those_of_passages_and_of_texts_outside_fences() -> None:
    links = [
        StoredLink(url="/a", source_path="a.md", anchor=None, section=None),
        StoredLink(url="/a", source_path="a.md", anchor="u", section="Underlined"),
    ]
    text = (
        "Intro\n## The `first` [one](/b) ##\n```sh\n# no heading\n````\n### **Deep** {#d}\n"
        "- ~~~\n  # none\n  ~~~\n#hash\n"
    )
    assert headings_of(links, {"/a": text}) == [
        ("/a", "Underlined"),
        ("/a", "The first one"),
        ("/a", "Deep"),
    ]


def test_numbers_in_the_text_are_those_of_the_pages() -> None:
    found = _ask("What comes after the hashing chapter?")
    assert found.text == (
        "\u201cPartitioning: spreading data\u201d [1] comes after \u201cHashing\u201d [2] in the "
        "track System design (design) [3]."
    )
    assert [page.url for page in found.pages] == [
        "/design/02-partitioning",
        "/design/01-hashing",
        "/design",
    ]


@pytest.mark.parametrize("question", ["", "?", "[1] @0 ~0 @s", "which chapter " * 30, "the the"])
def test_nonsense_is_no_question_about_the_site(question: str) -> None:
    assert recognise(question, SITE) is None
    assert recognise("How many pages are there?", Catalogue.of([])) is None


@pytest.mark.parametrize(
    ("question", "url"),
    [
        ("Which page is the longest?", "/design/longest-subsequence"),
        ("Where is the longest page?", "/design/longest-subsequence"),
        ("Which chapter has the most words?", "/design/longest-subsequence"),
        ("What is the shortest page in the kernel track?", "/kernel/13-locks"),
        ("Which page has the fewest words?", "/kernel/13-locks"),
    ],
)
def test_the_longest_page_is_told_by_its_words_and_no_title_is_taken_for_it(
    question: str, url: str
) -> None:
    longest = replace(_page("/design/longest-subsequence", "Long runs", 6), words=900)
    lured = replace(_page("/design/zz", "Longest increasing subsequence", 7), words=120)
    shortest = replace(next(p for p in PAGES if p.url == "/kernel/13-locks"), words=20)
    pages = [shortest if page.url == shortest.url else page for page in PAGES]
    site = Catalogue.of([*pages, longest, lured], headings=lambda: HEADINGS)
    assert _urls(_ask(question, site)) == [url]


def test_a_title_that_begins_with_a_superlative_is_still_found() -> None:
    lured = _page("/design/06-lis", "Longest increasing subsequence", 6)
    site = Catalogue.of([*PAGES, lured], headings=lambda: HEADINGS)
    question = "Which track is the longest increasing subsequence page in?"
    assert _urls(_ask(question, site)) == ["/design/06-lis"]
    assert recognise("What is the longest increasing subsequence?", site) is None
