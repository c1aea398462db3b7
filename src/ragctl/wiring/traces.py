"""How long traces are kept, and which of them with their texts, by the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragctl.observe.retention import Retention

if TYPE_CHECKING:
    from ragctl.settings import Settings


def retention(settings: Settings) -> Retention:
    """Return what the settings say of keeping traces."""
    traces = settings.traces
    return Retention(
        keeps_texts=traces.record == "on",
        keep_days=traces.keep_days,
        keep_text_days=traces.keep_text_days,
        sample=traces.sample,
        slow_ms=traces.slow_ms,
    )
