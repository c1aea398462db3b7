"""What the guards find in one answer and in the passages it was written from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ragctl.records.answers import Problem, Prompt
from ragctl.stages.guards.hosts import foreign_hosts
from ragctl.stages.guards.instructions import instructions_in
from ragctl.stages.guards.secrets import find_secrets

if TYPE_CHECKING:
    from ragctl.records.search import Hit

MOST_NAMED: Final = 5
"""How many hosts or passages a problem names."""


def guard_problems(
    text: str, prompt: Prompt, *, site: str, allowed_hosts: Sequence[str]
) -> tuple[Problem, ...]:
    """Return what the guards find: secrets, hosts that nobody named, instructed passages.

    ``site`` is the site's address, ``""`` where it is not set; ``allowed_hosts`` are those of
    :func:`~ragctl.stages.guards.hosts.foreign_hosts`. No message repeats a secret.
    """
    found = []
    if secrets := find_secrets(text):
        kinds = ", ".join(dict.fromkeys(secret.kind for secret in secrets))
        message = f"It holds what looks like a secret: {kinds}."
        found.append(Problem(code="looks_like_secret", message=message))
    passages = [f"{hit.title}\n{hit.section or ''}\n{hit.body}" for hit in prompt.passages]
    if hosts := foreign_hosts(text, site=site, allowed=allowed_hosts, passages=passages):
        message = f"It leads to what is neither the site nor in its passages: {_listed(hosts)}."
        found.append(Problem(code="foreign_host", message=message))
    if told := [hit for hit in prompt.passages if is_instructed(hit)]:
        where = _listed([f"[{hit.n}] ({hit.url})" for hit in told])
        message = f"A passage holds instructions to the model and was sent as quoted data: {where}."
        found.append(Problem(code="instructions_in_passage", message=message))
    return tuple(found)


def is_instructed(hit: Hit) -> bool:
    """Tell whether a passage, or its title or section, holds instructions to a model."""
    return any(instructions_in(text) for text in (hit.body, hit.title, hit.section or "") if text)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    left = len(names) - MOST_NAMED
    return f"{shown} and {left} more" if left > 0 else shown
