"""Instructions to the model that stand in a passage, and how they are made harmless.

Looked for is what only addresses a model: an order to drop its instructions, a new role, markers
of chat templates, and lines that imitate the prompt. A page that speaks about prompts, or of code
that ignores something, has none of these. The passage as stored is never changed: only what is
sent of it is quoted, line by line, with its markers broken.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_OLD = (
    r"(?:previous|prior|preceding|above|earlier|foregoing|former|existing|original|system|initial)"
)
_ORDERS = r"(?:instructions?|prompts?|directions?|directives?|guidelines?|rules)"
_ALL = r"(?:(?:all|any|every|each|of|the|your|my|these|those|and|other)\s+){0,4}"
_TO_YOU = r"(?:that\s+)?(?:you|was|has|were)\s+(?:\w+\s+){0,3}(?:told|said|instructed|given)"
_SPEAK = r"(?:instead|reply|answer|say|write|respond|output|print)"
_BEGINNING = r"(?:^|[.!?:;\"'\u201c]\s*)"
_MODEL = r"(?:ai|llm|language model|chatbot|ai assistant|assistant)s?"
_RULES: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    (
        "an order to drop its instructions",
        ("ignore", "disregard", "forget", "override", "bypass"),
        rf"\b(?:ignore|disregard|forget|override|bypass)\s+{_ALL}"
        rf"(?:{_OLD}\s+(?:(?:and|or|{_OLD})\s+){{0,2}}{_ORDERS}"
        rf"|{_ORDERS}\s+(?:above|before|given|you)\b)",
    ),
    (
        "an order to drop its instructions",
        ("ignore", "disregard", "forget"),
        rf"\b(?:ignore|disregard|forget)\s+(?:everything|all|anything)\s+"
        rf"(?:{_TO_YOU}|(?:above|before|prior)\s+(?:this|and\s+{_SPEAK}))",
    ),
    (
        "a new role",
        ("you are now",),
        rf"{_BEGINNING}(?:from now on,?\s+)?you are now (?:dan\b|(?:a|an|the|my|in)\s+"
        r"(?:\w+\s+){0,3}(?:assistant|ai|model|bot|chatbot|hacker|pirate|agent|persona|dan)\b)",
    ),
    (
        "a new role",
        ("from now on",),
        rf"{_BEGINNING}from now on,?\s+(?:you|always|respond|answer|reply|act|pretend)\b"
        r"[^.!?\n]{0,80}\b(?:respond|answer|reply|act as|pretend|assistant|questions?)\b",
    ),
    (
        "an order about its prompt",
        ("system prompt",),
        r"\b(?:reveal|repeat|print|output|show|leak|display|disclose)\s+(?:me\s+)?(?:the|your)\s+"
        r"(?:(?:full|entire|hidden|whole|exact|secret|initial|original)\s+){0,2}system\s+prompt"
        r"|\b(?:new|updated|real|actual)\s+system\s+prompt\s*:",
    ),
    (
        "an order to the model",
        ("attention", "note", "message", "important", "dear"),
        rf"{_BEGINNING}(?:(?:note|message|attention|important)\b[^.\n]{{0,20}}?\bto\s+"
        rf"(?:the\s+|any\s+)?|dear\s+|attention,?\s+){_MODEL}\b\s*[:,]",
    ),
    (
        "an imitation of the prompt",
        ("instruction",),
        r"^\s*(?:new|updated|additional|real|hidden|secret|system)\s+instructions?\s*:",
    ),
    ("an imitation of the prompt", ("(page: ",), r"^\[\d+\] \(page: "),
    (
        "a marker of a chat template",
        ("##",),
        r"^\s*#{2,4}\s*(?:instructions?|system(?: prompt| message)?|response|human|assistant|user)"
        r"\s*:",
    ),
    (
        "a marker of a chat template",
        ("human", "assistant"),
        r"^(?:human|assistant|ai assistant)\s*:(?=\s*\S)",
    ),
    (
        "a marker of a chat template",
        ("system", "developer"),
        r"^\s*(?:system|developer)\s*:\s*(?:you are|you must|ignore)\b",
    ),
)
"""What is found, words one of which it takes (lower case, looked for first), and the form."""

_COMPILED = [
    (kind, words, re.compile(form, re.IGNORECASE | re.MULTILINE)) for kind, words, form in _RULES
]
_SPECIAL = re.compile(
    r"<\|[a-z0-9_]{2,40}\|>|<\uff5c[^\n\uff5c]{2,40}\uff5c>|\[/?INST\]|<</?SYS>>"
    r"|</?(?:start|end)_of_turn>|<(?=/?s>)/?s>(?=\s*\[INST\])"
    r"|\[(?:/)?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]",
    re.IGNORECASE,
)
_TAGS = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007e])[\U000e0020-\U000e007e]{4,}\U000e007f?")
_MARKS = re.compile(r"\*+|`+|~~")
"""Marks of emphasis and code, which may stand between the words of an order."""
_MIXED = re.compile(r"\b(?=\w*[a-zA-Z])(?=\w*[\u0370-\u052f])\w+")
"""Words that mix Latin with Greek or Cyrillic, as no language does."""
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425",
    "aeopcyxijsdABEZHIKMNOPTYXovABEKMHOPCTX",
)
_UNSEEN = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]")


def instructions_in(text: str) -> tuple[str, ...]:
    """Return the kinds of instructions to a model that a text holds, each once."""
    seen = _MARKS.sub("", text if text.isascii() else _as_read(text))
    lowered = re.sub(r"\s+", " ", seen.lower())
    found = [
        kind
        for kind, words, rule in _COMPILED
        if any(word in lowered for word in words) and rule.search(seen)
    ]
    if _SPECIAL.search(seen) or _SPECIAL.search(text):
        found.append("a marker of a chat template")
    if _TAGS.search(text):
        found.append("letters that nobody sees")
    return tuple(dict.fromkeys(found))


def _as_read(text: str) -> str:
    """Return a text as it looks: without unseen letters, look-alikes as what they look like."""
    plain = unicodedata.normalize("NFKC", _UNSEEN.sub("", text))
    return _MIXED.sub(lambda word: word[0].translate(_LOOK_ALIKES), plain)


def quoted(text: str) -> str:
    """Return a text as data: every line behind ``> ``, markers of chat templates broken up."""
    lines = without_markers(text).split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def without_markers(text: str) -> str:
    """Return a text in which no marker of a chat template is one any more, to be seen by all."""
    text = _TAGS.sub("\ufffd", text)
    return _SPECIAL.sub(lambda match: " ".join(_parts(match[0])), text)


def _parts(marker: str) -> tuple[str, str, str]:
    width = 2 if marker[:2] in ("<|", "<\uff5c", "<<") else 1
    return marker[:width], marker[width:-width], marker[-width:]
