"""Takes secrets out of what is kept: passwords in addresses, keys and tokens in messages."""

from __future__ import annotations

import re
from typing import Final

_HIDDEN: Final = "***"
_USER_AND_PASSWORD: Final = re.compile(r"(?<=://)[^\s/@:]*:\S*@")
_NAMED: Final = re.compile(
    r"(?i)\b(password|passwd|secret|api[-_]?key|access[-_]?token|token)"
    r"""(["']?\s*[=:]\s*["']?)(?!\*\*\*)[^\s&"',;]+"""
)
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}")
_KEY: Final = re.compile(r"\b(?:sk|pk|ghp|gho|xox[abp])[-_][\w-]{12,}")


def redacted(text: str) -> str:
    """Return a text without passwords in addresses, bearer tokens, and what looks like a key."""
    text = _USER_AND_PASSWORD.sub(f"{_HIDDEN}@", text)
    text = _BEARER.sub(rf"\1 {_HIDDEN}", text)
    text = _NAMED.sub(rf"\1\2{_HIDDEN}", text)
    return _KEY.sub(_HIDDEN, text)
