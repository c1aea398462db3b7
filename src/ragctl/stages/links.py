"""Where a citation points: the page on the site, at its section."""

from __future__ import annotations

from urllib.parse import quote


def page_link(url: str, anchor: str | None, *, base_url: str) -> str:
    """Return the link of a page and section.

    ``url`` is the page's path below the site, ``base_url`` the address of the site or empty, in
    which case the path alone is returned. Path and fragment are percent-encoded where needed.
    """
    path = quote(url, safe="/-._~!$&'()*+,;=:@")
    fragment = f"#{quote(anchor, safe='-._~!$&()*+,;=:@/?')}" if anchor else ""
    return f"{base_url.rstrip('/')}{path}{fragment}"
