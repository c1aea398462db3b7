"""JSON documents, one a line, to a file that a user names or to standard output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl.artifacts.storage import encoded_line, write_bytes
from ragctl.errors import UsageError

if TYPE_CHECKING:
    from ragctl.cli.output import Output

OutputFile = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="The file to write; default: standard output."),
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]


def require_new(file: Path | None, *, force: bool) -> None:
    """Raise :class:`~ragctl.errors.UsageError` where a file is there that may not be replaced."""
    if file is not None and file.exists() and not force:
        raise UsageError(
            f"{file} is there already", hint="Give another name, or --force to replace it."
        )


def write_documents(
    documents: Sequence[Mapping[str, object]], file: Path | None, output: Output
) -> str:
    """Write documents and return the place as a remark names it: ``" in FILE"`` or nothing."""
    if file is None:
        output.json_lines(documents)
        return ""
    write_bytes(file, b"".join(encoded_line(dict(document)) for document in documents))
    return f" in {file}"
