"""Where the passages asked about stand among all, in words, and why they are not among the k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ragctl.records.search import PassageRank
    from ragctl.why.evidence import Asking, Evidence

_HELPFUL_K: Final = 20
_RANKINGS: Final = {
    "hybrid": "by nearness and words",
    "vector": "by nearness",
    "keyword": "by words",
}


def ranked(evidence: Evidence, asking: Asking) -> tuple[str, str]:
    """Return where the best passage stands, and where it stands nowhere what would change that.

    The rank that decides comes first, the others after it.
    """
    ranks, rank = asking.ranks, asking.rank
    if ranks.searched == 0:
        told = f"none among the {ranks.passages:,} passages of {', '.join(asking.tracks)}"
        return told, "Ask without --track, or name the track of the page."
    if rank.rank is None or rank.score is None:
        change = "Ask in the words of the page"
        change += "." if asking.unreached else ", or with --mode hybrid."
        return f"no passage holds a word of the question{_how(asking)}", change
    told = f"{rank.rank:,} of {_among(rank, asking.mode)} {_RANKINGS[asking.mode]}, which decides"
    told += f"{_how(asking)}: {_ref(evidence, rank)} scores {rank.score:.3f}"
    if rank.score_at_k is not None:
        told += f", rank {asking.k} has {rank.score_at_k:.3f}"
    others = [_other(evidence, asking, mode) for mode in _RANKINGS if mode != asking.mode]
    return "; ".join((told, *filter(None, others))), ""


def _how(asking: Asking) -> str:
    return f" ({asking.unreached})" if asking.unreached else ""


def _other(evidence: Evidence, asking: Asking, mode: str) -> str:
    rank = asking.ranks.in_mode(mode)
    if rank.rank is None:
        return "" if mode != "keyword" else "by words alone nowhere"
    told = f"{_RANKINGS[mode]}{' alone' if mode != 'hybrid' else ''} {rank.rank:,}"
    return told if rank.chunk_id == asking.rank.chunk_id else f"{told}: {_ref(evidence, rank)}"


def _among(rank: PassageRank, mode: str) -> str:
    return f"{rank.among:,} with a word of it" if mode == "keyword" else f"{rank.among:,}"


def _ref(evidence: Evidence, rank: PassageRank) -> str:
    return next((t.chunk.ref for t in evidence.targets if t.id == rank.chunk_id), "")


def brought_in(asking: Asking) -> str:
    """Return why a passage was found although more than k have a better score; empty: none has."""
    rank = asking.rank.rank
    if rank is None or rank <= asking.k:
        return ""
    return (
        f", though {rank:,} by score: no arm of hybrid search brought the others in, or an exact "
        "name put it first"
    )


def why_not_found(evidence: Evidence, asking: Asking) -> tuple[str, str]:
    """Return why none of the passages is among the k, and what would change that."""
    told, rank = f"not among the {asking.k} found", asking.rank.rank
    if asking.missed_by_index:
        told += f", though among the {asking.k} nearest: the vector index misses it"
        return told, "Measure it with ragctl index recall, or search exactly: ragctl index drop."
    change = "Ask in the words of the page"
    if not asking.tracks and evidence.stored is not None:
        change += f", or only its track: --track {evidence.stored.page.track}"
    if rank is not None and rank <= asking.k:
        told += f" for all its rank: {_passed_over(asking)}"
        change += f", or take more passages: -k {asking.k * 2}"
    elif rank is not None and rank <= _HELPFUL_K:
        change += f", or take more passages: -k {rank}"
    return told, f"{change}."


def _passed_over(asking: Asking) -> str:
    if asking.ranks.is_reached:
        return "passages with an exact name of the question went before it"
    return (
        f"it is neither among the {asking.k} nearest nor among the best by words, and hybrid "
        "search looks at no others"
    )
