"""Links lead to the site's own pages, whatever a page, an anchor or a question calls itself."""

from __future__ import annotations

import string
from urllib.parse import unquote, urlsplit

from hypothesis import strategies as st

from ragctl.cli.opening import web_link
from ragctl.errors import SettingsError
from ragctl.records.answers import Citation
from ragctl.records.links import LinkStyle
from ragctl.records.pages import UrlStyle
from ragctl.settings import read
from ragctl.stages.links import address_of, is_folder_index, page_link
from tests.fuzz.grammar import INLINES, ODD_CHARACTERS
from tests.fuzz.property import fuzzed

STYLES: st.SearchStrategy[UrlStyle] = st.sampled_from(["plain", "slash", "html"])
NAMES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "a",
                "01-b",
                "x.md",
                "..",
                ".",
                "index",
                "c d",
                "é",
                "%41",
                "#",
                "?q=1",
                "a:b",
                "javascript:alert(1)",
                "@",
                "&",
                "潮",
                "[x]",
                "'",
                '"',
                "<b>",
                "\\",
                "~",
                "*",
            ]
        ),
        st.sampled_from(ODD_CHARACTERS).filter(lambda odd: odd.isprintable() or odd == "\x1b"),
        INLINES,
    ),
    min_size=1,
    max_size=4,
).map(lambda parts: "/" + "/".join(part.replace("/", "") or "a" for part in parts))
STORED = NAMES.map(lambda url: url.encode("utf-8", "replace").decode())
ANCHORS = st.one_of(st.none(), INLINES.map(lambda text: text.encode("utf-8", "replace").decode()))
_ALLOWED = set(string.ascii_letters + string.digits + "-._~!$&'()*+,;=:@/?#%[]")


@fuzzed(STORED, ANCHORS, STYLES, st.sampled_from(["", "https://s.example", "https://s.example/d/"]))
def test_a_link_is_plain_ascii_below_the_site_and_names_the_page(
    url: str, anchor: str | None, style: UrlStyle, base_url: str
) -> None:
    link = page_link(url, anchor, base_url=base_url, style=style)
    assert set(link) <= _ALLOWED
    assert link.startswith(f"{base_url.rstrip('/')}/")
    parts = urlsplit(link)
    assert (parts.scheme, parts.netloc) == (("https", "s.example") if base_url else ("", ""))
    assert parts.query == ""
    assert unquote(parts.fragment) == (anchor or "")
    below = unquote(parts.path).removeprefix("/d") if "/d/" in base_url else unquote(parts.path)
    assert below.startswith(url.rstrip("/"))


@fuzzed(STORED, STYLES, st.booleans(), st.sampled_from(["", "https://s.example/d/"]))
def test_the_address_of_a_link_is_that_of_its_page(
    url: str, style: UrlStyle, is_index: bool, base_url: str
) -> None:
    plain = "/" + "/".join(part for part in url.split("/") if part.isalnum() and part != "index")
    link = page_link(plain, "a", base_url=base_url, style=style, is_index=is_index)
    found, fragment = address_of(unquote(link), base_url=base_url)
    assert (found, fragment) == (plain, "a")


@fuzzed(INLINES, st.sampled_from(["", "https://s.example"]))
def test_whatever_a_person_calls_a_page_is_a_path(text: str, base_url: str) -> None:
    url, fragment = address_of(text, base_url=base_url)
    assert url.startswith("/") and "#" not in url
    assert address_of(url, base_url=base_url)[1] == ""
    assert isinstance(is_folder_index(url, text), bool)
    assert fragment == "" or "#" in text


LINKS = st.one_of(
    st.sampled_from(
        ["https://s.example/a", "http://[::1", "https://[x]/a", "javascript:alert(1)",
         "file:///etc/x",
         "//s.example/a", "https:///a", "https://s.example/\x1b]0;x\x07", "/a", "",
         "data:text/html,x",
         "HTTPS://S.EXAMPLE", "https://s.example:99999999/", "https://s.example/ a",
         "ftp://s.example"]
    ),
    INLINES,
    INLINES.map("https://{}".format),
)  # fmt: skip


@fuzzed(LINKS, STORED, runs=100, found=[("http://[::1", "/a")])
def test_only_addresses_of_the_web_are_opened(link: str, url: str) -> None:
    citation = Citation(
        n=1, title="T", url=url, section=None, anchor=None, link=link, source_path="a.md",
        passages=(1,),
    )  # fmt: skip
    found = web_link(citation, LinkStyle(base_url=""))
    assert found is None or found.lower().startswith(("http://", "https://"))
    assert found is None or (found.isprintable() and " " not in found)


@fuzzed(LINKS, runs=100, found=[("https://s.example/\x1b]0;x\x07",), ("https://[x",)])
def test_the_address_of_the_site_is_a_plain_one_of_the_web(link: str) -> None:
    try:
        settings = read(flags={}, environ={"RAGCTL_SITE__BASE_URL": link})
    except SettingsError as error:
        assert error.hint
        return
    base_url = settings.site.base_url
    assert base_url == "" or urlsplit(base_url).scheme.lower() in ("http", "https")
    assert base_url.isprintable()
