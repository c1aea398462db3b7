"""Ranks in words: which one decides, and what is said where rank and find disagree."""

from __future__ import annotations

import pytest

from ragctl.records.chunks import Chunk
from ragctl.records.search import PassageRank, PassageRanks
from ragctl.records.stored import StoredChunk
from ragctl.why.evidence import Asking, Evidence, OnDisk, Subject
from ragctl.why.ranks import brought_in, ranked, why_not_found


def _rank(rank: int | None, *, chunk_id: int = 1) -> PassageRank:
    return PassageRank(
        chunk_id=chunk_id if rank else None,
        rank=rank,
        score=0.5 if rank else None,
        among=900,
        score_at_k=0.6,
    )


def _asking(
    *, nearness: int | None = 7, words: int | None = 30, both: int | None = 4, mode: str = "hybrid",
    searched: int = 2, is_reached: bool = False, unreached: str = "",
) -> Asking:  # fmt: skip
    return Asking(
        ranks=PassageRanks(
            by_nearness=_rank(nearness), by_words=_rank(words, chunk_id=2), by_both=_rank(both),
            searched=searched, passages=900, is_reached=is_reached,
        ),
        mode=mode, k=5, tracks=("t",), hits=(), prompt_passages=(), unreached=unreached,
    )  # fmt: skip


def _evidence(asking: Asking) -> Evidence:
    passages = tuple(
        StoredChunk(
            id=n, content_hash="",
            chunk=Chunk(
                url="/a", track="t", position=n, ref=f"/a#c{n}", section=None, anchor=None,
                breadcrumb="", start_char=n, end_char=n + 1, body="",
            ),
        )
        for n in (1, 2)
    )  # fmt: skip
    return Evidence(
        subject=Subject(url="/a"), disk=OnDisk(root_exists=False), stored=None, asking=asking,
        targets=passages,
    )  # fmt: skip


def _told(asking: Asking) -> tuple[str, str]:
    return ranked(_evidence(asking), asking)


def test_the_rank_that_decides_comes_first_and_the_others_follow() -> None:
    assert _told(_asking())[0] == (
        "4 of 900 by nearness and words, which decides: /a#c1 scores 0.500, rank 5 has 0.600; "
        "by nearness alone 7; by words alone 30: /a#c2"
    )
    assert _told(_asking(mode="vector"))[0].startswith("7 of 900 by nearness, which decides")
    by_words = _told(_asking(mode="keyword", nearness=None, both=None, unreached="no model"))[0]
    assert by_words == (
        "30 of 900 with a word of it by words, which decides (no model): /a#c2 scores 0.500, "
        "rank 5 has 0.600"
    )
    assert "by words alone nowhere" in _told(_asking(words=None))[0]


def test_a_page_that_stands_nowhere_says_what_would_change_that() -> None:
    told, change = _told(_asking(searched=0, both=None))
    assert (told, "--track" in change) == ("none among the 900 passages of t", True)
    told, change = _told(_asking(mode="keyword", words=None))
    assert (told, "--mode hybrid" in change) == ("no passage holds a word of the question", True)
    assert "hybrid" not in _told(_asking(mode="keyword", words=None, unreached="no model"))[1]


@pytest.mark.parametrize(
    ("is_reached", "reason"), [(False, "looks at no others"), (True, "an exact name")]
)
def test_a_rank_that_would_do_and_did_not_is_explained(is_reached: bool, reason: str) -> None:
    asking = _asking(is_reached=is_reached)
    told, change = why_not_found(_evidence(asking), asking)
    assert told.startswith("not among the 5 found for all its rank: ")
    assert reason in told
    assert "-k 10" in change


def test_a_rank_further_down_names_the_k_that_would_do_up_to_where_that_helps() -> None:
    for both, helpful in ((6, True), (20, True), (21, False)):
        asking = _asking(both=both)
        told, change = why_not_found(_evidence(asking), asking)
        assert told == "not among the 5 found"
        assert (f"-k {both}" in change) == helpful


def test_a_passage_that_was_found_beyond_k_is_explained() -> None:
    assert brought_in(_asking(both=5)) == ""
    assert "though 6 by score" in brought_in(_asking(both=6))
