"""``ragctl audit``: a line a page, zeros first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.ollama_server import OllamaServer, Reply, Request, embeddings
from tests.program import Program


def _entries(ragctl: Program, *, code: int) -> dict[str, dict[str, Any]]:
    done = ragctl("audit", "--json")
    assert done.code == code, done.out
    return {entry["url"]: entry for entry in done.document["pages"]}


def test_a_whole_site_has_a_line_a_page_and_no_finding(ragctl: Program, site: Path) -> None:
    (site / "kernel/21-empty.md").write_text("---\ntitle: Soon\n---\n")
    ragctl("ingest", str(site))
    entries = _entries(ragctl, code=0)
    assert entries["/design"]["state"] == "landing"
    assert entries["/kernel/21-empty"]["state"] == "empty"
    queues = entries["/design/02-queues"]
    assert queues["state"] == "ok"
    assert queues["bytes"] == (site / "design/02-queues.md").stat().st_size
    assert queues["characters"] > 0
    assert queues["passages"] == queues["embedded"] == queues["stored"] >= 1
    assert queues["title_rank"] >= 1
    shown = ragctl("audit")
    assert "/design/02-queues" in shown.out
    assert "0 findings" in shown.err


def test_every_kind_of_zero_is_named_first_and_fails(
    ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    def refuse(request: Request) -> Reply:
        if any("NOT-THIS" in text for text in request.inputs):
            return Reply(status=400, document={"error": "input length exceeds context length"})
        return embeddings(request)

    ollama.on("/api/embed", refuse)
    (site / "kernel/20-chart.md").write_text("<svg><path d='M0'/></svg>\n")
    (site / "kernel/30-long.md").write_text("NOT-THIS text.\n")
    ragctl("ingest", str(site))
    (site / "design/01-buckets.md").unlink()
    (site / "design/09-new.md").write_text("Never ingested.\n")
    entries = _entries(ragctl, code=1)
    assert list(entries)[:3] == ["/design/01-buckets", "/kernel/20-chart", "/kernel/30-long"]
    assert entries["/design/01-buckets"]["state"] == "gone"
    assert entries["/kernel/20-chart"]["state"] == "no text"
    assert entries["/kernel/30-long"]["state"] == "refused"
    done = ragctl("audit", "--no-ranks")
    assert done.code == 1
    assert "NOT STORED design/09-new.md" in done.err
    assert "kernel/11-draft.md" not in done.err


def test_without_a_model_the_ledger_stands_and_says_that_ranks_are_missing(
    ragctl: Program, site: Path
) -> None:
    ragctl("ingest", str(site))
    ragctl.set(OLLAMA_HOST="127.0.0.1:9")
    done = ragctl("audit")
    assert done.code == 0
    assert "No ranks" in done.err
    assert "127.0.0.1:9" in done.err
