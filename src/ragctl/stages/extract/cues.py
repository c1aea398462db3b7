"""What kind of answer a question wants, by its words: a number, code, a reason, a definition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragctl.stages.claims.vocabulary import listed

if TYPE_CHECKING:
    from ragctl.stages.extract.units import Unit

_QUANTITY: Final = re.compile(
    r"\bhow (?:many|much|long|often|far|big|large|small|fast|slow|old|high|low|deep|wide|soon)\b"
    r"|\b(?:what|which|whose)\b[^?]{0,40}\b(?:fractions?|percentages?|percent|shares?|factors?|sizes?"
    r"|numbers?|rates?|limits?|caps?|ratio|amounts?|costs?|price|speed|latency|throughput|defaults?"
    r"|values?|maximum|minimum|complexity|length|width|ports?|versions?|releases?|years?)\b"
    r"|\bby (?:how much|what)\b|\bper (?:second|minute|hour|day|week|month|year)\b",
    re.I,
)
_TIME: Final = re.compile(
    r"\b(?:when|since when|until when|what year|which (?:version|release|year|date)s?)\b", re.I
)
_CODE: Final = re.compile(
    r"\b(?:show|commands?|calls?|snippets?|syntax|code|examples?|functions?|methods?|flags?"
    r"|options?|types?|headers?|macros?|arguments?|parameters?|return(?:s|ed)?|declare[sd]?"
    r"|defin(?:e|ed|es)|implement(?:s|ed|ation)?|invoke[sd]?|loops?|lines?|variables?|fields?"
    r"|struct|class|query|statement|config(?:uration)?)\b"
    r"|\bhow (?:do|can|should|would) (?:i|you|we|one)\b|\bhow to\b",
    re.I,
)
_DIFFERENCE: Final = re.compile(
    r"\b(?:differences?|differs?|different|versus|vs|compared?|comparison|unlike|rather than"
    r"|instead of|whereas|better|worse|faster|slower|advantages?"
    r"|trade-?offs?|distinguish(?:es)?)\b",
    re.I,
)
_SEVERAL: Final = re.compile(
    r"\b(?:both|respectively|versus|vs|differences?|differs?|compared?|comparison|each of)\b"
    r"|,? and (?:how|what|why|when|which|where|who|for|in|with)\b",
    re.I,
)
_REASON: Final = re.compile(
    r"\bwhy\b|\breasons?\b|\bwhat (?:causes?|makes?|prevents?|keeps?)\b|\bpurpose\b|\bwhat for\b",
    re.I,
)
_DEFINITION: Final = re.compile(
    r"^\W*(?:what(?:'s| is| are| was| were)|who (?:is|are)|define"
    r"|what do(?:es)? .{1,60} (?:mean|do)\b|what .{1,60} used for)",
    re.I,
)
_BECAUSE: Final = re.compile(
    r"\b(?:because|since|therefore|thus|hence|so that|due to|as a result|in order to|reason|causes?"
    r"|caused|otherwise|to (?:avoid|prevent|ensure|keep|make|reduce|allow)|prevents?|avoids?"
    r"|ensures?|means that|leads? to)\b|, so\b",
    re.I,
)
_DEFINING: Final = frozenset(
    listed(
        "is are was were means mean refers refer stands denotes describes defines contains "
        "consists represents provides allows enables uses stores returns specifies indicates "
        "controls"
    )
)
_SUBJECT_WORDS: Final = 8
_CONTRASTS: Final = re.compile(
    r"\b(?:while|whereas|but|unlike|instead|however|rather than|than|both|in contrast|compared"
    r"|on the other hand|only|differs?|differences?)\b",
    re.I,
)
_NUMBER: Final = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|hundred|thousand"
    r"|million|billion|half|third|quarter|twice|once|double|zero|dozen)\b",
    re.I,
)
_MOMENT: Final = re.compile(
    r"\b(?:1[89]|20)\d\d\b|\bv?\d+\.\d+|\b(?:when|after|before|once|until|as soon as|since|every"
    r"|during|whenever|if|january|february|march|april|may|june|july|august|september|october"
    r"|november|december)\b",
    re.I,
)

NUMBER_WORTH: Final = 0.15
MOMENT_WORTH: Final = 0.1
REASON_WORTH: Final = 0.12
DEFINITION_WORTH: Final = 0.12
CONTRAST_WORTH: Final = 0.08


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a question asks for; several may hold, or none."""

    quantity: bool
    time: bool
    code: bool
    difference: bool
    reason: bool
    definition: bool
    several: bool

    @classmethod
    def by(cls, question: str) -> Wanted:
        """Read it from the question's words."""
        return cls(
            quantity=bool(_QUANTITY.search(question)),
            time=bool(_TIME.search(question)),
            code=bool(_CODE.search(question)),
            difference=bool(_DIFFERENCE.search(question)),
            reason=bool(_REASON.search(question)),
            definition=bool(_DEFINITION.search(question)),
            several=bool(_SEVERAL.search(question)),
        )

    def met_by(self, unit: Unit) -> float:
        """Return what a unit is worth for the form of its answer alone, 0 to about 0.5."""
        text, worth = unit.text, 0.0
        if self.quantity and _NUMBER.search(text):
            worth += NUMBER_WORTH
        if self.time and _MOMENT.search(text):
            worth += MOMENT_WORTH
        if self.reason and _BECAUSE.search(text):
            worth += REASON_WORTH
        if self.difference and _CONTRASTS.search(text):
            worth += CONTRAST_WORTH
        if self.definition and unit.kind != "code" and _defines(text):
            worth += DEFINITION_WORTH
        return worth


def _defines(text: str) -> bool:
    """Whether one of the first words is a verb that says what something is or does."""
    start = text[:200].split()[1 : _SUBJECT_WORDS + 1]
    return not _DEFINING.isdisjoint(start)
