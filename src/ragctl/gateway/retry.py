"""Whether the same route is asked again, and after which wait.

Only errors that may clear (429, 502, 503, 504, a refused or lost connection before the first
token), never after text was shown. The wait is exponential with full jitter (M. Brooker,
"Exponential Backoff And Jitter", AWS Architecture Blog, 2015): anything from nothing to a limit
that doubles, so that those who failed together do not come back together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ragctl.errors import ModelError

FIRST_WAIT_SECONDS: Final = 0.25
LONGEST_WAIT_SECONDS: Final = 4.0


def wait_before_retry(
    error: ModelError,
    *,
    tries: int,
    retries: int,
    left_seconds: float,
    chance: Callable[[], float],
) -> float | None:
    """Return the seconds to wait before the next try, ``None`` where there is to be none.

    ``tries`` counts those that failed, ``left_seconds`` what the route may still use; ``chance``
    gives numbers from 0 to 1. What the server asks for (``Retry-After``) is honoured. A wait of
    more than half of what is left is not worth it: the next route has the time instead.
    """
    if not error.may_clear or tries > retries:
        return None
    limit = min(FIRST_WAIT_SECONDS * 2 ** (tries - 1), LONGEST_WAIT_SECONDS)
    wait = max(limit * chance(), error.retry_after_seconds or 0.0)
    return wait if wait <= left_seconds / 2 else None
