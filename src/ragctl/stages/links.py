"""Where a citation points: the page on the site, at its section.

Sites address their pages in three styles, as the generators publish them:

======  =========  =============  ===========  ==================================================
style   page       folder         root         published so by
======  =========  =============  ===========  ==================================================
plain   /a/b       /a             /            Docusaurus, Astro, hosts that leave out ``.html``
slash   /a/b/      /a/            /            Hugo, MkDocs, Astro where it adds slashes
html    /a/b.html  /a/index.html  /index.html  MkDocs with ``use_directory_urls: false``, Hugo
                                               with ``uglyURLs``
======  =========  =============  ===========  ==================================================

A page whose file is the index of its folder (landing pages, page bundles) has the folder's
address. Plain addresses of folders have no slash either: servers redirect to the folder, and
browsers carry the fragment along.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from ragctl.records.links import LinkStyle
    from ragctl.records.pages import UrlStyle


def page_link(
    url: str,
    anchor: str | None,
    *,
    base_url: str,
    style: UrlStyle = "plain",
    is_index: bool = False,
) -> str:
    """Return the link of a page and section.

    ``url`` is the page's path below the site, ``base_url`` the address of the site or empty, in
    which case the path alone is returned; ``is_index`` says that the page's file is the index of
    its folder. Path and fragment are percent-encoded where needed; the path begins with one slash,
    whatever ``url`` does, so that it neither names another host nor becomes a part of this one.
    """
    found = page_path(url, style=style, is_index=is_index)
    path = quote(f"/{found.lstrip('/')}", safe="/-._~!$&'()*+,;=:@")
    fragment = f"#{quote(anchor, safe='-._~!$&()*+,;=:@/?')}" if anchor else ""
    return f"{base_url.rstrip('/')}{path}{fragment}"


def link_to(style: LinkStyle, url: str, source_path: str, anchor: str | None = None) -> str:
    """Return the link of a stored page and section in the style of its site."""
    return page_link(
        url,
        anchor,
        base_url=style.base_url,
        style=style.url_style,
        is_index=is_folder_index(url, source_path),
    )


def page_path(url: str, *, style: UrlStyle, is_index: bool = False) -> str:
    """Return a page's path below the site in one of the styles, not encoded."""
    if style == "plain" or url.lower().endswith(".pdf"):
        return url
    folder = url.rstrip("/")
    if style == "slash":
        return f"{folder}/"
    return f"{folder}/index.html" if is_index or not folder else f"{folder}.html"


def is_folder_index(url: str, source_path: str) -> bool:
    """Tell whether a page has the address of the folder that its file lies in."""
    folder = source_path.rpartition("/")[0]
    return url == unicodedata.normalize("NFC", f"/{folder}")


def address_of(text: str, *, base_url: str) -> tuple[str, str]:
    """Return the address of a page and the fragment, of a page as people name it.

    That is its address, with or without slashes at the ends, its published link in any style, or
    the path of its file below the content root.
    """
    text = text.strip().removeprefix(base_url.rstrip("/"))
    text = re.sub(r"\A[a-z]+://[^/]*", "", text)
    path, _, fragment = text.partition("#")
    path = re.sub(r"\.(?:md|mdx|markdown|txt|html?)\Z", "", path.strip("/"))
    path = re.sub(r"(?:\A|/)_?index\Z", "", path)
    return f"/{path}", fragment
