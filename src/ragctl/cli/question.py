"""Questions as people type and pipe them."""

from __future__ import annotations

from typing import TextIO

from ragctl.errors import UsageError

LONGEST_QUESTION = 2000
LONGEST_INPUT = 16 * 1024
"""How many characters of standard input are read for a question, blanks around it included."""


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
    ``example`` as what to type instead. NUL and what is not Unicode become U+FFFD.
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
    """Replace NUL and lone surrogates, which no database column holds."""
    return "".join(
        "\ufffd" if character == "\0" or "\ud800" <= character <= "\udfff" else character
        for character in text
    )
