"""Markup inside text that a reader never sees: known tags, components, shortcodes, markers.

Only complete syntax outside code goes. ``<linux/bpf.h>``, ``Vec<u8>``, ``<iface>`` and
``i<b && c>d`` are text: their names are not on the list, or what follows is no attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragctl.stages.parse.edits import Edit

if TYPE_CHECKING:
    from ragctl.stages.parse.blocks import Block, Document


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Break the flow of words: a blank is left where two words would touch.
BREAKING_TAGS = _names("""
    address article aside blockquote br caption center col colgroup dd details dialog div dl dt
    fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main nav
    noscript ol optgroup p pre section summary table tbody td tfoot th thead tr ul
""")
# Words that authors also write as placeholders (``drop <table>``): an opening tag without
# attributes goes only where a closing one follows.
_PAIRED_TAGS = _names("""
    a abbr address article audio b big button caption cite code data details dfn dialog font
    footer form header i iframe label legend main mark math meter nav object output picture
    progress q rp rt ruby s samp section select small strike summary svg table time tt u var video
""")
# Without content; they mean something only with attributes.
_VOID_TAGS = _names("area base col embed img input link param source track")
# Never mistaken for a placeholder: they go even where their partner is missing.
_SURE_TAGS = (BREAKING_TAGS - _PAIRED_TAGS - _VOID_TAGS) | _names(
    "bdi bdo del em ins kbd span strong sub sup wbr"
)
KNOWN_TAGS = _SURE_TAGS | _PAIRED_TAGS | _VOID_TAGS

_VALUE = r"\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`{}][^\s\"'<>`{}]*+"
_FLAGS = (
    r"(?:allowfullscreen|async|autoplay|checked|controls|default|defer|disabled|download|hidden"
    r"|inert|itemscope|loop|markdown|multiple|muted|nowrap|noshade|novalidate|open|playsinline"
    r"|readonly|required|reversed|selected|data-[\w-]++)(?![\w.:@=-])"
)
_ATTRIBUTES = rf"(?:\s++(?:[A-Za-z_:@][\w.:@-]*+\s*+=\s*+(?:{_VALUE})|{_FLAGS}))*+"
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
_JSX_ATTRIBUTES = (
    rf"(?:\s++(?:[A-Za-z_:@][\w.:@-]*+(?:\s*+=\s*+(?:{_VALUE}|{_BRACES}))?+|{_BRACES}))*+"
)
_CLOSING = re.compile(r"</([A-Za-z][\w.:-]*+)\s*+>")
_OPENING = re.compile(rf"<([A-Za-z][\w-]*+)({_ATTRIBUTES})\s*+(/?)>")
_COMPONENT = re.compile(rf"<([A-Za-z][\w.-]*+)({_JSX_ATTRIBUTES})\s*+(/?)>")
_DATA_URI = re.compile(
    r"data:[\w.+-]{1,80}/[\w.+-]{1,80}(?:;[\w.+=-]{1,80}){0,8};base64,[A-Za-z0-9+/=%_-]*+"
)
_LIQUID_HEAD = re.compile(r"\{%[-+]?\s*+/?[A-Za-z_]")
_CANDIDATE = re.compile(r"<|\{\{|\{%|data:")

_MARKER_LINE = re.compile(
    r"^[ \t>]*+(?:[-*+][ \t]++)?(:{3,}+[ \t]*+(?:\{[\w:.# =-]*+\}|[\w-]++)?(?:\{[^{}\n]*+\})?)"
    r"([^\n]*+)$",
    re.MULTILINE,
)
_INCLUDE_LINE = re.compile(r"^[ \t]*+-{1,2}8<-{1,2}(?:[ \t][^\n]*+)?$", re.MULTILINE)
_KRAMDOWN_LINE = re.compile(r"^[ \t]*+\{:[ \t]*+[^{}\n]*+\}[ \t]*+$", re.MULTILINE)
_DEFINITION_HEAD = re.compile(r"[ \t]*\[[^\[\]]*\]:[ \t]*<?\Z")


def markup_edits(document: Document, *, jsx: bool) -> list[Edit]:
    """Return what to take out of the text outside code, in no particular order.

    ``jsx`` says that the page is MDX: then every component tag is syntax.
    """
    return [*_inline_edits(document, jsx=jsx), *_line_edits(document)]


def _inline_edits(document: Document, *, jsx: bool) -> Iterator[Edit]:
    candidates = list(document.visible(_CANDIDATE))
    last_closing: dict[str, int] = {}
    closings: dict[int, re.Match[str]] = {}
    for match in candidates:
        if match[0] == "<" and (closing := _CLOSING.match(document.text, match.start())):
            closings[match.start()] = closing
            last_closing[_folded(closing[1])] = match.start()
    failed: dict[str, int] = {}
    for match in candidates:
        start = match.start()
        edit: Edit | None
        if start in closings:
            edit = _closing_tag(document, closings[start], jsx=jsx)
        elif match[0] == "<":
            edit = _opening_tag(document, start, last_closing, jsx=jsx)
        elif match[0] == "data:":
            edit = _data_uri(document, start)
        else:
            edit = _template_tag(document, start, failed)
        if edit is not None:
            yield edit


def _folded(name: str) -> str:
    """HTML names without regard to case; names of components as they are."""
    lowered = name.lower()
    return lowered if lowered in KNOWN_TAGS else name


def _is_component(name: str) -> bool:
    return name[0].isupper() or "." in name


def _closing_tag(document: Document, match: re.Match[str], *, jsx: bool) -> Edit | None:
    name = _folded(match[1])
    if name in KNOWN_TAGS:
        return _tag_edit(document, match, name)
    if _is_component(name) or "-" in name or jsx:
        return _tag_edit(document, match, "div", "jsx")
    return None


def _opening_tag(
    document: Document, start: int, last_closing: dict[str, int], *, jsx: bool
) -> Edit | None:
    text = document.text
    if jsx and text.startswith(("<>", "</>"), start):
        return Edit(start, text.index(">", start) + 1, kind="jsx")
    match = _OPENING.match(text, start) or _COMPONENT.match(text, start)
    if match is None or _is_link_target(text, start):
        return None
    name = _folded(match[1])
    is_closed_later = last_closing.get(name, -1) > start
    if name in KNOWN_TAGS:
        if match.re is _COMPONENT and not jsx:
            return None  # its attributes are not HTML's
        is_sure = name in _SURE_TAGS and not _is_glued(text, start, name)
        if is_sure or is_closed_later or match[2] or match[3]:
            return _tag_edit(document, match, name)
    elif is_closed_later or (_is_component(name) and (jsx or match[3])):
        return _tag_edit(document, match, "div", "jsx")
    return None


def _is_link_target(text: str, start: int) -> bool:
    """Whether ``<`` opens the address of a link or of a link definition."""
    return text[start - 2 : start] == "](" or text[start - 3 : start] == "]: "


def _is_glued(text: str, start: int, name: str) -> bool:
    """Whether an inline tag follows a word directly, as a type parameter does: ``Vec<sub>``."""
    is_inline = name not in BREAKING_TAGS and name != "wbr"
    return is_inline and start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")


def _tag_edit(
    document: Document, match: re.Match[str], name: str, kind: str = "tag"
) -> Edit | None:
    block = document.block_at(match.start())
    if block is None or match.end() > block.end:
        return None
    text = document.text
    before, behind = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    parts_words = name in BREAKING_TAGS and before.strip() and behind.strip()
    return Edit(*match.span(), " " if parts_words else "", kind)


def _data_uri(document: Document, start: int) -> Edit | None:
    match = _DATA_URI.match(document.text, start)
    if match is None:
        return None
    line = document.line_at(start)
    first, end = document.starts[line], document.line_end(line)
    if (
        start - first < 200
        and _DEFINITION_HEAD.match(document.text[first:start])
        and end - match.end() < 200
    ):
        return Edit(first, end, kind="data_uri")  # the whole definition: it has no other use
    return Edit(*match.span(), kind="data_uri")


def _template_tag(document: Document, start: int, failed: dict[str, int]) -> Edit | None:
    """Remove ``{{< x >}}``, ``{{% x %}}``, ``{% x %}``; ``{{ value }}`` and ``{{</* */>}}`` stay.

    ``failed`` remembers in which block a closing mark is missing, so that it is looked for once.
    """
    text = document.text
    head = text[start : start + 3]
    if head in ("{{<", "{{%"):
        closing = ">}}" if head == "{{<" else "%}}"
        if text.startswith("/*", start + 3):
            return None
    elif _LIQUID_HEAD.match(text, start):
        closing = "%}"
    else:
        return None
    block = document.block_at(start)
    if block is None or failed.get(closing) == block.start:
        return None
    end = text.find(closing, start + len(head) - 1, block.end)
    if end < 0:
        failed[closing] = block.start
        return None
    return Edit(start, end + len(closing), kind="shortcode")


def _line_edits(document: Document) -> Iterator[Edit]:
    text = document.text
    if ":::" in text:
        for match in _MARKER_LINE.finditer(text):
            if document.is_syntax(match.start(1)):
                yield from _marker(match)
    if "8<-" in text:
        yield from _whole_lines(document, _INCLUDE_LINE)
    if "{:" in text:
        yield from _whole_lines(document, _KRAMDOWN_LINE)


def _marker(match: re.Match[str]) -> Iterator[Edit]:
    """Remove the marker of an admonition or directive; its title stays if it holds a letter."""
    title = match[2].strip()
    if not any(character.isalpha() for character in title):
        yield Edit(match.start(1), match.end(), kind="shortcode")
        return
    start = match.end() - len(match[2].lstrip())
    if title.startswith("[") and title.endswith("]"):
        start += 1
        yield Edit(start + len(title) - 2, match.end(), kind="shortcode")
    yield Edit(match.start(1), start, kind="shortcode")


def _whole_lines(document: Document, pattern: re.Pattern[str]) -> Iterator[Edit]:
    for match in pattern.finditer(document.text):
        block: Block | None = document.block_at(match.end() - 1)
        if block is not None and block.kind in ("text", "html"):
            yield Edit(*match.span(), kind="shortcode")
