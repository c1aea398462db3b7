"""Bytes of a file to clean text: one encoding, one line end, nothing a database would refuse."""

from __future__ import annotations

import codecs

REPLACEMENT = "\ufffd"
_MARKS = (  # the longer marks first: UTF-32-LE begins like UTF-16-LE
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NUL_SHARE_OF_UTF16 = 0.3


def decode(data: bytes) -> tuple[str, list[str]]:
    """Return the text of a file and remarks about repairs; never raises.

    A byte order mark decides, else UTF-8, else (for text in a single-byte encoding) Windows-1252.
    Line ends become ``\\n``; byte order marks go; NUL and what cannot be decoded become U+FFFD.
    """
    text, remarks = _to_text(data)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\ufeff", "")
    if "\0" in text:
        remarks.append(f"{text.count(chr(0))} NUL characters replaced by U+FFFD")
        text = text.replace("\0", REPLACEMENT)
    return text, remarks


def _to_text(data: bytes) -> tuple[str, list[str]]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strict_or_repaired(data[len(mark) :], encoding)
    unmarked = _utf16_without_mark(data)
    if unmarked:
        text, remarks = _strict_or_repaired(data, unmarked)
        return text, [f"read as {unmarked} (no byte order mark)", *remarks]
    text, remarks = _strict_or_repaired(data, "utf-8")
    if remarks and not _mostly_utf8(text):
        return data.decode("cp1252", "replace"), ["not UTF-8: read as Windows-1252"]
    return text, remarks


def _strict_or_repaired(data: bytes, encoding: str) -> tuple[str, list[str]]:
    try:
        return data.decode(encoding), []
    except UnicodeDecodeError as error:
        remark = f"byte {error.start} is not {encoding}: undecodable bytes replaced by U+FFFD"
        return data.decode(encoding, "replace"), [remark]


def _mostly_utf8(repaired: str) -> bool:
    """Whether good multi-byte characters stand against the bad bytes (a bad one costs up to 3).

    Text in a single-byte encoding hardly ever holds a valid sequence by accident.
    """
    beyond_ascii = sum(1 for character in repaired if character > "\x7f")
    bad = repaired.count(REPLACEMENT)
    return 3 * (beyond_ascii - bad) >= bad


def _utf16_without_mark(data: bytes) -> str:
    sample = data[:4096]
    if len(sample) < 8 or sample.count(0) < len(sample) * _NUL_SHARE_OF_UTF16:
        return ""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if even == 0:
        return "utf-16-le"
    return "utf-16-be" if odd == 0 else ""
