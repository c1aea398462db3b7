"""``ragctl stats``, ``report``, ``feedback`` and ``eval from-feedback`` on recorded traffic."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.records.traces import Trace
from tests.ollama_server import OllamaServer
from tests.program import Program, run_process
from tests.terminal import run_on_terminal
from tests.traffic import DAYS, FIRST, Mood, calm, traffic

HOSTILE = "<script>alert(1)</script> [bold]&amp; \x1b[31m?"
Record = Callable[..., list[Trace]]


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with the small site in its database."""
    assert ragctl("ingest", str(site)).code == 0
    return ragctl


@pytest.fixture
def record(ingested: Program, empty_url: str) -> Record:
    """Return what records forty days of traffic whose last day is today."""

    def recorded(calendar: Callable[[int], Mood] = calm, **changes: object) -> list[Trace]:
        now = datetime.now(UTC)
        later = now.date() - timedelta(days=DAYS - 1) - FIRST
        shift = timedelta(days=later.days)
        traces = [
            replace(trace, asked_at=trace.asked_at + shift, **changes)  # type: ignore[arg-type]
            for trace in traffic(5, calendar=calendar)
            if trace.asked_at.date() < FIRST + timedelta(days=DAYS - 1)  # today has just begun
        ]
        with Database.over(connect(empty_url), empty_url) as database:
            for trace in traces:
                database.traces.record(trace)
        return traces

    return recorded


def _ago(days: int) -> str:
    return (datetime.now(UTC).date() - timedelta(days=days)).isoformat()


def _troubled(number: int) -> Mood:
    """A slow day four days ago, foreign questions on the last two whole days."""
    if number == DAYS - 5:
        return replace(calm(number), questions=40, slower=2.0)
    if number in (DAYS - 3, DAYS - 2):
        return replace(calm(number), questions=40, foreign=0.6)
    return calm(number)


def test_stats_shows_every_signal_and_marks_what_left_its_band(
    ingested: Program, record: Record
) -> None:
    record(_troubled)
    document = ingested("stats", "--json").document
    assert document["schema"] == "ragctl.stats/1"
    signals = {one["signal"]: one for one in document["signals"]}
    assert signals["p50_ms"]["alarms"] == [_ago(4)]
    assert signals["top_cosine"]["alarms"] == [_ago(2), _ago(1)]
    assert signals["top_cosine"]["normal"]["days"] == 28
    assert signals["embed_ms"]["alarms"] == []
    shown = ingested("stats")
    assert shown.code == 0
    for label in ("end to end, p50", "end to end, p95", "waiting", "prefill", "refused",
                  "flags per 1,000", "top cosine", "fallbacks", "tokens in"):  # fmt: skip
        assert label in shown.out
    (line,) = [line for line in shown.out.split("\n") if line.startswith("end to end, p50")]
    assert f"! above {_ago(4)[5:]}" in line
    assert re.search("[▁-█]{7}", line)


def test_a_check_names_what_left_its_band_and_is_silent_otherwise(
    ingested: Program, record: Record
) -> None:
    record(_troubled)
    found = ingested("stats", "--check", "--since", "1d")
    assert (found.code, found.out) == (1, "")
    assert "top cosine was 0.4" in found.err
    assert _ago(1) in found.err
    assert "end to end" not in found.err
    assert "end to end, p50" in ingested("stats", "--check", "--since", "4d").err


def test_a_check_of_calm_days_says_nothing(ingested: Program, record: Record) -> None:
    record()
    done = ingested("stats", "--check", "--since", "1d")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_a_check_without_enough_days_says_so_and_is_no_alarm(ingested: Program) -> None:
    done = ingested("stats", "--check")
    assert (done.code, done.out) == (0, "")
    assert "Not enough data" in done.err
    assert ingested("ask", "How does the bucket refill?").code == 0
    assert "not enough yet" in ingested("stats").out
    assert "Not enough data" in ingested("stats", "--check").err


def test_rows_by_day_track_route_and_model_add_up(ingested: Program, record: Record) -> None:
    traces = record()
    since = _ago(20)
    inside = sum(trace.asked_at.date().isoformat() >= since for trace in traces)
    for by in ("day", "track", "route", "model"):
        document = ingested("stats", "--by", by, "--since", since, "--json").document
        assert sum(row["questions"] for row in document["rows"]) == inside
        assert all(by in row for row in document["rows"])
        shown = ingested("stats", "--by", by, "--since", since)
        assert document["rows"][0][by] in shown.out or document["rows"][0][by] == ""
    assert ingested("stats", "--by", "moon").code == 2
    assert ingested("stats", "--by", "day", "--check").code == 2
    assert ingested("stats", "--since", "soon").code == 2


def test_drift_names_the_days_and_the_questions_behind_them(
    ingested: Program, record: Record
) -> None:
    record(_troubled)
    document = ingested("stats", "drift", "--since", "9d", "--json").document
    assert document["shifted"] == [_ago(2), _ago(1)]
    assert document["together"] in ("", "below")
    assert {one["day"] for one in document["questions"]} == {_ago(2), _ago(1)}
    assert any("sourdough" in one["question"] or "React" in one["question"]
               for one in document["questions"])  # fmt: skip
    shown = ingested("stats", "drift", "--since", "9d").out
    assert f"Below the band: {_ago(2)}, {_ago(1)}." in shown


def test_drift_without_texts_names_traces(ingested: Program, record: Record) -> None:
    traces = record(_troubled, question=None)
    document = ingested("stats", "drift", "--since", "9d", "--json").document
    assert {one["question"] for one in document["questions"]} == {None}
    assert {one["trace_id"] for one in document["questions"]} <= {trace.id for trace in traces}
    assert "text not kept" in ingested("stats", "drift", "--since", "9d").out
    gaps = ingested("stats", "gaps")
    assert "cannot be grouped" in gaps.err


def test_gaps_are_pages_to_write_those_asked_most_often_first(
    ingested: Program, record: Record
) -> None:
    record(_troubled)
    document = ingested("stats", "gaps", "--json").document
    labels = [gap["label"] for gap in document["gaps"]]
    (bread,) = [gap for gap in document["gaps"] if "sourdough" in gap["words"]]
    (react,) = [gap for gap in document["gaps"] if "react" in gap["words"]]
    assert len(bread["examples"]) == 2
    assert all(page.startswith("/design/") for page in react["pages"])
    asked = [gap["asked"] for gap in document["gaps"]]
    assert asked == sorted(asked, reverse=True)
    assert sum(asked) == document["questions"]
    shown = ingested("stats", "gaps", "--limit", "1")
    assert labels[0] in shown.out
    assert labels[-1] not in shown.out
    assert "--limit" in shown.err


def test_cost_is_told_where_prices_are_set_and_tried_with_others(
    ingested: Program, record: Record
) -> None:
    traces = record()
    (ingested.folder / "ragctl.toml").write_text(
        '[[routes]]\nname = "fast"\nprovider = "ollama"\nmodel = "small"\n'
        "price_input_per_million = 2.0\nprice_output_per_million = 10.0\n"
        'prices_read_on = "2026-01-31"\n'
    )
    document = ingested("stats", "cost", "--since", "40d", "--json").document
    routes = {one["route"]: one for one in document["routes"]}
    tokens = [(trace.prompt_tokens or 0, trace.output_tokens or 0) for trace in traces
              if trace.route == "fast" and not trace.cached]  # fmt: skip
    dollars = sum(2 * read + 10 * wrote for read, wrote in tokens) / 1e6
    assert routes["fast"]["usd"] == pytest.approx(dollars)
    assert routes["fast"]["usd_per_100000"] == pytest.approx(dollars / len(tokens) * 100_000)
    assert routes["ollama/llama3"]["usd"] is None
    assert document["all"]["usd"] is None
    assert {one["model"] for one in document["models"]} == {"ollama/small", "ollama/llama3"}
    shown = ingested("stats", "cost", "--what-if", "fast")
    assert "2026-01-31" in shown.out
    assert "what if" in shown.out
    assert "Routes without prices" in shown.err
    priced = ingested("stats", "cost", "--what-if", "0,0", "--json").document["what_if"]
    assert priced["usd"] == 0
    for wrong in ("nobody", "1", "1,2,3", "-1,2", "nan,1", "inf,1"):
        assert ingested("stats", "cost", "--what-if", wrong).code == 2


def test_nothing_asked_is_said_and_is_no_error(ingested: Program) -> None:
    for command in (("stats",), ("stats", "drift"), ("stats", "gaps"), ("stats", "cost"),
                    ("stats", "--by", "day"), ("feedback", "--list")):  # fmt: skip
        done = ingested(*command)
        assert (done.code, done.out) == (0, ""), command
        assert done.err
        if command != ("stats", "--by", "day"):
            assert ingested(*command, "--json").document["schema"].startswith("ragctl.")
    assert ingested("eval", "from-feedback").code == 3
    assert ingested("feedback", "last", "--good").code == 3


class _Page(HTMLParser):
    """Counts the tags of a page and keeps its text and addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "rect", "circle", "path"):
            self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("circle", "rect"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_report_is_one_page_that_loads_and_runs_nothing(
    ingested: Program, record: Record
) -> None:
    record(_troubled, question=HOSTILE)
    done = ingested("report", "signals.html")
    assert (done.code, done.out) == (0, "wrote signals.html\n"), done.err
    text = (ingested.folder / "signals.html").read_text(encoding="utf-8")
    page = _Page(text)
    assert page.open == []
    assert page.addresses == []
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert "http" not in text.replace("http-equiv", "")
    assert "\x1b" not in text
    assert "<script>alert(1)</script> [bold]&amp; \ufffd[31m?" in "".join(page.words)
    assert page.tags.count("svg") > 20
    for heading in ("What left its band", "Signals", "By track", "By route", "By model", "Drift",
                    "Pages that readers miss", "Cost"):  # fmt: skip
        assert heading in page.words


def test_a_report_without_questions_is_a_page_and_never_replaces_one_unasked(
    ingested: Program,
) -> None:
    assert ingested("report", "empty.html").code == 0
    assert _Page((ingested.folder / "empty.html").read_text()).open == []
    assert ingested("report", "empty.html").code == 2
    assert ingested("report", "empty.html", "--force").code == 0
    assert ingested("report", "no/folder.html").code == 2


def test_feedback_replaces_what_was_said_and_becomes_questions(ingested: Program) -> None:
    good = "How does the bucket refill?"
    assert ingested("ask", good).code == 0
    done = ingested("feedback", "last", "--good")
    assert (done.code, done.out) == (0, f"good: {good}\n")
    first = ingested("trace", "last", "--json").document["id"]
    assert ingested("ask", "What does a queue hold?").code == 0
    assert ingested("feedback", "last", "--good").code == 0
    replaced = ingested("feedback", "last", "--bad", "--note", "too short", "--json").document
    assert (replaced["good"], replaced["note"]) == (False, "too short")
    assert ingested("feedback", first[:20], "--good", "--note", "fine").code == 0
    listed = ingested("feedback", "--list", "--json").document
    assert (listed["good"], listed["bad"]) == (1, 1)
    assert "note: too short" in ingested("feedback", "--list").out
    assert ingested("stats", "--json").document["whole"]["good_share"] == 0.5

    assert ingested("eval", "from-feedback", "--output", "readers.jsonl").code == 0
    lines = (ingested.folder / "readers.jsonl").read_text().splitlines()
    documents = {json.loads(line)["question"]: json.loads(line) for line in lines}
    cited = ingested("trace", "show", first, "--json").document["citations"]
    assert documents[good]["gold"] == [
        {"url": one["url"], "section": one["section"]} for one in cited
    ]
    assert "draft" not in documents[good]
    bad = documents["What does a queue hold?"]
    assert (bad["gold"], bad["draft"], bad["note"]) == ([], True, "too short")
    assert ingested("eval", "from-feedback", "--output", "readers.jsonl").code == 2
    assert ingested("eval", "retrieval", "readers.jsonl", "--json").code == 0
    printed = ingested("eval", "from-feedback").out.splitlines()
    assert [json.loads(line) for line in printed] == [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    "arguments",
    [(), ("last",), ("--good",), ("ffff", "--good"), ("", "--bad"), ("last", "--good", "-n", "0")],
)
def test_feedback_on_nothing_or_without_a_word_is_refused(
    arguments: tuple[str, ...], ingested: Program
) -> None:
    assert ingested("ask", "How does the bucket refill?").code == 0
    assert ingested("feedback", *arguments).code == 2


@pytest.mark.parametrize("command", ["stats", "stats drift", "stats gaps", "stats cost"])
def test_sixty_columns_and_streams_without_blocks_lose_nothing(
    command: str, ingested: Program, record: Record, empty_url: str
) -> None:
    record(_troubled)
    done = run_process(
        *command.split(), "--since", "9d",
        environ={"RAGCTL_DATABASE_URL": empty_url, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"?" not in done.stdout.replace(b"?\n", b"")
    assert done.stdout.isascii()


def test_a_narrow_terminal_shows_signals_in_lines_of_their_own(
    ingested: Program, record: Record, empty_url: str
) -> None:
    record(_troubled)
    environ = {"RAGCTL_DATABASE_URL": empty_url, "COLUMNS": "60", "TERM": "xterm"}
    for command in (("stats",), ("stats", "--by", "day"), ("stats", "cost", "--what-if", "2,10")):
        code, shown = run_on_terminal(*command, environ=environ)
        assert code == 0
        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert max(len(line.rstrip()) for line in plain.split("\n")) <= 60, plain


def test_a_reader_without_the_right_to_read_traces_is_told_what_to_grant(
    ingested: Program, empty_url: str
) -> None:
    with connect(empty_url) as connection:
        connection.execute(
            "DO $$ BEGIN CREATE ROLE reader_without_stats LOGIN; "
            "EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        connection.execute(
            "GRANT SELECT ON pages, chunks, schema_migrations TO reader_without_stats"
        )
    separator = "&" if "?" in empty_url else "?"
    ingested.set(RAGCTL_DATABASE_URL=f"{empty_url}{separator}user=reader_without_stats")
    for command in ("stats", "stats drift", "stats gaps", "stats cost", "stats --check",
                    "report x.html", "feedback --list"):  # fmt: skip
        done = ingested(*command.split())
        assert done.code == 4, command
        assert "GRANT SELECT" in done.err
    assert not (ingested.folder / "x.html").exists()
