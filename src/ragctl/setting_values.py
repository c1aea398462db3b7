"""What a value must look like: from the text of a file, a variable or a flag to what holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from ragctl.addresses import without_password
from ragctl.errors import SettingsError
from ragctl.route_settings import KEY_NAME, seconds_of


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSetting:
    """One setting as declared: its key, type, default, meaning and limits.

    With ``choices`` and ``is_path``, one of these words or a path.
    """

    key: str
    kind: type[Any]
    default: Any
    about: str
    choices: tuple[str, ...]
    minimum: float | None
    maximum: float | None
    is_path: bool


def checked(known: KnownSetting, value: object, origin: str, folder: Path | None) -> Any:
    """Return a value as its setting declares it; a relative path starts at ``folder``.

    Raises :class:`~ragctl.errors.SettingsError` naming the key and ``origin``, where it came from.
    """
    converted = _converted(known, value, origin)
    chosen = converted if isinstance(converted, tuple) else (converted,)
    if known.choices and not known.is_path and not set(chosen) <= set(known.choices):
        choices = ", ".join(known.choices)
        raise _refused(known, value, origin, f"must be one of: {choices}")
    if isinstance(converted, int | float):
        if known.minimum is not None and converted < known.minimum:
            raise _refused(known, value, origin, f"must be at least {known.minimum:,.12g}")
        if known.maximum is not None and converted > known.maximum:
            raise _refused(known, value, origin, f"must be at most {known.maximum:,.12g}")
    if known.key == "site.base_url" and converted and not _is_web_address(converted):
        raise _refused(known, value, origin, "must be an address such as https://site.example")
    if known.key == "embedding.api_key_env" and converted and not KEY_NAME.fullmatch(converted):
        raise SettingsError(  # perhaps the key itself: not to be repeated
            f"{known.key} must be the name of an environment variable, not a key ({origin})",
            hint=f"{known.key}: {known.about}.",
        )
    if known.is_path and converted and converted not in known.choices:
        converted = _path(known, cast(str, converted), origin, folder)
    return converted


def _path(known: KnownSetting, value: str, origin: str, folder: Path | None) -> str:
    if "\0" in value:
        raise _refused(known, value, origin, "must be a path")
    try:
        path = Path(value).expanduser()
    except RuntimeError:
        raise _refused(known, value, origin, "must be the path of a user who exists") from None
    return str(folder / path if folder is not None else path)


def _converted(known: KnownSetting, value: object, origin: str) -> Any:
    if known.kind is tuple:
        return _texts(known, value, origin)
    if isinstance(value, str) and known.kind is str:
        return value.strip()
    if known.kind is bool:
        return _truth(known, value, origin)
    if isinstance(value, str) and known.key.endswith("_seconds"):
        value = seconds_of(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str) or known.kind is str:
        raise _refused(known, value, origin, f"must be {_kind_name(known)}")
    try:
        number = known.kind(value)
    except (ValueError, OverflowError):
        raise _refused(known, value, origin, f"must be {_kind_name(known)}") from None
    if known.kind is int and isinstance(value, float) and number != value:
        raise _refused(known, value, origin, "must be a whole number")
    if number != number:
        raise _refused(known, value, origin, "must be a number")
    return number


def _truth(known: KnownSetting, value: object, origin: str) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in _TRUTHS:
        raise _refused(known, value, origin, "must be true or false")
    return _TRUTHS[word]


_TRUTHS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_WEB_ADDRESS = re.compile(
    r"https?://[^\s/?#@\\\"<>%\x00-\x20\x7f]+(?:/[^\s?#@\\\"<>\x00-\x20\x7f]*)?"
)


def _is_web_address(text: str) -> bool:
    """Whether links may begin with a text: control characters would reach the terminal."""
    try:
        has_host = bool(urlsplit(text).hostname)
    except ValueError:  # brackets that hold no address
        return False
    return has_host and text.isprintable() and bool(_WEB_ADDRESS.fullmatch(text))


def _texts(known: KnownSetting, value: object, origin: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise _refused(known, value, origin, "must be a list of texts")


def _kind_name(known: KnownSetting) -> str:
    return {str: "a text", int: "a whole number", float: "a number of seconds"}[known.kind]


def _refused(known: KnownSetting, value: object, origin: str, rule: str) -> SettingsError:
    shown = without_password(value) if isinstance(value, str) and "://" in value else value
    return SettingsError(
        f"{known.key} {rule}, not {shown!r} ({origin})", hint=f"{known.key}: {known.about}."
    )
