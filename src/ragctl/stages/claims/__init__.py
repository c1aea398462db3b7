"""Whether each sentence of an answer stands in the passage it cites: deterministic, no model.

An answer is split into asserting sentences, and each is compared with the best one to three
neighbouring sentences, table rows or code lines of its passage: numbers with their scale, names
(code, identifiers, capitals), quoted strings, negation and opposites, and the share of its words
weighted by how rare they are. Lexical entailment by weighted word overlap is after Dagan, Glickman
and Magnini, "The PASCAL Recognising Textual Entailment Challenge" (2005); negation in scope after
the window of NegEx (Chapman et al. 2001). ``supported`` means that names, numbers and words stand
in the passage, nothing more.
"""

from ragctl.stages.claims.elsewhere import with_site_known
from ragctl.stages.claims.statements import Statement, statements_of
from ragctl.stages.claims.verdict import better_passage, check_claims, is_unfounded

__all__ = [
    "Statement",
    "better_passage",
    "check_claims",
    "is_unfounded",
    "statements_of",
    "with_site_known",
]
