"""``ragctl open``: a source of the last answer, in the browser or as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.cli.opening import file_below, web_link
from ragctl.records.answers import Citation
from ragctl.records.links import LinkStyle
from tests.ollama_server import OllamaServer, chat
from tests.program import Program, run_process


@pytest.fixture
def asked(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program after an answer that cites two passages."""
    assert ragctl("ingest", str(site)).code == 0
    ragctl.set(RAGCTL_RETRIEVAL__LEAST_SHARE="0")
    ollama.on("/api/chat", chat("It refills lazily [3], or so [1]."))
    assert ragctl("ask", "How does the token bucket refill?").code == 0
    return ragctl


@pytest.fixture
def browser(tmp_path: Path, ragctl: Program) -> Path:
    """A browser that writes down what it is to open."""
    script, opened = tmp_path / "browser", tmp_path / "opened"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    script.chmod(0o755)
    ragctl.set(BROWSER=str(script))
    return opened


def test_a_source_opens_in_the_browser_by_its_printed_number(asked: Program, browser: Path) -> None:
    asked.set(RAGCTL_SITE__BASE_URL="https://site.example")
    document = asked("ask", "How does the token bucket refill?", "--json").document
    links = {citation["n"]: citation["link"] for citation in document["citations"]}
    assert set(links) == {1, 3}
    done = run_process("open", "3")  # a process: the browser is chosen once in each
    assert done.returncode == 0, done.stderr
    assert browser.read_text() == links[3]
    assert done.stdout == b""
    browser.unlink()
    printed = asked("open", "1", "--print")
    assert printed.out == f"{links[1]}\n"
    assert not browser.exists()


def test_an_answer_before_the_address_was_set_opens_by_the_address_set_now(
    asked: Program,
) -> None:
    asked.set(RAGCTL_SITE__BASE_URL="https://site.example")
    assert asked("open", "1", "--print").out.startswith("https://site.example/")


def test_without_an_address_it_prints_the_file_and_says_what_makes_it_a_link(
    asked: Program, browser: Path, site: Path
) -> None:
    done = asked("open", "1")
    assert done.code == 0
    path = Path(done.out.strip())
    assert path.is_file() and path.is_relative_to(site.resolve())
    assert "site.base_url" in done.err
    assert not browser.exists()
    path.unlink()
    assert asked("open", "1").code == 3


def test_a_number_that_is_not_there_names_those_that_are(asked: Program) -> None:
    for number in ("2", "0", "9"):
        done = asked("open", number)
        assert done.code == 2
        assert f"no source {number}" in done.err
        assert "There are: 1 " in done.err and ", 3 " in done.err


def test_an_older_answer_is_named_by_its_trace(asked: Program, ollama: OllamaServer) -> None:
    older = asked("trace", "last", "--json").document["id"]
    ollama.on("/api/chat", chat("The passages do not say."))
    assert asked("ask", "How?").code == 0
    assert "has no sources" in asked("open", "1").err
    assert asked("open", "1", "--trace", older).code == 0
    assert asked("open", "1", "--trace", "zzz").code == 2


def test_without_a_recorded_answer_it_says_how_to_get_one(ragctl: Program, site: Path) -> None:
    assert ragctl("ingest", str(site)).code == 0
    done = ragctl("open", "1")
    assert done.code == 3
    assert "no answer was recorded yet" in done.err
    ragctl.set(RAGCTL_TRACES__RECORD="off")
    done = ragctl("open", "1")
    assert done.code == 3
    assert "traces.record" in done.err


def test_no_browser_is_said_with_the_link(asked: Program) -> None:
    environ = {"RAGCTL_SITE__BASE_URL": "https://site.example", "BROWSER": "/no/such %s"}
    done = run_process("open", "1", environ={**environ, "PATH": "/nowhere", "DISPLAY": ""})
    assert done.returncode == 2
    assert b"no browser" in done.stderr and b"https://site.example/" in done.stderr


def _citation(link: str) -> Citation:
    return Citation(
        n=1,
        title="T",
        url="/a",
        section=None,
        anchor=None,
        link=link,
        source_path="a.md",
        passages=(1,),
    )


@pytest.mark.parametrize(
    "link",
    [
        *("file:///etc/passwd", "javascript:alert(1)", "/a", "https:///a", "--help", ""),
        *("https://a.example/\x1b[2J", "https://a.example/ --flag"),
    ],
)
def test_only_addresses_of_the_web_are_opened(link: str) -> None:
    assert web_link(_citation(link), LinkStyle()) is None


def test_a_path_that_leaves_the_content_folder_is_no_file_of_it(tmp_path: Path) -> None:
    root = tmp_path / "content"
    root.mkdir()
    (root / "a.md").write_text("A.")
    (tmp_path / "secret").write_text("S.")
    (root / "link.md").symlink_to(tmp_path / "secret")
    assert file_below(str(root), "a.md") == (root / "a.md").resolve()
    for path in ("../secret", str(tmp_path / "secret"), "link.md", "missing.md", ""):
        assert file_below(str(root), path) is None
    assert file_below(None, "a.md") is None
