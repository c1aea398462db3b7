"""Parsers, chunkers and links by the words of the settings.

They are imported where they are chosen: a command that neither parses nor cuts must not pay for
loading a markdown parser.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ragctl.errors import SettingsError
from ragctl.records.links import LinkStyle
from ragctl.wiring.places import SETTINGS_NAME

if TYPE_CHECKING:
    from ragctl.protocols import Chunker, Parser
    from ragctl.records.pages import UrlStyle
    from ragctl.settings import Settings
    from ragctl.stages.template import Template


def make_parser(settings: Settings) -> Parser:
    """Return the parser of the settings.

    Raises :class:`~ragctl.errors.SettingsError` for anchors by unknown rules.
    """
    from ragctl.stages.parse import MarkdownParser
    from ragctl.stages.parse.sluggers import SLUGGERS

    slugs = settings.site.slugs
    slugger = SLUGGERS.get(slugs)
    if slugger is None and ":" not in slugs:
        raise SettingsError(
            f"unknown rule of anchors {slugs!r} ({settings.origin('site.slugs')})",
            hint=f"site.slugs: {', '.join(SLUGGERS)}, or package.module:Class.",
        )
    if slugger is None:
        slugger = _own_class(settings, "site.slugs", slugs)
        _require_slugger(slugger, slugs)
    return MarkdownParser(slugs=slugs, slugger=slugger)


def _require_slugger(slugger: Callable[[], object], name: str) -> None:
    try:
        made = slugger()
    except Exception as error:
        raise SettingsError(
            f"{name} cannot be made: {type(error).__name__}: {error}",
            hint="site.slugs: the class is called without arguments, once a page.",
        ) from error
    if not all(callable(getattr(made, verb, None)) for verb in ("slug", "take")):
        raise SettingsError(
            f"{name} is no slugger", hint="It needs the methods of ragctl.protocols.Slugger."
        )


def _own_class(settings: Settings, key: str, name: str) -> Callable[[], Any]:
    """Return a class named as ``package.module:Class``.

    Naming one runs its module, so it is refused from a ``ragctl.toml``: that file may have come
    with a checkout of somebody else's site.
    """
    origin = settings.origin(key)
    if Path(origin).name == SETTINGS_NAME:
        raise SettingsError(
            f"{key} names a class, {name!r}, in {origin}: code is not taken from there",
            hint=f"Set it in your own config.toml, or as RAGCTL_{key.upper().replace('.', '__')}.",
        )
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise SettingsError(
            f"{key}: {name!r} cannot be imported: {type(error).__name__}: {error}",
            hint="It must be importable where ragctl is installed, as package.module:Class.",
        ) from error
    if not callable(found):
        raise SettingsError(f"{key}: {name!r} is no class", hint="Name it package.module:Class.")
    return cast("Callable[[], Any]", found)


def link_style(settings: Settings) -> LinkStyle:
    """Return where links of the site point, and in which form."""
    url_style = cast("UrlStyle", settings.site.url_style)
    return LinkStyle(base_url=settings.site.base_url, url_style=url_style)


def prompt_budget(settings: Settings, *, token_ratio: float = 1.0) -> int:
    """Return how long a prompt may be, in tokens of our own count.

    That is the setting ``generation.prompt_tokens``, and never more than the model's window holds
    beside the answer, a tenth of it kept free. ``token_ratio`` is how many tokens the server has
    counted for one of ours.
    """
    generation = settings.generation
    window = generation.num_ctx - generation.num_predict
    return max(1, min(generation.prompt_tokens, int(window * 0.9 / token_ratio)))


def _require_own_place(template: Path, origin: str) -> None:
    """Refuse a template that a link leads out of a checkout: its text is sent to a model."""
    folder = Path(origin).resolve().parent
    if Path(origin).name == SETTINGS_NAME and not template.resolve().is_relative_to(folder):
        raise SettingsError(
            f"generation.prompt in {origin} leads to a file outside {folder}",
            hint="Move the template beside the settings file, or set it in your own config.toml.",
        )


def make_template(settings: Settings) -> Template:
    """Return the prompt template of the settings: one that ships, or that of a file.

    Raises :class:`~ragctl.errors.SettingsError` where it cannot be used; one whose own text leaves
    the passages no room is over-long.
    """
    from ragctl.prompts import SHIPPED, read_template, shipped
    from ragctl.stages.tokens import estimated_tokens

    prompt = settings.generation.prompt
    if prompt in SHIPPED:
        return shipped(prompt)
    if not prompt:
        raise SettingsError(
            f"generation.prompt is empty ({settings.origin('generation.prompt')})",
            hint=f"It is {', '.join(SHIPPED)}, or the path of a file.",
        )
    _require_own_place(Path(prompt), settings.origin("generation.prompt"))
    template = read_template(Path(prompt))
    tokens, budget = estimated_tokens(template.text), prompt_budget(settings)
    if tokens > budget // 2:
        raise SettingsError(
            f"the prompt {prompt} is over-long: about {tokens:,} tokens, more than half of the "
            f"{budget:,} that a prompt may have",
            hint="Shorten it, or raise generation.prompt_tokens.",
        )
    return template


def make_chunker(settings: Settings) -> Chunker:
    """Return the chunker of the settings; a size that was not set is the chunker's own.

    Raises :class:`~ragctl.errors.SettingsError` naming size and overlap where they cannot work.
    """
    from ragctl.stages.chunk.fixed import FixedChunker
    from ragctl.stages.chunk.structured import StructuredChunker
    from ragctl.stages.chunk.window import WindowChunker

    chunking = settings.chunking
    given = {
        name: value
        for name, value in (("size", chunking.size), ("overlap", chunking.overlap))
        if settings.origin(f"chunking.{name}") != "default"
    }
    if chunking.chunker == "fixed":
        return FixedChunker(**given)
    if chunking.chunker == "window":
        return WindowChunker(**given)
    if chunking.size < 1 or not 0 <= chunking.overlap < chunking.size:
        raise SettingsError(
            f"passages of size {chunking.size} with overlap {chunking.overlap} cannot be cut",
            hint="chunking.size must be at least 1, chunking.overlap at least 0 and smaller.",
        )
    return StructuredChunker(size=chunking.size)
