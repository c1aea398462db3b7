"""``ragctl config``: what is set, where it came from, and how to change it."""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tomlkit
import typer
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table as TomlTable

from ragctl import wiring
from ragctl.artifacts.storage import make_folder
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.db.address import redacted
from ragctl.errors import SettingsError, UsageError
from ragctl.settings import Settings, SettingsFile, find_setting, known_settings, read
from ragctl.site_guess import SiteGuess, guess_site

if TYPE_CHECKING:
    from ragctl.route_settings import RouteSettings
    from ragctl.setting_values import KnownSetting

app = options.command_app("Show, change and begin the settings.")


@app.callback(invoke_without_command=True, epilog="Example: ragctl config")
def config(ctx: typer.Context, json: options.Json = False, debug: options.Debug = False) -> None:
    """List every setting, its value and where it came from."""
    if ctx.invoked_subcommand is not None:
        return
    settings = wiring.load_settings({})
    output = Output(environ=os.environ)
    rows = [(known, _shown(settings, known), settings.origin(known.key)) for known in _known()]
    if json:
        listed = [
            {"key": known.key, "value": value, "origin": origin, "about": known.about}
            for known, value, origin in rows
        ]
        document = {"schema": "ragctl.config/1", "settings": listed}
        output.json({**document, "routes": [asdict(route) for route in settings.routes]})
        return
    table = new_table("setting", "value", "from", text_columns=(0, 1, 2))
    for known, value, origin in rows:
        table.add_row(known.key, _text(value), "" if origin == "default" else origin)
    routes = [(f"routes[{n}]", _in_words(one)) for n, one in enumerate(settings.routes, start=1)]
    for name, told in routes:
        table.add_row(name, harmless(told), settings.origin("routes"))
    if output.fits(table):
        output.table(table)
        return
    for known, value, origin in rows:
        output.line(f"{known.key} = {_text(value)}")
        if origin != "default":
            output.line(f"    from {origin}")
    for name, told in routes:
        output.line(f"{name} = {told}")
        output.line(f"    from {settings.origin('routes')}")


@app.command(epilog="Example: ragctl config get site.base_url")
def get(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The setting, as section.name.")],
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Print the value of one setting."""
    settings = wiring.load_settings({})
    known = find_setting(key)
    value = _shown(settings, known)
    output = Output(environ=os.environ)
    if json:
        document = {"key": key, "value": value, "origin": settings.origin(key)}
        output.json({"schema": "ragctl.config_value/1", **document})
    else:
        output.line(_text(value))


@app.command("set", epilog="Example: ragctl config set site.base_url https://site.example")
def set_value(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The setting, as section.name.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Lists are written with commas.")],
    user: Annotated[
        bool, typer.Option("--user", help="In your own config.toml, not in ragctl.toml.")
    ] = False,
    debug: options.Debug = False,
) -> None:
    """Write one setting into the nearest ragctl.toml (made here where there is none)."""
    known = find_setting(key)
    checked = read(flags={key: value}, environ={})
    path = _target(user=user)
    document = _document(path)
    section, _, name = known.key.partition(".")
    table = document.setdefault(section, tomlkit.table())
    if not isinstance(table, TomlTable):
        raise SettingsError(f"{section} in {path} is not a table", hint=f"Write [{section}].")
    found = getattr(getattr(checked, section), name)
    if known.is_path and found and found not in known.choices:
        found = _from_folder(Path(value).expanduser(), path.parent)
    table[name] = list(found) if isinstance(found, tuple) else found
    text = tomlkit.dumps(document)
    own = wiring.user_settings_path(os.environ)
    others = [file for file in wiring.settings_files(os.environ, Path.cwd()) if file.is_own]
    changed = SettingsFile(path=path, text=text, is_own=path == own)
    read(flags={}, environ={}, files=(changed,) if changed.is_own else (changed, *others))
    _write(path, text, mode=0o600 if changed.is_own else 0o644)
    Output(environ=os.environ).line(f"{key} = {_text(_without_secrets(known, found))} in {path}")


@app.command(epilog="Example: ragctl config path")
def path(json: options.Json = False, debug: options.Debug = False) -> None:
    """Print the settings files that are read, the strongest first."""
    files = [str(file.path) for file in wiring.settings_files(os.environ, Path.cwd())]
    output = Output(environ=os.environ)
    if json:
        output.json({"schema": "ragctl.config_path/1", "files": files})
        return
    for file in files:
        output.line(file)
    if not files:
        output.remark("No settings file is read. `ragctl config init` writes one for this folder.")


@app.command(epilog="Example: ragctl config init")
def init(
    force: Annotated[
        bool, typer.Option("--force", help="Replace a ragctl.toml that is there.")
    ] = False,
    debug: options.Debug = False,
) -> None:
    """Write a commented ragctl.toml for the site in this folder, and say what was guessed."""
    target = Path.cwd() / wiring.SETTINGS_NAME
    if target.exists() and not force:
        raise UsageError(
            f"{target} is there already",
            hint="Change it with `ragctl config set KEY VALUE`, or give --force.",
        )
    guess = guess_site(Path.cwd())
    text = starting_text(guess)
    read(flags={}, environ={}, files=(SettingsFile(path=target, text=text),))
    _write(target, text, mode=0o644)
    output = Output(environ=os.environ)
    output.line(f"wrote {target}")
    output.remark(explained(guess))


def explained(guess: SiteGuess) -> str:
    """Return in words what was guessed and from what."""
    if not guess.root:
        return "No site was recognised here: set site.root before `ragctl ingest`."
    what = f"{guess.generator} ({guess.evidence})" if guess.generator else guess.evidence
    address = guess.base_url or "none found, links will be paths"
    tracks = ", ".join(guess.tracks) or "none"
    return f"Guessed from {what}: root {guess.root}; address: {address}; tracks: {tracks}."


def starting_text(guess: SiteGuess) -> str:
    """Return a ``ragctl.toml`` with what was guessed and, as comments, what else can be set."""
    tracks = ", ".join(f'"{track}"' for track in guess.tracks)
    lines = [
        "# Settings of ragctl for this site; `ragctl config` lists all of them.",
        "",
        "[site]",
        "# The content folder that `ragctl ingest` reads.",
        _setting_line("root", guess.root or "content", commented=not guess.root),
        "# The address of the published site; without it links are paths.",
        _setting_line("base_url", guess.base_url or "https://site.example", not guess.base_url),
        "# How pages are addressed (plain, slash, html) and whose rules make the anchors of",
        "# headings (github, hugo, docusaurus, mkdocs).",
        _setting_line("url_style", guess.url_style),
        _setting_line("slugs", guess.slugs),
        "# Only these tracks (folders of the root); without it all are read.",
        f"# tracks = [{tracks}]",
        _exclude_line(guess),
        "",
        "# [generation]",
        '# model = "llama3"',
        "",
    ]
    return "\n".join(lines)


def _exclude_line(guess: SiteGuess) -> str:
    if not guess.exclude:
        return '# exclude = ["drafts/*"]'
    patterns = ", ".join(f'"{pattern}"' for pattern in guess.exclude)
    return f"exclude = [{patterns}]"


def _setting_line(name: str, value: str, commented: bool = False) -> str:
    return f"{'# ' if commented else ''}{name} = {tomlkit.item(value).as_string()}"


def _from_folder(path: Path, folder: Path) -> str:
    """Return a path as typed here in the words of a settings file that lies in a folder."""
    return str(path) if path.is_absolute() else os.path.relpath(Path.cwd() / path, folder)


def _known() -> list[KnownSetting]:
    return list(known_settings())


def _shown(settings: Settings, known: KnownSetting) -> object:
    section, _, name = known.key.partition(".")
    value = getattr(getattr(settings, section), name)
    return _without_secrets(known, list(value) if isinstance(value, tuple) else value)


def _without_secrets(known: KnownSetting, value: object) -> object:
    """Return a value as it may be shown: addresses without their passwords."""
    if not known.key.endswith(("url", "urls")):
        return value
    if isinstance(value, list | tuple):
        return [redacted(str(one)) for one in value]
    return redacted(str(value))


def _in_words(route: RouteSettings) -> str:
    """Return a route in one line: name, model, address, limits, and where its key comes from."""
    limits = (route.connect_seconds, route.first_token_seconds, route.total_seconds)
    key = f", key from {route.api_key_env}" if route.api_key_env else ""
    return (
        f"{route.name}: {route.provider}/{route.model}{f' at {route.url}' if route.url else ''}, "
        f"seconds {' / '.join(f'{seconds:g}' for seconds in limits)}{key}"
    )


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _target(*, user: bool) -> Path:
    if user:
        own = wiring.user_settings_path(os.environ)
        if own is None:
            raise SettingsError("there is no HOME for your own settings", hint="Set HOME.")
        return own
    files = wiring.settings_files(os.environ, Path.cwd())
    nearest = [file.path for file in files if file.path.name == wiring.SETTINGS_NAME]
    return nearest[0] if nearest else Path.cwd() / wiring.SETTINGS_NAME


def _document(path: Path) -> tomlkit.TOMLDocument:
    if not path.exists():
        return tomlkit.document()
    try:
        return tomlkit.parse(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError, TOMLKitError) as error:
        raise SettingsError(f"{path} cannot be changed: {error}", hint="Mend it first.") from error


def _write(path: Path, text: str, *, mode: int) -> None:
    """Replace a file whole; ``mode`` is that of a new one, and nobody else may ever write."""
    try:
        make_folder(path.parent)
        mode = path.stat().st_mode & 0o755 if path.exists() else mode
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            Path(file.name).replace(path)
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be written: {error.strerror}",
            hint="Give --user for your own settings, or mend its rights.",
        ) from error
