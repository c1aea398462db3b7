"""Stage 7 without a model: the passages are quoted, or said not to cover the question.

What quotes is loaded when something is quoted: beside a model that answers it is not needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ragctl.errors import ModelReplyError
from ragctl.records.answers import Draft, Prompt

if TYPE_CHECKING:
    from ragctl.records.evidence import Evidence

NOT_COVERED: Final = "The passages found do not cover this question."
"""The answer without a model where the evidence says so."""

SURELY_NOT: Final = 0.3
"""Below this probability nothing is quoted: of questions that a site does answer 4 in 100 fall
there, of those it does not 79 (cross-validated on 321 questions to a site of 97 pages)."""

NEAR_CERTAIN: Final = 0.9
"""From this probability on a refusal is not taken at its word."""


class ExtractiveGenerator:
    """Answers with parts of the passages; no model takes part."""

    def __init__(self, *, words: int | None = None) -> None:
        self._words = words

    @property
    def name(self) -> str:
        """The route ``extractive``."""
        return "extractive"

    def generate(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Draft:
        """Answer from ``prompt.passages``; raises ModelReplyError where there are none.

        Where the evidence says that they do not cover the question, the answer says just that: a
        sentence of theirs would only look like one.
        """
        if _is_surely_not_covered(prompt.evidence):
            on_text(NOT_COVERED)
            return Draft(
                text=NOT_COVERED,
                route=self.name,
                finish="stop",
                written_by_model=False,
                declined=True,
            )
        text = _quoted(prompt, words=self._words)
        if not text:
            raise ModelReplyError("there is no passage to quote")
        on_text(text)
        return Draft(text=text, route=self.name, finish="stop", written_by_model=False)


def _is_surely_not_covered(evidence: Evidence | None) -> bool:
    return (
        evidence is not None
        and evidence.verdict == "not covered"
        and evidence.probability is not None
        and evidence.probability < SURELY_NOT
    )


def quoted_beneath(draft: Draft, prompt: Prompt) -> str:
    """Return what the passages say where a model refused in spite of them, else ``""``.

    That takes evidence that was calibrated and is near to certain.
    """
    probability = prompt.evidence.probability if prompt.evidence else None
    if not draft.written_by_model or probability is None or probability < NEAR_CERTAIN:
        return ""
    return _quoted(prompt)


def _quoted(prompt: Prompt, *, words: int | None = None) -> str:
    from ragctl.stages.extract import WORDS, extract

    return extract(prompt.question, prompt.passages, words=WORDS if words is None else words)
