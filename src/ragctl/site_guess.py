"""What a site's own files say about it: the generator, the content folder, the address.

Settings files of generators are read for a few plain values and never executed: YAML and TOML
with their parsers, JavaScript by looking for string literals.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

LONGEST_FILE_BYTES = 1_000_000
JEKYLL_EXCLUDE = ("_drafts", "_includes", "_layouts", "_site", "vendor", "node_modules")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteGuess:
    """What was guessed, from what (``evidence``); an empty value means that nothing was found."""

    generator: str = ""
    root: str = ""
    base_url: str = ""
    url_style: str = "plain"
    slugs: str = "github"
    tracks: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    evidence: str = ""


def guess_site(folder: Path) -> SiteGuess:
    """Return what the files in a folder say about the site; never raises."""
    for finder in (_hugo, _docusaurus, _mkdocs, _astro, _jekyll):
        found = finder(folder)
        if found is not None:
            return _with_tracks(found, folder)
    for name in ("website/src/content", "src/content", "content", "docs"):
        if _has_markdown(folder / name):
            guess = SiteGuess(root=name, evidence=f"{name} holds markdown")
            return _with_tracks(guess, folder)
    return SiteGuess()


def _hugo(folder: Path) -> SiteGuess | None:
    for name in ("hugo.toml", "hugo.yaml", "hugo.yml", "config.toml"):
        text = _text(folder / name)
        values = _values(name, text)
        if text and (name.startswith("hugo") or "baseURL" in values or "baseurl" in values):
            base = values.get("baseURL") or values.get("baseurl")
            return SiteGuess(
                generator="Hugo",
                root=_string(values.get("contentDir")) or "content",
                base_url=_address(base),
                url_style="slash",
                slugs="hugo",
                evidence=name,
            )
    return None


def _docusaurus(folder: Path) -> SiteGuess | None:
    for name in ("docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs"):
        text = _text(folder / name)
        if text:
            address = _literal(text, "url")
            path = _literal(text, "baseUrl")
            route = _literal(text, "routeBasePath")
            parts = [address.rstrip("/"), path.strip("/"), (route or "docs").strip("/")]
            return SiteGuess(
                generator="Docusaurus",
                root=_literal(text, "path") or "docs",
                base_url=_address("/".join(part for part in parts if part)) if address else "",
                slugs="docusaurus",
                evidence=name,
            )
    return None


def _mkdocs(folder: Path) -> SiteGuess | None:
    for name in ("mkdocs.yml", "mkdocs.yaml"):
        text = _text(folder / name)
        if text:
            values = _values(name, text)
            plain_files = values.get("use_directory_urls") is False
            return SiteGuess(
                generator="MkDocs",
                root=_string(values.get("docs_dir")) or "docs",
                base_url=_address(values.get("site_url")),
                url_style="html" if plain_files else "slash",
                slugs="mkdocs",
                evidence=name,
            )
    return None


def _astro(folder: Path) -> SiteGuess | None:
    for name in ("astro.config.mjs", "astro.config.ts", "astro.config.js"):
        for place in (folder, folder / "website"):
            text = _text(place / name)
            if text:
                below = place.relative_to(folder)
                content = below / "src/content"
                if _has_markdown(folder / content / "docs") and "starlight" in text:
                    content = content / "docs"
                base = _literal(text, "base").strip("/")
                address = _literal(text, "site").rstrip("/")
                return SiteGuess(
                    generator="Astro",
                    root=content.as_posix(),
                    base_url=_address(f"{address}/{base}" if base else address),
                    evidence=(below / name).as_posix(),
                )
    return None


def _jekyll(folder: Path) -> SiteGuess | None:
    text = _text(folder / "_config.yml")
    if not text:
        return None
    values = _values("_config.yml", text)
    address = _string(values.get("url")).rstrip("/")
    base = _string(values.get("baseurl")).strip("/")
    return SiteGuess(
        generator="Jekyll",
        root=_string(values.get("source")) or ".",
        base_url=_address(f"{address}/{base}" if base else address),
        url_style="html",
        exclude=JEKYLL_EXCLUDE,
        evidence="_config.yml",
    )


def _with_tracks(guess: SiteGuess, folder: Path) -> SiteGuess:
    root = folder / guess.root
    try:
        tracks = sorted(
            path.name
            for path in root.iterdir()
            if path.is_dir()
            and path.name[0] not in "._"
            and path.name not in guess.exclude
            and _has_markdown(path)
        )
    except OSError:
        tracks = []
    return SiteGuess(
        generator=guess.generator,
        root=guess.root,
        base_url=guess.base_url,
        url_style=guess.url_style,
        slugs=guess.slugs,
        tracks=tuple(tracks),
        exclude=guess.exclude,
        evidence=guess.evidence,
    )


def _has_markdown(folder: Path) -> bool:
    try:
        return folder.is_dir() and any(
            next(folder.rglob(f"*{suffix}"), None) for suffix in (".md", ".mdx", ".markdown")
        )
    except OSError:
        return False


def _text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > LONGEST_FILE_BYTES:
            return ""
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ""


def _values(name: str, text: str) -> Mapping[str, Any]:
    try:
        if name.endswith(".toml"):
            return tomllib.loads(text)
        loaded = yaml.load(text, Loader=_Lenient)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


class _Lenient(yaml.SafeLoader):
    """Reads YAML whose tags it does not know, such as MkDocs' ``!!python/name``, as nothing."""


_Lenient.add_multi_constructor("", lambda _loader, _suffix, _node: None)


def _literal(text: str, key: str) -> str:
    pattern = rf"""(?m)(?:^|[\s{{,]){key}\s*:\s*(['"`])([^'"`$\n]*)\1"""
    found = re.search(pattern, re.sub(r"(?m)^\s*//.*$|/\*.*?\*/", "", text))
    return found[2] if found else ""


def _string(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _address(value: object) -> str:
    text = _string(value).rstrip("/")
    return text if re.fullmatch(r"https?://[^\s/]+\S*", text) else ""
