"""What to do about what the system, or a program of PostgreSQL, said when it gave up."""

from __future__ import annotations

import errno
import os

_SHOWN_LINES = 8


def last_lines(text: str) -> str:
    """Return the end of what a program printed, as much as fits into a message."""
    return "\n".join(text.strip().splitlines()[-_SHOWN_LINES:])


def hint_for(reason: int | str | None, *, default: str = "") -> str:
    """Return what to do about an error number, or about the text that a program printed."""

    def is_about(*numbers: int) -> bool:
        return reason in numbers or any(os.strerror(number) in str(reason) for number in numbers)

    if is_about(errno.ENOSPC, errno.EDQUOT):
        return "The disk is full: free some space, or set RAGCTL_DATA_DIR to another disk."
    if is_about(errno.EFBIG):
        return "No file may grow so large in this shell: see `ulimit -f`, and try again in another."
    if "user does not exist" in str(reason):
        return (
            f"PostgreSQL needs a name for the user id {os.geteuid()}: add a line for it to "
            "/etc/passwd (in a container, when its image is built), or point "
            "RAGCTL_DATABASE_URL at a server of your own."
        )
    if is_about(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
        return "Set RAGCTL_DATA_DIR to a folder that belongs to you and can be written."
    return default or "See whether the folder is sound, or set RAGCTL_DATA_DIR to another one."
