"""Questions as people type and pipe them."""

from __future__ import annotations

import re
from typing import Final, TextIO

from ragctl.errors import UsageError

LONGEST_QUESTION = 2000
LONGEST_INPUT = 16 * 1024
"""How many characters of standard input are read for a question, blanks around it included."""

_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def read_question(stream: TextIO) -> str:
    """Return a question from a stream, which is not read to its end where it is over-long.

    Raises :class:`~ragctl.errors.UsageError` there.
    """
    text = stream.read(LONGEST_INPUT + 1)
    if len(text) > LONGEST_INPUT:
        raise UsageError(
            f"standard input holds over {LONGEST_INPUT:,} characters; a question has at most "
            f"{LONGEST_QUESTION:,}",
            hint="Ask about one thing, in a sentence or two.",
        )
    return text


def usable_question(text: str, *, example: str = 'ragctl ask "How does it work?"') -> str:
    """Return a question without blanks around it.

    Raises :class:`~ragctl.errors.UsageError` where it is empty, has no words or is over-long, with
    ``example`` as what to type instead. Control characters become blanks, what is not Unicode
    U+FFFD.
    """
    text = _clean(text).strip()
    if not any(character.isalnum() for character in text):
        what = "has no words" if text else "is empty"
        raise UsageError(f"the question {what}", hint=f"Ask something: {example}")
    if len(text) > LONGEST_QUESTION:
        raise UsageError(
            f"the question has {len(text):,} characters; at most {LONGEST_QUESTION:,} are read",
            hint="Ask about one thing, in a sentence or two.",
        )
    return text


def _clean(text: str) -> str:
    """Take out terminal sequences and control characters; what is not Unicode becomes U+FFFD."""
    plain = _CONTROL.sub(" ", _SEQUENCE.sub("", text))
    return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in plain)
