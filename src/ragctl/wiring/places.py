"""Where settings files and data lie."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ragctl.errors import SettingsError
from ragctl.settings import Settings, SettingsFile, read

SETTINGS_NAME = "ragctl.toml"


def load_settings(
    flags: Mapping[str, object],
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Return the settings in force in a folder (default: here, with this environment)."""
    environ = os.environ if environ is None else environ
    folder = Path.cwd() if folder is None else folder
    settings = read(flags=flags, environ=environ, files=settings_files(environ, folder))
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,40}", settings.site.name):
        raise SettingsError(
            f"{settings.site.name!r} cannot name a site",
            hint="Use small letters, digits, - and _, at most 41 of them.",
        )
    return settings


def settings_files(environ: Mapping[str, str], folder: Path) -> tuple[SettingsFile, ...]:
    """Return the settings files that exist: the nearest ``ragctl.toml`` upwards, the user's."""
    nearest = next(
        (place / SETTINGS_NAME for place in (folder, *folder.parents) if _is_file(place)), None
    )
    own = user_settings_path(environ)
    paths = [path for path in (nearest, own) if path is not None and path.is_file()]
    return tuple(SettingsFile(path=path, text=_text_of(path), is_own=path == own) for path in paths)


def user_settings_path(environ: Mapping[str, str]) -> Path | None:
    """Return where the user's own settings lie, whether or not they exist."""
    config_home = environ.get("XDG_CONFIG_HOME") or _home(environ, ".config")
    return Path(config_home) / "ragctl" / "config.toml" if config_home else None


def _is_file(place: Path) -> bool:
    try:
        return (place / SETTINGS_NAME).is_file()
    except OSError:
        return False


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path} cannot be read: {error}", hint="Mend the file or its rights."
        ) from error


def _home(environ: Mapping[str, str], below: str) -> str:
    home = environ.get("HOME")
    return str(Path(home) / below) if home else ""


def data_directory(settings: Settings, environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the embedded server and of downloaded models."""
    environ = os.environ if environ is None else environ
    if settings.database.data_dir:
        return Path(settings.database.data_dir).absolute()
    data_home = environ.get("XDG_DATA_HOME") or _home(environ, ".local/share")
    if not data_home:
        raise SettingsError(
            "there is no HOME to keep the database in",
            hint="Set RAGCTL_DATA_DIR to a folder of yours.",
        )
    return Path(data_home) / "ragctl"
