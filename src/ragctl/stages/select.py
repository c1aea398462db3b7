"""Which of the passages found are worth sending to the model.

A prompt is paid for by every reader in waiting, and a passage far behind the best one adds tokens
and hardly ever a fact. So the tail of the passages found is left out where its fused score falls
behind; a passage that holds a rare name of the question always stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragctl.records.search import Hit


def worth_sending(passages: Sequence[Hit], *, least_share: float) -> tuple[Hit, ...]:
    """Return the passages, best first, without the end that scores below a share of the best.

    Only fused scores are looked at: where passages were found by nearness or by words alone, all
    of them stay, and so they do with a share of 0.
    """
    kept = list(passages)
    if not least_share or any(
        hit.vector_score is None or hit.keyword_score is None for hit in kept
    ):
        return tuple(kept)
    while len(kept) > 1 and not kept[-1].named and kept[-1].score < least_share * kept[0].score:
        kept.pop()
    return tuple(kept)
