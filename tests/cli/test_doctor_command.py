"""``ragctl doctor`` and the first screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragctl.db.connect import connect
from tests.ollama_server import OllamaServer, Reply
from tests.program import Program


def _checks(ragctl: Program, *, code: int) -> dict[str, dict[str, Any]]:
    done = ragctl("doctor", "--json")
    assert done.code == code, done.out
    assert done.document["schema"] == "ragctl.doctor/1"
    return {check["name"]: check for check in done.document["checks"]}


def test_on_a_machine_with_nothing_set_up_it_is_an_introduction(
    ragctl: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RAGCTL_DATABASE_URL")
    ragctl.set(OLLAMA_HOST="127.0.0.1:9", RAGCTL_DATA_DIR=str(tmp_path / "nothing"))
    checks = _checks(ragctl, code=0)
    assert checks["database"]["outcome"] == "pass"
    assert checks["Ollama"]["outcome"] == "warn"
    assert "127.0.0.1:9" in checks["Ollama"]["message"]
    assert "OLLAMA_HOST" in checks["Ollama"]["message"]
    assert checks["site"]["fix"].startswith("ragctl ingest")
    assert not (tmp_path / "nothing").exists()
    shown = ragctl()
    assert "ragctl demo" in shown.out
    assert "Nothing has been ingested yet" in shown.out


def test_a_healthy_set_up_passes_everything(ragctl: Program, site: Path) -> None:
    ragctl("ingest", str(site))
    checks = _checks(ragctl, code=0)
    outcomes = {name: check["outcome"] for name, check in checks.items()}
    outcomes.pop("embedded model")  # not needed here
    assert set(outcomes.values()) == {"pass"}, outcomes
    assert "ask and ingest" in checks["rights"]["message"]
    assert "pages 3, passages 3" in checks["site"]["message"]


def test_findings_come_with_what_mends_them(
    ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    ragctl("ingest", str(site))
    (site / "kernel/10-rcu.md").write_text("Changed.\n")
    ollama.on("/api/tags", Reply(document={"models": [{"name": "llama3:latest"}]}))
    checks = _checks(ragctl, code=1)
    assert checks["embedding"]["outcome"] == "fail"
    assert checks["embedding"]["fix"] == "ollama pull nomic-embed-text"
    assert checks["files"]["outcome"] == "warn"
    assert checks["files"]["fix"] == "ragctl ingest"


def test_settings_that_ask_for_another_model_than_the_index_fail(
    ragctl: Program, site: Path
) -> None:
    ragctl("ingest", str(site))
    ragctl.set(RAGCTL_EMBEDDING__MODEL="other")
    checks = _checks(ragctl, code=1)
    assert "--rebuild" in checks["embedding"]["fix"]


def test_an_unreachable_database_fails_with_its_address(ragctl: Program) -> None:
    ragctl.set(RAGCTL_DATABASE_URL="postgresql://me:hunter2@127.0.0.1:9/x")
    checks = _checks(ragctl, code=1)
    assert checks["database"]["outcome"] == "fail"
    assert "127.0.0.1:9" in checks["database"]["message"]
    assert "hunter2" not in str(checks)


def test_a_newer_schema_fails(ragctl: Program, site: Path, empty_url: str) -> None:
    ragctl("ingest", str(site))
    with connect(empty_url) as connection:
        connection.execute(
            "INSERT INTO schema_migrations (version, name, checksum) VALUES (99, '0099_x', '')"
        )
    assert "newer" in _checks(ragctl, code=1)["database"]["message"]


def test_the_first_screen_tells_where_the_user_stands(ragctl: Program, site: Path) -> None:
    ragctl("ingest", str(site))
    shown = ragctl()
    assert shown.code == 0
    assert f"Site default: {site}" in shown.out
    assert "3 pages in 2 tracks, 3 passages" in shown.out
    assert "just now" in shown.out
    assert "ragctl ask" in shown.out


def test_a_reader_can_ask_and_see_but_not_ingest(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    ragctl("ingest", str(site))
    with connect(empty_url) as connection:
        connection.execute("DROP ROLE IF EXISTS reader_of_tests")
        connection.execute("CREATE ROLE reader_of_tests LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA public TO reader_of_tests")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_of_tests")
    try:
        url = empty_url.replace("postgres@", "reader_of_tests@")
        assert ragctl("ask", "How?", "--database-url", url).code == 0
        assert len(ragctl("sources", "--database-url", url, "--json").document["pages"]) == 4
        checks = ragctl("doctor", "--database-url", url, "--json").document["checks"]
        assert {"ask, not ingest" in check["message"] for check in checks} == {True, False}
        (site / "kernel/10-rcu.md").write_text("Changed.\n")
        refused = ragctl("ingest", str(site), "--database-url", url)
        assert refused.code == 4
        assert "right" in refused.err
        assert "Traceback" not in refused.err
    finally:
        with connect(empty_url) as connection:
            connection.execute("DROP OWNED BY reader_of_tests")
            connection.execute("DROP ROLE reader_of_tests")


def test_doctor_follows_the_links_of_a_built_site(
    ragctl: Program, site: Path, tmp_path: Path
) -> None:
    ragctl("ingest", str(site))
    built = tmp_path / "built"
    for page in ("design/index", "design/02-queues", "kernel/10-rcu"):
        file = built / f"{page}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("<h1 id='queues'>Queues</h1>")
    done = ragctl("doctor", "--links", str(built))
    assert done.code == 1
    assert "/design/01-buckets" in done.out + done.err
    document = ragctl("doctor", "--links", str(built), "--json").document
    assert document["links"]["dead"]
