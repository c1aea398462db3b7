"""Anchors by the rules of other site generators; GitHub's are in ``slugs``.

Each class hands out the anchors of one page: a new page needs a new one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ragctl.stages.parse.slugs import GitHubSlugger

if TYPE_CHECKING:
    from ragctl.protocols import Slugger

_HUGO_KEPT = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"))
_AUTOLINK = re.compile(r"<([A-Za-z][\w+.-]{1,31}:[^\s<>]*|[\w.+-]+@[\w.-]+)>")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_MKDOCS_DROPPED = re.compile(r"[^\w\s-]")
_MKDOCS_JOINED = re.compile(r"[-\s]+")
_MKDOCS_NUMBERED = re.compile(r"(.*)_([0-9]+)\Z", re.DOTALL)


class HugoSlugger:
    """Hugo's rule with ``autoHeadingIDType = "github"``, its default.

    Source: ``markup/goldmark/autoid.go`` of Hugo, and ``textHeadingID`` in its extension for
    attributes. Letters and decimal digits are lower-cased one by one, ``_`` stays, blank and
    hyphen become a hyphen, everything else goes, combining marks too; so do
    two or three hyphens in a row outside of code, which the typographer (on by default) makes a
    dash, and addresses in angle brackets. A heading without a letter is ``heading``. A second
    heading of the same anchor gets the smallest number from 1 that is free.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def slug(self, label: str) -> str:
        """Return the anchor of the next heading: never one that was handed out before."""
        base = "".join(map(_hugo_character, label.strip())) or "heading"
        candidate, number = base, 0
        while candidate in self._taken:
            number += 1
            candidate = f"{base}-{number}"
        self._taken.add(candidate)
        return candidate

    def slug_source(self, label: str, source: str) -> str:
        """Return the anchor of the next heading from its label, less what Hugo leaves out."""
        source, is_part = _last_line(source)
        if is_part:  # of several lines only the last one counts
            label = " ".join(label.split()[-len(source.split()) :])
        label = _without(_AUTOLINK, label, source)
        if "--" not in label:
            return self.slug(label)
        code = [match[2].strip() for match in _CODE_SPAN.finditer(source)]
        kept = "|".join(re.escape(content) for content in code if content) or r"(?!)"
        dashed = re.sub(f"({kept})|---?", lambda match: match[1] or "\u2013", label)
        return self.slug(dashed)

    def take(self, anchor: str) -> bool:
        """Reserve an anchor that the author wrote; return whether it was still free."""
        is_free = anchor not in self._taken
        self._taken.add(anchor)
        return is_free


class HugoSourceSlugger(HugoSlugger):
    """Older Hugo's rule: the same, from the heading as it is written, markup and all.

    Source: ``generateAutoHeadingID`` of goldmark, which Hugo used before it had
    ``textHeadingID``; ``[a](/b)`` gives ``ab``. Hugo 0.111 does so.
    """

    def slug_source(self, label: str, source: str) -> str:
        """Return the anchor of the next heading from its source."""
        return self.slug(_last_line(source)[0])


def _last_line(source: str) -> tuple[str, bool]:
    before, _, last = source.strip().rpartition("\n")
    return last.strip(), bool(before)


def _without(markup: re.Pattern[str], label: str, source: str) -> str:
    """Return a label without what some markup of the source shows in it."""
    for match in markup.finditer(_CODE_SPAN.sub("", source)):
        label = label.replace(match[1], "", 1)
    return label


def _hugo_character(character: str) -> str:
    if character in " -":
        return "-"
    if character == "_" or unicodedata.category(character) in _HUGO_KEPT:
        return character.lower()[0]  # Go lower-cases to one rune: U+0130 becomes a plain i
    return ""


class DocusaurusSlugger:
    """Docusaurus's rule: GitHub's, with anchors of the author outside of the numbering.

    Source: the headings plugin of ``@docusaurus/mdx-loader``, which calls ``github-slugger`` for
    headings without an identifier and does not tell it about the others.
    """

    def __init__(self) -> None:
        self._automatic = GitHubSlugger()
        self._explicit: set[str] = set()

    def slug(self, label: str) -> str:
        """Return the anchor of the next heading; an author's anchor may be the same."""
        return self._automatic.slug(label)

    def take(self, anchor: str) -> bool:
        """Note an anchor that the author wrote; return whether the author used it before."""
        is_free = anchor not in self._explicit
        self._explicit.add(anchor)
        return is_free


class MkDocsSlugger:
    """MkDocs's rule, which is that of Python-Markdown's ``toc`` extension with its defaults.

    Source: ``slugify`` and ``unique`` in ``markdown/extensions/toc.py``. The label is decomposed
    and reduced to ASCII, what is neither word character, blank nor hyphen goes, runs of blanks
    and hyphens become one hyphen. A second heading of the same anchor gets ``_1``; a trailing
    ``_<number>`` is counted up, and nothing at all is ``_1``. Images have no part in it.
    """

    keeps_unicode = False

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def slug(self, label: str) -> str:
        """Return the anchor of the next heading: never one that was handed out before."""
        if not self.keeps_unicode:
            decomposed = unicodedata.normalize("NFKD", label)
            label = decomposed.encode("ascii", "ignore").decode("ascii")
        kept = _MKDOCS_DROPPED.sub("", label).strip().lower()
        candidate = _MKDOCS_JOINED.sub("-", kept)
        while candidate in self._taken or not candidate:
            numbered = _MKDOCS_NUMBERED.match(candidate)
            head, number = (numbered[1], int(numbered[2]) + 1) if numbered else (candidate, 1)
            candidate = f"{head}_{number}"
        self._taken.add(candidate)
        return candidate

    def slug_source(self, label: str, source: str) -> str:
        """Return the anchor of the next heading from its label, less the texts of images."""
        return self.slug(_without(_IMAGE, label, source))

    def take(self, anchor: str) -> bool:
        """Reserve an anchor that the author wrote; return whether it was still free."""
        is_free = anchor not in self._taken
        self._taken.add(anchor)
        return is_free


class MkDocsUnicodeSlugger(MkDocsSlugger):
    """MkDocs with ``slugify: markdown.extensions.toc.slugify_unicode``: letters stay as they are.

    Source: ``slugify_unicode`` in ``markdown/extensions/toc.py``.
    """

    keeps_unicode = True


SLUGGERS: Mapping[str, Callable[[], Slugger]] = {
    "github": GitHubSlugger,
    "hugo": HugoSlugger,
    "hugo-source": HugoSourceSlugger,
    "docusaurus": DocusaurusSlugger,
    "mkdocs": MkDocsSlugger,
    "mkdocs-unicode": MkDocsUnicodeSlugger,
}
"""The rules by the word that names them in ``site.slugs``."""
