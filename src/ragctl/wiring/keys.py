"""Keys of model servers: read from the environment alone, and never shown."""

from __future__ import annotations

from collections.abc import Mapping

from ragctl.errors import ModelMissing, SettingsError


def key_in(variable: str, environ: Mapping[str, str], *, what: str) -> str:
    """Return the key that a variable holds, ``""`` where no variable is named.

    Raises :class:`~ragctl.errors.ModelMissing` where it is not set, and
    :class:`~ragctl.errors.SettingsError`, which does not repeat it, for one that no header takes.
    """
    if not variable:
        return ""
    key = environ.get(variable, "").strip()
    if not key:
        raise ModelMissing(
            f"{what} needs a key, and {variable} is not set",
            hint=f"Set the variable {variable} to the key.",
            outcome="no key",
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError(
            f"{variable} holds characters that no key has",
            hint="Set it to the key alone, without blanks and line breaks.",
        )
    return key
