"""Prompt templates: fixed text with places for the passages, the question and the site.

A place is one of ``{passages}``, ``{question}`` and ``{site}``, written exactly so; every other
text in braces stays as it is, so that a template may show code. All places are filled in one pass:
what is put in is never searched for places again, whatever a page or a question says.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ragctl.errors import SettingsError

PLACES: Final = ("passages", "question", "site")
REQUIRED: Final = ("passages", "question")
VERSION_LINE: Final = re.compile(r"ragctl-template: *(?P<name>[^\s/]+/\d+) *\n")
"""The first line of a template that ships: its name and version. It is never sent."""

_PLACE: Final = re.compile(r"\{(passages|question|site)\}")
_IN_BRACES: Final = re.compile(r"(?<!\{)\{++ *+([A-Za-z_]++) *+\}++")
_ELSEWHERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("context", "contexts", "documents", "docs", "chunks", "sources"), "passages"),
    **dict.fromkeys(("query", "input", "prompt", "user_question"), "question"),
}
"""What other programs call these places."""
_ALIKE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A checked template; ``name`` is what prompts and traces record of it."""

    name: str
    text: str

    def filled(self, *, passages: str, question: str, site: str) -> str:
        """Return the prompt: each place replaced by its text, everything else to the byte."""
        values = {"passages": passages, "question": question, "site": site}
        return _PLACE.sub(lambda place: values[place[1]], self.text)

    @property
    def has_site(self) -> bool:
        """Whether the template says where the text about the site goes."""
        return "{site}" in self.text


def template_of(text: str, *, name: str, source: str) -> Template:
    """Return the template that a text holds.

    Line ends become ``\\n``, and those at the end go. Raises
    :class:`~ragctl.errors.SettingsError`, naming ``source`` and the place, where a place is
    missing, is there twice, or is misspelled.
    """
    text = text.replace("\r\n", "\n")
    text = VERSION_LINE.sub("", text, count=1) if VERSION_LINE.match(text) else text
    text = text.rstrip("\n")
    if not text.strip():
        raise SettingsError(f"{source} is empty", hint=_HINT)
    for place in PLACES:
        count = text.count(f"{{{place}}}")
        if count > 1:
            raise SettingsError(
                f"{source} has {{{place}}} {count} times",
                hint="Keep one: a text that is sent twice costs its time twice.",
            )
    for written, meant in _misspelled(text):
        raise SettingsError(
            f"{source} has the unknown place {written}",
            hint=f"Write {{{meant}}}; in other brackets if it is only text.",
        )
    for place in REQUIRED:
        if f"{{{place}}}" not in text:
            raise SettingsError(f"{source} lacks {{{place}}}", hint=_named_elsewhere(text, place))
    return Template(name=name, text=text)


_HINT: Final = (
    "A template holds {passages} and {question} once each, and {site} where it wants to say where "
    "text about the site goes."
)


def _misspelled(text: str) -> list[tuple[str, str]]:
    """Return what is nearly a place, and the place it resembles."""
    found = []
    for match in _IN_BRACES.finditer(text):
        word = match[1].lower()
        if match[0] in (f"{{{place}}}" for place in PLACES):
            continue
        near = difflib.get_close_matches(word, REQUIRED, n=1, cutoff=_ALIKE)
        near = ["site"] if word in ("site", "sites") else near  # not {size}, {suite}
        if near:
            found.append((match[0], near[0]))
    return found


def _named_elsewhere(text: str, place: str) -> str:
    """Return what to do about a missing place: perhaps it has another program's name."""
    for match in _IN_BRACES.finditer(text):
        if _ELSEWHERE.get(match[1].lower()) == place:
            return f"It has {match[0]}: write {{{place}}} instead."
    return _HINT
