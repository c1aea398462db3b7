"""``ragctl sources --about`` as typed: pages that speak of a topic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ollama_server import OllamaServer
from tests.program import Program, run_process


@pytest.fixture
def ingested(ragctl: Program, site: Path) -> Program:
    """The program with the small site, and a page more, in its database."""
    (site / "design/03-limits.md").write_text(
        "---\ntitle: Limits\n---\n## Bucket sizes\n\nA token bucket of ten refills in a second.\n\n"
        "## Queue sizes\n\nA queue of ten is long.\n\n"
        "## Refilling\n\nThe token bucket refills lazily, or by a timer.\n"
    )
    assert ragctl("ingest", str(site)).code == 0
    ragctl.set(RAGCTL_RETRIEVAL__MODE="keyword")
    return ragctl


def _pages(document: dict[str, Any]) -> list[str]:
    return [page["url"] for page in document["pages"]]


def test_pages_about_a_topic_come_with_their_sections_in_reading_order(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.requests.clear()
    document = ingested("sources", "--about", "token bucket", "--json").document
    assert (document["schema"], document["mode"]) == ("ragctl.sources_about/1", "keyword")
    assert sorted(_pages(document)) == ["/design/01-buckets", "/design/03-limits"]
    assert [page["n"] for page in document["pages"]] == [1, 2]
    scores = [page["score"] for page in document["pages"]]
    assert scores == sorted(scores, reverse=True)
    (limits,) = [page for page in document["pages"] if page["url"] == "/design/03-limits"]
    assert [section["anchor"] for section in limits["sections"]] == ["bucket-sizes", "refilling"]
    for section in limits["sections"]:
        assert section["link"] == f"/design/03-limits#{section['anchor']}"
        assert section["ref"].startswith("/design/03-limits#c")
        assert 0 < section["score"] <= 1
    assert ollama.requests == []


def test_it_reads_well_in_a_pipe_and_links_to_the_site(ingested: Program) -> None:
    ingested.set(RAGCTL_SITE__BASE_URL="https://site.example", COLUMNS="60")
    done = ingested("sources", "--about", "token bucket")
    assert (done.code, done.err) == (0, "")
    for text in ("1. ", "2. ", "Rate limiter  design", "Refilling",
                 "https://site.example/design/03-limits#refilling",
                 "https://site.example/design/01-buckets#the-token-bucket"):  # fmt: skip
        assert text in done.out
    assert all(line == line.rstrip() and "\x1b" not in line for line in done.out.splitlines())


def test_of_a_page_that_is_all_about_it_the_strongest_sections_are_shown(
    ingested: Program, site: Path
) -> None:
    sections = [
        f"## Part {n}\n\nA zygote {'zygote ' * (n % 7)}is {n} and other words.\n" for n in range(8)
    ]
    (site / "kernel/12-zygotes.md").write_text("\n".join(["---\ntitle: Z\n---", *sections]))
    ingested("ingest", str(site))
    (page,) = ingested("sources", "--about", "zygote", "--json").document["pages"]
    assert [section["section"] for section in page["sections"]] == [f"Part {n}" for n in range(8)]
    scores = {section["section"]: section["score"] for section in page["sections"]}
    shown = ingested("sources", "--about", "zygote").out.splitlines()
    parts = [f"Part {n}" for n in range(8) if any(line.endswith(f" Part {n}") for line in shown)]
    assert len(parts) == 5
    assert min(scores[part] for part in parts) >= max(
        score for part, score in scores.items() if part not in parts
    )
    assert shown[-1].strip() == "and 3 more sections"


def test_track_and_number_limit_it(ingested: Program) -> None:
    one = ingested("sources", "--about", "token bucket", "-k", "1", "--json").document
    assert len(one["pages"]) == 1
    kernel = ingested("sources", "--about", "readers queue", "--track", "kernel", "--json").document
    assert (_pages(kernel), kernel["tracks"]) == (["/kernel/10-rcu"], ["kernel"])
    assert ingested("sources", "--about", "queue", "--track", "kernal").code == 2
    assert ingested("sources", "--about", " ").code == 2
    assert ingested("sources", "--about", "queue", "-k", "0").code == 2
    alone = ingested("sources", "-k", "3")
    assert alone.code == 2
    assert "--about" in alone.err


def test_a_topic_that_is_nowhere_is_no_failure(ingested: Program) -> None:
    done = ingested("sources", "--about", "xylophone")
    assert (done.code, done.out) == (0, "")
    assert "No page speaks of this" in done.err
    assert ingested("sources", "--about", "xylophone", "--json").document["pages"] == []
    ingested.set(RAGCTL_RETRIEVAL__MODE="hybrid")
    nearest = ingested("sources", "--about", "xylophone")
    assert nearest.code == 0
    assert "nearest by meaning" in nearest.err
    assert "1. " in nearest.out
    assert ingested("sources", "--about", "xylophone", "--json").document["in_words"] is False


def test_words_do_where_the_model_is_out_of_reach_and_it_says_so(ingested: Program) -> None:
    ingested.set(RAGCTL_RETRIEVAL__MODE="hybrid")
    both = ingested("sources", "--about", "token bucket", "--json").document
    assert (both["mode"], both["problems"]) == ("hybrid", [])
    ingested.set(OLLAMA_HOST="http://127.0.0.1:9")
    done = ingested("sources", "--about", "token bucket")
    assert done.code == 0
    assert "words alone" in done.err
    assert "/design/03-limits" in done.out
    assert ingested("sources", "--about", "token bucket", "--json").document["mode"] == "keyword"
    ingested.set(RAGCTL_RETRIEVAL__MODE="vector")
    assert ingested("sources", "--about", "token bucket").code == 5


def test_before_the_first_ingest_it_says_how_to_begin(ragctl: Program) -> None:
    assert ragctl("sources", "--about", "queues").code == 3


def test_titles_harm_no_terminal(ingested: Program, site: Path) -> None:
    (site / "kernel/12-evil.md").write_text("# A [bold] \x1b[31m title\n\nA zygote here.\n")
    ingested("ingest", str(site))
    done = ingested("sources", "--about", "zygote")
    assert "[bold]" in done.out
    assert "\x1b" not in done.out


def test_without_it_the_list_of_pages_needs_no_search(ingested: Program) -> None:
    done = run_process("sources", "--json", environ={"OLLAMA_HOST": "http://127.0.0.1:9"})
    assert done.returncode == 0
    assert b'"ragctl.sources/1"' in done.stdout
