"""``ragctl audit passages`` as typed: each class is planted in the database and counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.db.connect import connect
from tests.program import Program

PAGE = """\
---
title: Buckets
---
# Buckets

Tokens drop into a bucket at a steady rate.

## Code

```python
def refill():
    return 1
```

## Table

| rate | burst |
|------|-------|
| 1    | 2     |
| 3    | 4     |
"""
URL = "/design/buckets"
SOUND = """
DELETE FROM chunks WHERE url = '/design/buckets' AND position > 0;
UPDATE chunks SET start_char = 0, ref = url || '#c0', section = 'Buckets', anchor = 'buckets',
       end_char = (SELECT length(text) FROM pages WHERE id = page_id),
       body = (SELECT text FROM pages WHERE id = page_id)
WHERE url = '/design/buckets'
"""
TWICE = """
INSERT INTO chunks (track, url, section, body, embedding, page_id, position, ref, anchor,
                    breadcrumb, start_char, end_char, content_hash)
SELECT track, url, {section}, {body}, embedding, page_id, 1, {ref}, anchor, breadcrumb,
       {start}, end_char, content_hash
FROM chunks WHERE url = '/design/buckets'
"""
TEXT = "(SELECT text FROM pages WHERE id = page_id)"
SECOND = "strpos((SELECT text FROM pages WHERE id = page_id), '## Code') - 1"
FAULTS = {
    "open_fences": ["UPDATE chunks SET body = body || E'\\n```\\nleft open'"],
    "headless_rows": [
        "UPDATE chunks SET body = replace(body, '|------|-------|', ''), start_char = 1"
    ],
    "parted_headings": [
        f"UPDATE chunks SET end_char = strpos({TEXT}, '## Code') + 6",
    ],
    "over_size": ["UPDATE chunks SET body = body || repeat(' word', 300)"],
    "under_size": ["UPDATE chunks SET start_char = 11, end_char = 20"],
    "lost_lines": [f"UPDATE chunks SET end_char = strpos({TEXT}, '## Table') - 1"],
    "wrong_labels": ["UPDATE chunks SET section = 'Elsewhere'"],
    "duplicate_refs": [
        "ALTER TABLE chunks DROP CONSTRAINT chunks_ref_key",
        TWICE.format(section="section", body="body", ref="ref", start="start_char"),
    ],
    "duplicate_anchors": [
        TWICE.format(
            section="'Code'",
            body=f"substr({TEXT}, {SECOND} + 1)",
            ref=f"url || '#c' || {SECOND}",
            start=SECOND,
        )
    ],
    "broken_refs": ["UPDATE chunks SET body = 'Words from elsewhere. ' || body"],
}


@pytest.fixture
def stored(ragctl: Program, tmp_path: Path, empty_url: str) -> Path:
    """A site of one page, whose one passage is made sound."""
    root = tmp_path / "content"
    (root / "design").mkdir(parents=True)
    (root / "design/buckets.md").write_text(PAGE, encoding="utf-8")
    assert ragctl("ingest", str(root)).code == 0
    run(empty_url, SOUND)
    return root


def run(url: str, *statements: str) -> None:
    """Execute statements on the test's database."""
    with connect(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def test_sound_passages_pass(ragctl: Program, stored: Path) -> None:
    done = ragctl("audit", "passages", "--json")
    assert done.code == 0, done.out
    assert done.document["schema"] == "ragctl.audit_passages/1"
    assert done.document["findings"] == 0
    assert done.document["sources"] == {"compared": 1, "changed": 0, "missing": 0}
    assert done.document["removed_lines"] == {"front_matter": 3}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_planted_fault_is_counted_and_named(
    kind: str, ragctl: Program, stored: Path, empty_url: str
) -> None:
    run(empty_url, *FAULTS[kind])
    done = ragctl("audit", "passages", "--json")
    assert done.code == 1
    classes = {each["class"]: each for each in done.document["classes"]}
    assert set(classes) == set(FAULTS)
    assert classes[kind]["count"] >= 1
    assert classes[kind]["examples"][0]["why"]
    assert "design/buckets" in classes[kind]["examples"][0]["place"]


def test_the_table_shows_counts_and_as_many_examples_as_asked_for(
    ragctl: Program, stored: Path, empty_url: str
) -> None:
    run(empty_url, f"UPDATE chunks SET end_char = strpos({TEXT}, '## Table') - 1")
    done = ragctl("audit", "passages", "--limit", "2", "--track", "design")
    assert done.code == 1
    assert "design/buckets.md:15" in done.out
    assert "design/buckets.md:17" in done.out
    assert "design/buckets.md:18" not in done.out
    assert "1 pages, 1 passages" in done.out


def test_a_source_that_changed_is_not_compared_and_that_is_said(
    ragctl: Program, stored: Path
) -> None:
    (stored / "design/buckets.md").write_text("Other words.\n")
    done = ragctl("audit", "passages")
    assert done.code == 0
    assert "1 source file changed since the ingest: not compared." in done.err
    (stored / "design/buckets.md").unlink()
    assert "not on this disk: not compared." in ragctl("audit", "passages").err


def test_an_unknown_track_is_an_error_that_names_those_there_are(
    ragctl: Program, stored: Path
) -> None:
    done = ragctl("audit", "passages", "--track", "desgin")
    assert done.code == 2
    assert "design" in done.err


def test_the_group_alone_shows_its_commands(ragctl: Program) -> None:
    done = ragctl("audit", "--help")
    assert done.code == 0
    assert "passages" in done.out
