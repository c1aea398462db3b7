"""Whether an answer declines: it says that the passages do not hold it, and gives nothing else.

Recognised by what such a sentence is made of, not by its wording: the passages (or ``I``), a
negation, and a verb of holding or finding; "no mention of", "nothing about"; "outside the scope".
"""

from __future__ import annotations

import re
from typing import Final

from ragctl.stages.bibliography import without_bibliography
from ragctl.stages.borders import split_sentences
from ragctl.stages.citations import read_marks


def is_refusal(text: str) -> bool:
    """Tell whether an answer declines and gives nothing in its place.

    A hedge that is followed by a statement, cited or not, is an answer.
    """
    declined = False
    for line in without_bibliography(text).split("\n"):
        for sentence in split_sentences(line.strip()):
            if declines(sentence):
                declined = True
            elif _says_something(sentence):
                return False
    return declined


def declines(sentence: str) -> bool:
    """Tell whether a sentence says that the passages do not hold something, and no more."""
    parts = [part for part in _PART.split(sentence) if _WORD.search(part)]
    declining = [_is_declining(part) for part in parts]
    if not any(declining):
        return _is_declining(sentence)
    rest = zip(parts, declining, strict=True)
    return not any(_adds(part) for part, is_declining in rest if not is_declining)


def _is_declining(part: str) -> bool:
    plain = _plain(part)
    if any(pattern.search(plain) for pattern in _OF_THE_PASSAGES):
        return True
    cited = bool(read_marks(part, passages=_ANY).valid)
    return not cited and any(pattern.search(plain) for pattern in _OF_ANYTHING)


def _adds(part: str) -> bool:
    """Whether a part of a declining sentence states something: it cites, or opens with ``but``."""
    return bool(read_marks(part, passages=_ANY).valid) or bool(
        _TURNS.match(part) and len(_WORD.findall(part)) > _FEWEST_WORDS
    )


def _says_something(sentence: str) -> bool:
    """Whether a sentence states something: no apology, offer, question, lead-in, no account."""
    bare = _plain(sentence)
    if bare.endswith((":", "?")) or _COURTESY.match(bare):
        return False
    if _ACCOUNT.match(bare) and not read_marks(sentence, passages=_ANY).valid:
        return False
    return len(_WORD.findall(bare)) >= _FEWEST_WORDS


def _plain(text: str) -> str:
    return _MARK.sub("", text).replace("’", "'").replace("*", "").strip(" _>-•")


_ANY: Final = 10_000
_FEWEST_WORDS: Final = 3
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_MARK: Final = re.compile(r" ?[\[【][^\]】\n]{1,40}[\]】](?!\()")
_PART: Final = re.compile(r",\s+|;\s+|\s(?=(?:but|however|although|though)\b)", re.I)
_TURNS: Final = re.compile(r"\s*(?:but|however|instead|yet|still)\b", re.I)
_COURTESY: Final = re.compile(
    r"(?:i'?m sorry|i apologi[sz]e|sorry|unfortunately|regrettably|please|if you|you (?:may|might|"
    r"could|can)|feel free|let me know|i (?:would|'d) (?:recommend|suggest))\b",
    re.I,
)

_GIVEN = r"(?:(?:provided|given|available|numbered|retrieved|supplied|above|following|cited) )*"
_PASSAGES = (
    r"(?:passages?|excerpts?|snippets?|context|sources?|documents?|documentation|texts?|materials?"
    r"|information|content)"
)
_THE = r"(?:the |these |this |those |any |all |your |my |either )"
_SOURCES = (
    rf"(?:{_THE}(?:of {_THE})?{_GIVEN}{_PASSAGES}(?: (?:provided|given|above|here|you gave))*)"
)
_HOLD = (
    r"(?:contain|cover|mention|answer|say|state|discuss|describe|explain|provide|give|include"
    r"|address|specify|offer|have|hold|tell|touch|talk|refer|relate|name|define|list|indicate|deal"
    r"|speak|detail|support|show|reveal|clarify|elaborate)(?:s|es|ed|ing)?"
)
_DOES_NOT = (
    r"(?:(?:do|does|did|can|could|will|would)(?: not|n't)|cannot|can't|never|fails? to|nowhere)"
)
_ADVERBS = r"(?:(?:\w+ly|also|even|really|ever|in fact) ){0,2}"
_THING = (
    r"(?:information|mention|details?|discussion|reference|answer|explanation|description|data"
    r"|evidence|indication|coverage|figure)"
)
_HELD = (
    r"(?:mentioned|covered|discussed|specified|provided|described|addressed|included|given|stated"
    r"|explained|found|answered|contained|present|available|defined|detailed|documented|listed)"
)

_ACCOUNT: Final = re.compile(
    rf"(?:{_SOURCES}|they) (?:\w+ )?(?:(?:is|are) (?:\w+ )?about|discuss|describe|cover|deal with"
    r"|focus on|talk about|relate to)\b",
    re.I,
)
"""A sentence that says what the passages are about instead."""
_OF_THE_PASSAGES: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"(?:^|[^\w'])(?:{_SOURCES}|they)\s(?:\w+ about [^.]{{1,60}} and )?{_ADVERBS}{_DOES_NOT} "
        rf"{_ADVERBS}{_HOLD}\b",
        rf"\b(?:none of|neither of|neither|no) (?:{_SOURCES}|{_GIVEN}(?:passages?|excerpts?|context"
        rf"|sources?)) (?:\w+ )?{_ADVERBS}{_HOLD}\b",
        rf"{_SOURCES} (?:\w+ )?(?:(?:say|contain|provide|offer|give|mention|make|include|hold|ha)"
        rf"(?:s|ve)? (?:nothing|no)\b|lacks?\b|(?:is|are) (?:silent|insufficient|unclear"
        rf"|not (?:sufficient|enough))\b)",
        rf"\b(?:not|n't|never|nowhere|nor) {_ADVERBS}(?:(?:be )?{_HELD} |something |be |to be )?"
        rf"(?:in|by|from|within|based on|anywhere in|part of) {_SOURCES}",
        rf"\bnot (?:something|a topic|a subject)(?: that)? {_SOURCES}",
        rf"\b(?:no|any) {_THING}\b[^.]{{0,60}} (?:in|within|from) {_SOURCES}",
        rf"\bnothing (?:\w+ )?(?:in|within|from) {_SOURCES}",
        rf"\b(?:outside|beyond|out of)\b[^.]{{0,25}} {_SOURCES}",
        rf"(?:from|in|on) {_SOURCES},? (?:it is|it's|i|we) (?:not possible|impossible|unclear|"
        rf"cannot|can't|could not)\b",
        rf"\b(?:not possible|impossible|unclear|unable|cannot|can't|could not|couldn't|not able)\b"
        rf"[^.]{{0,60}} (?:in|from|based on|with|using) {_SOURCES}",
    )
)
"""What only a sentence about the passages can say."""

_OF_ANYTHING: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\b(?:there is|there's|there are|i have|we have|i found|gives?|with) no (?:\w+ )?{_THING}"
        rf"(?: (?:of|on|about|regarding|for|in|available)\b|\W*$)",
        rf"\b(?:is|are)(?: not|n't) (?:any|enough|sufficient) {_THING}\b",
        rf"^no (?:\w+ )?{_THING} (?:\w+ )?(?:is|are|was|were) {_HELD}|\bno {_THING} is offered",
        rf"\bnot {_HELD}\W*$|^not {_HELD}\b",
        r"\b(?:i|we) (?:do not|don't|did not|didn't) know\b",
        rf"\b(?:i|we) (?:cannot|can't|could not|couldn't|(?:am|are|was|were) (?:un|not )able to) "
        rf"(?:\w+ly )?(?:say|tell|(?:answer|find|determine)(?: (?:this|that|it|your|the question"
        rf"|the answer|an answer|any|{_THING})\b|\W*$))",
        rf"\b(?:i|we) (?:do not|don't|did not|didn't|have not|haven't) (?:have|see|find|found) "
        rf"(?:any|anything|enough|sufficient|an?|the) ?(?:{_THING})?",
        r"\b(?:i|we) have not found any",
        r"\bunable to answer (?:this|that|the|your)\b",
        r"\b(?:question|it) can(?:not| not|'t) be answered\b",
        r"\boutside (?:of )?(?:the|my) scope of (?:this|my)\b",
    )
)
"""What may be said of anything: with a citation it is a statement."""
