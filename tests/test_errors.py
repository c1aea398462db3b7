"""Every error that a user may meet says what to do next."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ragctl import errors

_SOURCES = Path(errors.__file__).parent
_CLASSES = {
    name: found
    for name, found in vars(errors).items()
    if isinstance(found, type) and issubclass(found, errors.RagctlError)
}


def _without_hint(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        made = _CLASSES.get(node.func.id)
        named = [keyword.arg for keyword in node.keywords]
        if made is not None and not made.usual_hint and not {"hint", None} & set(named):
            yield f"{file.relative_to(_SOURCES)}:{node.lineno}: {node.func.id}"


def test_every_error_says_what_to_do_next() -> None:
    files = sorted(_SOURCES.rglob("*.py"))
    assert len(files) > 100
    assert [place for file in files for place in _without_hint(file)] == []


def test_a_hint_of_its_own_goes_before_that_of_the_class() -> None:
    assert errors.ModelReplyError("no").hint == errors.ModelReplyError.usual_hint != ""
    assert errors.ModelReplyError("no", hint="this").hint == "this"
