"""What is written is its owner's alone, wherever links point and whatever the umask says."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from ragctl.artifacts.pages import read_pages, writing_pages
from ragctl.artifacts.storage import replacing, write_bytes
from ragctl.cli.opening import file_below, web_link
from ragctl.errors import UsageError
from ragctl.records.answers import Citation
from ragctl.records.links import LinkStyle
from ragctl.stages.links import page_link
from tests.ollama_server import OllamaServer, chat
from tests.program import Program

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=x>"


@pytest.fixture
def open_umask() -> object:
    """No right is taken away by the umask."""
    before = os.umask(0)
    yield None
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_with_no_umask_what_is_written_is_its_owners_alone(ragctl: Program, site: Path) -> None:
    assert ragctl("ingest", str(site), "--artifacts", "made/files").code == 0
    assert ragctl("ask", "How does it refill?", "--artifacts", "made/files").code == 0
    for command in (
        ("db", "dump", "site.dump"),
        ("report", "report.html"),
        ("trace", "export", "--output", "traces.jsonl"),
        ("trace", "export", "--format", "otlp-json", "--output", "spans.json"),
        ("eval", "make", "--output", "questions.jsonl"),
        ("config", "set", "--user", "retrieval.k", "4"),
    ):
        assert ragctl(*command).code == 0, command
    places = [*ragctl.folder.rglob("*"), *(ragctl.folder.parent / "config").rglob("*")]
    assert len(places) > 15
    for place in places:
        assert place.stat().st_mode & 0o077 == 0, place
    assert ragctl("config", "init").code == 0  # goes with the site, and holds no secret
    assert (ragctl.folder / "ragctl.toml").stat().st_mode & 0o777 == 0o644


def test_a_file_of_ones_own_that_is_written_again_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    write_bytes(file, b"1")
    file.chmod(0o644)
    write_bytes(file, b"2")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"2", 0o644)
    file.chmod(0o666)
    write_bytes(file, b"3")
    assert file.stat().st_mode & 0o022 == 0


def test_nothing_is_written_through_a_link_that_somebody_has_put_there(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (tmp_path / f".report.html.{os.getpid()}.part").symlink_to(mine)
    (tmp_path / "report.html").symlink_to(mine)
    with replacing(tmp_path / "report.html") as file:
        file.write(b"report")
    assert mine.read_text() == "mine"
    assert (tmp_path / "report.html").read_text() == "report"
    (tmp_path / "text").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="is a link"), writing_pages(tmp_path):
        pass


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../mine", "text/../../mine", "text/..", "mine", "text/a/../../../mine"]
)
def test_a_folder_of_artifacts_reads_no_text_from_elsewhere(name: str, tmp_path: Path) -> None:
    line = {
        **{"url": "/a", "track": "t", "title": "t", "source_path": "a.md", "sha256": ""},
        **{"chars": 1, "text_file": name, "text_sha256": "", "is_landing": False},
    }
    (tmp_path / "parse.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(UsageError, match="is not in text/"):
        list(read_pages(tmp_path))


def test_no_link_of_a_site_leaves_it_and_no_page_leaves_its_folder(
    ragctl: Program, site: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n\nhunter22hunter22\n")
    (site / "design" / "file.md").symlink_to(secret)
    (site / "design" / "folder").symlink_to(tmp_path)
    (site / "design" / "chain.md").symlink_to(site / "design" / "file.md")
    (site / "design" / "loop").symlink_to(site)
    (site / "design" / "self.md").symlink_to(site / "design" / "self.md")
    front = "slug: ../../../etc/passwd\nurl: ///evil.example\naliases: [../../x]\ntitle: Up"
    (site / "design" / "up.md").write_text(
        f"---\n{front}\n---\n![x](../../../secret.md)\n\nText.\n"
    )
    assert ragctl("ingest", str(site)).code in (0, 1)
    listed = ragctl("sources", "--json").document["pages"]
    assert sorted(page["url"] for page in listed) == [
        *("/design", "/design/01-buckets", "/design/02-queues", "/design/up", "/kernel/10-rcu"),
    ]
    assert "hunter22" not in ragctl("search", "secret hunter22hunter22").out
    for page in ("../../etc/passwd", "/etc/passwd", "/design/../../../etc/passwd", "%2e%2e/etc"):
        for command in (("show", page, "--text"), ("ask", "How?", "--page", page)):
            done = ragctl(*command)
            assert done.code in (2, 3), (command, done.out)
            assert "root:" not in done.out + done.err
    assert file_below(str(site), "design/file.md") is None
    assert file_below(str(site), "../secret.md") is None
    assert file_below(str(site), str(secret)) is None


HOSTILE_URLS = (
    *("//evil.example/x", "///evil.example", "@evil.example/x", ".evil.example/x", "\\\\evil"),
    *("javascript:alert(1)", "/a\x1b]8;;x", "/a b", '/a"><script>', "/\\evil.example", ":80@evil"),
)


@pytest.mark.parametrize("url", HOSTILE_URLS)
def test_a_page_by_any_address_is_on_the_site(url: str) -> None:
    for base in ("https://site.example", "https://site.example/sub"):
        link = page_link(url, 'a"><script>\x1b', base_url=base)
        assert re.fullmatch(re.escape(base) + r"/[\w./~!$&'()*+,;=:@%-]*#[\w%.-]*", link), link
    assert re.match(r"/(?!/)", page_link(url, None, base_url=""))


@pytest.mark.parametrize(
    "link",
    [
        *("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//evil.example"),
        *("https://site.example@evil.example/", "https://me:x@evil.example", "https:evil.example"),
        *("https://a\\@evil.example", "https://a/$(x)\u202e", "https://a/`id`", "https://a/ -x"),
        *("http://[::1", "-o https://x", "https://a/\x1b", 'https://a/"x', "HTTPS://\n"),
    ],
)
def test_no_stored_link_but_one_of_the_web_is_opened(link: str) -> None:
    citation = Citation(
        n=1,
        title="t",
        url="/a",
        section=None,
        anchor=None,
        link=link,
        source_path="a.md",
        passages=(1,),
    )
    assert web_link(citation, LinkStyle(base_url="", url_style="plain")) is None


def test_a_report_runs_nothing_that_questions_or_pages_hold(
    ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    (site / "design" / "x.md").write_text(
        f"---\ntitle: {json.dumps(SCRIPT)}\n---\n## {SCRIPT}\n\nA.\n"
    )
    assert ragctl("ingest", str(site)).code == 0
    ollama.on("/api/chat", chat("The passages do not say."))
    for question in (f"What is {SCRIPT}?", "Is [x](javascript:alert(1)) a bucket?"):
        assert ragctl("ask", question).code == 0
    assert ragctl("report", "report.html").code == 0
    page = (ragctl.folder / "report.html").read_text()
    assert "alert(1)" in page
    assert not re.search(r"<(?:script|img|a|iframe|object|link|form)\b", page)
    assert set(re.findall(r"<(svg/?\w*)", page)) <= {"svg"}
    assert "default-src 'none'" in page
