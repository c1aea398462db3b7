"""``ragctl ingest`` as typed."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg
import pytest

from ragctl.db.connect import connect
from tests.ollama_server import Handler, OllamaServer, Reply, Request, embeddings
from tests.pdf import make_pdf
from tests.program import Program

Rows = list[tuple[object, ...]]


def _rows(url: str, query: str) -> Rows:
    with connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def _ids(url: str) -> dict[object, object]:
    return {row[0]: row[1] for row in _rows(url, "SELECT url, id FROM chunks")}


def test_it_stores_pages_and_passages_and_sums_up_by_track(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    done = ragctl("ingest", str(site))
    assert done.code == 0, done.err
    assert [line.split()[:3] for line in done.out.splitlines()[1:3]] == [
        ["design", "2", "2"],
        ["kernel", "1", "1"],
    ]
    assert "Left out on purpose: 1 (draft)" in done.err
    urls = _rows(empty_url, "SELECT url FROM chunks ORDER BY id")
    assert urls == [("/design/01-buckets",), ("/design/02-queues",), ("/kernel/10-rcu",)]


def test_texts_are_sent_with_their_prefix_and_never_to_be_cut(
    ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    ragctl("ingest", str(site))
    (request,) = ollama.requests_to("/api/embed")
    assert all(text.startswith("search_document: ") for text in request.inputs)
    assert request.body["truncate"] is False


def test_a_second_run_without_a_change_asks_no_model_and_keeps_every_row(
    ragctl: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    ragctl("ingest", str(site))
    before = _rows(empty_url, "SELECT id, ref FROM chunks ORDER BY id")
    ollama.requests.clear()
    done = ragctl("ingest", str(site), "--json")
    assert done.code == 0
    assert ollama.requests == []
    assert _rows(empty_url, "SELECT id, ref FROM chunks ORDER BY id") == before
    assert sum(track["unchanged"] for track in done.document["tracks"]) == 4


def test_only_a_changed_page_is_replaced_and_a_removed_one_removed(
    ragctl: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    ragctl("ingest", str(site))
    before = _ids(empty_url)
    (site / "kernel/10-rcu.md").write_text("---\ntitle: RCU\n---\nReaders never block.\n")
    (site / "design/02-queues.md").unlink()
    ollama.requests.clear()
    done = ragctl("ingest", str(site))
    assert done.code == 0
    after = _ids(empty_url)
    assert after.keys() == {"/design/01-buckets", "/kernel/10-rcu"}
    assert after["/design/01-buckets"] == before["/design/01-buckets"]
    assert after["/kernel/10-rcu"] != before["/kernel/10-rcu"]
    (request,) = ollama.requests_to("/api/embed")
    assert request.inputs == ["search_document: RCU\n\nReaders never block."]


def test_a_text_that_was_embedded_before_is_not_paid_for_again(
    ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    ragctl("ingest", str(site))
    (site / "kernel/10-rcu.md").rename(site / "kernel/12-rcu.md")
    ollama.requests.clear()
    done = ragctl("ingest", str(site), "--json")
    assert done.code == 0
    assert ollama.requests_to("/api/embed") == []
    assert sum(track["removed"] for track in done.document["tracks"]) == 1


def test_a_track_leaves_all_others_alone(ragctl: Program, site: Path, empty_url: str) -> None:
    ragctl("ingest", str(site))
    (site / "kernel/10-rcu.md").unlink()
    assert ragctl("ingest", str(site), "--track", "design").code == 0
    assert ("/kernel/10-rcu",) in _rows(empty_url, "SELECT url FROM chunks")
    assert ragctl("ingest", str(site / "design")).code == 0
    assert ("/kernel/10-rcu",) in _rows(empty_url, "SELECT url FROM chunks")
    (site / "kernel/13-other.md").write_text("Another page.\n")
    assert ragctl("ingest", str(site / "kernel"), "--yes").code == 0
    urls = _rows(empty_url, "SELECT url FROM chunks ORDER BY url")
    assert ("/kernel/10-rcu",) not in urls
    assert ("/kernel/13-other",) in urls
    assert ("/design/01-buckets",) in urls


def test_exclude_and_drafts_choose_what_is_read(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    done = ragctl("ingest", str(site), "--exclude", "design/*", "--drafts")
    assert done.code == 0
    urls = _rows(empty_url, "SELECT url FROM chunks ORDER BY url")
    assert urls == [("/kernel/10-rcu",), ("/kernel/11-draft",)]
    ragctl("ingest", str(site))
    assert ("/kernel/11-draft",) not in _rows(empty_url, "SELECT url FROM chunks")


def test_settings_make_the_daily_command_plain(ragctl: Program, site: Path, empty_url: str) -> None:
    (ragctl.folder / "ragctl.toml").write_text(
        f'[site]\nroot = "{site}"\ntracks = ["kernel"]\n', encoding="utf-8"
    )
    assert ragctl("ingest").code == 0
    assert _rows(empty_url, "SELECT DISTINCT track FROM chunks") == [("kernel",)]


def test_a_dry_run_counts_and_touches_nothing(
    ragctl: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    done = ragctl("ingest", str(site), "--dry-run", "--json")
    assert done.code == 0
    assert [track["passages"] for track in done.document["tracks"]] == [2, 1]
    assert ollama.requests == []
    assert _rows(empty_url, "SELECT to_regclass('chunks')") == [(None,)]


def test_a_page_without_text_after_parsing_is_named_and_fails_the_run(
    ragctl: Program, site: Path
) -> None:
    (site / "kernel/20-chart.md").write_text("<svg><path d='M0'/></svg>\n", encoding="utf-8")
    (site / "kernel/21-empty.md").write_text("---\ntitle: Soon\n---\n", encoding="utf-8")
    done = ragctl("ingest", str(site))
    assert done.code == 1
    assert "LEFT OUT kernel/20-chart.md" in done.err
    assert "LEFT OUT kernel/21-empty.md" not in done.err


def test_one_refused_text_is_left_out_by_name_and_asked_for_again_next_time(
    ragctl: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    def refuse_queues(request: Request) -> Reply:
        if any("queue holds" in text for text in request.inputs):
            error = {"error": "the input length exceeds the context length"}
            return Reply(status=400, document=error)
        return embeddings(request)

    ollama.on("/api/embed", refuse_queues)
    done = ragctl("ingest", str(site))
    assert done.code == 1
    assert "NO VECTOR design/02-queues.md (Queues): 1 passage refused: too long" in done.err
    assert len(_rows(empty_url, "SELECT FROM chunks")) == 2
    ollama.on("/api/embed", embeddings)
    assert ragctl("ingest", str(site)).code == 0
    assert len(_rows(empty_url, "SELECT FROM chunks")) == 3


def test_another_content_root_is_refused_naming_both(
    ragctl: Program, site: Path, tmp_path: Path
) -> None:
    ragctl("ingest", str(site))
    other = tmp_path / "other"
    (other / "blog").mkdir(parents=True)
    (other / "blog/a.md").write_text("Hello there.\n")
    done = ragctl("ingest", str(other))
    assert done.code == 2
    assert str(site) in done.err
    assert str(other) in done.err
    assert "--moved" in done.err
    assert ragctl("ingest", str(other), "--moved", "--yes").code == 0


def test_an_index_of_another_model_is_refused_until_it_is_rebuilt(
    ragctl: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    ragctl("ingest", str(site))
    ragctl.set(RAGCTL_EMBEDDING__MODEL="other-model", RAGCTL_EMBEDDING__PROVIDER="ollama")
    ollama.requests.clear()
    for command in (("ingest", str(site)), ("ask", "How?")):
        done = ragctl(*command)
        assert done.code == 6, done.err
        assert "ollama/nomic-embed-text" in done.err
        assert "ollama/other-model" in done.err
        assert "--rebuild" in done.err
    assert ollama.requests_to("/api/embed") == []
    before = _rows(empty_url, "SELECT max(id) FROM chunks")
    assert ragctl("ingest", str(site), "--rebuild").code == 0
    assert _rows(empty_url, "SELECT model FROM index_identity") == [("other-model",)]
    assert _rows(empty_url, "SELECT min(id) FROM chunks") > before
    assert ragctl("ask", "How?").code == 0


def test_a_failed_rebuild_leaves_the_old_index_as_it_was(
    ragctl: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    ragctl("ingest", str(site))
    before = _rows(empty_url, "SELECT id, body FROM chunks ORDER BY id")
    ragctl.set(RAGCTL_CHUNKING__SIZE="300", RAGCTL_CHUNKING__OVERLAP="30")
    (site / "kernel/10-rcu.md").write_text("New words entirely.\n")
    ollama.on("/api/embed", Reply(status=404, document={"error": "model 'x' not found"}))
    assert ragctl("ingest", str(site), "--rebuild").code == 5
    assert _rows(empty_url, "SELECT id, body FROM chunks ORDER BY id") == before
    ollama.requests.clear()
    asked = ragctl("ask", "Unheardof?")
    assert asked.code == 0
    assert "by their words alone" in asked.err
    assert "none was found" in asked.out
    assert ollama.requests_to("/api/chat") == []


def test_another_chunk_size_is_refused_with_both_sizes(ragctl: Program, site: Path) -> None:
    ragctl("ingest", str(site))
    ragctl.set(RAGCTL_CHUNKING__SIZE="300")
    done = ragctl("ingest", str(site))
    assert done.code == 6
    assert "size 1300" in done.err
    assert "size 300" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("ingest",), 2, ["no content folder", "site.root"]),
        (("ingest", "/no/such/folder"), 3, ["/no/such/folder"]),
        (("ingest", "EMPTY"), 3, ["markdown"]),
        (("ingest", "SITE", "--rebuild", "--track", "design"), 2, ["--rebuild", "--track"]),
        (("ingest", "SITE", "--site", "No Good"), 2, ["No Good", "site"]),
    ],
)
def test_what_cannot_be_ingested_is_explained(
    arguments: tuple[str, ...],
    code: int,
    words: list[str],
    ragctl: Program,
    site: Path,
    tmp_path: Path,
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    named = {"EMPTY": str(empty), "SITE": str(site)}
    done = ragctl(*(named.get(argument, argument) for argument in arguments))
    assert done.code == code
    for word in words:
        assert word in done.err
    assert "Traceback" not in done.err


def test_chunk_sizes_that_cannot_work_are_refused_before_any_file_is_read(
    ragctl: Program,
) -> None:
    for size, overlap in (("50", "50"), ("50", "80"), ("0", "0"), ("-5", "0")):
        ragctl.set(RAGCTL_CHUNKING__SIZE=size, RAGCTL_CHUNKING__OVERLAP=overlap)
        done = ragctl("ingest", "/no/such/folder")
        assert done.code == 2
        assert size in done.err
        assert overlap in done.err


def test_no_model_anywhere_is_one_clear_error(
    ragctl: Program, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ragctl.set(OLLAMA_HOST="127.0.0.1:9")
    ragctl.set(RAGCTL_EMBEDDING__PROVIDER="ollama")
    done = ragctl("ingest", str(site))
    assert done.code == 5
    assert "127.0.0.1:9" in done.err
    assert "ollama serve" in done.err


def test_a_model_that_is_not_pulled_is_named_with_the_command(
    ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    ragctl.set(RAGCTL_EMBEDDING__PROVIDER="ollama", RAGCTL_EMBEDDING__MODEL="nobody")
    ollama.on("/api/embed", Reply(status=404, document={"error": 'model "nobody" not found'}))
    done = ragctl("ingest", str(site))
    assert done.code == 5
    assert "ollama pull nobody" in done.err


def test_vectors_of_the_wrong_size_store_nothing(
    ragctl: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    ollama.on("/api/embed", Reply(document={"embeddings": [[0.1, 0.2]] * 3}))
    done = ragctl("ingest", str(site))
    assert done.code == 5
    assert "768" in done.err
    assert _rows(empty_url, "SELECT FROM chunks") == []


def test_an_unreachable_database_is_told_without_its_password(ragctl: Program, site: Path) -> None:
    url = "postgresql://me:hunter2@127.0.0.1:9/x"
    done = ragctl("ingest", str(site), "--database-url", url, "--json")
    assert done.code == 4
    assert done.document["schema"] == "ragctl.error/1"
    assert done.document["error"]["code"] == "database_unreachable"
    assert "hunter2" not in done.out + done.err


def test_a_role_without_rights_gets_the_statement_that_helps(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    with connect(empty_url) as connection:
        connection.execute("DROP ROLE IF EXISTS weak")
        connection.execute("CREATE ROLE weak LOGIN")
    try:
        url = empty_url.replace("postgres@", "weak@")
        done = ragctl("ingest", str(site), "--database-url", url)
        assert done.code == 4
        assert "CREATE" in done.err
    finally:
        with connect(empty_url) as connection:
            connection.execute("DROP ROLE weak")


def test_a_database_in_sql_ascii_keeps_every_character(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    (site / "kernel/10-rcu.md").write_text("---\ntitle: Größe – café\n---\nZoll.\n", "utf-8")
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS in_ascii")
        connection.execute(
            "CREATE DATABASE in_ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"
        )
    url = empty_url.replace(empty_url.partition("@/")[2].partition("?")[0], "in_ascii")
    try:
        assert ragctl("ingest", str(site), "--database-url", url).code == 0
        listed = ragctl("sources", "--database-url", url, "--json").document
        assert "Größe – café" in [page["title"] for page in listed["pages"]]
    finally:
        with psycopg.connect(empty_url, autocommit=True) as connection:
            connection.execute("DROP DATABASE in_ascii")


def test_more_than_half_of_a_track_is_removed_only_when_told_to(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    (site / "design/03-locks.md").write_text("A lock has one holder.\n")
    ragctl("ingest", str(site))
    for name in ("design/01-buckets.md", "design/02-queues.md"):
        (site / name).unlink()
    refused = ragctl("ingest", str(site))
    assert refused.code == 1
    assert "2 of 3 pages are gone from disk" in refused.err
    assert "--yes" in refused.err
    assert len(_rows(empty_url, "SELECT FROM chunks WHERE track = 'design'")) == 3
    assert ragctl("ingest", str(site), "--yes").code == 0
    left = _rows(empty_url, "SELECT url FROM chunks WHERE track = 'design'")
    assert left == [("/design/03-locks",)]


def test_missing_pages_are_kept_on_request(ragctl: Program, site: Path, empty_url: str) -> None:
    ragctl("ingest", str(site))
    (site / "design/01-buckets.md").unlink()
    kept = ragctl("ingest", str(site), "--keep-missing")
    assert kept.code == 0
    assert "kept by --keep-missing" in kept.err
    assert ("/design/01-buckets",) in _rows(empty_url, "SELECT url FROM chunks")


def test_two_ingests_at_once_exclude_each_other_and_the_second_can_wait(
    ragctl: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    import subprocess
    import sys

    def slow(request: Request) -> Reply:
        return Reply(document=embeddings(request).document, delay_seconds=1.5)

    ollama.on("/api/embed", slow)
    first = subprocess.Popen(
        [sys.executable, "-m", "ragctl", "ingest", str(site)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        for _ in range(200):
            if ollama.requests_to("/api/embed"):
                break
            time.sleep(0.05)
        busy = ragctl("ingest", str(site))
        assert busy.code == 4
        assert f"process {first.pid}" in busy.err
        waited = ragctl("ingest", str(site), "--wait")
        assert waited.code == 0
        assert "Waiting for another ingest" in waited.err
    finally:
        assert first.wait(timeout=30) == 0
    assert len(_rows(empty_url, "SELECT FROM chunks")) == 3


def _refusing(word: str) -> Handler:
    def answer(request: Request) -> Reply:
        if any(word in text for text in request.inputs):
            error = {"error": "the input length exceeds the context length"}
            return Reply(status=400, document=error)
        return embeddings(request)

    return answer


def test_a_text_that_is_too_long_is_embedded_in_smaller_pieces(
    ragctl: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    def refuse_long(request: Request) -> Reply:
        if any(len(text) > 300 for text in request.inputs):
            error = {"error": "input length exceeds maximum context length"}
            return Reply(status=400, document=error)
        return embeddings(request)

    ollama.on("/api/embed", refuse_long)
    lines = [f"0x{number:04x} holds the register number {number}." for number in range(18)]
    (site / "kernel/20-dump.md").write_text("## Dump\n\n" + "\n".join(lines) + "\n")
    assert ragctl("ingest", str(site)).code == 0
    query = "SELECT position, ref, body FROM chunks WHERE url = '/kernel/20-dump' ORDER BY position"
    stored = _rows(empty_url, query)
    assert len(stored) > 2
    assert [row[0] for row in stored] == list(range(len(stored)))
    assert len({row[1] for row in stored}) == len(stored)
    together = "\n".join(str(row[2]) for row in stored)
    assert all(line in together for line in lines)
    ollama.requests.clear()
    assert ragctl("ingest", str(site)).code == 0
    assert ollama.requests_to("/api/embed") == []
    assert ragctl("ingest", str(site), "--rebuild").code == 0
    assert [row[1] for row in _rows(empty_url, query)] == [row[1] for row in stored]


def test_what_no_piece_of_fits_is_reported_once_and_costs_few_requests(
    ragctl: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    lines = [f"0x{number:04x} holds a register." for number in range(200)]
    (site / "kernel/20-dump.md").write_text("## Dump\n\n" + "\n".join(lines) + "\n")
    ollama.on("/api/embed", _refusing("0x"))
    done = ragctl("ingest", str(site))
    assert done.code == 1
    assert done.err.count("kernel/20-dump.md") == 1
    assert "(Dump)" in done.err
    assert len(ollama.requests_to("/api/embed")) <= 40
    urls = _rows(empty_url, "SELECT url FROM chunks ORDER BY url")
    assert ("/kernel/10-rcu",) in urls
    assert ("/kernel/20-dump",) not in urls


def test_a_track_that_does_not_exist_is_named(ragctl: Program, site: Path) -> None:
    done = ragctl("ingest", str(site), "--track", "kernel", "--track", "kernle")
    assert done.code == 1
    assert "LEFT OUT kernle/: there is no such track" in done.err


def test_a_rebuild_sets_a_foreign_table_aside(ragctl: Program, site: Path, empty_url: str) -> None:
    with connect(empty_url) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE chunks (id int PRIMARY KEY, embedding vector(384))")
        connection.execute("INSERT INTO chunks (id) VALUES (7)")
    for command in (("ingest", str(site)), ("ask", "How?")):
        refused = ragctl(*command)
        assert refused.code == 4
        for word in ("chunks", "vector(384)", "vector(768)", "--rebuild"):
            assert word in refused.err
    assert ragctl("ingest", str(site), "--rebuild").code == 0
    assert _rows(empty_url, "SELECT id FROM before_ragctl.chunks") == [(7,)]
    assert ragctl("ask", "How?").code == 0


def test_a_pdf_is_read_by_its_pages_and_one_without_text_is_reported(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    (site / "design/paper.pdf").write_bytes(make_pdf(["Leases expire by the server's clock."]))
    (site / "design/scan.pdf").write_bytes(make_pdf([""]))
    done = ragctl("ingest", str(site))
    assert done.code == 1
    assert "LEFT OUT design/scan.pdf" in done.err
    stored = _rows(empty_url, "SELECT section, anchor FROM chunks WHERE url = '/design/paper.pdf'")
    assert stored == [("Page 1", "page=1")]
    assert ragctl("audit", "passages").code == 0


def test_a_page_without_text_fails_every_run_until_it_has_some(
    ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    (site / "kernel/20-chart.md").write_text("<svg><path d='M0'/></svg>\n", encoding="utf-8")
    ragctl("ingest", str(site))
    ollama.requests.clear()
    again = ragctl("ingest", str(site))
    assert again.code == 1
    assert "LEFT OUT kernel/20-chart.md" in again.err
    assert ollama.requests_to("/api/embed") == []
    (site / "kernel/20-chart.md").write_text("A chart in words.\n")
    assert ragctl("ingest", str(site)).code == 0


def test_a_site_that_moved_is_recorded_also_where_no_page_changed(
    ragctl: Program, site: Path, tmp_path: Path
) -> None:
    ragctl("ingest", str(site))
    moved = tmp_path / "elsewhere"
    site.rename(moved)
    assert ragctl("ingest", str(moved)).code == 2
    assert ragctl("ingest", str(moved), "--moved").code == 0
    assert ragctl("ingest", str(moved)).code == 0


def test_a_text_that_gives_no_numbers_costs_only_its_own_section(
    ragctl: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    def poisoned(request: Request) -> Reply:
        if any("ODD-LINE" in text for text in request.inputs):
            error = {"error": "failed to encode response: json: unsupported value: NaN"}
            return Reply(status=500, document=error)
        return embeddings(request)

    ollama.on("/api/embed", poisoned)
    (site / "kernel/20-bad.md").write_text("# Bad\n\nODD-LINE here.\n\n## Fine\n\nGood words.\n")
    done = ragctl("ingest", str(site))
    assert done.code == 1
    assert "NO VECTOR kernel/20-bad.md (Bad)" in done.err
    assert "NaN" in done.err
    stored = _rows(empty_url, "SELECT section FROM chunks WHERE url = '/kernel/20-bad'")
    assert stored == [("Fine",)]


def test_a_foreign_table_of_the_right_size_is_not_said_to_differ_in_size(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    with connect(empty_url) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE chunks (id int, embedding vector(768))")
    done = ragctl("ingest", str(site))
    assert done.code == 4
    assert "a table chunks that ragctl did not make" in done.err
    assert "ragctl's is" not in done.err


def test_the_folder_of_the_last_ingest_need_not_be_named_again(ragctl: Program, site: Path) -> None:
    unknown = ragctl("ingest")
    assert (unknown.code, "no content folder given" in unknown.err) == (2, True)
    assert ragctl("ingest", str(site)).code == 0
    (site / "blog" / "new.md").parent.mkdir(exist_ok=True)
    (site / "blog" / "new.md").write_text("# New\n\nA page that came later.\n")
    again = ragctl("ingest")
    assert again.code == 0, again.err
    assert f"Reading {site}, as the last time." in again.err
    assert "/blog/new" in ragctl("sources").out
