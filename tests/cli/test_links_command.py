"""``ragctl links``, ``site.dist``, ``site.url_style`` and ``site.slugs`` as a user meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.db.connect import connect
from tests.ollama_server import OllamaServer
from tests.program import Program

BUILT = Path(__file__).parents[1] / "data" / "built"
MKDOCS = str(BUILT / "mkdocs-1.6.1")
PAGE = "---\ntitle: Lamps\n---\n## Größe & Last\n\nThe bucket refills lazily.\n"
OWN_CLASS = '''
class Numbered:
    """Numbers headings, as some house theme might."""

    def __init__(self):
        self._count = 0

    def slug(self, label):
        self._count += 1
        return f"s{self._count}"

    def take(self, anchor):
        return True
'''


def _rows(url: str, query: str) -> list[tuple[object, ...]]:
    with connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


@pytest.fixture
def harbour(ragctl: Program) -> str:
    """The content of the built sites, cut so finely that most sections begin a passage."""
    ragctl.set(RAGCTL_CHUNKING__SIZE="100", RAGCTL_CHUNKING__OVERLAP="0")
    return str(BUILT / "content")


@pytest.fixture
def lamps(tmp_path: Path) -> tuple[Path, Path]:
    """A site of one page with one section, and a place to build it."""
    content, dist = tmp_path / "content", tmp_path / "dist"
    (content / "design").mkdir(parents=True)
    (content / "design" / "lamps.md").write_text(PAGE, encoding="utf-8")
    return content, dist


def _build(dist: Path, anchor: str) -> None:
    page = dist / "design" / "lamps" / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f'<h1>Lamps</h1><h2 id="{anchor}">Größe &amp; Last</h2>', encoding="utf-8")


def test_dead_links_are_listed_with_what_is_there_and_end_with_1(
    ragctl: Program, harbour: str
) -> None:
    ragctl("ingest", harbour)
    done = ragctl("links", MKDOCS)
    assert done.code == 1
    assert done.out.splitlines().count(
        "/harbour/01-signals#gr%C3%B6%C3%9Fe-der-lampen  anchor missing  Größe der Lampen  "
        "(did you mean #groe-der-lampen?)"
    )
    assert f"links checked against {MKDOCS}, " in done.err and "do not land" in done.err


def test_links_that_all_land_end_with_0(ragctl: Program, harbour: str) -> None:
    ragctl.set(RAGCTL_SITE__SLUGS="hugo", RAGCTL_SITE__URL_STYLE="slash")
    ragctl("ingest", harbour)
    done = ragctl("links", str(BUILT / "hugo-0.168.0"))
    assert (done.code, done.out) == (0, "")
    assert "all land" in done.err
    document = ragctl("links", str(BUILT / "hugo-0.168.0"), "--json").document
    assert (document["schema"], document["dead"]) == ("ragctl.links/1", [])
    assert document["checked"] > 10


def test_a_missing_page_is_listed_once_with_the_style_that_fits(
    ragctl: Program, harbour: str
) -> None:
    ragctl.set(RAGCTL_SITE__URL_STYLE="html")
    ragctl("ingest", harbour)
    done = ragctl("links", MKDOCS)
    (line,) = [line for line in done.out.splitlines() if "signals" in line]
    assert line.startswith("/harbour/01-signals.html  page missing, with ")
    assert "site.url_style = 'plain' fits" in line
    dead = ragctl("links", MKDOCS, "--json").document["dead"]
    assert {link["fault"] for link in dead if link["url"] == "/harbour/01-signals"} == {
        "page missing"
    }
    assert {"url", "anchor", "section", "link", "fault", "hint", "source_path"} == set(dead[0])


def test_without_a_built_site_it_says_what_to_name(
    ragctl: Program, harbour: str, tmp_path: Path
) -> None:
    ragctl("ingest", harbour)
    done = ragctl("links")
    assert done.code == 2 and "site.dist" in done.err
    done = ragctl("links", str(tmp_path / "nowhere"))
    assert done.code == 3 and "no such folder" in done.err
    (tmp_path / "empty").mkdir()
    assert ragctl("links", str(tmp_path / "empty")).code == 3


def test_ingest_with_a_built_site_drops_a_dead_fragment_until_the_anchor_is_there(
    ragctl: Program, lamps: tuple[Path, Path], empty_url: str
) -> None:
    content, dist = lamps
    _build(dist, "groe-last")
    ragctl.set(RAGCTL_SITE__DIST=str(dist), RAGCTL_SITE__BASE_URL="https://s.example")
    done = ragctl("ingest", str(content))
    assert done.code == 0
    assert f"2 links checked against {dist}, 1 do not land. `ragctl links` lists them." in done.err
    assert _rows(empty_url, "SELECT anchor, anchor_lands FROM chunks") == [("größe--last", False)]
    answer = ragctl("ask", "How does it refill?", "--json").document
    (citation,) = answer["citations"]
    assert (citation["section"], citation["anchor"]) == ("Größe & Last", "")
    assert citation["link"] == "https://s.example/design/lamps"
    assert answer["passages"][0]["anchor"] == ""
    assert "#gr" not in ragctl("ask", "How does it refill?").out

    _build(dist, "größe--last")
    assert f"2 links checked against {dist}, all land." in ragctl("ingest", str(content)).err
    (citation,) = ragctl("ask", "How does it refill?", "--json").document["citations"]
    assert citation["link"] == "https://s.example/design/lamps#gr%C3%B6%C3%9Fe--last"


def test_a_built_site_that_is_gone_leaves_links_unchecked_and_fails_no_ingest(
    ragctl: Program, lamps: tuple[Path, Path], empty_url: str
) -> None:
    content, dist = lamps
    _build(dist, "other")
    ragctl.set(RAGCTL_SITE__DIST=str(dist))
    ragctl("ingest", str(content))
    ragctl.set(RAGCTL_SITE__DIST=str(dist / "gone"))
    done = ragctl("ingest", str(content))
    assert done.code == 0
    assert "Links were not checked: no such folder" in done.err
    assert _rows(empty_url, "SELECT anchor_lands FROM chunks") == [(None,)]


def test_the_style_of_addresses_reaches_answers_and_sources(
    ragctl: Program, lamps: tuple[Path, Path]
) -> None:
    content, _ = lamps
    ragctl.set(RAGCTL_SITE__URL_STYLE="html", RAGCTL_SITE__BASE_URL="https://s.example/x/")
    ragctl("ingest", str(content))
    link = "https://s.example/x/design/lamps.html"
    assert link in ragctl("sources").out
    assert ragctl("sources", "--json").document["pages"][0]["link"] == link
    (citation,) = ragctl("ask", "How does it refill?", "--json").document["citations"]
    assert citation["link"] == f"{link}#gr%C3%B6%C3%9Fe--last"
    assert f"{link}#gr" in ragctl("ask", "How does it refill?").out


def test_other_rules_of_anchors_parse_every_page_anew_and_embed_nothing(
    ragctl: Program, lamps: tuple[Path, Path], ollama: OllamaServer, empty_url: str
) -> None:
    content, _ = lamps
    ragctl("ingest", str(content))
    ollama.requests.clear()
    ragctl.set(RAGCTL_SITE__SLUGS="mkdocs")
    assert ragctl("ingest", str(content)).code == 0
    assert _rows(empty_url, "SELECT anchor FROM chunks") == [("groe-last",)]
    assert ollama.requests_to("/api/embed") == []
    assert ragctl("ingest", str(content), "--json").document["tracks"][0]["unchanged"] == 1


def test_a_class_of_the_user_makes_the_anchors(
    ragctl: Program,
    lamps: tuple[Path, Path],
    tmp_path: Path,
    empty_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "house_rules.py").write_text(OWN_CLASS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = tmp_path / "config" / "ragctl" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[site]\nslugs = "house_rules:Numbered"\n', encoding="utf-8")
    assert ragctl("ingest", str(lamps[0])).code == 0
    assert _rows(empty_url, "SELECT anchor FROM chunks") == [("s1",)]


def test_a_class_named_by_a_checkout_is_not_imported(
    ragctl: Program, lamps: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\n{OWN_CLASS}", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (ragctl.folder / "ragctl.toml").write_text(
        '[site]\nslugs = "hostile:Numbered"\n', encoding="utf-8"
    )
    done = ragctl("ingest", str(lamps[0]))
    assert done.code == 2
    assert "ragctl.toml: code is not taken from there" in done.err
    assert "RAGCTL_SITE__SLUGS" in done.err
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("slugs", "told"),
    [
        ("gitlab", "unknown rule of anchors 'gitlab' (RAGCTL_SITE__SLUGS)"),
        ("no_such_module:Class", "cannot be imported"),
        ("ragctl.records.pages:Nothing", "cannot be imported"),
        ("ragctl.records.vectors:DIMENSIONS", "is no class"),
        ("ragctl.records.pages:Page", "cannot be made"),
        ("builtins:dict", "is no slugger"),
    ],
)
def test_rules_that_cannot_be_used_are_explained_before_anything_is_read(
    slugs: str, told: str, ragctl: Program, lamps: tuple[Path, Path]
) -> None:
    ragctl.set(RAGCTL_SITE__SLUGS=slugs)
    done = ragctl("ingest", str(lamps[0]))
    assert done.code == 2
    assert told in done.err
    assert "Traceback" not in done.err
