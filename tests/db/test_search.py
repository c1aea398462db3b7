"""Search by nearness and words: the scores, the filters, exact names, the shape of the plan."""

from __future__ import annotations

import json
import math
import random
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ragctl.db.connect import connect, register_vectors
from ragctl.db.database import Database
from ragctl.db.search import COMMON_FROM, COMMON_SHARE, KEYWORD_DEPTH, RARE, VECTOR_WEIGHT
from ragctl.db.statements import statement
from ragctl.db.values import to_database
from ragctl.protocols import Retriever
from ragctl.records.chunks import Chunk, EmbeddedChunk
from ragctl.records.pages import Page
from ragctl.records.search import Hit, Query
from ragctl.stages.names import names_asked, names_of

COMMON = """
    queue lock page table buffer request server client thread cache disk memory kernel packet
    token bucket tree node graph edge hash index shard replica leader follower commit branch
"""
WORDS = COMMON.split()
PLANTED = [
    ("bpf_reg_state", ["bpf_reg_state", "BPF_REG_STATE", "bpf-reg-state", "bpf reg state"]),
    ("PFCOUNT", ["PFCOUNT", "pfcount"]),
    ("--no-verify", ["--no-verify", "--NO-VERIFY", "no-verify", "commit --no-verify"]),
    ("std::vector<int>", ["std::vector<int>", "std::vector", "STD::VECTOR<INT>", "vector<int>"]),
    ("C++", ["C++", "c++"]),
    ("C#", ["C#"]),
    ("/proc/sys/net/somaxconn", ["/proc/sys/net/somaxconn", "proc/sys/net", "somaxconn"]),
    ("<linux/if_xdp.h>", ["<linux/if_xdp.h>", "linux/if_xdp.h", "if_xdp.h", "if_xdp"]),
    ("walker.descend()", ["walker.descend()", "walker.descend", "descend"]),
    ("EpochFrames", ["EpochFrames", "epochframes", "epoch_frames", "epoch frames", "frames"]),
    ("-x", ["-x"]),
    ("RUST_BACKTRACE", ["RUST_BACKTRACE", "rust backtrace", "backtrace"]),
    ("v3.14.159", ["v3.14.159"]),
    (r"C:\temp\new", [r"C:\temp\new"]),
]


def _vector(seed: int) -> array[float]:
    numbers = random.Random(seed)
    return array("f", [numbers.gauss(0, 1) for _ in range(768)])


def _naming(text: str) -> tuple[Sequence[str], str]:
    found = names_of(text)
    return found.names, found.words


def _page(number: int) -> Page:
    return Page(
        url=f"/t{number % 3}/p{number}", track=f"t{number % 3}", title=f"Page {number}",
        source_path=f"p{number}.md", sha256="", text="text", front_matter={}, is_landing=False,
        is_draft=False, order=(0.0, ""), headings=(), source_lines=(1,),
    )  # fmt: skip


def _chunk(page: Page, position: int, body: str) -> Chunk:
    return Chunk(
        url=page.url, track=page.track, position=position, ref=f"{page.url}#c{position}",
        section="Section", anchor="section", breadcrumb="Section", start_char=position,
        end_char=position + 1, body=body,
    )  # fmt: skip


def _store(database: Database, number: int, bodies: Sequence[str]) -> None:
    page = _page(number)
    passages = [
        EmbeddedChunk(
            chunk=_chunk(page, position, body),
            vector=_vector(number * 100 + position),
            content_hash="",
        )
        for position, body in enumerate(bodies)
    ]
    page_id = database.pages.store(page, parsed_with="1", refused=0)
    database.chunks.replace(page_id, passages, naming=_naming)


def _filler(numbers: random.Random) -> str:
    return " ".join(numbers.choice(WORDS) for _ in range(60)) + "."


@pytest.fixture
def filled(database: Database) -> Database:
    """Three hundred passages of common words on thirty pages in three tracks, names among them."""
    numbers = random.Random(0)
    planted = iter(PLANTED)
    for number in range(30):
        bodies = [_filler(numbers) for _ in range(10)]
        name = next(planted, None)
        if name is not None:
            bodies[4] += f" It is called `{name[0]}`, of course. " + _filler(numbers)
        _store(database, number, bodies)
    database.chunks.refresh_terms()
    return database


def _retriever(database: Database, mode: str) -> Retriever:
    return database.retriever(mode, names_asked=names_asked)


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize(
    ("name", "asked"), [(name, asked) for name, forms in PLANTED for asked in forms]
)
def test_a_name_that_occurs_once_is_in_the_five(
    mode: str, name: str, asked: str, filled: Database
) -> None:
    question = f"How does the server and the client use {asked} with a cache and a request queue?"
    hits = _retriever(filled, mode).retrieve(Query(text=question, vector=_vector(1), k=5))
    assert any(f"`{name}`" in hit.body for hit in hits)


def _cosine(one: array[float], other: array[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return float(dot / math.sqrt(sum(a * a for a in one) * sum(b * b for b in other)))


def _keyword_scores(database: Database, question: str) -> dict[str, float]:
    """Recompute idf x ts_rank for every passage, a term at a time."""
    with connect(database.url) as connection:
        rows = connection.execute(
            "SELECT lexeme FROM unnest(to_tsvector('english', %s))", (question,)
        ).fetchall()
        terms = {str(row[0]) for row in rows} | set(names_asked(question))
        total = len(connection.execute("SELECT FROM chunks").fetchall())
        scores: dict[str, float] = {}
        for term in sorted(terms):
            holding = connection.execute(
                "SELECT ref, ts_rank(search, plainto_tsquery('simple', %(term)s)) FROM chunks "
                "WHERE search @@ plainto_tsquery('simple', %(term)s)",
                {"term": term},
            ).fetchall()
            idf = math.log(1 + (total - len(holding) + 0.5) / (len(holding) + 0.5))
            for ref, rank in holding:
                scores[ref] = scores.get(ref, 0.0) + idf * rank
    return scores


@pytest.mark.parametrize("seed", range(5))
def test_the_fused_score_is_that_of_its_formula(seed: int, filled: Database) -> None:
    question, vector = "Which leader holds pfcount and the shard replica?", _vector(5000 + seed)
    keyword = _keyword_scores(filled, question)
    cosine = {
        f"/t{number % 3}/p{number}#c{position}": _cosine(vector, _vector(number * 100 + position))
        for number in range(30)
        for position in range(10)
    }
    best = max(keyword.values())
    found = set(sorted(cosine, key=lambda ref: -cosine[ref])[:5])
    found |= set(sorted(keyword, key=lambda ref: -keyword[ref])[: 5 * KEYWORD_DEPTH])
    fused = {
        ref: VECTOR_WEIGHT * cosine[ref] + (1 - VECTOR_WEIGHT) * keyword.get(ref, 0.0) / best
        for ref in found
    }
    hits = _retriever(filled, "hybrid").retrieve(Query(text=question, vector=vector, k=5))
    assert [hit.n for hit in hits] == [1, 2, 3, 4, 5]
    for hit in hits:
        assert hit.score == pytest.approx(fused[hit.ref], abs=1e-5)
        assert hit.vector_score == pytest.approx(cosine[hit.ref], abs=1e-5)
        assert hit.keyword_score == pytest.approx(keyword.get(hit.ref, 0.0) / best, abs=1e-5)
    held = {hit.ref for hit in hits if "PFCOUNT" in hit.body}
    expected = [ref for ref in sorted(fused, key=lambda ref: -fused[ref]) if ref not in held]
    assert [hit.ref for hit in hits if hit.ref not in held] == expected[: 5 - len(held)]
    assert len(held) == 1


def test_vector_mode_is_exactly_the_nearest(filled: Database) -> None:
    query = Query(text="PFCOUNT", vector=_vector(77), k=5)
    assert _retriever(filled, "vector").retrieve(query) == filled.chunks.retrieve(query)


def test_keyword_mode_orders_by_its_score_and_needs_no_vector(filled: Database) -> None:
    question = "leader and follower commit"
    scores = _keyword_scores(filled, question)
    for mode in ("keyword", "hybrid"):
        hits = _retriever(filled, mode).retrieve(Query(text=question, vector=array("f"), k=8))
        best = sorted(scores.values(), reverse=True)[:8]
        assert [hit.score for hit in hits] == pytest.approx([one / best[0] for one in best])
        assert all(hit.vector_score is None for hit in hits)
        assert [hit.keyword_score for hit in hits] == [hit.score for hit in hits]


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_filters_lie_inside_the_search(mode: str, filled: Database) -> None:
    def found(*, tracks: tuple[str, ...] = (), pages: tuple[str, ...] = ()) -> tuple[Hit, ...]:
        query = Query(text="queue lock", vector=_vector(3), tracks=tracks, pages=pages, k=12)
        return _retriever(filled, mode).retrieve(query)

    assert {hit.track for hit in found(tracks=("t1",))} == {"t1"}
    assert len(found(tracks=("t1",))) == 12
    one, two = found(pages=("/t1/p1",)), found(pages=("/t1/p1", "/t2/p2"))
    assert {hit.url for hit in one} == {"/t1/p1"}
    assert len(two) == 12
    assert {hit.url for hit in two} == {"/t1/p1", "/t2/p2"}
    assert len(one) == 10 or (mode == "keyword" and 0 < len(one) < 10)
    assert found(tracks=("t0",), pages=("/t1/p1",)) == ()


def test_words_that_the_filter_leaves_out_leave_the_nearest(filled: Database) -> None:
    query = Query(text="pfcount", vector=_vector(3), tracks=("t0",), k=5)
    hits = _retriever(filled, "hybrid").retrieve(query)
    assert [(hit.track, hit.keyword_score) for hit in hits] == [("t0", 0.0)] * 5
    nearest = _retriever(filled, "vector").retrieve(query)
    assert [hit.ref for hit in hits] == [hit.ref for hit in nearest]


@pytest.mark.parametrize("tracks", [(), ("t1",)])
def test_ranks_are_places_in_the_whole_list_of_each_score(
    tracks: tuple[str, ...], filled: Database
) -> None:
    question, vector = "Which leader holds pfcount and the shard replica?", _vector(5001)
    query = Query(text=question, vector=vector, tracks=tracks, k=5)
    everything = _retriever(filled, "vector").retrieve(replace(query, k=1000))
    ids = {hit.ref: hit.chunk_id for hit in everything}
    cosine = {hit.ref: hit.score for hit in everything}
    keyword = {ref: score for ref, score in _keyword_scores(filled, question).items() if ref in ids}
    found = set(list(cosine)[:5]) | {hit.ref for hit in everything if "PFCOUNT" in hit.body}
    best = max(keyword.values())
    norm = max(keyword.get(ref, 0.0) for ref in found)
    fused = {
        ref: VECTOR_WEIGHT * cosine[ref]
        + (1 - VECTOR_WEIGHT) * min(keyword.get(ref, 0.0) / norm, 1.0)
        for ref in cosine
    }
    shares = {ref: score / best for ref, score in keyword.items()}
    rankings = filled.rankings(names_asked=names_asked)
    for scores, mode in ((cosine, "vector"), (shares, "keyword"), (fused, "hybrid")):
        order = sorted(scores, key=lambda ref: (-scores[ref], ids[ref]))
        for place in (*range(1, 7), 40, len(order)):
            ref = order[place - 1]
            rank = rankings.of(query, [ids[ref]]).in_mode(mode)
            assert (rank.chunk_id, rank.rank, rank.among) == (ids[ref], place, len(order))
            assert rank.score == pytest.approx(scores[ref], abs=1e-5)
            assert rank.score_at_k == pytest.approx(scores[order[4]], abs=1e-5)
        group = [ids[order[place]] for place in (30, 11, 50)]
        assert rankings.of(query, group).in_mode(mode).rank == 12
    whole = rankings.of(query, [ids[next(iter(cosine))], -1])
    assert (whole.searched, whole.passages) == (1, len(everything))


def test_ranks_tell_what_neither_arm_reaches(filled: Database) -> None:
    question, vector = "the lock of a queue, pfcount", _vector(5002)
    query = Query(text=question, vector=vector, k=5)
    everything = _retriever(filled, "vector").retrieve(replace(query, k=1000))
    rankings = filled.rankings(names_asked=names_asked)
    reached = {hit.ref for hit in everything if rankings.of(query, [hit.chunk_id]).is_reached}
    assert reached == {hit.ref for hit in everything if hit.n <= 5 or "PFCOUNT" in hit.body}


def test_ranks_without_a_vector_are_those_by_words(filled: Database) -> None:
    query = Query(text="pfcount", vector=array("f"), k=5)
    (hit,) = _retriever(filled, "keyword").retrieve(query)
    other = _retriever(filled, "vector").retrieve(replace(query, vector=_vector(1), k=2))
    rankings = filled.rankings(names_asked=names_asked)
    ranks = rankings.of(query, [hit.chunk_id])
    assert (ranks.by_words.rank, ranks.by_words.among, ranks.passages) == (1, 1, 300)
    assert (ranks.by_words.score, ranks.by_words.score_at_k) == (1.0, None)
    assert ranks.by_nearness.rank is ranks.by_both.rank is None
    unheld = next(one.chunk_id for one in other if one.chunk_id != hit.chunk_id)
    assert rankings.of(query, [unheld]).by_words.rank is None
    assert rankings.of(query, [unheld]).searched == 1
    nowhere = rankings.of(replace(query, tracks=("t9",)), [unheld])
    assert (nowhere.searched, nowhere.passages, nowhere.by_words.among) == (0, 0, 0)


def test_what_looks_like_a_tag_hides_no_words(database: Database) -> None:
    _store(database, 1, ["if (a <b) <script> hides alpha; <beta> and c> gamma", "Nothing."])
    database.chunks.refresh_terms()
    for word in ("alpha", "beta", "gamma", "<script> alpha"):
        hits = _retriever(database, "keyword").retrieve(Query(text=word, vector=array("f")))
        assert len(hits) == 1


HOSTILE = [
    "", "'", "\\", "\\'", "a\\b 'c' d:*A & ! | ( ) <-> :* \"x\" -y", "%(k)s %s %%", "\x00",
    "\ud800",
    "'); DROP TABLE chunks; --", "!!! ??? <> <script>", "a" * 5000, "queue:*", "'queue' & !lock",
    "and the of", r"C:\temp\new 'quoted\' it's", "🦀 漢字 Straße", "x" + "_y" * 900,
]  # fmt: skip


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_questions_are_plain_text(mode: str, text: str, database: Database) -> None:
    _store(
        database, 1, [f"queue {each}".replace("\x00", "").replace("\ud800", "") for each in HOSTILE]
    )
    database.chunks.refresh_terms()
    hits = _retriever(database, mode).retrieve(Query(text=text, vector=_vector(1), k=5))
    assert len(hits) == 5 or mode == "keyword"
    hits = _retriever(database, mode).retrieve(Query(text=f"{text} queue", vector=_vector(1), k=5))
    assert len(hits) == 5
    assert database.term_shares(names_asked=names_asked).of(text, hits).keys() == {
        hit.chunk_id for hit in hits
    }
    rankings = database.rankings(names_asked=names_asked)
    query = Query(text=text, vector=_vector(1), k=5)
    assert rankings.of(query, [hits[0].chunk_id]).by_both.among == len(HOSTILE)


def test_words_fold_beyond_ascii(database: Database) -> None:
    _store(database, 1, ["Der Fluß ÜBERSCHWEMMT alles.", "Nothing."])
    database.chunks.refresh_terms()
    for word in ("überschwemmt", "Überschwemmt", "FLUSS"):
        (hit,) = _retriever(database, "keyword").retrieve(Query(text=word, vector=array("f")))
        assert hit.body.startswith("Der")


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("A “bollard” holds ropes.", "bollard"),
        ("Bollards… hold ropes.", "bollard"),
        ("Ropes—bollards—cleats.", "“bollards”"),
        ("The harbour’s bollards.", "harbour"),
        ("Dim\u00a0bollards\u00a0here.", "which\u00a0bollard"),
        ("The bol\u00adlards.", "bollards"),
        ("The cafe\u0301 opens.", "CAF\u00c9"),
        ("The café opens.", "cafe\u0301"),
        ("A bollard\ufffd fell.", "bollard"),
        ("«bollard»", "bollard\x00"),
    ],
)
def test_signs_beyond_ascii_part_words_and_spellings_of_a_letter_are_one(
    written: str, asked: str, database: Database
) -> None:
    _store(database, 1, [written, "Nothing."])
    database.chunks.refresh_terms()
    (hit,) = _retriever(database, "keyword").retrieve(Query(text=asked, vector=array("f")))
    assert hit.body == written


def test_terms_are_counted_anew_only_where_passages_came_or_went(database: Database) -> None:
    def counts() -> dict[str, int]:
        with connect(database.url) as connection:
            return dict(connection.execute("SELECT term, chunks FROM terms").fetchall())

    _store(database, 1, ["alpha beta", "alpha gamma_delta"])
    database.chunks.refresh_terms()
    first = counts()
    assert (first["alpha"], first["beta"], first["gammadelta"]) == (2, 1, 1)
    _store(database, 1, ["alpha", "epsilon"])
    database.chunks.refresh_terms()
    second = counts()
    assert (second["alpha"], second["epsilon"]) == (1, 1)
    assert "beta" not in second
    with connect(database.url) as connection:
        connection.execute("UPDATE terms SET chunks = 7 WHERE term = 'alpha'")
    database.chunks.refresh_terms()
    assert counts()["alpha"] == 7
    database.pages.remove(["/t1/p1"])
    database.chunks.refresh_terms()
    assert counts() == {}


def test_shares_add_up_to_the_keyword_score(filled: Database) -> None:
    question = "Which leader holds pfcount and the shard replica?"
    hits = _retriever(filled, "hybrid").retrieve(Query(text=question, vector=_vector(9), k=10))
    shares = filled.term_shares(names_asked=names_asked).of(question, hits)
    best = max(_keyword_scores(filled, question).values())
    for hit in hits:
        total = sum(share.share for share in shares[hit.chunk_id])
        assert total / best == pytest.approx(hit.keyword_score, abs=1e-5)
    (named,) = [share for each in shares.values() for share in each if share.term == "pfcount"]
    assert (named.passages, named.is_name) == (1, True)


def _nodes(plan: Any) -> list[dict[str, Any]]:
    own = [plan] if "Node Type" in plan else []
    return own + [node for child in plan.get("Plans", []) for node in _nodes(child)]


@pytest.mark.parametrize("tracks", [None, ["t1"]])
def test_the_plan_scans_exactly_once_and_takes_words_from_their_index(
    tracks: list[str] | None, filled: Database
) -> None:
    with connect(filled.url) as connection:
        connection.execute(
            "CREATE INDEX vectors ON chunks USING hnsw (embedding vector_cosine_ops)"
        )
        connection.execute("ANALYZE chunks")
        connection.execute("SET enable_seqscan TO off")
        register_vectors(connection, filled.url)
        values = {
            "vector": to_database(_vector(1)), "tracks": tracks, "pages": None, "k": 5,
            "nearest_ids": None,
            "question": "pfcount of a leader", "names": ["pfcount"], "rare": RARE,
            "keyword_depth": KEYWORD_DEPTH, "vector_weight": VECTOR_WEIGHT,
            "common_share": COMMON_SHARE, "common_from": COMMON_FROM,
        }  # fmt: skip
        explained = connection.execute(
            b"EXPLAIN (VERBOSE, FORMAT JSON, COSTS OFF) " + statement("chunks/hybrid"), values
        ).fetchone()
    assert explained is not None
    nodes = _nodes(explained[0][0]["Plan"])
    indexes = {node.get("Index Name") for node in nodes}
    assert "vectors" not in indexes
    assert "chunks_search" in indexes
    scans = [
        node
        for node in nodes
        if node.get("Relation Name") == "chunks"
        and any("<=>" in output for output in node.get("Output", []))
    ]
    assert len(scans) == 1
    assert sum("<=>" in output for output in scans[0]["Output"]) == 1
    limits = [node for node in nodes if node["Node Type"] == "Limit"]
    assert all("body" not in output for node in limits for output in node["Output"])
    assert "body" not in json.dumps([node for node in nodes if node["Node Type"] == "CTE Scan"])
