"""What looks like a secret in a text: keys of known form, tokens, passwords that are set.

The forms are those that the issuers of the keys publish. Where only a name before it tells a
secret (``password=``), its value must be as mixed as a generated one. Hex digests, commit ids,
UUIDs and base64 by themselves are no secrets.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_FORMS: Final[tuple[tuple[str, str], ...]] = (
    (
        "private key",
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?=[\s\\nr]{0,8}(?:[\w-]+:[^\n]*\n\s{0,8}){0,5}[A-Za-z0-9+/=]{16})"
        r"(?:(?!-----END)[\s\S])*(?:-----END [A-Z0-9 ]{0,40}-----)?",
    ),
    ("AWS access key id", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})"),
    ("GitLab token", r"\bgl(?:pat|dt|rt|ptt|ft|soat|cbt)-[A-Za-z0-9_-]{20,}"),
    ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{20,}"),
    ("Slack webhook", r"\bhooks\.slack\.com/services/T\w+/B\w+/\w{16,}"),
    ("Stripe key", r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9]{24,}"),
    ("Google key", r"\bAIza[A-Za-z0-9_-]{35}|\bGOCSPX-[A-Za-z0-9_-]{28}|\bya29\.[\w-]{20,}"),
    ("model provider key", r"\bsk-(?:proj-|ant-)?(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{32,}"),
    ("registry token", r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-AgEI[\w-]{50,}|\bhf_[A-Za-z]{34}\b"),
)
_WHOLE = [(kind, re.compile(form)) for kind, form in _FORMS]
_JWT = re.compile(r"\b(eyJ[\w-]{8,})\.eyJ[\w-]{8,}\.[\w-]{8,}")
_VALUE = r"""(?P<value>[^\s"'`,;<>(){}\[\]|]{8,})(?!\()"""
_NAMED = re.compile(
    r"(?i:\b|(?<=_))(?i:password|passwd|passphrase|pwd|secret|client_?secret|secret_?(?:access_?)?key"
    r"|api[_-]?key|access_?key|(?:access|auth|refresh)[_-]?token)"
    rf"""["']?\s{{0,3}}(?:=>|:=|[=:])\s{{0,3}}["'`]?{_VALUE}"""
)
_HEADER = re.compile(
    rf"(?:\b[Aa]uthorization[\"']?\s{{0,3}}[=:]\s{{0,3}}[\"']?(?:\w+\s+)?|\b[Bb]earer\s+){_VALUE}"
)
_CONNECTION = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@<>{}\"'`]{0,64}:(?P<value>[^\s/@<>{}\"'`]{1,128})@[\w.\[-]"
)
_PLACEHOLDERS = re.compile(
    r"(?i)(?:pass(?:word|wd|wort)?|pw[d]?|secret|user(?:name)?|token|key|my\w*|your\w*|some\w*"
    r"|change_?me\w*|example\w*|placeholder|admin|root|postgres|test\w*|dummy|foo|bar|port|\d{1,5}"
    r"|[x*.#\u2022_-]+|[$%].*|\w*redacted\w*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """What looks like a secret: its kind, and where it stands in the text."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return what looks like a secret, in order; none overlaps another."""
    found: list[Secret] = []
    for secret in sorted(_all(text), key=lambda one: (one.start, -one.end)):
        if not found or secret.start >= found[-1].end:
            found.append(secret)
    return tuple(found)


def masked(text: str) -> str:
    """Return a text with the kind of each secret in its place."""
    for secret in reversed(find_secrets(text)):
        text = f"{text[: secret.start]}(masked: {secret.kind}){text[secret.end :]}"
    return text


def _all(text: str) -> Iterator[Secret]:
    for kind, form in _WHOLE:
        for match in form.finditer(text):
            yield Secret(kind=kind, start=match.start(), end=match.end())
    for match in _JWT.finditer(text):
        if _is_token_header(match[1]):
            yield Secret(kind="JSON web token", start=match.start(), end=match.end())
    for kind, form, least in (("password", _NAMED, 8), ("authorization", _HEADER, 16)):
        for match in form.finditer(text):
            value = match["value"].rstrip(".:!?*_\\")
            if len(value) >= least and _is_generated(value):
                start = match.start("value")
                yield Secret(kind=kind, start=start, end=start + len(value))
    for match in _CONNECTION.finditer(text):
        if not _PLACEHOLDERS.fullmatch(match["value"]):
            start, end = match.span("value")
            yield Secret(kind="password in an address", start=start, end=end)


def _is_token_header(part: str) -> bool:
    """Tell whether this is the header of a JSON web token (RFC 7519)."""
    try:
        header = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError):
        return False
    return isinstance(header, dict) and "alg" in header


def _is_generated(value: str) -> bool:
    """Tell a generated value from a word, a path, a call or the name of a variable."""
    if _PLACEHOLDERS.fullmatch(value) or re.search(r"\.\.\.|\u2026|://|^[/~.$%&*]|EXAMPLE", value):
        return False
    if re.fullmatch(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+", value) and len(value) < 40:
        return False  # an attribute of something
    kinds = (r"[a-z]", r"[A-Z]", r"\d", r"[^\w\s.-]")
    mixed = sum(bool(re.search(kind, value)) for kind in kinds)
    has_digit = bool(re.search(r"\d", value))
    return has_digit and mixed >= (2 if len(value) >= 16 else 3) and _bits(value) >= 2.75


def _bits(value: str) -> float:
    """Return the bits of a character by the frequencies within the value (Shannon)."""
    counts = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts)
