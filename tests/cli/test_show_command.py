"""``ragctl show`` as typed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from tests.program import Program

LONG = "\n\n".join(
    [
        "---\ntitle: Long page\n---\nThe introduction.",
        *(
            f"## Section {number}\n\n" + f"Sentence {number} goes on for a while. " * 15
            for number in range(1, 4)
        ),
    ]
)
URL = "/design/03-long"


@pytest.fixture
def stored(ragctl: Program, site: Path) -> Path:
    """The small site with a page of several passages, ingested."""
    (site / "design/03-long.md").write_text(LONG + "\n", encoding="utf-8")
    assert ragctl("ingest", str(site)).code == 0
    return site


def refs(ragctl: Program) -> list[str]:
    """The references of the long page's passages."""
    return [passage["ref"] for passage in ragctl("show", URL, "--json").document["passages"]]


def test_a_passage_is_shown_with_place_neighbours_and_what_was_embedded(
    ragctl: Program, stored: Path
) -> None:
    before, ref, *_ = refs(ragctl)
    document = ragctl("show", ref, "--json").document
    assert document["schema"] == "ragctl.passage/1"
    assert document["ref"] == ref
    assert document["title"] == "Long page"
    assert document["previous"]["ref"] == before
    assert document["previous"]["first_words"].startswith("The introduction.")
    assert document["source"]["path"] == "design/03-long.md"
    lines = (stored / "design/03-long.md").read_text().split("\n")
    text = ragctl("show", URL, "--text").out
    slice_ = text[document["start_char"] : document["end_char"]]
    assert lines[document["source"]["first_line"] - 1] == slice_.split("\n")[0]
    embedded = document["embedded"]
    assert embedded["prefix"] == "search_document: "
    assert embedded["hash"] == hashlib.sha256(embedded["text"].encode()).hexdigest()
    assert embedded["is_current"] is True
    assert embedded["text"].endswith(document["body"])


def test_a_passage_in_words_names_file_and_lines(ragctl: Program, stored: Path) -> None:
    first = refs(ragctl)[0]
    done = ragctl("show", first)
    assert done.code == 0
    assert f"{stored}/design/03-long.md:4" in done.out
    assert "Long page" in done.out
    assert "before      -" in done.out
    assert "The introduction." in done.out


def test_a_place_inside_a_passage_shows_the_passage_that_covers_it(
    ragctl: Program, stored: Path
) -> None:
    ref = refs(ragctl)[1]
    inside = int(ref.partition("#c")[2]) + 5
    done = ragctl("show", f"{URL}#c{inside}", "--json")
    assert done.document["ref"] == ref
    assert ref in done.err


def test_a_page_is_shown_with_its_passages(ragctl: Program, stored: Path) -> None:
    document = ragctl("show", URL, "--json").document
    assert document["schema"] == "ragctl.page/1"
    assert document["text"].startswith("The introduction.")
    assert len(document["passages"]) > 1
    assert document["passages"][0]["characters"] > 0
    done = ragctl("show", URL)
    assert all(passage["ref"] in done.out for passage in document["passages"])
    landing = ragctl("show", "/design")
    assert "landing page" in landing.out


@pytest.mark.parametrize(
    "name",
    [
        URL,
        "design/03-long",
        f"{URL}/",
        "design/03-long.md",
        f"https://example.org/docs{URL}",
        "/design/03%2Dlong",
    ],
)
def test_a_page_is_found_by_every_name_it_has(name: str, ragctl: Program, stored: Path) -> None:
    ragctl.set(RAGCTL_SITE__BASE_URL="https://example.org/docs/")
    done = ragctl("show", name, "--json")
    assert done.code == 0, done.out
    assert done.document["url"] == URL
    assert done.document["link"] == f"https://example.org/docs{URL}"


def test_a_page_is_found_by_its_file_from_anywhere(ragctl: Program, stored: Path) -> None:
    done = ragctl("show", str(stored / "design/03-long.md"), "--json")
    assert done.document["url"] == URL


def test_a_page_is_found_by_its_published_address(ragctl: Program, stored: Path) -> None:
    ragctl.set(RAGCTL_SITE__URL_STYLE="html")
    assert ragctl("show", f"{URL}.html", "--json").document["url"] == URL


def test_a_link_to_a_section_shows_its_first_passage(ragctl: Program, stored: Path) -> None:
    passages = ragctl("show", URL, "--json").document["passages"]
    wanted = next(passage for passage in passages if passage["anchor"])
    done = ragctl("show", f"{URL}#{wanted['anchor']}", "--json")
    assert done.document["ref"] == wanted["ref"]
    unknown = ragctl("show", f"{URL}#{wanted['anchor']}-typo")
    assert unknown.code == 2
    assert f"{URL}#{wanted['anchor']}" in unknown.err


def test_an_unknown_page_is_an_error_that_names_the_nearest(ragctl: Program, stored: Path) -> None:
    done = ragctl("show", "/design/3-long", "--json")
    assert done.code == 2
    assert URL in done.document["error"]["hint"]


def test_a_place_behind_the_end_is_an_error(ragctl: Program, stored: Path) -> None:
    done = ragctl("show", f"{URL}#c999999")
    assert done.code == 2
    assert "999,999" in done.err


def test_a_page_without_passages_says_so(ragctl: Program, stored: Path) -> None:
    done = ragctl("show", "/design#c0")
    assert done.code == 2
    assert "no passages" in done.err


def test_a_file_that_changed_is_pointed_out(ragctl: Program, stored: Path) -> None:
    (stored / "design/03-long.md").write_text("Other words.\n")
    assert "has changed since" in ragctl("show", URL).err
    (stored / "design/03-long.md").unlink()
    assert "not on this disk" in ragctl("show", URL).err


def test_a_body_that_is_not_what_was_embedded_is_pointed_out(
    ragctl: Program, stored: Path, empty_url: str
) -> None:
    ref = refs(ragctl)[0]
    with connect(empty_url) as connection:
        connection.execute(b"UPDATE chunks SET body = body || ' more'")
    assert ragctl("show", ref, "--json").document["embedded"]["is_current"] is False
    assert "NOT of what is stored" in ragctl("show", ref).out


def test_control_characters_of_a_page_do_not_reach_the_terminal(
    ragctl: Program, stored: Path
) -> None:
    (stored / "design/03-long.md").write_text("# A \x1b[31mred\x1b[0m title\n\nWords \x1b[2J.\n")
    ragctl("ingest", str(stored))
    assert "\x1b" not in ragctl("show", f"{URL}#c0").out
    assert "\x1b" not in ragctl("show", URL).out
