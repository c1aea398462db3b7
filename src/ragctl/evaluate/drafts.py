"""Questions drafted from a site's own headings and names, for users who have none yet.

They are easier than what readers ask, for they use the page's own words: a beginning to reword,
not a measure. A heading is asked about that no other page has; a name that one or two passages
hold and that is set as code in a sentence.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from ragctl.evaluate.questions import Gold, KnownQuestion
from ragctl.evaluate.retrieval import folded
from ragctl.stages.names import written_names

if TYPE_CHECKING:
    from ragctl.evaluate.site import SitePage

HEADING: Final = "heading"
IDENTIFIER: Final = "identifier"
MOST_PASSAGES: Final = 2
"""A name that more passages hold has no one place that explains it."""

_WITH_TITLE: Final = (
    "What does the page “{title}” say about {heading}?",
    "How does “{title}” treat {heading}?",
    "Where in “{title}” can I read about {heading}?",
)
_OF_A_NAME: Final = ("What is {name}?", "Where is {name} explained?", "What does {name} do?")
_GENERIC: Final = frozenset(
    """
    about|abstract|acknowledgements|acknowledgments|appendix|background|basics|conclusion
    |conclusions|contents|copyright|credits|details|discussion|example|examples|exercises|faq|footnotes
    |further reading|getting started|introduction|license|links|motivation|notes|outline|overview
    |prerequisites|questions|recap|references|related work|resources|results|see also|setup
    |solution|sources|summary|table of contents|takeaways|tl;dr|usage|what's next|wrapping up
    """.replace("\n", "")
    .replace("    ", "")
    .split("|")
)
_NUMBERING: Final = re.compile(r"\A(?:\d+(?:\.\d+)*[.):]?|[ivx]+[.)])\s+", re.IGNORECASE)
_LETTERS: Final = re.compile(r"[^\W\d_]")
_FENCE: Final = re.compile(r"(?ms)^[ \t>]*(```+|~~~+).*?(?:^[ \t>]*\1|\Z)")
_SPAN: Final = re.compile(r"(?<!`)`([^`\n]{3,60})`(?!`)")
_TELLING: Final = re.compile(r"[^\W_]_+[^\W_]|[a-z\d][A-Z]|::|->|^--|^/\w+/|[A-Z]{2}\w*[A-Z]{2}")
_FEWEST_LETTERS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """What a question can be asked about: a heading of a page, or a name and its places."""

    kind: str
    name: str
    page: SitePage
    gold: tuple[Gold, ...]


def draft_questions(
    pages: Sequence[SitePage], *, count: int, seed: int, tracks: Sequence[str] = ()
) -> list[KnownQuestion]:
    """Return at most ``count`` questions, the same ones for the same site, tracks and seed.

    Tracks take turns, and in a track its pages, and on a page headings and names. All pages are
    wanted, so that what repeats is seen; of landing pages nothing is asked.
    """
    random = Random(seed)
    drafted: list[KnownQuestion] = []
    asked: set[str] = set()
    numbers: Counter[str] = Counter()
    by_track = _by_page(pages, random)
    wanted = {track: by_track[track] for track in by_track if not tracks or track in tracks}
    for candidate in _in_turn(wanted, random):
        if len(drafted) == count:
            break
        question = _worded(candidate, random)
        if folded(question) in asked:
            continue
        asked.add(folded(question))
        numbers[candidate.kind] += 1
        drafted.append(
            KnownQuestion(
                id=f"{candidate.kind}-{numbers[candidate.kind]:03}",
                question=question,
                kind=candidate.kind,
                track=candidate.page.track,
                gold=candidate.gold,
                must_contain=(candidate.name,) if candidate.kind == IDENTIFIER else (),
                answerable=True,
            )
        )
    return drafted


def question_document(known: KnownQuestion) -> dict[str, object]:
    """Return a drafted question as a line of a question file."""
    return {
        "id": known.id,
        "question": known.question,
        "kind": known.kind,
        "track": known.track,
        "gold": [
            {"url": gold.url, **({"section": gold.section} if gold.section else {})}
            for gold in known.gold
        ],
        "must_contain": list(known.must_contain),
        "answerable": known.answerable,
        "draft": True,
    }


def _worded(candidate: _Candidate, random: Random) -> str:
    if candidate.kind == IDENTIFIER:
        return random.choice(_OF_A_NAME).format(name=candidate.name)
    title = candidate.page.title.strip()
    heading = _spoken(candidate.name)
    if heading.endswith("?"):
        return f"{heading} (as in “{title}”)"
    return random.choice(_WITH_TITLE).format(title=title, heading=heading)


def _spoken(heading: str) -> str:
    """Return a heading as it is asked about: without its number and closing punctuation."""
    bare = _NUMBERING.sub("", heading.strip())
    return bare.rstrip(".:;!, ") or heading.strip()


def _in_turn(tracks: dict[str, list[list[_Candidate]]], random: Random) -> Iterator[_Candidate]:
    """Yield candidates so that tracks take turns, and in each track its pages."""
    queues = []
    for track in sorted(tracks):
        random.shuffle(tracks[track])
        queues.append(_round_robin([iter(page) for page in tracks[track]]))
    yield from _round_robin(queues)


def _round_robin(queues: Sequence[Iterator[_Candidate]]) -> Iterator[_Candidate]:
    left = list(queues)
    while left:
        going = []
        for queue in left:
            candidate = next(queue, None)
            if candidate is not None:
                yield candidate
                going.append(queue)
        left = going


def _by_page(pages: Sequence[SitePage], random: Random) -> dict[str, list[list[_Candidate]]]:
    """Return the candidates of each page, kinds in turn and else in random order, by track."""
    wanted = [page for page in pages if not page.is_landing and page.passages]
    headings, names = _headings(wanted), _names(pages)
    tracks: defaultdict[str, list[list[_Candidate]]] = defaultdict(list)
    for page in wanted:
        kinds = [headings.get(page.url, []), names.get(page.url, [])]
        for candidates in kinds:
            random.shuffle(candidates)
        random.shuffle(kinds)
        tracks[page.track].append(list(_round_robin([iter(each) for each in kinds])))
    return dict(tracks)


def _headings(pages: Sequence[SitePage]) -> dict[str, list[_Candidate]]:
    """Return headings with text under them that one page alone has and that tell something."""
    on_pages = Counter(folded(_spoken(each)) for page in pages for each in page.sections().values())
    found: defaultdict[str, list[_Candidate]] = defaultdict(list)
    for page in pages:
        for label in page.sections().values():
            spoken = folded(_spoken(label))
            if (
                on_pages[spoken] == 1
                and spoken not in _GENERIC
                and spoken != folded(page.title)
                and len(_LETTERS.findall(spoken)) >= _FEWEST_LETTERS
            ):
                gold = (Gold(url=page.url, section=label),)
                found[page.url].append(_Candidate(kind=HEADING, name=label, page=page, gold=gold))
    return found


def _names(pages: Sequence[SitePage]) -> dict[str, list[_Candidate]]:
    """Return names that few passages of the site hold and that are set as code in a sentence."""
    places: defaultdict[str, list[tuple[SitePage, Gold]]] = defaultdict(list)
    in_sentences: dict[str, str] = {}
    for page in pages:
        for passage in page.passages:
            gold = Gold(url=page.url, section=passage.section)
            for name in dict.fromkeys(each.casefold() for each in written_names(passage.body)):
                places[name].append((page, gold))
            for span in _SPAN.findall(_FENCE.sub("", passage.body)):
                if _is_asked_about(span):
                    in_sentences.setdefault(span.casefold(), span)
    found: defaultdict[str, list[_Candidate]] = defaultdict(list)
    for name, written in in_sentences.items():
        held = places[name]
        if not 0 < len(held) <= MOST_PASSAGES or any(page.is_landing for page, _ in held):
            continue
        gold_places = tuple(dict.fromkeys(gold for _, gold in held))
        page = held[0][0]
        found[page.url].append(
            _Candidate(kind=IDENTIFIER, name=written, page=page, gold=gold_places)
        )
    return found


def _is_asked_about(span: str) -> bool:
    """Tell whether a span of code is one name, and no plain word, number or address."""
    return (
        written_names(span) == (span,)
        and "://" not in span
        and bool(_TELLING.search(span))
        and len(_LETTERS.findall(span)) >= _FEWEST_LETTERS
    )
