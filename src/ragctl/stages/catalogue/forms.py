"""The forms of questions about a site, as patterns over a reading; each must fit to the last word.

Macros stand in capitals: ``NOUN`` a word for a page, ``SUBJECT`` a track or the site, ``THEME``
a verb that says what a page is about, ``TRACKS`` a word for tracks. ``<topic>``, ``<page>``
and ``<number>`` are slots whose content is looked up afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from ragctl.stages.catalogue.readings import PAGE_NOUNS, VAGUE_NOUNS
from ragctl.stages.catalogue.words import NUMBER, ORDINAL

_TAKEN: Final = "covered|discussed|explained|described|mentioned|introduced|treated|addressed"
_MACROS: Final = {
    "NOUN": rf"(?:blog )?(?P<noun>{PAGE_NOUNS}|{VAGUE_NOUNS})",
    "PLAINNOUNS": rf"(?:{PAGE_NOUNS})",
    "SUBJECT": r"(?P<subject>@\d|@s|(?:the )?~\d|you|we|i)",
    "OTHER": r"(?P<other>@\d|(?:the )?~\d)",
    "TRACKS": r"(?P<tracks>tracks?|sections?|categor(?:y|ies)|series|topics?|subjects?|areas?"
    r"|collections?|folders?|parts?)",
    "TRACK": r"(?:(?P<sure>track)|section|category|series|folder|part of @s|area of @s)",
    "MAIN": r"(?:different |main |major |available )?",
    "TITLES": r"(?: (?:titles?|names?))?",
    "THEME": r"(?:that |which )?(?:also )?(?:(?:is |are )?(?:all )?(?:about|on|regarding|concerning"
    r"|covering|dealing with|discussing|explaining|describing|mentioning|dedicated to|devoted to"
    r"|treating|introducing)"
    r"|covers?|mentions?|discuss(?:es)?|explains?|describes?|treats?|address(?:es)?|concerns?"
    r"|deals? with|talks? about|speaks? (?:of|about)|touch(?:es)? (?:on|upon)|introduces?"
    r"|focus(?:es)? on|goes? into|teach(?:es)?(?: me)?(?: about)?|tells? me about|write about"
    r"|(?:can|should|do|could) i read (?:about|on|for|to learn(?: about)?"
    r"|to understand|if i want to (?:learn(?: about)?|understand)))",
    "TAKEN": rf"(?:{_TAKEN})",
    "ALL": r"(?:(?:a |the )?(?:complete |full )?(?:list|overview) of )?(?:all |every )?(?:of )?"
    r"(?:the )?(?:(?:titles?|names?|links?) (?:of|for|to) )?(?:all )?(?:the )?",
    "SHOW": r"(?:list|show|name|enumerate|give|print|display|find|get|see|point)(?: me)?(?: to)?"
    r"(?: out)?",
    "WHAT": r"(?:what|which)",
    "THERE": r"(?: (?:are|is) there| exists?| (?:are|is) available| there (?:are|is)"
    r"| (?:do|can|could|will|should) (?:you|i|we) (?:expect|have|read|find|see|get|offer)"
    r"| (?:can|could) (?:i|we) (?:choose|pick|select) from| have you got"
    r"| (?:are|is|were|was|have been|has been) (?:published|written|posted)"
    r"| you have| belongs?| got)",
    "EXACTLY": r"(?:right |directly |immediately |just |straight |next )?",
    "PAGE": r"(?P<page>.+?)",
    "SECOND": r"(?P<second>.+?)",
    "TOPIC": r"(?P<topic>.+?)",
    "NUMBER": rf"(?:number |no |nr |num )?(?P<number>{NUMBER})",
    "ORDINAL": r"(?P<ordinal>(?:very )?(?:first|last|final|opening|closing|penultimate)"
    rf"|(?:second|next) (?:to )?last|{ORDINAL})",
}
_MACRO: Final = re.compile("|".join(sorted(_MACROS, key=len, reverse=True)))
_SIZE: Final = r"(?P<size>longest|biggest|largest|shortest|smallest)"
_STARTS: Final = "starts?|begins?|opens?|kicks? off"
_ENDS: Final = "ends?|finish(?:es)?|closes?|concludes?"
_COMES: Final = (
    "(?: (?:do|should|can|must|shall|would) (?:i|we|you)(?: have)?"
    "(?: (?:read|study|get|find|look at|go to))?"
    "| to (?:read|study)| comes?| is| are| goes?| stands?| follows?| appears?| sits?| next| up"
    "| coming| listed| placed)+"
)
_LEARNER: Final = (
    r"(?: (?:and )?(?:if|when|as|since|because|being|for))?"
    r"(?: (?:i am|you are|we are|someone|somebody|one is|people|who is|being))*"
    r"(?: an?)?(?: \w+)?(?: (?:new|newcomer|beginner|beginners|newcomers|newbie))"
)
_READ: Final = (
    "(?:should|do|can|must|shall|would|could) (?:i|we|you|one|a (?:beginner|newcomer)) "
    "(?:recommend )?(?:i )?"
)

FORMS: Final[dict[str, tuple[str, ...]]] = {
    "count tracks": (
        r"how many MAINTRACKS(?:THERE| are)?",
        r"how many MAINTRACKS do(?:es)? SUBJECT (?:have|contain|consist of|cover|offer)",
        r"how many MAINTRACKS SUBJECT (?:has|contains|consists of|have)",
        r"how many MAINTRACKS is SUBJECT (?:divided|split|organi[sz]ed) into",
        r"(?:what is )?(?:the )?(?:total )?(?:number|count) of TRACKS",
    ),
    "tracks": (
        r"WHAT(?: are)?(?: all)?(?: the)? MAINTRACKS(?:THERE| are)?",
        r"WHAT MAINTRACKS do(?:es)? SUBJECT (?:have|cover|contain|offer|consist of"
        r"|include)",
        r"WHAT MAINTRACKS SUBJECT (?:has|covers|contains|offers|have)",
        r"WHAT MAINTRACKS make up SUBJECT",
        r"WHAT TRACKS is SUBJECT (?:divided|split|organi[sz]ed) into",
        r"(?:SHOW|what are) ALLMAINTRACKS(?:THERE| called)?",
        r"(?:what|how) is SUBJECT (?:about|organi[sz]ed|structured|divided|laid out|arranged)",
        r"what do(?:es)? SUBJECT (?:cover|contain|offer|consist of)",
        r"what is(?: there)?",
        r"what can i (?:read|find|learn)",
    ),
    "most": (
        r"WHAT TRACK (?:has|contains|holds|includes)(?: got)?(?: the)? (?P<most>most"
        r"|fewest|least|largest number of|highest number of|smallest number of|lowest number of) "
        r"NOUN",
        r"WHAT TRACK is(?: the)? (?P<most>largest|biggest|longest|smallest|shortest)",
        r"WHAT is(?: the)? (?P<most>largest|biggest|longest|smallest|shortest) TRACK",
        r"(?:the )?(?P<most>largest|biggest|longest|smallest|shortest) TRACK",
    ),
    "compare": (
        r"WHAT(?: TRACK)? has (?P<most>more|fewer|less) NOUN SUBJECT or OTHER",
        r"do(?:es)? SUBJECT have (?P<most>more|fewer|less) NOUN than OTHER",
        r"are there (?P<most>more|fewer|less) NOUN (?:in|on) SUBJECT than (?:in |on )?OTHER",
        r"WHAT(?: TRACK)? is (?P<most>larger|bigger|longer|smaller|shorter) SUBJECT or OTHER",
        r"is SUBJECT (?P<most>larger|bigger|longer|smaller|shorter) than OTHER",
    ),
    "which track": (
        r"WHAT TRACK (?:is|are|was) PAGE(?: (?:in|part of|under|from|located in|found in"
        r"|published in|listed under|filed under))?",
        r"(?:in|to|under|of|from) WHAT TRACK (?:is|do|does|can i find|do i find|will i find) PAGE"
        r"(?: (?:belong|appear|live|sit|in|part|found|published|fall|located|listed))?",
        r"WHAT TRACK do(?:es)? PAGE (?:belong to|belong|appear in|fall under|live in|come from"
        r"|sit in|fall in|appear under)",
        r"(?:in |under )?WHAT TRACK (?:can|do|would|will|could) (?:i|we) find PAGE(?: in)?",
        r"(?:in|under) WHAT TRACK is PAGE (?:filed|listed|published|found|located)",
        r"WHAT TRACK PAGE (?:is in|belongs to|is part of|appears in|falls under|lives in)",
        r"WHAT TRACK (?:has|contains|holds|includes|features|hosts) PAGE",
        r"where (?:is|are|can i find|do i find|would i find) (?P<named>.+)",
        r"where do(?:es)? (?P<named>.+) (?:live|sit|appear|belong)",
    ),
    "position": (
        r"WHAT (?:NOUN )?(?:number|position|place) (?:is|has|does) PAGE(?: have)?",
        r"what is (?:the )?(?:NOUN )?(?:number|position|place) (?:of|for) PAGE",
        r"WHAT NOUN is PAGE",
        r"what number PAGE is",
    ),
    "within": (
        r"(?:is|are) PAGE(?: part| found| listed)?",
        r"do(?:es)? PAGE belong(?: to SUBJECT(?: or (?:to )?OTHER)?)?",
    ),
    "order": (
        r"do(?:es)? PAGE (?:come|appear|go|stand) (?P<side>before|after) SECOND",
        r"is PAGE (?:placed |listed )?(?P<side>before|after) SECOND",
        r"WHAT(?: NOUN)? (?:comes|is|appears) (?P<side>first) PAGE or SECOND",
    ),
    "between": (
        r"WHAT(?: NOUN)? (?:is|are|comes?|sits?|stands?|lies|lie|appears?) (?:in )?between PAGE"
        r" and SECOND",
    ),
    "several": (
        r"(?:(?:WHAT are|SHOW) )?(?:the )?(?:titles of )?(?:the )?(?P<ordinal>first|last)"
        r" NUMBER NOUN(?: called)?",
    ),
    "ends": (
        r"WHAT NOUN is (?:the )?ORDINAL(?: one)?",
        r"(?:WHAT(?: is| are| was)? |SHOW )?(?:the )?(?:title of |name of )?(?:the )?"
        r"ORDINAL NOUN(?: called| titled| about| named| is)?",
        r"WHAT(?: is)?(?: the)? NOUN (?:comes?|is|appears?|do i read|should i read|is listed)"
        r"(?: the)?(?: very)? (?P<ordinal>first|last)",
        r"what (?:comes|is) (?:the )?(?:very )?(?P<ordinal>first|last)",
        r"WHAT(?: NOUN)? (?:is|comes|stands) at the (?:very )?(?P<ordinal>start|beginning|end)",
        rf"(?:with|on|at|by) WHAT(?: NOUN)? do(?:es)? SUBJECT (?P<ordinal>{_STARTS}|{_ENDS})",
        rf"WHAT(?: NOUN)? do(?:es)? SUBJECT (?P<ordinal>{_STARTS}|{_ENDS})(?: off)?"
        r" (?:with|on|at|by)",
        rf"how do(?:es)? SUBJECT (?P<ordinal>{_STARTS}|{_ENDS})",
        rf"WHAT NOUN (?P<ordinal>{_STARTS}|{_ENDS}) SUBJECT",
    ),
    "newest": (
        r"(?:WHAT(?: is| are| was)? |SHOW )?(?:the )?(?:title of )?(?:the )?(?:very )?"
        r"(?P<newest>newest|latest|most recent|oldest|earliest) NOUN(?: called| about)?",
        r"WHAT NOUN is(?: the)? (?P<newest>newest|latest|most recent|oldest|earliest)",
    ),
    "longest": (
        rf"(?:WHAT(?: is| are)? |SHOW |where is )?(?:the )?(?:title of )?(?:the )?(?:very )?{_SIZE}"
        r" NOUN(?: called| about)?",
        rf"WHAT NOUN is(?: the)? {_SIZE}(?: of all)?",
        r"WHAT NOUN (?:has|contains) (?:the )?(?P<words>most|fewest) words",
    ),
    "numbered": (
        r"(?:WHAT(?: is| are)? |SHOW )?(?:the )?(?:title of |name of )?(?:the )?NOUN NUMBER"
        r"(?: about| called| titled| named| is)?",
        r"what (?:is|does) NOUN NUMBER (?:about|called|titled|named|cover|deal with|discuss)",
        r"what NOUN NUMBER is(?: about| called)?",
        r"WHAT NOUN (?:has|is|carries) (?:the )?number NUMBER",
        r"WHAT NOUN is NUMBER",
    ),
    "neighbour": (
        r"how many NOUN(?: (?:come|are|there|left|remain|follow|still))*"
        r" (?P<side>after|before) PAGE",
        rf"WHAT(?: NOUN)?(?:{_COMES})? EXACTLY(?P<side>after|before) PAGE(?: next)?",
        r"WHAT(?: NOUN)?(?: is| comes)? (?:directly |immediately )?(?P<side>follows|precedes"
        r"|succeeds|following|preceding) PAGE",
        r"(?:WHAT(?: is| comes)? )?(?:the )?(?P<side>next|previous|following|preceding|prior)"
        r"(?: NOUN)?(?: (?:after|before|to|from|following))? PAGE",
        r"WHAT(?: is)?(?: the)? NOUN (?P<side>after|before|following|preceding) PAGE",
        rf"(?P<side>after|before)(?: (?:reading|finishing|having read|i read|i have read"
        rf"|i finish))? PAGE WHAT(?: NOUN)?(?:{_COMES})?(?: next)?",
        rf"WHAT(?: NOUN)?(?:{_COMES})? (?:once|when|now that) (?:i|you) (?:have )?(?:just )?"
        r"(?P<side>finished|read|finish|am done with) PAGE",
        r"i (?:am (?:on|at|reading)|have (?:just )?read|(?:have )?just (?:read|finished)) PAGE WHAT"
        r"(?: is| was| comes)?(?: the)?(?: NOUN)?(?: is| was| comes| comes directly)?"
        r" (?P<side>before|after|preceding|following|precedes|follows) (?:it|that|this)",
        rf"i (?:have )?(?:just )?(?:finished|read|am done with)(?: reading)? PAGE(?: and)? WHAT"
        rf"(?: NOUN)?(?:{_COMES})? (?P<side>next)",
        r"WHAT NOUN do(?:es)? PAGE (?:directly |immediately )?(?P<inverse>follow|precede"
        r"|come after|come before)",
    ),
    "list": (
        r"SHOW ALLNOUNTITLES(?:THERE)?",
        r"SHOW (?P<each>every|each) NOUNTITLES",
        r"what are (?:all )?(?:the )?NOUN called",
        r"WHAT(?: are)?(?: all)? ?(?:the )?(?:titles of )?(?:the )?NOUNTITLES(?:THERE| are)?",
        r"WHAT(?: all)? NOUN do(?:es)? SUBJECT (?:have|contain|include|consist of|comprise|offer"
        r"|cover)",
        r"WHAT NOUN SUBJECT (?:has|contains|includes|consists of|comprises|offers)",
        r"WHAT NOUN (?:make up|form|are part of) SUBJECT",
        r"(?P<contents>what is(?: there| covered| included| contained| discussed"
        r"| described)?(?: to read)?|what can i read)",
        r"(?P<contents>what is SUBJECT about)",
        r"(?P<contents>(?:tell me )?(?:something )?about SUBJECT)",
        r"(?P<contents>what do(?:es)? SUBJECT (?:contain|consist of|include|cover|have))",
        r"(?P<contents>(?:(?:SHOW|what is) )?(?:the )?(?:(?P<toc>table of contents|toc)|contents"
        r"|outline|syllabus|reading order))",
        r"(?P<contents>(?:(?:SHOW|what is) )?SUBJECT (?:table of contents|toc|contents"
        r"|outline|syllabus|reading order))",
        r"(?P<contents>(?:(?:in )?what order|how) should i read SUBJECT(?: in)?)",
        r"(?P<contents>(?:in )?what order (?:should i read|are) (?:the )?NOUN(?: in)?)",
        r"(?P<contents>what (?:is the )?order (?:are |do )?(?:of )?(?:the )?NOUN"
        r"(?: come)?(?: in)?)",
        r"(?:all )?(?:of )?(?:the )?(?P<noun>PLAINNOUNS(?<=s))",
    ),
    "count": (
        r"how many (?:different )?(?:titles of )?NOUN(?:THERE| are)?",
        r"how many (?:different )?NOUN (?:do|does|has|is) SUBJECT"
        r"(?: (?:have|has|contain|hold|comprise|include|consist of|got|count|offer|made of))?",
        r"how many (?:different )?NOUN SUBJECT (?:has|have|contains?|holds?|comprises?|includes?"
        r"|consists? of)",
        r"how many (?:different )?NOUN (?:make up|belong to|are part of|form) SUBJECT",
        r"(?:(?:what is|SHOW) )?(?:the )?(?:total |exact )?(?:number|count) of (?:the )?NOUN"
        r"(?: SUBJECT (?:has|contains))?",
        r"(?:what is )?(?:the )?(?:SUBJECT )?(?P<noun>page|chapter|post|essay|article) count"
        r"(?: (?:of|for) SUBJECT2)?",
        r"how many NOUN (?:long|big) is SUBJECT",
        r"(?P<size>how (?:long|big|large) is SUBJECT(?: in (?:number of )?PLAINNOUNS)?)",
        r"count (?:all )?(?:the )?NOUN",
    ),
    "learner": (
        rf"WHAT(?: NOUN)? {_READ}(?:(?P<reads>read)|start with|begin with|start on|start reading)"
        r"(?P<first> first)?(?P<tail> .+)?",
        rf"WHAT TRACK {_READ}(?:start with|begin with|read first|start|begin)(?P<tail> .+)?",
        rf"where {_READ}(?:start|begin)(?: reading| out)?(?P<tail> .+)?",
        r"where to (?:start|begin)(?: reading)?(?P<tail> .+)?",
        r"(?P<first>what to (?:read|start with|begin with) first)(?P<tail> .+)?",
        r"what is (?:a |the )?(?:good |best |right |recommended |natural )?(?:starting point"
        r"|entry point|place to (?:start|begin)|(?:first )?(?:PLAINNOUNS|thing) to (?:read first"
        r"|start with|begin with|start|begin)|first (?:PLAINNOUNS|thing) to read|introduction)"
        r"(?P<tail> .+)?",
        r"what is a (?:good|nice|suitable) first NOUN(?P<tail> .+)?",
        r"WHAT NOUN (?P<first>first)(?P<tail> .+)?",
        r"how (?:should|do|would|can) i (?:start|begin|get started)(?P<tail> .+)?",
        r"(?P<first>WHAT NOUN (?:comes first|is (?:best|good|meant|right|suitable)))(?P<tail> .+)",
    ),
    "about": (
        r"(?P<count>how many) (?:of (?:the |your )?)?NOUN (?P<theme>THEME) TOPIC",
        r"(?P<count>how many) NOUN(?: (?:are|is) there)? (?P<theme>THEME) TOPIC(?:THERE)?",
        r"(?P<yes>do you have|have you got|is there) (?:anything|something)(?: to read)?"
        r" (?P<theme>THEME) TOPIC",
        r"what do you have (?P<theme>THEME) TOPIC",
        r"WHAT(?: of the)?(?: other)? NOUN(?: (?:are|is) there)? (?P<theme>THEME) TOPIC(?:THERE)?",
        r"(?:in|on) WHAT NOUN(?: is| are| do(?:es)?| can i (?:read|learn)(?: about)?"
        r"| (?:will|can|do|would) i find) TOPIC"
        r"(?: (?:TAKEN|come up|appear|occur|discussed))?",
        r"WHAT are(?: all)?(?: the)? NOUN (?P<theme>THEME) TOPIC",
        r"SHOW (?:all |any |every |some )?(?:of )?(?:the |a )?NOUN (?P<theme>THEME) TOPIC",
        r"(?P<yes>(?:is|are) there|do(?:es)? SUBJECT have|has SUBJECT got|have you got) "
        r"(?:an? |any |some |another )?NOUN (?P<theme>THEME) TOPIC",
        r"(?P<yes>do|does) (?:any|some|one)(?: of the| of your)? NOUN (?P<theme>THEME) TOPIC",
        r"(?P<yes>do(?:es)? SUBJECT (?:cover|discuss|mention|explain|talk about|treat"
        r"|have anything (?:on|about))) TOPIC(?: anywhere)?(?: at all)?",
        r"(?P<yes>is|are) TOPIC TAKEN(?: anywhere)?",
        r"(?P<where>where) (?:is|are) TOPIC TAKEN",
        r"(?P<where>where) (?:can|could|do|should|would) i (?:read|find (?:something|anything|more"
        r"|NOUN|out)|learn)(?: more| something)? (?:about|on) TOPIC",
        r"(?P<where>where) do(?:es)? SUBJECT (?:cover|discuss|mention|explain|talk about) TOPIC",
        r"what (?:can|could|should|do) i read (?:about|on|to learn(?: about)?|to understand"
        r"|if i want to (?:learn(?: about)?|understand)) TOPIC",
        r"WHAT TRACK (?P<bytrack>covers?|discusses|deals with|talks about|is about|mentions"
        r"|explains|treats|has (?:a |an |any )?PLAINNOUNS (?:about|on)) TOPIC",
    ),
    "in title": (
        r"(?P<count>how many) NOUN (?:have|has|contain|mention|include|with|use) TOPIC in (?:their"
        r"|its|the) (?:titles?|names?|headings?)",
        r"WHAT NOUN (?:have|has|contain|contains|mention|mentions|include|includes|with|carry|use"
        r"|uses) TOPIC in (?:their|its|the) (?:titles?|names?)",
        r"WHAT (?:NOUN )?titles? (?:have|has|contains?|mentions?|includes?) TOPIC",
        r"SHOW (?:all )?(?:the )?NOUN (?:with|that have|having|containing|that mention|that contain"
        r"|mentioning) TOPIC in (?:their|its|the) (?:titles?|names?)",
        r"(?:WHAT|SHOW) (?:all )?(?:the )?NOUN (?:whose|where the) titles? (?:contains?|has|have"
        r"|mentions?|includes?) TOPIC",
        r"in WHAT titles? (?:does|do|is) TOPIC (?:appear|occur|mentioned)",
    ),
}


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (kind, re.compile(_expanded(pattern))) for kind, found in FORMS.items() for pattern in found
    )


def _expanded(pattern: str) -> str:
    pattern = pattern.replace("SUBJECT2", r"(?P<other>@\d|@s|(?:the )?~\d)")
    for _ in range(2):  # a macro may hold others
        pattern = _MACRO.sub(lambda macro: _MACROS[macro[0]], pattern)
    seen: set[str] = set()

    def once(group: re.Match[str]) -> str:
        """Keep the first group of a name; a pattern may not have it twice."""
        if group[1] in seen:
            return "(?:"
        seen.add(group[1])
        return group[0]

    return re.sub(r"\(\?P<(\w+)>", once, pattern)


def matches(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield the kinds of question that a reading's text may be, with what was matched."""
    for kind, pattern in _compiled():
        if match := pattern.fullmatch(text):
            yield kind, match


def learner_topic(tail: str) -> str | None:
    """Return what the end of "what should I read first" names; empty: nobody's topic but a level.

    ``None`` where the end is something else.
    """
    for pattern in _TAILS:
        if match := re.fullmatch(pattern, tail):
            return match.groupdict().get("topic") or ""
    return None


_TAILS: Final = (
    r"(?: first)?",
    rf"(?: first)?{_LEARNER}(?: (?:to|in|with|at|on) (?P<topic>.+))?",
    r"(?: first)? (?:(?:in order )?to|(?:if|when) (?:i|you|we) (?:want|would like|need|wish) to"
    r"|if i am (?:interested in|learning)) ?(?:learn(?: about)?|understand|get into|study)?"
    r" (?P<topic>.+)",
    r"(?: first)? (?:about|with|on|in|for|to|of|from) (?P<topic>.+)",
    r"(?: first)?(?: (?:if|when|as))? (?:i am|we are|you are|being)? ?(?:just )?"
    r"(?:starting(?: out)?|getting started)",
    r"(?: first)?(?: (?:if|when))?(?: i)? (?:have|know|having|knowing) (?:no|little|nothing)"
    r"(?: prior| previous)?(?: (?:knowledge|experience|background))?",
)
