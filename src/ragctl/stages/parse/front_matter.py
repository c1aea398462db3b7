"""The metadata block at the head of a page: YAML between ``---``, TOML between ``+++``.

A block counts only from line 1, and only if it is a mapping; anything else between two rules is
text. Broken metadata never costs the page: what can be read line by line is kept.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import yaml

from ragctl.stages.parse.decoding import REPLACEMENT

_KEY_LINE = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?=[ \t]|$)[ \t]*(.*)")
_TOML_LINE = re.compile(r"[\w.\"'-]+[ \t]*=[ \t]*\S|\[.*\]")
_USUAL_KEYS = re.compile(
    r"title|date|draft|published|weight|order|layout|slug|description|authors?|tags|id|categories"
    r"|summary|permalink|sidebar_position|sidebar_label|nav_order|parent"
)
_STRUCTURE = re.compile(r"[ \t]|#|-(?:[ \t]|$)|[\]})]")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The same in C, eight times as fast, where PyYAML was built with it: all of its wheels are."""

_YAML_CHARACTERS_MAX = 65_536
_YAML_BRACKETS_MAX = 1_000
_VALUES_MAX = 10_000
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """What the head of a page gave: ``lines`` is how many lines of the file it takes.

    ``title`` is the title as written (so ``1.10`` stays ``1.10``), empty where there is none;
    ``values`` hold only what JSON can; each remark is a line number and a sentence.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    title: str = ""
    lines: int = 0
    remarks: tuple[tuple[int, str], ...] = ()


_NONE = FrontMatter()


def read_front_matter(lines: list[str]) -> FrontMatter:
    """Return the front matter of a page given as lines; never raises.

    What an escape in it can make and no database can hold becomes U+FFFD, with a remark.
    """
    front = _as_written(lines)
    values = _storable(front.values)
    title = _UNSTORABLE.sub(REPLACEMENT, front.title)
    if values == front.values and title == front.title:
        return front
    remark = (1, "NUL or half a surrogate pair in the front matter replaced by U+FFFD")
    return replace(front, values=values, title=title, remarks=(*front.remarks, remark))


def _as_written(lines: list[str]) -> FrontMatter:
    fence = lines[0].rstrip(" \t")
    if fence == "---":
        closing = _find_line(lines, ("---", "..."))
        return _unclosed_yaml(lines) if closing is None else _yaml_block(lines, closing)
    if fence == "+++":
        closing = _find_line(lines, ("+++",))
        return _unclosed_toml(lines) if closing is None else _toml_block(lines, closing)
    return _NONE


def _find_line(lines: list[str], wanted: tuple[str, ...]) -> int | None:
    for index in range(1, len(lines)):
        if lines[index].startswith(wanted) and lines[index].rstrip(" \t") in wanted:
            return index
    return None


def _yaml_block(lines: list[str], closing: int) -> FrontMatter:
    inner = lines[1:closing]
    if not any(line.strip() for line in inner):
        return FrontMatter(lines=closing + 1) if closing == 1 else _NONE
    loaded = _load_yaml("\n".join(inner))
    if isinstance(loaded, _Loaded):
        if loaded.values is None:
            return _NONE
        title = loaded.title
        return FrontMatter(values=loaded.values, title=title, lines=closing + 1)
    if not _looks_like_metadata(inner):
        return _NONE
    end = closing
    if any(_is_alien(line) for line in inner):  # text has come between: the fence is missing
        end = next((i for i in range(1, closing) if not lines[i].strip()), closing)
    if end != closing:
        return _salvaged(lines[1:end], end, 1, "front matter is never closed")
    return _salvaged(inner, closing + 1, loaded.line, f"front matter is not YAML: {loaded.reason}")


def _unclosed_yaml(lines: list[str]) -> FrontMatter:
    end = next((i for i in range(1, len(lines)) if not lines[i].strip()), len(lines))
    inner = lines[1:end]
    keys = {match[1].casefold() for line in inner if (match := _KEY_LINE.match(line))}
    if not any(map(_USUAL_KEYS.fullmatch, keys)) or any(_is_alien(line) for line in inner):
        return _NONE
    return _salvaged(inner, end, 1, "front matter is never closed")


def _looks_like_metadata(inner: list[str]) -> bool:
    for line in inner:
        if line.strip() and not line.startswith("#"):
            return _KEY_LINE.match(line) is not None
    return False


def _is_alien(line: str) -> bool:
    """Whether a line is neither a key nor part of a value: text, in other words."""
    return bool(line.strip()) and not _KEY_LINE.match(line) and not _STRUCTURE.match(line)


@dataclass(frozen=True, slots=True)
class _Loaded:
    values: dict[str, object] | None
    title: str


@dataclass(frozen=True, slots=True)
class _Failed:
    line: int
    reason: str


def _load_yaml(text: str) -> _Loaded | _Failed:
    if len(text) > _YAML_CHARACTERS_MAX:
        return _Failed(1, f"longer than {_YAML_CHARACTERS_MAX} characters")
    if text.count("[") + text.count("{") > _YAML_BRACKETS_MAX:
        return _Failed(1, f"more than {_YAML_BRACKETS_MAX} brackets")
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            return _Loaded(None, "")
        title = _title_as_written(node)
        return _Loaded(_json_mapping(loader.construct_document(node)), title)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # not by mark.line: to YAML, lines end at U+0085 and U+2028 too
        line = text.count("\n", 0, mark.index) + 2 if mark else 1
        return _Failed(line, error.problem or error.context or "malformed")
    except Exception as error:  # PyYAML lets ValueError, RecursionError and others through
        return _Failed(1, str(error).split("\n")[0] or type(error).__name__)


def _title_as_written(node: yaml.MappingNode) -> str:
    title = ""
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value.casefold() == "title":
            is_text = isinstance(value, yaml.ScalarNode) and value.tag != "tag:yaml.org,2002:null"
            title = _one_line(value.value) if is_text else ""
    return title


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _salvaged(inner: list[str], taken: int, line: int, reason: str) -> FrontMatter:
    """Read each top-level ``key: value`` line by itself; what fails even so is kept as written.

    ``line`` is 1 where the parser did not say what is wrong: then it is the first that fails.
    """
    values: dict[str, object] = {}
    title = ""
    for index, text in enumerate(inner):
        match = _KEY_LINE.match(text)
        if match is None:
            continue
        key, written = match[1], match[2].strip()
        loaded = _load_yaml(f"{key}: {written}")
        if isinstance(loaded, _Loaded) and loaded.values:
            values.update(loaded.values)
            written = loaded.title
        else:
            values[key] = written = written.strip("\"'")
            line = index + 2 if line == 1 else line
        if key.casefold() == "title":
            title = _one_line(written)
    return FrontMatter(values=values, title=title, lines=taken, remarks=((line, reason),))


def _toml_block(lines: list[str], closing: int) -> FrontMatter:
    inner = lines[1:closing]
    try:
        values = _json_mapping(tomllib.loads("\n".join(inner)))
    except Exception as error:  # TOMLDecodeError, and RecursionError for deep nesting
        if not any(_TOML_LINE.match(line) for line in inner):
            return _NONE
        found = re.search(r"at line (\d+)", str(error))
        at = int(found[1]) + 1 if found else 1
        said = str(error).split("\n")[0] or type(error).__name__
        reason = f"front matter is not TOML: {said}"
        return _salvaged_toml(inner, closing + 1, at, reason)
    return FrontMatter(values=values, title=_toml_title(values), lines=closing + 1)


def _unclosed_toml(lines: list[str]) -> FrontMatter:
    end = next((i for i in range(1, len(lines)) if not lines[i].strip()), len(lines))
    inner = lines[1:end]
    if not inner or not all(_TOML_LINE.match(line) for line in inner):
        return _NONE
    return _salvaged_toml(inner, end, 1, "front matter is never closed")


def _salvaged_toml(inner: list[str], taken: int, line: int, reason: str) -> FrontMatter:
    values: dict[str, object] = {}
    for text in inner:
        if text.startswith("["):
            break  # keys of a table are not the page's own
        try:
            values.update(_json_mapping(tomllib.loads(text)))
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            continue
    title = _toml_title(values)
    return FrontMatter(values=values, title=title, lines=taken, remarks=((line, reason),))


def _toml_title(values: Mapping[str, object]) -> str:
    title = next((value for key, value in values.items() if key.casefold() == "title"), "")
    return "" if isinstance(title, dict | list) else _one_line(str(title))


class _Budget:
    """Counts values down, so that aliases that multiply (``&a [*b, *b]``) stay harmless."""

    def __init__(self) -> None:
        self.left = _VALUES_MAX

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0


def _json_mapping(value: object) -> dict[str, object]:
    converted = _json_value(value, _Budget())
    return converted if isinstance(converted, dict) else {}


def _json_value(value: object, budget: _Budget) -> object:
    """Return ``value`` with dates as ISO text, sets as lists, other types as text."""
    if not budget.spend():
        return None
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {_key(key): _json_value(inner, budget) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json_value(inner, budget) for inner in value]
    return str(value)


def _storable(values: Mapping[str, object]) -> dict[str, object]:
    return {_UNSTORABLE.sub(REPLACEMENT, key): _cleaned(inner) for key, inner in values.items()}


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return _UNSTORABLE.sub(REPLACEMENT, value)
    if isinstance(value, dict):
        return _storable(value)
    return [_cleaned(inner) for inner in value] if isinstance(value, list) else value


def _key(key: object) -> str:
    return key.isoformat() if isinstance(key, datetime.date) else str(key)
