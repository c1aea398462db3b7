"""Keeps the memory of the embedded server fitted to what was stored, and says when it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragctl import wiring
from ragctl.errors import RagctlError

if TYPE_CHECKING:
    from ragctl.cli.output import Output
    from ragctl.settings import Settings

OUTGROWN = "The passages have outgrown the memory of the database"
RESTART_COMMAND = "ragctl db restart"


def fit_memory(settings: Settings, output: Output) -> None:
    """Restart the embedded server with more memory where what was stored needs it.

    Only where nobody is connected; else, and where it fails, it is said what to type. What was
    stored is safe in any case.
    """
    try:
        done = wiring.fit_server(settings)
    except RagctlError as error:
        output.remark(f"The database keeps the memory it has: {error.message}")
        return
    if done is True:
        output.remark("The database was restarted with memory that fits what is stored.")
    elif done is False:
        output.remark(f"{OUTGROWN}, and others are connected. Later: {RESTART_COMMAND}")
