"""What can be quoted of a passage: sentences, list items, table rows and code listings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from ragctl.stages.sentences import (
    flat_lines,
    is_whole,
    markdown_parser,
    split_sentences,
    stemmed,
    without_torn_fence,
)

if TYPE_CHECKING:
    from markdown_it.token import Token

Kind = Literal["sentence", "item", "row", "code"]

LONGEST_BODY_CHARS: Final = 10_000
"""What lies beyond in a passage is not read: passages have some 1,200 characters."""

LONGEST_ITEM_WORDS: Final = 60
LONGEST_LEAD_WORDS: Final = 45
_LISTINGS: Final = ("fence", "code_block")
_LEANS_BACK: Final = re.compile(
    r"^(this|that|these|those|it|its|they|their|he|she|such|however|but|and|so|thus|then|also"
    r"|therefore|otherwise|instead|for example|for instance|similarly|here|in this case)\b",
    re.I,
)
_POINTS_AWAY: Final = re.compile(
    r"\b(?:(?:see|shown|listed|described|discussed|mentioned|given|illustrated) (?:\w+ )?"
    r"(?:above|below)|(?:above|below|following|next|previous) (?:figure|image|diagram|picture"
    r"|screenshot|section|chapter|table|listing|snippet|code|example)|as follows)\b",
    re.I,
)
_POINTS_ON: Final = re.compile(
    r"\b(?:below|as follows|(?:the |this |an? )?following(?: \w+){0,3}|like this|like so)\W*$", re.I
)
_TERM_LINE: Final = re.compile(r"^[^\s:][^:.!?]{0,60}(?::| [–—-]) \S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A part of a passage that is quoted whole.

    ``text`` is what the passage has: the words of a sentence or item, the line of a row, the lines
    of a listing to the byte. ``position`` counts the units of a passage; ``group`` is the same for
    units of one paragraph, list or table. ``needs`` is the position of the unit without which this
    one does not stand: the lead-in of a list, what ``This ...`` refers to. An ``announces`` unit
    ends with a colon and is quoted only with what follows it. ``head`` is an item's mark, a row's
    header lines, a listing's language; ``lines`` are the first, last and number of lines of a
    listing that is quoted in part.
    """

    text: str
    kind: Kind
    passage: int
    position: int
    group: int
    stems: tuple[str, ...]
    around: frozenset[str] = frozenset()
    needs: int | None = None
    announces: bool = False
    leans: bool = False
    head: str = ""
    depth: int = 0
    lines: tuple[int, int, int] | None = None

    @property
    def words(self) -> int:
        """How many words a reader has to read."""
        return len(self.text.split())


def units_of(body: str, *, passage: int) -> list[Unit]:
    """Return what can be quoted of a passage's markdown, in order; ``passage`` is its place.

    Headings, fragments, questions, pictures and boilerplate are left out; links and emphasis are
    reduced to their words, and brackets that would pass for citations are gone from prose.
    """
    body = without_torn_fence(body[:LONGEST_BODY_CHARS])
    reader = _Reader(passage=passage, lines=body.split("\n"))
    for token in markdown_parser().parse(body):
        reader.take(token)
    return reader.found


@dataclass(slots=True)
class _Reader:
    """Goes through the block tokens of one passage."""

    passage: int
    lines: Sequence[str]
    found: list[Unit] = field(default_factory=list)
    group: int = 0
    lead: int | None = None
    parents: list[int | None] = field(default_factory=list)
    mark: str = ""
    item: int | None = None
    said: int | None = None
    heading: bool = False
    header: tuple[str, str] | None = None
    in_header: bool = False

    def take(self, token: Token) -> None:
        """Read the next block token."""
        kind = token.type
        if (token.nesting == 1 and kind != "paragraph_open") or kind in _LISTINGS:
            self.said = None
        if kind in ("heading_open", "heading_close"):
            self.heading, self.lead = kind == "heading_open", None
        elif kind in _LISTINGS:
            self._listing(token)
        elif kind in ("html_block", "hr"):
            self.lead = None
        elif kind == "inline":
            if not (self.header or self.in_header or self.heading):
                self._prose(token)
        else:
            self._list_border(token)
            self._table_border(token)

    def _list_border(self, token: Token) -> None:
        kind = token.type
        if kind in ("bullet_list_open", "ordered_list_open"):
            self.group += not self.parents
            self.parents.append(self.item if self.parents else self.lead)
            self.lead, self.item = None, None
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self.parents.pop()
            self.lead, self.item, self.mark = None, None, ""
        elif kind == "list_item_open":
            self.mark = f"{token.info}." if token.info else "-"

    def _table_border(self, token: Token) -> None:
        kind = token.type
        if kind == "table_open":
            self.group += 1
        elif kind in ("thead_open", "thead_close"):
            self.in_header = kind == "thead_open"
        elif kind == "tr_open":
            self._row(token)
        elif kind == "table_close":
            self.header, self.lead = None, None

    def _prose(self, token: Token) -> None:
        lines = [] if self.parents and _is_reference(token) else flat_lines(token)
        text = " ".join(lines)
        if not self.parents:
            self.group += 1
            by_term = len(lines) > 1 and all(map(_explains_term, lines))
            self._sentences(lines if by_term else split_sentences(text), needs=None)
        elif self.mark:
            self._item(text)
        else:
            self._sentences(split_sentences(text), needs=self.item)

    def _item(self, text: str) -> None:
        lead = self.parents[-1]
        mark, self.mark = self.mark, ""
        pieces = [text] if len(text.split()) <= LONGEST_ITEM_WORDS else split_sentences(text)
        announces = text.endswith(":")
        bare = pieces[0].rstrip(" ;,") if pieces else ""
        if not bare or not (announces or lead is not None or is_whole(_ended(bare), item=True)):
            self.item = None
            return
        depth = len(self.parents) - 1
        self.item = self._add(bare, "item", needs=lead, announces=announces, head=mark, depth=depth)
        self.lead = self.item if announces else None
        self._sentences(pieces[1:], needs=self.item)

    def _sentences(self, sentences: Sequence[str], *, needs: int | None) -> None:
        before = needs if needs is not None else self.said
        self.said = None
        self.lead = self.lead if not sentences else None
        for place, sentence in enumerate(sentences):
            last = place == len(sentences) - 1
            if last and sentence.endswith(":") and len(sentence.split()) <= LONGEST_LEAD_WORDS:
                self.lead = self._add(sentence, "sentence", announces=True, needs=needs)
            elif is_whole(sentence) or _explains_term(sentence):
                leans = bool(_LEANS_BACK.match(sentence))
                held = before if leans and before is not None else needs
                before = self._add(sentence, "sentence", needs=held, leans=leans)
                self.said = before if last and needs is None else None
                if last and _POINTS_ON.search(sentence):
                    self.lead = before
            else:
                before = needs

    def _row(self, token: Token) -> None:
        if not token.map:
            return
        first = token.map[0]
        if self.in_header:
            self.header = (self.lines[first].strip(), self.lines[first + 1].strip())
        elif self.header and any(character.isalnum() for character in self.lines[first]):
            head = "\n".join(self.header)
            text = self.lines[first].strip()
            self._add(text, "row", needs=self.lead, head=head, around=stemmed(self.header[0]))

    def _listing(self, token: Token) -> None:
        if token.type == "code_block" and self._indented_prose(token):
            return
        self.group += 1
        first, end = token.map or (0, 0)
        if token.type == "fence":
            closed = self.lines[end - 1].strip().startswith(token.markup)
            lines = self.lines[first + 1 : end - closed]
        else:
            lines = self.lines[first:end]
        if any(line.lstrip().startswith(">") for line in self.lines[first : first + 1]):
            lines = token.content.split("\n")[:-1]
        while lines and not lines[-1].strip():
            lines = lines[:-1]
        if any(line.strip() for line in lines):
            language = (token.info.split() or [""])[0]
            self._add("\n".join(lines), "code", needs=self.lead, head=language)
        self.lead = None

    def _indented_prose(self, token: Token) -> bool:
        """Take indented text for what it is: some generators indent notes."""
        inlines = [one for one in markdown_parser().parse(token.content) if one.type == "inline"]
        texts = [" ".join(flat_lines(one)) for one in inlines]
        sentences = [sentence for text in texts for sentence in split_sentences(text)]
        if not sentences or not all(map(is_whole, sentences)):
            return False
        self.group += 1
        self._sentences(sentences, needs=None)
        return True

    def _add(
        self,
        text: str,
        kind: Kind,
        *,
        needs: int | None = None,
        announces: bool = False,
        leans: bool = False,
        head: str = "",
        depth: int = 0,
        around: Sequence[str] = (),
    ) -> int:
        above = self.found[needs].stems if needs is not None else ()
        nearby = self.found[-1].stems if self.found else ()
        self.found.append(
            Unit(
                text=text,
                kind=kind,
                passage=self.passage,
                position=len(self.found),
                group=self.group,
                stems=tuple(stemmed(text)),
                around=frozenset((*above, *nearby, *around)),
                needs=needs,
                announces=announces,
                leans=leans,
                head=head,
                depth=depth,
            )
        )
        return len(self.found) - 1


def _explains_term(line: str) -> bool:
    return bool(_TERM_LINE.match(line)) and is_whole(_ended(line))


def _is_reference(token: Token) -> bool:
    """Whether an item is but a link: it names another page and says nothing."""
    kinds = [child.type for child in token.children or () if child.content.strip() or child.nesting]
    return bool(kinds) and kinds[0] == "link_open" and kinds.index("link_close") == len(kinds) - 1


def _ended(text: str) -> str:
    return text if text[-1] in ".!?" else f"{text}."


def points_away(text: str) -> bool:
    """Whether a text sends the reader to something that a quotation does not show."""
    return bool(_POINTS_AWAY.search(text) or _POINTS_ON.search(text))


def points_on(text: str) -> bool:
    """Whether a text ends by pointing to what comes after it."""
    return bool(_POINTS_ON.search(text))
