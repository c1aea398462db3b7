"""What the system may refuse, whatever a command does: said in words, with what to do."""

from __future__ import annotations

import errno

_RIGHTS = ("rights", "Check its rights.")
_FULL = ("system", "Make room there, or write to another place.")
_PATH = ("system", "Give another path.")
_OPEN = ("system", "Too many files are open here: see ulimit -n.")

_ADVICE = {
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: ("system", "No file may grow so large in this shell: see ulimit -f."),
    errno.EIO: ("system", "Check the disk or the terminal."),
    errno.EROFS: _PATH,
    errno.ENAMETOOLONG: _PATH,
    errno.EISDIR: _PATH,
    errno.ENOTDIR: _PATH,
    errno.ELOOP: _PATH,
    errno.EMFILE: _OPEN,
    errno.ENFILE: _OPEN,
}


def advice_on(error: OSError | UnicodeEncodeError) -> tuple[str, str, str] | None:
    """Return the code in JSON, what happened, and what to do; ``None`` for what is a bug."""
    if isinstance(error, UnicodeEncodeError):
        if error.encoding.lower().startswith("utf"):
            return None
        said = f"a name cannot be written in the encoding of this shell ({error.encoding})"
        return "encoding", said, "Set LC_ALL=C.UTF-8, then try again."
    if error.errno == errno.ENOENT and error.filename is None:
        said = "the folder that this command runs in no longer exists"
        return "system", said, "Change into a folder that exists."
    code, hint = _ADVICE.get(error.errno or 0, ("", ""))
    return (code, f"{error.filename or 'the output'}: {error.strerror}", hint) if code else None
