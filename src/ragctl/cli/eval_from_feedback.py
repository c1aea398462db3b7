"""``ragctl eval from-feedback``: questions from what readers said of answers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.documents_file import Force, OutputFile, require_new, write_documents
from ragctl.cli.output import Output
from ragctl.cli.render import counted
from ragctl.errors import ContentError

if TYPE_CHECKING:
    from ragctl.records.feedback import Feedback

_MOST = 100_000


def from_feedback(
    output_file: OutputFile = None,
    force: Force = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Make questions of what readers said of answers, one JSON a line.

    A good answer's cited pages are what should be found for its question. A bad one is a draft: its
    pages are for you to fill in, its note is kept.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    require_new(output_file, force=force)
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        found = database.feedback.newest(at_most=_MOST)
    kept = _once_each(found)
    if not kept:
        raise ContentError(
            "no answer with feedback has a question to ask again",
            hint="Say of answers whether they are good: ragctl feedback last --good",
        )
    documents = [_document(one) for one in kept]
    where = write_documents(documents, output_file, output)
    drafts = sum(bool(document.get("draft")) for document in documents)
    output.remark(
        f"{counted(len(documents), 'question')}{where}, {counted(drafts, 'draft')} among them: "
        "fill in where the answer stands."
    )


def _once_each(found: Sequence[Feedback]) -> list[Feedback]:
    """Return feedback on questions whose text was kept, of each wording what was said last."""
    wordings: dict[str, Feedback] = {}
    for one in found:
        if one.question and one.question.strip():
            wordings.setdefault(" ".join(one.question.lower().split()), one)
    return list(wordings.values())


def _document(one: Feedback) -> dict[str, object]:
    is_draft = not one.good or not one.cited
    gold = [{"url": url, "section": section} for url, section in one.cited] if one.good else []
    return {
        "id": f"feedback-{one.trace_id}",
        "question": one.question,
        "kind": "feedback-good" if one.good else "feedback-bad",
        "gold": gold,
        "must_contain": [],
        **({"draft": True} if is_draft else {}),
        **({"note": one.note} if one.note else {}),
    }
