"""Prompt templates as files: those that ship with the package, and a user's own.

A template that ships carries its version in its first line, ``ragctl-template: balanced/3``; the
version goes up with any change of the text, so that prompts in traces can be told apart.
"""

from __future__ import annotations

import difflib
import hashlib
from functools import cache
from pathlib import Path

from ragctl.errors import SettingsError
from ragctl.stages.template import VERSION_LINE, Template, template_of

SHIPPED = ("balanced", "strict")
LONGEST_FILE_BYTES = 64_000


@cache
def shipped(word: str) -> Template:
    """Return the template of the package that a word of :data:`SHIPPED` names."""
    path = Path(__file__).parent / f"{word}.txt"
    text = path.read_text(encoding="utf-8")
    named = VERSION_LINE.match(text)
    if named is None:
        raise SettingsError(
            f"{path} does not begin with its name and version",
            hint="Install ragctl anew: the file belongs to it.",
        )
    return template_of(text, name=named["name"], source=str(path))


def balanced() -> Template:
    """Return the template that is used where nothing else is set."""
    return shipped("balanced")


def read_template(path: Path) -> Template:
    """Return the template in a file, named ``file:NAME/`` and the start of its sha256.

    Raises :class:`~ragctl.errors.SettingsError` where there is no such file, it cannot be read,
    is too long or no text, or :func:`~ragctl.stages.template.template_of` refuses it. No message
    holds any text of the file but a place at fault: the path may be a wrong one.
    """
    data = _bytes_of(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"the prompt {path} is not UTF-8 text", hint="Save it as UTF-8."
        ) from error
    if "\0" in text:
        raise SettingsError(f"the prompt {path} is not a text", hint="Name a text file.")
    name = f"file:{path.name}/{hashlib.sha256(data).hexdigest()[:8]}"
    return template_of(text, name=name, source=f"the prompt {path}")


def _bytes_of(path: Path) -> bytes:
    try:
        if not path.is_file():
            is_there = "is no file" if path.exists() else "is not there"
            raise SettingsError(f"the prompt {path} {is_there}", hint=_known(path.name))
        with path.open("rb") as file:
            data = file.read(LONGEST_FILE_BYTES + 1)
    except OSError as error:
        raise SettingsError(
            f"the prompt {path} cannot be read: {error.strerror}", hint="Check its rights."
        ) from error
    if len(data) > LONGEST_FILE_BYTES:
        raise SettingsError(
            f"the prompt {path} has more than {LONGEST_FILE_BYTES:,} bytes",
            hint="A template is a page of instructions; the passages are put in by ragctl.",
        )
    return data


def _known(word: str) -> str:
    near = difflib.get_close_matches(word, SHIPPED, n=1)
    asked = f"Did you mean {near[0]}? " if near else ""
    return f"{asked}generation.prompt is {', '.join(SHIPPED)}, or the path of a file."
