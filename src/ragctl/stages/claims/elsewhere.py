"""Claims that stand in no passage but in what the prompt told beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragctl.records.search import Hit
from ragctl.stages.claims.verdict import check_claims, is_unfounded

if TYPE_CHECKING:
    from ragctl.records.answers import Claim

LISTED: Final = "no citation; the list of pages supports it"


def with_site_known(claims: Sequence[Claim], about_site: str) -> tuple[Claim, ...]:
    """Return the claims, those that what was told about the site supports no longer unfounded.

    Such a claim has nothing to cite: the list of pages has no number in the prompt.
    """
    if not about_site:
        return tuple(claims)
    return tuple(
        replace(claim, why=LISTED)
        if is_unfounded(claim) and _stands_in(claim, about_site)
        else claim
        for claim in claims
    )


def _stands_in(claim: Claim, text: str) -> bool:
    told = Hit(
        n=1,
        chunk_id=0,
        ref="",
        url="",
        title="",
        track="",
        section=None,
        anchor=None,
        body=text,
        start_char=0,
        end_char=len(text),
        source_path="",
        score=1.0,
        vector_score=None,
    )
    again = check_claims(claim.text, [told])
    return bool(again) and not any(is_unfounded(one) for one in again)
