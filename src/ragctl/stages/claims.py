"""Whether each sentence of an answer stands in the passage it cites: deterministic, no model.

An answer is split into asserting sentences, and each is compared with the best one to three
neighbouring sentences, table rows or code lines of its passage: numbers with their scale, names
(code, identifiers, capitals), quoted strings, negation and opposites, and the share of its words
weighted by how rare they are. Lexical entailment by weighted word overlap is after Dagan, Glickman
and Magnini, "The PASCAL Recognising Textual Entailment Challenge" (2005); negation in scope after
the window of NegEx (Chapman et al. 2001). ``supported`` means that names, numbers and words stand
in the passage, nothing more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log
from typing import Final

from ragctl.records import Claim, Hit, Verdict
from ragctl.stages.citations import find_marks
from ragctl.stages.claim_words import (
    CALENDAR,
    COMMON,
    FREE_NUMBERS,
    MILDER,
    NEGATIONS,
    NUMBER_WORDS,
    OPPOSITES,
    SCALES,
    SYNONYMS,
    listed,
)
from ragctl.stages.sentences import stems

LEAST_NEAR: Final = 0.28
LEAST_WHOLE: Final = 0.35
LEAST_CLEAR: Final = 0.42
LEAST_CERTAIN: Final = 0.6
LEAST_ALIKE: Final = 0.5
LEAST_OPPOSED: Final = 0.3
LEAST_OTHER: Final = 0.4
MORE: Final = 0.1
CLEARLY_MORE: Final = 0.4
"""Shares of a statement's words. Below the first two it is unsupported, below the third weak. A
sentence must have ``LEAST_ALIKE`` of them before a name or number counts as swapped, and
``LEAST_OPPOSED`` before an opposite counts. Another passage must hold ``LEAST_OTHER``, and ``MORE``
than the cited one, to be named instead; or ``CLEARLY_MORE``, where nothing else speaks against the
cited one and it has no ``LEAST_CERTAIN``. Chosen on labelled sentences so that under 5 in 100 true
ones are flagged."""

_LEADING_MARKS: Final = re.compile(r"^(?:[\[【［][^\]】］\n]{1,40}[\]】］][.,;]?\s*)+(?!\()")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SCOPE: Final = 6
_NUMBER: Final = re.compile(
    r"(?<![\w.])\$?(?P<digits>0[xX][\da-fA-F]+|\d+(?:[,_]\d{3})*(?:\.\d+)*)"
    r"(?:[ -]?(?P<scale>thousand|million|billion|trillion|[kKMB](?![\w])))?"
)
_CODE_SPAN: Final = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_QUOTED: Final = re.compile(r"[\"“]([^\"“”\n]{12,200})[\"”]")
_TOKEN: Final = re.compile(r"--?[A-Za-z][\w-]*|[~./]?\w+(?:(?:->|::|[-./\\:@])+\w+)*(?:\+\+|#)?")
_PIECE: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")
_NAME_LIKE: Final = re.compile(
    r"[a-z\d][A-Z]|[A-Z]{2}|\w_\w|[^\W\d_]\d|\w::\w|^--?[a-z]|\w/\w|\+\+"
)
_CAPITALISED: Final = re.compile(r"[A-Z]\w+(?:[ -][A-Z]\w+){1,4}")
_LINK: Final = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)|\[([^\]\n]+)\]\[[^\]\n]*\]")
_MARKUP: Final = re.compile(r"\*\*|__|(?<!\w)[*_]|[*_](?!\w)|</?\w[^>\n]{0,80}>")
_FENCE: Final = re.compile(r"^\s{0,3}(?:```|~~~)")
_ITEM: Final = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_HEADING: Final = re.compile(r"^\s{0,3}#{1,6}\s")
_BORDER: Final = re.compile(r"(?<=[.!?])[\"'”’)*_]*\s+(?=[\"'“‘(\[【`*_]*[A-Z0-9`])|(?<=[。！？])")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|fig|eq|sec|no|dr|mr|mrs|ms|inc|al|st)|\b[A-Z])\.$", re.I
)
_ABOUT_PASSAGES: Final = re.compile(
    r"\b(?:passages?|context|text|sources?|documents?)\b[^.]{0,60}\b(?:do|does|did) ?(?:not|n't)\b"
    r"|\b(?:passages?|sources?|context) (?:don't|doesn't|say nothing|says nothing)\b"
    r"|\bthere is no (?:mention|information|discussion)\b|\bnot (?:mentioned|covered|discussed) in "
    r"the\b|\b(?:i|we) (?:do not|don't|cannot|can't|could not) (?:know|answer|find|tell|determine)"
    r"\b|^(?:sorry|unfortunately)\b"
    r"|\bno (?:direct |specific )?(?:information|mention) (?:on|about|of)\b",
    re.I,
)
_PREFACE: Final = re.compile(
    r"^(?:so,? |overall,? |therefore,? |in summary,? |however,? )?(?:according to|based on|as "
    r"(?:described|stated|mentioned|explained) in|as per|in|from)\s+(?:the\s+)?"
    r"(?:provided |given )?"
    r"(?:passages?|sources?|context|text)?\s*(?:@\s*)*,\s*",
    re.I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """An asserting sentence as written, and the passages cited in it or directly after it."""

    text: str
    cites: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one passage has of a statement, and what it lacks.

    ``near`` and ``whole`` are the shares of the statement's words in the best few neighbouring
    sentences and in the whole passage, by weight; ``alike`` is that of the closest sentence, exact
    words only, with which ``swapped``, ``opposites`` and ``negation`` are found.
    """

    near: float
    whole: float
    numbers: tuple[str, ...] = ()
    far_numbers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    far_names: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    opposites: tuple[str, ...] = ()
    negation: str = ""
    alike: float = 0.0
    swapped: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Unit:
    words: tuple[str, ...]
    stems: frozenset[str]
    numbers: frozenset[float | str]
    forms: frozenset[str]
    names: frozenset[str] = frozenset()


_NO_UNIT: Final = _Unit((), frozenset(), frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class _Passage:
    n: int
    units: tuple[_Unit, ...]
    label: frozenset[str]
    where: Mapping[str, tuple[int, ...]]
    numbers: frozenset[float | str]
    forms: frozenset[str]
    squashed: str


# --- words -------------------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    return min(stems(word), key=len, default=word)


@lru_cache(maxsize=1)
def _synonyms() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for number, group in enumerate(SYNONYMS):
        for word in group.split():
            found.setdefault(_stem(word), []).append(f"={number}")
    return {word: tuple(groups) for word, groups in found.items()}


@lru_cache(maxsize=1)
def _milder() -> frozenset[str]:
    return frozenset(_stem(word) for word in MILDER)


@lru_cache(maxsize=1)
def _common() -> frozenset[str]:
    return frozenset(_stem(word) for word in COMMON)


@lru_cache(maxsize=1)
def _sides() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple(
        (frozenset(map(_stem, one.split())), frozenset(map(_stem, other.split())))
        for one, other in OPPOSITES
    )


@lru_cache(maxsize=1)
def _stopwords() -> frozenset[str]:
    kept = "before after more most over under until once only same other no not nor between"
    words = listed(
        "a an the and or but if then than that this these those it its they them their there "
        "here he she his her we our you your i my me is are was were be been being am do does "
        "did doing has have had having will would can could should may might must shall of in "
        "on at to for from by with as into onto about through so such which who whom whose what "
        "when where why how while also just very too s t re ve ll d m each any some all both "
        "either not no nor own up out off "
    )
    stopped = frozenset(words) - frozenset(kept.split())
    return frozenset(map(_stem, stopped)) | NEGATIONS


def _words(text: str) -> tuple[str, ...]:
    """Return the stems of a text in order; compound names are given whole and in parts."""
    found: list[str] = []
    for word in _WORD.findall(text.replace("_", " ")):
        pieces = _PIECE.findall(word) if not word.islower() else []
        if len(pieces) > 1:
            found += (_stem(piece.lower()) for piece in pieces if len(piece) > 1)
        found.append(_stem(word.lower()) if word.lower() not in NEGATIONS else word.lower())
    return tuple(found)


def _keys(word: str) -> tuple[str, ...]:
    """Return what a word is looked up by: itself, its groups of synonyms, its beginning."""
    prefix = (f"{word[:5]}…",) if len(word) >= 5 else ()
    return (word, *_synonyms().get(word, ()), *prefix)


_WORTH: Final = {"=": 0.85, "…": 0.75}


def _worth(key: str) -> float:
    return _WORTH.get(key[:1], _WORTH.get(key[-1:], 1.0))


@lru_cache(maxsize=16384)
def _joined(name: str) -> str:
    return squash(name)


def squash(text: str) -> str:
    """Return the letters and digits of a text, in folded case and without anything between."""
    return _NO_LETTER.sub("", text).casefold()


_NO_LETTER: Final = re.compile(r"[\W_]+")


def _numbers(text: str) -> dict[str, frozenset[float | str]]:
    """Return the numbers of a text as written, each with the values it may stand for."""
    found: dict[str, frozenset[float | str]] = {}
    for match in _NUMBER.finditer(text):
        digits = match["digits"].replace(",", "").replace("_", "").rstrip(".")
        values: set[float | str] = {digits.lower()}
        if digits.count(".") <= 1 and digits[:2].lower() != "0x":
            value = float(digits)
            values = {value} if digits[0] != "0" or "." in digits or digits == "0" else {digits}
            scale = (match["scale"] or "").strip().lower()
            if scale:
                values = {round(value * SCALES[scale], 6)}
        found[match.group().strip()] = frozenset(values)
    for word in _WORD.findall(text.lower()):
        if word in NUMBER_WORDS:
            found.setdefault(word, frozenset({NUMBER_WORDS[word]}))
    return found


def _forms(text: str) -> frozenset[str]:
    """Return the names and words of a text in joined form, whole and in parts."""
    found: set[str] = set()
    for token in _TOKEN.findall(text):
        if token.isalpha() and token.islower():
            found.add(token)
            continue
        found.add(_joined(token))
        found.update(map(_joined, re.split(r"\W+", token)))
        for part in re.split(r"[\W_]+", token):
            found.add(part.casefold())
            if not part.islower():
                found.update(piece.casefold() for piece in _PIECE.findall(part))
    found.update(form[:-1] for form in tuple(found) if form.endswith("s") and len(form) > 3)
    initials = _CAPITALISED.findall(text)
    found.update("".join(re.findall(r"\b\w", run)).casefold() for run in initials)
    return frozenset(found)


# --- passages ----------------------------------------------------------------------------------


def _pieces(body: str) -> Iterator[str]:
    """Yield sentences, list items, table rows and code lines of a passage."""
    paragraph: list[str] = []

    def sentences() -> Iterator[str]:
        yield from _split(" ".join(paragraph))
        paragraph.clear()

    in_code = False
    for line in body.splitlines():
        fence = bool(_FENCE.match(line))
        if fence or in_code or not line.strip() or line.lstrip().startswith("|"):
            yield from sentences()
            in_code ^= fence
            if line.strip() and not fence:
                yield line
            continue
        if _ITEM.match(line) or _HEADING.match(line):
            yield from sentences()
        paragraph.append(line.strip())
        if _HEADING.match(line):
            yield from sentences()
    yield from sentences()


def _split(text: str) -> list[str]:
    hidden = _CODE_SPAN.sub(lambda span: "`" + "x" * (len(span.group()) - 2) + "`", text)
    found, start = [], 0
    for border in _BORDER.finditer(hidden):
        if not _ABBREVIATION.search(hidden[start : border.start()].rstrip("\"'”’)*_")):
            found.append(text[start : border.end()].strip())
            start = border.end()
    return [piece for piece in (*found, text[start:].strip()) if piece]


def _plain(text: str) -> str:
    text = _LINK.sub(lambda match: match[1] or match[2] or "", text)
    return _MARKUP.sub("", text)


@lru_cache(maxsize=1024)
def _unit(text: str) -> _Unit:
    plain = _plain(text)
    words = _words(plain)
    values = frozenset(value for known in _numbers(plain).values() for value in known)
    return _Unit(words, frozenset(words), values, _forms(plain), frozenset(_code_names(plain)))


def _read(hit: Hit) -> _Passage:
    units = tuple(_unit(piece) for piece in _pieces(hit.body))
    label = f"{hit.title} {hit.section or ''} {hit.url.replace('/', ' ')}"
    where: dict[str, list[int]] = {}
    for place, unit in enumerate(units):
        for word in unit.stems:
            for key in _keys(word):
                places = where.setdefault(key, [])
                if not places or places[-1] != place:
                    places.append(place)
    return _Passage(
        n=hit.n,
        units=units,
        label=frozenset(key for word in _words(label) for key in _keys(word)),
        where={key: tuple(places) for key, places in where.items()},
        numbers=frozenset().union(*(unit.numbers for unit in units), _values(label)),
        forms=frozenset().union(*(unit.forms for unit in units), _forms(label)),
        squashed=f"{squash(_plain(hit.body))} {squash(hit.body + label)}",
    )


def _values(text: str) -> frozenset[float | str]:
    return frozenset(value for known in _numbers(text).values() for value in known)


# --- the answer --------------------------------------------------------------------------------


def check_claims(answer_text: str, passages: Sequence[Hit]) -> tuple[Claim, ...]:
    """Return the asserting sentences of an answer, each with what its passages say of it.

    A sentence without a number of its own stays ``uncited`` even where the next one cites: a
    reader cannot tell how far back a number reaches. It is then held against all passages, and
    ``why`` says whether one of them supports it.
    """
    statements = statements_of(answer_text, passages=max((hit.n for hit in passages), default=0))
    read = {hit.n: _read(hit) for hit in passages} if statements else {}
    return tuple(_judge(statement, read) for statement in statements)


def statements_of(text: str, *, passages: int) -> tuple[Statement, ...]:
    """Split an answer into asserting sentences with the passages each cites.

    Left out are headings, code, questions, lead-ins that end with a colon, and sentences that say
    what the passages do not say. Items of a list without numbers have those of its lead-in.
    """
    found: list[Statement] = []
    lead: tuple[int, ...] = ()
    for block, is_item in _blocks(text):
        if not is_item:
            lead = ()
        for sentence in _sentences(block):
            cites = tuple(
                dict.fromkeys(n for m in find_marks(sentence, passages=passages) for n in m.numbers)
            )
            if sentence.rstrip("*_ ").endswith(":"):
                lead = cites
            elif _asserts(sentence):
                own = cites or (lead if is_item else ())
                found.append(Statement(text=sentence, cites=own))
    return tuple(found)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield paragraphs and list items outside code and headings; true for an item."""
    lines: list[str] = []
    is_item = in_code = False
    for line in [*text.splitlines(), ""]:
        fence = bool(_FENCE.match(line))
        starts = bool(_ITEM.match(line))
        breaks = not line.strip() or line.lstrip().startswith("|")
        if lines and (fence or starts or breaks or _HEADING.match(line)):
            yield " ".join(lines), is_item
            lines.clear()
        in_code ^= fence
        if fence or in_code or breaks or _HEADING.match(line):
            continue
        if not lines:
            is_item = starts
        lines.append(_ITEM.sub("", line).strip().lstrip("> "))


def _sentences(block: str) -> list[str]:
    """Split a block; a citation that stands before a capital belongs to the sentence before."""
    found: list[str] = []
    for piece in _split(block):
        ahead = _LEADING_MARKS.match(piece)
        if ahead and found and not piece[ahead.end() :][:1].islower():
            found[-1] += " " + ahead.group().strip()
            piece = piece[ahead.end() :]
        if piece.strip():
            found.append(piece.strip())
    return found


def _asserts(sentence: str) -> bool:
    bare = _without_marks(sentence)
    if bare.rstrip("*_\"”' ").endswith("?") or _ABOUT_PASSAGES.search(bare):
        return False
    words = set(_words(_PREFACE.sub("", _plain(bare)))) - _stopwords()
    return len(words) >= _FEWEST_WORDS


_FEWEST_WORDS: Final = 2


def _without_marks(sentence: str) -> str:
    for mark in reversed(list(find_marks(sentence, passages=1000))):
        sentence = f"{sentence[: mark.start]} @ {sentence[mark.end :]}"
    return sentence


def _judge(statement: Statement, read: Mapping[int, _Passage]) -> Claim:
    asked = _take_apart(statement.text)
    weights = _weights(asked, tuple(read.values()))
    asked = replace(asked, topics=_topics(asked, tuple(read.values())))
    found = {n: _weigh(asked, passage, weights) for n, passage in read.items()}
    cited = [n for n in statement.cites if n in found]
    if not cited:
        return _claim(statement, "uncited", _where_uncited(found))
    verdict, why = _verdict_on(cited, found, asked, read, weights)
    if verdict != "unsupported" and not _is_elsewhere(cited, found):
        return _claim(statement, verdict, why)
    better = _better(cited, found)
    if better:
        return _claim(statement, "misattributed", f"{why}; passage [{better}] supports it")
    return _claim(statement, verdict, why)


def _claim(statement: Statement, verdict: Verdict, why: str) -> Claim:
    return Claim(text=statement.text, cites=statement.cites, verdict=verdict, why=why)


def _verdict_on(
    cited: Sequence[int],
    found: Mapping[int, Evidence],
    asked: _Asked,
    read: Mapping[int, _Passage],
    weights: Mapping[str, float],
) -> tuple[Verdict, str]:
    """Judge by the best of the cited passages, or by all of them together."""
    judged = [(_judgement(found[n], f"passage [{n}]"), found[n].near) for n in cited]
    if len(cited) > 1:
        together = _weigh(asked, _merged([read[n] for n in cited]), weights)
        together = replace(together, near=max(together.near, together.whole))
        label = f"passages {''.join(f'[{n}]' for n in cited)}"
        judged.append((_judgement(together, label), together.near))
    order = ("supported", "weak", "unsupported")
    return min(judged, key=lambda one: (order.index(one[0][0]), -one[1]))[0]


def _judgement(evidence: Evidence, label: str) -> tuple[Verdict, str]:
    hard, soft = _faults(evidence, label), _doubts(evidence, label)
    if hard:
        return "unsupported", "; ".join(hard)
    if soft:
        return "weak", "; ".join(soft)
    return "supported", f"its names, numbers and words are in {label}"


def _faults(evidence: Evidence, label: str) -> list[str]:
    """Return what speaks against a statement."""
    found = [f"the number {number} is not in {label}" for number in evidence.numbers]
    found += [f"{name} is not in {label}" for name in evidence.names]
    found += [f"the words “{quote[:60]}” are not in {label}" for quote in evidence.quotes]
    if evidence.swapped and evidence.alike >= LEAST_ALIKE:
        found.append(f"{label} has {evidence.swapped[1]} where it says {evidence.swapped[0]}")
    if evidence.opposites and not evidence.negation and evidence.alike >= LEAST_OPPOSED:
        found.append(f"it says “{evidence.opposites[0]}”, {label} says the opposite")
    if evidence.negation == "passage" and evidence.near >= LEAST_OTHER:
        found.append(f"{label} says that it is not so")
    if evidence.near < LEAST_NEAR and evidence.whole < LEAST_WHOLE:
        found.append(_few_words(evidence, label))
    return found


def _few_words(evidence: Evidence, label: str) -> str:
    named = ", ".join(f"“{word}”" for word in evidence.words[:3])
    return f"{label} has few of its words" + (f": not {named}" if named else "")


def _doubts(evidence: Evidence, label: str) -> list[str]:
    """Return what makes the support of a statement weak."""
    far = (*evidence.far_numbers, *evidence.far_names)
    found = [f"{name} stands elsewhere in {label}" for name in far]
    if evidence.negation == "statement":
        found.append(f"it denies something, {label} does not")
    if evidence.negation == "passage":
        found.append(f"{label} denies something, it does not")
    if evidence.opposites and not evidence.negation:
        found.append(f"it says “{evidence.opposites[0]}”, {label} perhaps the opposite")
    if evidence.near < LEAST_CLEAR:
        found.append(_few_words(evidence, label))
    return found


def _is_elsewhere(cited: Sequence[int], found: Mapping[int, Evidence]) -> bool:
    """Whether another passage has so much more of a statement that the citation must be wrong."""
    most = max(found[n].whole for n in cited)
    best = max((e.near for n, e in found.items() if n not in cited), default=0.0)
    return most < LEAST_CERTAIN and best - most >= CLEARLY_MORE


def _better(cited: Sequence[int], found: Mapping[int, Evidence]) -> int | None:
    """Return the passage, not among the cited ones, that supports a statement clearly better."""
    most = max(found[n].near for n in cited)
    others = [(e.near, -n) for n, e in found.items() if n not in cited and not _faults(e, "")]
    near, number = max(others, default=(0.0, 0))
    return -number if near >= LEAST_OTHER and near - most >= MORE else None


def better_passage(claim: Claim) -> int | None:
    """Return the passage that supports a misattributed claim."""
    named = re.search(r"passage \[(\d+)\] supports it$", claim.why)
    return int(named[1]) if claim.verdict == "misattributed" and named else None


def is_unfounded(claim: Claim) -> bool:
    """Whether a claim cites nothing and stands in none of the passages."""
    return claim.verdict == "uncited" and claim.why.startswith(_UNFOUNDED)


_UNFOUNDED: Final = "no citation, and no passage supports it"


def _where_uncited(found: Mapping[int, Evidence]) -> str:
    sound = [(e.near, -n) for n, e in found.items() if _judgement(e, "")[0] == "supported"]
    if sound:
        return f"no citation; passage [{-max(sound)[1]}] supports it"
    best = max(found, key=lambda n: found[n].near, default=None)
    if best is None:
        return "no citation, and there are no passages"
    reason = _judgement(found[best], f"passage [{best}]")
    if reason[0] == "weak":
        return f"no citation; closest is passage [{best}]: {reason[1]}"
    return f"{_UNFOUNDED}: {reason[1]}"


def _merged(passages: Sequence[_Passage]) -> _Passage:
    where: dict[str, tuple[int, ...]] = {}
    start = 0
    for passage in passages:
        for key, places in passage.where.items():
            where[key] = (*where.get(key, ()), *(place + start for place in places))
        start += len(passage.units)
    return _Passage(
        n=passages[0].n,
        units=tuple(unit for passage in passages for unit in passage.units),
        label=frozenset().union(*(passage.label for passage in passages)),
        where=where,
        numbers=frozenset().union(*(passage.numbers for passage in passages)),
        forms=frozenset().union(*(passage.forms for passage in passages)),
        squashed=" ".join(passage.squashed for passage in passages),
    )


# --- one statement against one passage ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """A statement taken apart."""

    words: tuple[str, ...]
    content: tuple[str, ...]
    spoken: Mapping[str, str]
    numbers: Mapping[str, frozenset[float | str]]
    names: tuple[str, ...]
    code: tuple[str, ...]
    forms: frozenset[str]
    quotes: tuple[str, ...]
    parts: tuple[str, ...]
    sides: tuple[tuple[frozenset[str], frozenset[str]], ...]
    topics: frozenset[str] = frozenset()


def _take_apart(text: str) -> _Asked:
    """Take a statement apart; ``parts`` are found in the passage where it is copied from there."""
    plain = _PREFACE.sub("", _plain(_without_marks(text))).replace("@", " ")
    words = _words(plain)
    stopped = _stopwords()
    spoken: dict[str, str] = {}
    for word in _WORD.findall(plain.replace("_", " ")):
        spoken.setdefault(_stem(word.lower()), word)
    content = tuple(
        dict.fromkeys(
            w
            for w in words
            if w not in stopped and not w.isdigit() and w not in NUMBER_WORDS and len(w) > 1
        )
    )
    return _Asked(
        words=words,
        content=content,
        spoken=spoken,
        numbers=_numbers(plain),
        names=_names(plain),
        code=_code_names(plain),
        forms=_forms(plain),
        quotes=tuple(_QUOTED.findall(plain)),
        parts=tuple(squash(part) for part in re.split(r"[;:]\s", plain)),
        sides=_sides_of(words),
    )


def _names(text: str) -> tuple[str, ...]:
    """Return the names in a statement: code, identifiers, words with capitals inside it."""
    found: dict[str, None] = {}
    for span in _CODE_SPAN.finditer(text):
        found.update(dict.fromkeys(t for t in _TOKEN.findall(span[2]) if not t.isdigit()))
    bare = _CODE_SPAN.sub(" ", text)
    for match in _TOKEN.finditer(bare):
        token = match.group()
        inner = match.start() > 0 and not bare[: match.start()].rstrip().endswith((":", ".", '"'))
        capital = inner and token[:1].isupper() and len(token) > 1
        capital &= token.lower() not in NUMBER_WORDS and token not in CALENDAR
        if _NAME_LIKE.search(token) or capital:
            found[token] = None
    return tuple(name for name in found if len(_joined(name)) > 1)


def _code_names(text: str) -> tuple[str, ...]:
    """Return what stands between backticks, where it is one name."""
    spans = (span[2] for span in _CODE_SPAN.finditer(text))
    return tuple(span for span in spans if re.fullmatch(r"[A-Za-z_][\w:.-]*(?:\(\))?", span))


def _has_name(name: str, forms: frozenset[str], squashed: str = "") -> bool:
    whole = _joined(name)
    single = whole[:-1] if whole.endswith("s") and len(whole) > 3 else whole
    if whole in forms or single in forms or (len(whole) >= 5 and single in squashed):
        return True
    parts = [part.casefold() for part in re.split(r"\W+", name) if part]
    return len(parts) > 1 and all(part in forms or part.rstrip("s") in forms for part in parts)


def _topics(asked: _Asked, passages: Sequence[_Passage]) -> frozenset[str]:
    """Return names that most of the passages hold: what all is about needs no saying in each."""
    held = Counter(
        name
        for passage in passages
        for name in asked.names
        if _has_name(name, passage.forms, passage.squashed)
    )
    return frozenset(name for name, count in held.items() if count > max(1, len(passages) / 2))


def _weights(asked: _Asked, passages: Sequence[_Passage]) -> dict[str, float]:
    """Return how much each content word counts: rare ones more, everyday ones less."""
    units = sum(len(passage.units) for passage in passages)
    weights = {}
    for word in asked.content:
        held = sum(len(passage.where.get(word, ())) for passage in passages)
        weights[word] = log(1 + units / (1 + held)) * (0.35 if word in _common() else 1.0)
    return weights


def _weigh(asked: _Asked, passage: _Passage, weights: Mapping[str, float]) -> Evidence:
    total = sum(weights.values()) or 1.0
    if all(part in passage.squashed for part in asked.parts):
        return Evidence(near=1.0, whole=1.0)
    rows, lacking, held = _rows(asked, passage, weights)
    first, last, near = _best_window(rows)
    around = passage.units[max(0, first - 1) : last + 2]
    numbers, far_numbers = _numbers_lacking(asked, passage, around)
    absent = [n for n in asked.names if not _has_name(n, passage.forms, passage.squashed)]
    names = tuple(name for name in absent if name not in asked.topics)
    forms = frozenset().union(passage.label, *(unit.forms for unit in around))
    closest = max(
        passage.units[first : last + 1],
        key=lambda unit: _alike(asked, unit, weights),
        default=_NO_UNIT,
    )
    return Evidence(
        near=near / total,
        whole=held / total,
        numbers=numbers,
        far_numbers=far_numbers,
        names=names,
        far_names=tuple(n for n in asked.names if n not in absent and not _has_name(n, forms)),
        quotes=tuple(q for q in asked.quotes if squash(q) not in passage.squashed),
        opposites=_opposed(asked, closest),
        negation=_negated(asked, closest),
        alike=_alike(asked, closest, weights) / total,
        swapped=_swapped(asked, closest),
        words=tuple(
            asked.spoken.get(word, word)
            for word in sorted(lacking, key=lambda w: -weights[w])
            if word not in _common()
        ),
    )


def _rows(
    asked: _Asked, passage: _Passage, weights: Mapping[str, float]
) -> tuple[list[list[float]], list[str], float]:
    """Return what each word is worth in each place, the words found nowhere, and the sum."""
    rows: list[list[float]] = []
    lacking: list[str] = []
    held = 0.0
    for word in asked.content:
        weight = weights[word]
        row = [_LABELLED * weight if word in passage.label else 0.0] * (len(passage.units) or 1)
        best = 0.0
        for key in reversed(_keys(word)):  # the word itself comes last and counts most
            places = passage.where.get(key, ())
            if places or key in passage.label:
                best = max(best, _worth(key))
            for place in places:
                row[place] = max(row[place], _worth(key) * weight)
        held += best * weight
        rows.append(row)
        if not best:
            lacking.append(word)
    return rows, lacking, held


_LABELLED: Final = 0.8
"""What a word is worth that stands in the title, section or address only."""


def _alike(asked: _Asked, unit: _Unit, weights: Mapping[str, float]) -> float:
    return sum(weights[word] for word in asked.content if word in unit.stems)


def _best_window(rows: Sequence[Sequence[float]]) -> tuple[int, int, float]:
    """Return the first and last place of the best one to three neighbours, and their worth.

    A longer window must be better by some margin, so that the closest is kept.
    """
    alone = rows
    best = (0, 0, 0.0)
    for length in range(3):
        worths = [sum(column) for column in zip(*rows, strict=True)]
        worth = max(worths, default=0.0)
        if worth > best[2] * (_LONGER_IS_BETTER if length else 1.0):
            first = worths.index(worth)
            best = (first, first + length, worth)
        # a window one longer: each word as good as in this one or in the next place
        pairs = zip(rows, alone, strict=True)
        rows = [list(map(max, row, singles[length + 1 :])) for row, singles in pairs]
    return best


_LONGER_IS_BETTER: Final = 1.04


def _numbers_lacking(
    asked: _Asked, passage: _Passage, around: Sequence[_Unit]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the numbers that are not in the passage, and those not near its best sentences."""
    close = frozenset().union(*(unit.numbers for unit in around))
    lacking, far = [], []
    for written, values in asked.numbers.items():
        if written in FREE_NUMBERS or values <= {1.0}:
            continue
        if not values & passage.numbers:
            lacking.append(written)
        elif not values & close:
            far.append(written)
    return tuple(lacking), tuple(far)


def _opposed(asked: _Asked, unit: _Unit) -> tuple[str, ...]:
    """Return a pair of opposites of which the statement has one and its sentence the other."""
    for here, there in asked.sides:
        if not there.isdisjoint(unit.stems) and here.isdisjoint(unit.stems):
            word = min(here.intersection(asked.words))
            return (asked.spoken.get(word, word), min(there & unit.stems))
    return ()


def _sides_of(words: Sequence[str]) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return the opposites of which the words have one side only, that side first."""
    found = []
    for one, other in _sides():
        has_one, has_other = not one.isdisjoint(words), not other.isdisjoint(words)
        if has_one != has_other:
            found.append((one, other) if has_one else (other, one))
    return tuple(found)


def _negated(asked: _Asked, unit: _Unit) -> str:
    """Return ``statement`` or ``passage``: which of the two negates a word that both have."""
    shared = frozenset(asked.content) & unit.stems
    mine, theirs = _in_scope(asked.words) & shared, _in_scope(unit.words) & shared
    if mine and not (frozenset(unit.words) & NEGATIONS):
        return "statement"
    if theirs and not _denies(asked.words):
        return "passage"
    if (mine or theirs) and not mine & theirs:
        return "both"
    return ""


def _denies(words: Sequence[str]) -> bool:
    """Whether a statement negates, if only by a word such as ``only`` or ``unlike``."""
    return not (NEGATIONS | _milder()).isdisjoint(words) or any(
        word.startswith(("un", "dis")) and word not in _NOT_DENYING for word in words
    )


_NOT_DENYING: Final = frozenset(
    listed(
        "under und until unit union uniqu universal uniform distribut disk display distanc discuss "
        "discover understand underly"
    )
)


def _in_scope(words: Sequence[str]) -> frozenset[str]:
    """Return the words that a negation before them covers."""
    return frozenset(
        word
        for place, negation in enumerate(words)
        if negation in NEGATIONS
        for word in words[place + 1 : place + 1 + _SCOPE]
    )


def _swapped(asked: _Asked, unit: _Unit) -> tuple[str, ...]:
    """Return a name or number where the closest sentence, otherwise alike, has another one."""
    mine = {_joined(name): name for name in asked.code}
    theirs = {_joined(name): name for name in unit.names}
    lacking = [name for form, name in mine.items() if form not in unit.forms]
    other = [name for form, name in theirs.items() if form not in asked.forms]
    if lacking and other:
        return lacking[0], min(other)
    known = _values_of(asked)
    beyond = [
        written
        for written, values in asked.numbers.items()
        if not values & unit.numbers and written not in FREE_NUMBERS
    ]
    others = [value for value in unit.numbers if value not in known and value not in (0.0, 1.0)]
    if beyond and others:
        return beyond[0], f"{others[0]:g}" if isinstance(others[0], float) else others[0]
    return ()


def _values_of(asked: _Asked) -> frozenset[float | str]:
    return frozenset(value for values in asked.numbers.values() for value in values)
