"""Takes secrets out of what is kept: passwords in addresses, keys and tokens in messages."""

from __future__ import annotations

import re
from typing import Final

_HIDDEN: Final = "***"
_USER: Final = re.compile(r"(?<=://)[^\s/@:]*:")
_NAMED: Final = re.compile(
    r"(?i)\b(password|passwd|secret|api[-_]?key|access[-_]?token|token)"
    r"""(["']?\s*[=:]\s*["']?)(?!\*\*\*)[^\s&"',;]+"""
)
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}")
_KEY: Final = re.compile(r"\b(?:sk|pk|ghp|gho|xox[abp])[-_][\w-]{12,}")


def redacted(text: str) -> str:
    """Return a text without passwords in addresses, bearer tokens, and what looks like a key."""
    return _NAMED.sub(rf"\1\2{_HIDDEN}", without_keys(text))


def without_keys(text: str) -> str:
    """Return a message without passwords in addresses, bearer tokens, and what looks like a key.

    Unlike :func:`redacted` it leaves what a name alone tells to be secret (``token: ...``), which
    in messages of ours is mostly none.
    """
    text = re.sub(r"\S+", _without_password, text) if "://" in text else text
    text = _BEARER.sub(rf"\1 {_HIDDEN}", text)
    return _KEY.sub(_HIDDEN, text)


def _without_password(word: re.Match[str]) -> str:
    last = word[0].rfind("@")
    user = _USER.search(word[0], 0, last) if last >= 0 else None
    return word[0] if user is None else f"{word[0][: user.start()]}{_HIDDEN}{word[0][last:]}"
