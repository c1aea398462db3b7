"""Questions about the site itself, answered from its list of pages: no passage, no model.

A question is taken only where a form fits it to the last word and every slot names a track or a
page; what merely resembles such a question is left to the passages.
"""

from __future__ import annotations

import re
from typing import Final

from ragctl.stages.catalogue.answers import ANSWERING, Question
from ragctl.stages.catalogue.contents import Catalogue
from ragctl.stages.catalogue.forms import matches
from ragctl.stages.catalogue.headings import headings_of
from ragctl.stages.catalogue.passage import catalogue_passage
from ragctl.stages.catalogue.readings import PAGE_NOUNS, VAGUE_NOUNS, readings_of
from ragctl.stages.catalogue.replies import CatalogueAnswer

__all__ = ["Catalogue", "CatalogueAnswer", "catalogue_passage", "headings_of", "recognise"]

_LONGEST_QUESTION: Final = 300
# Without one of these words no form fits; most questions are told apart by that alone.
_SIGNAL: Final = re.compile(
    rf"\b(?:{PAGE_NOUNS}|{VAGUE_NOUNS}|tracks?|sections?|categor(?:y|ies)|series|topics?|subjects?"
    r"|site|website|documentation|docs|handbook|wiki|here|contents|toc|outline|syllabus|order"
    r"|read|reading|start|begin|starting|entry|where|introduction|before|after|follows|precedes"
    r"|succeeds|next|previous|first|last|end|comes?|largest|smallest|biggest|longest|shortest|cover"
    r"|fewest|fewer|contain|contains|long|big|large|consist|consists|include|covered|anything|something|have|final|newest|latest|oldest)\b",
    re.I,
)


def recognise(question: str, catalogue: Catalogue) -> CatalogueAnswer | None:
    """Return the answer to a question about the site, ``None`` where it asks something else."""
    if len(question) > _LONGEST_QUESTION or not catalogue.tracks or not _SIGNAL.search(question):
        return None
    for reading in readings_of(question, catalogue):
        for kind, match in matches(reading.text):
            asked = Question(reading=reading, match=match, catalogue=catalogue)
            if answer := ANSWERING[kind](asked):
                return answer
    return None
