"""The failures that others met, played whole: each folder of cases and what it expects.

What belongs to one stage alone is held by the tests of that stage as well, with inputs of our own.
B21 (sizes that cannot be cut) and B17 stand in tests/stages, B42 in tests/stages/test_citations.py,
B40 (a pooler) needs one and is played by hand.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from tests.field_cases import played
from tests.program import Program, run_process
from tests.terminal import run_on_terminal

pytestmark = pytest.mark.corpus

PAGES: tuple[tuple[str, str, list[str], list[str], list[str]], ...] = (
    # page, title, sections with text, what is in its bodies, what is not
    ("B01/bom", "Night watch rota", ["Who is on call"], ["every Monday"], ["author:"]),
    ("B01/crlf", "Quay lights", ["Red sector"], ["```sh\nlights --sector red\n```"], ["\r"]),
    ("B01/bom-crlf-blanks", "Fog signal", ["Two blasts"], [], ["\ufeff", "title:"]),
    ("B01/eof", "Empty berth", [], [], []),
    ("B02/inside-value", "Ebb --- flow, a study", ["Opening"], ["slack", "after"], ["weight: 4"]),
    ("B02/no-metadata", "Pontoon checks", ["Pontoon checks"], ["hinges: monthly", "ropes"], []),
    ("B02/rule-first", "rule-first", [""], ["A rule opens", "Depth: read it"], []),
    ("B02/prose-between-rules", "prose-between-rules", [""], ["single sentence", "the rest"], []),
    ("B03/pilots", "Harbour: pilots & tugs", ["Ordering a pilot"], ["+++ b/rota.txt"], ["draft ="]),
    ("B03/broken", "Tug horn code", ["Tug horn code"], ["cast off"], ["Unquoted"]),
    ("B04/colon", "Tides: a primer", ["Reading a tide table"], ["twice a day"], ["weight: 3"]),
    ("B04/star", "*Important* notice to yachts", ["Notice board"], ["basin is shut"], []),
    ("B04/impossible-date", "Lunar calendar", ["Moon phases"], ["new moon"], ["2026-13-45"]),
    ("B04/tab", "Winch care", ["Winch care at sea"], ["Oil the pawls"], ["level: 2"]),
    ("B04/unclosed", "Lost fence", ["Bollard numbers"], ["from the lock"], []),
    ("B04/good", "A healthy page", ["Healthy"], ["Nothing wrong"], []),
    (
        "B07/setext",
        "Dry dock manual",
        ["Dry dock manual", "Flooding the dock", "ATX heading", "Two line title of this part"],
        ["| Valve | Turns |\n|-------|"],
        ["=====", "\n--\n"],
    ),
    (
        "B09/brackets",
        "Probe header notes",
        ["Probe header notes"],
        ["<linux/bpf.h>", "if (i<b && c>d)", "x<y>z", "`<br>`", "bold, stressed, line break"],
        ["<b>bold</b>", "<kbd>", "linebreak"],
    ),
    (
        "B12/page",
        "Cargo rules",
        ["Duties"],
        ["Import duties", "export licences", "two people", "forklifts", "import os", "Heavy load"],
        ["@theme/Tabs", "style.css", "export const year", "<TabItem"],
    ),
    (
        "B12/hugo",
        "Crane guide",
        ["Lifting"],
        ["Check the wind", "{{< keep-this-sample >}}", "Literal braces"],
        ["{{% notice", "{{< figure"],
    ),
    ("B14/first", "Pump manual", ["Pump manual", "Setup", "Setup", "Setup 1", "Setup"], [], []),
    ("B14/second", "Gauge manual", ["Gauge manual", "Setup-1", "Setup", "Setup"], [], []),
    ("B17/unclosed", "Unclosed", ["Unclosed"], ["LAST-WORDS of the page."], []),
    ("B35/nul", "Export with holes", ["Pump log", "After"], ["dropped at noon."], ["\x00"]),
)
ANCHORS = {
    "B14/first": ["pump-manual", "setup", "setup-1", "setup-1-1", "setup-2"],
    "B14/second": ["gauge-manual", "setup-1", "setup", "setup-2"],
    "B16/ids": [
        "anchoring",
        "mud",
        "Chain_Length",
        "brace-sample-not-an-id",
        "set-a-b",
        "scope",
        "under",
    ],
}
REPAIRED = ("broken", "colon", "star", "impossible-date", "tab", "unclosed", "nul")


def test_pages_of_the_cases_are_stored_as_expected(
    ragctl: Program, cases_dir: Path, empty_url: str
) -> None:
    for case in sorted({page.partition("/")[0] for page, *_ in PAGES} | {"B16"}):
        shutil.copytree(cases_dir / case / "input", ragctl.folder / "site" / case)
    done = ragctl("ingest", "site")
    assert done.code == 0, done.err
    warned = {Path(name).stem for name in re.findall(r"warning: ([^:\s]+)", done.err)}
    assert warned == set(REPAIRED)
    query = (
        "SELECT coalesce(section, ''), anchor, body FROM chunks WHERE url = %s ORDER BY position"
    )
    with connect(empty_url) as connection:
        titles: dict[str, str] = dict(connection.execute("SELECT url, title FROM pages").fetchall())
        stored = {url: connection.execute(query, [url]).fetchall() for url in titles}
    for page, title, sections, present, absent in PAGES:
        text = "\n\n".join(body for _, _, body in stored[f"/{page}"])
        assert titles[f"/{page}"] == title
        assert [section for section, _, _ in stored[f"/{page}"]] == sections, page
        assert [words for words in present if words not in text] == [], page
        assert [words for words in absent if words in text] == [], page
    for page, anchors in ANCHORS.items():
        assert [anchor for _, anchor, _ in stored[f"/{page}"]] == anchors


@pytest.mark.parametrize("pair", ["50/50", "50/80", "0/0", "-5/0"])
def test_b21_sizes_that_cannot_work_are_refused_with_both_values(
    pair: str, ragctl: Program, site: Path
) -> None:
    size, overlap = pair.split("/")
    ragctl.set(
        RAGCTL_CHUNKING__CHUNKER="fixed",
        RAGCTL_CHUNKING__SIZE=size,
        RAGCTL_CHUNKING__OVERLAP=overlap,
    )
    done = ragctl("ingest", str(site))
    assert done.code == 2
    assert f"size {size} with overlap {overlap}" in done.err


@pytest.mark.parametrize("variant", ["reject-dense", "reject-any-part", "old-wording", "old-500"])
def test_b22_a_text_that_is_too_long_is_isolated_and_cut_smaller(
    variant: str, ragctl: Program, cases_dir: Path, empty_url: str
) -> None:
    with played(cases_dir, "B22", variant) as server:
        ragctl.set(OLLAMA_HOST=server.url)
        done = ragctl("ingest", str(cases_dir / "B22" / "input"))
        sent = [request["body"] for request in server.requests("/api/embed")]
    assert done.code == 1
    assert re.search(r"dense\.md \(Register dump\).*too long for the embedding model", done.err)
    assert len(re.findall(r"dense\.md", done.err)) == 1
    assert len(sent) <= 40
    assert all(body["truncate"] is False for body in sent)
    assert all(one != other for one, other in pairwise(sent))
    with connect(empty_url) as connection:
        rows = connection.execute("SELECT url, count(*) FROM chunks GROUP BY url").fetchall()
    stored: dict[str, int] = dict(rows)
    assert {f"/page{number}" for number in range(1, 9)} <= set(stored)
    assert stored.get("/dense", 0) == (0 if variant == "reject-any-part" else 5)


def test_b23_a_text_that_gives_nan_costs_nothing_but_itself(
    ragctl: Program, cases_dir: Path
) -> None:
    shutil.copytree(cases_dir / "B23" / "input", ragctl.folder / "site")
    with played(cases_dir, "B23") as server:
        ragctl.set(OLLAMA_HOST=server.url)
        done = ragctl("ingest", "site")
        assert done.code == 1
        assert re.search(r"bad\.md \(Odd line\).*NaN", done.err)
        assert len(server.requests("/api/embed")) <= 30
        page = ragctl.folder / "site" / "bad.md"
        page.write_text(page.read_text().replace("ZQX-NAN", "quiet"))
        again = ragctl("ingest", "site", "--json")
    assert again.code == 0
    assert again.document["tracks"][0]["passages"] == 10


@pytest.mark.parametrize(
    ("variant", "code", "said"),
    [
        ("error-line", 7, "an error was encountered while running the model"),
        ("no-done", 7, "the answer ended early"),
        ("reset", 7, "was lost"),
        ("hang", 7, "was silent"),
        ("split-bytes", 0, ""),
        ("two-lines-one-packet", 0, ""),
    ],
)
def test_b27_a_torn_answer_is_told_and_never_kept(
    variant: str, code: int, said: str, ragctl: Program, cases_dir: Path
) -> None:
    ragctl.set(RAGCTL_GENERATION__STALL_SECONDS="0.5", RAGCTL_CACHE__ANSWERS="on")
    with played(cases_dir, "B27", variant) as server:
        ragctl.set(OLLAMA_HOST=server.url)
        assert ragctl("ingest", str(cases_dir / "B27" / "input")).code == 0
        done = [ragctl("ask", "When does the lock open?", "--json") for _ in range(2)]
        assert len(server.requests("/api/chat")) == 2
        trace = ragctl("trace", "show", "last", "--json").document
    assert [each.code for each in done] == [code, code]
    assert said in json.dumps(done[0].document["problems"])
    assert trace["outcome"] == ("answered" if code == 0 else "incomplete")
    if code == 0:
        assert done[0].document["answer"] == "Naïve café – ok [1]"


def test_b29_proxies_are_for_other_machines(
    ragctl: Program, cases_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ragctl.folder / "site" / "page.md"
    page.parent.mkdir()
    for row in json.loads((cases_dir / "B29" / "env.json").read_text()):
        with played(cases_dir, "B29") as server, monkeypatch.context() as patched:
            port = server.url.rpartition(":")[2]
            for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
                patched.delenv(name)
            for name, value in row["env"].items():
                patched.setenv(name, value.replace("PORT", port))
            patched.setenv("OLLAMA_HOST", row["url"].replace("PORT", port))
            page.write_text(f"# Basin\n\nText for {row['name']}.\n")
            done = ragctl("ingest", str(page.parent))
            (paths,) = {request["path"] for request in server.requests("/api/embed")} or {""}
        if row["name"] == "remote-uses-proxy":
            assert paths == "http://ollama.invalid:11434/api/embed"
            assert "HTTP_PROXY" in done.err
        else:
            assert (done.code, paths) == (0, "/api/embed"), row


@pytest.mark.parametrize(
    ("variant", "code", "said"),
    [
        ("length", 0, "cut at 512 tokens"),
        ("loop", 7, "began to repeat itself"),
        ("endless", 7, "began to repeat itself"),
        ("empty", 7, "the model returned no text"),
    ],
)
def test_b32_answers_without_an_end_are_cut_and_told(
    variant: str, code: int, said: str, ragctl: Program, cases_dir: Path
) -> None:
    ragctl.set(RAGCTL_CACHE__ANSWERS="on")
    with played(cases_dir, "B32", variant) as server:
        ragctl.set(OLLAMA_HOST=server.url)
        ragctl("ingest", str(cases_dir / "B32" / "input"))
        done = [ragctl("ask", "When is the rope changed?", "--json") for _ in range(2)]
        assert len(server.requests("/api/chat")) == 2
    document = done[1].document
    assert done[1].code == code
    assert said in json.dumps(document["problems"])
    assert document["truncated"] is (variant != "empty")
    cited = [citation["n"] for citation in document["citations"]]
    assert variant == "empty" or cited == {"length": [1, 2], "loop": [1], "endless": []}[variant]


def test_b33_other_dimensions_and_other_models_are_refused_before_anything_is_embedded(
    ragctl: Program, cases_dir: Path, empty_url: str
) -> None:
    with connect(empty_url) as connection:
        connection.execute((cases_dir / "B33" / "setup.sql").read_bytes())
    content = str(cases_dir / "B33" / "input")
    with played(cases_dir, "B33") as server:
        ragctl.set(OLLAMA_HOST=server.url)
        for command in (("ingest", content), ("ask", "When does basin 1 close?")):
            refused = ragctl(*command)
            assert refused.code == 4
            for told in ("384", "768", "table chunks", "--rebuild"):
                assert told in refused.err
        assert server.requests("/api/embed") == []
        assert ragctl("ingest", content, "--rebuild").code == 0
        ragctl.set(RAGCTL_EMBEDDING__MODEL="other-model")
        other = ragctl("ask", "When does basin 1 close?")
    assert other.code == 6
    assert "nomic-embed-text" in other.err
    assert "other-model" in other.err
    with connect(empty_url) as connection:
        rows = connection.execute("SELECT url, vector_dims(embedding) FROM chunks ORDER BY url")
        assert rows.fetchall() == [("/page1", 768), ("/page2", 768)]


def test_b35_what_no_database_holds_is_replaced_in_questions_and_answers(
    ragctl: Program, cases_dir: Path
) -> None:
    with played(cases_dir, "B35", "nul-answer") as server:
        ragctl.set(OLLAMA_HOST=server.url)
        ragctl("ingest", str(cases_dir / "B35" / "input"))
        for entry in json.loads((cases_dir / "B35" / "questions.json").read_text()):
            raw = bytes.fromhex(entry.get("argv_hex", ""))
            question = json.loads(entry.get("question_json", "null")) or os.fsdecode(raw)
            done = ragctl("ask", question, "--json")
            assert done.code == 0
            assert done.document["answer"] == "The lock\ufffd opens at six [1]."
            trace = ragctl("trace", "show", done.document["trace_id"], "--json").document
            assert "\x00" not in trace["question"]


def test_b37_a_filtered_search_beside_an_index_finds_all_it_can(
    ragctl: Program, cases_dir: Path, empty_url: str
) -> None:
    for track in ("rare", "common"):
        page = ragctl.folder / "site" / track / "page.md"
        page.parent.mkdir(parents=True)
        page.write_text(f"# Page\n\nText of {track}.\n")
    ragctl("ingest", "site")
    _fill_as_b37(empty_url, (cases_dir / "B37" / "setup.sql").read_text())
    with played(cases_dir, "B37") as server:
        ragctl.set(OLLAMA_HOST=server.url)
        found = {
            track: ragctl("search", "x", "--mode", "vector", "--json", *track).document["passages"]
            for track in (("--track", "rare"), ("--track", "common"), ())
        }
        asked = ragctl("ask", "x", "--track", "nowhere")
        assert server.requests("/api/chat") == []
    assert asked.code == 2
    assert "nowhere" in asked.err
    for option, hits in found.items():
        assert len(hits) == 5
        assert {hit["track"] for hit in hits} <= {*option[1:]} or not option


def _fill_as_b37(url: str, setup: str) -> None:
    """Put the rows of the case beside the page of a database that we made, and its index."""
    made = setup[setup.index("SELECT CASE") : setup.index("CREATE INDEX")].rstrip().rstrip(";")
    rows = (
        "INSERT INTO chunks (track, url, section, body, embedding, page_id, position, ref, "
        "breadcrumb, start_char, end_char, content_hash) "
        "SELECT made.*, c.page_id, row_number() OVER () + 10, made.url || '#c0', '', 0, 1, '' "
        f"FROM ({made}) AS made (track, url, section, body, embedding) "
        "JOIN chunks c USING (track)"
    )
    with connect(url) as connection:
        connection.execute(rows.encode())
        connection.execute(setup[setup.index("CREATE INDEX") : setup.index("--", 400)].encode())


def test_b39_a_database_without_encoding_gives_text_and_no_bytes(
    ragctl: Program, cases_dir: Path, empty_url: str
) -> None:
    ascii_url = empty_url.replace("/test_", "/ascii_test_", 1)
    name = ascii_url.partition("?")[0].rpartition("/")[2]
    with connect(empty_url) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 "
            "LC_COLLATE 'C' LC_CTYPE 'C'".encode()
        )
    ragctl.set(RAGCTL_DATABASE_URL=ascii_url)
    try:
        with played(cases_dir, "B39") as server:
            ragctl.set(OLLAMA_HOST=server.url)
            assert ragctl("ingest", str(cases_dir / "B39" / "input")).code == 0
            document = ragctl("ask", "Wie lang?", "--json").document
            shown = ragctl("ask", "Wie lang?").out
            doctor = ragctl("doctor").out
    finally:
        with connect(empty_url) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    assert document["citations"][0]["title"] == "Größe & Zoll – café"
    assert "Größe & Zoll – café" in shown
    assert "SQL_ASCII" in doctor


def test_b47_output_suits_what_it_goes_to(ragctl: Program, cases_dir: Path) -> None:
    with played(cases_dir, "B47") as server:
        ragctl.set(OLLAMA_HOST=server.url)
        ragctl("ingest", str(cases_dir / "B47" / "input"))
        for row in json.loads((cases_dir / "B47" / "matrix.json").read_text()):
            arguments = ("ask", "Wie lang?", *row.get("args", []))
            if row["tty"]:
                environ = {"TERM": "xterm-256color", **row["env"]}
                code, shown = run_on_terminal(*arguments, environ=environ)
            else:
                done = run_process(*arguments, environ=row["env"])
                code, shown = (
                    done.returncode,
                    (done.stdout + done.stderr).decode("cp1252", "replace"),
                )
                assert "\x1b" not in shown
                assert "\r" not in shown
            assert code == 0, row
            assert "12 m" in shown
            assert "/uni#ma%C3%9F-%E6%BC%A2%E5%AD%97-" in shown
            if row["env"].get("TERM") == "dumb":
                assert "\x1b" not in shown
            if row["env"].get("NO_COLOR"):
                assert "\x1b]8;;" not in shown
                assert not re.search(r"\x1b\[[\d;]*m", shown)
            if row["name"] == "json":
                assert json.loads(done.stdout)["citations"][0]["title"] == "Größe → Länge ✓"


def _passages(url: str) -> int:
    with connect(url) as connection:
        made = connection.execute("SELECT to_regclass('chunks') IS NOT NULL").fetchone()
        if made != (True,):
            return 0
        return len(connection.execute("SELECT id FROM chunks").fetchall())


def test_b48_an_ingest_that_is_stopped_goes_on_where_it_was(
    ragctl: Program, cases_dir: Path, empty_url: str
) -> None:
    site = ragctl.folder / "berths"
    subprocess.run([sys.executable, str(cases_dir / "B48" / "make.py"), str(site)], check=True)
    ragctl.set(RAGCTL_EMBEDDING__BATCH_SIZE="32")
    with played(cases_dir, "B48", "slow") as server:
        ragctl.set(OLLAMA_HOST=server.url)
        process = subprocess.Popen(
            [sys.executable, "-m", "ragctl", "ingest", str(site)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        while not _passages(empty_url) and process.poll() is None:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert re.search(rb"Interrupted: \d+ of 120 pages stored", err)
    assert b"Traceback" not in err
    with played(cases_dir, "B48", "fast") as server:
        ragctl.set(OLLAMA_HOST=server.url)
        assert "did not finish" in ragctl("ask", "How long is berth 3?").err
        assert ragctl("ingest", str(site)).code == 0
    with connect(empty_url) as connection:
        counts = connection.execute("SELECT count(*), count(DISTINCT url) FROM chunks").fetchone()
    assert counts == (120, 120)
