"""Fixtures of the command-line tests: a small site, a healthy model server, the program."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer, chat
from tests.program import PAGES, Program


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A small site: two tracks, a landing page, a draft."""
    root = tmp_path / "content"
    for path, text in PAGES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    """A healthy model server that answers every question in the same way."""
    with OllamaServer() as server:
        server.on("/api/chat", chat("It refills lazily ", "[1]."))
        yield server


@pytest.fixture
def ragctl(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    empty_url: str,
    ollama: OllamaServer,
) -> Program:
    """The program, with an empty database and a healthy model server."""
    for name in list(os.environ):
        if name.startswith("RAGCTL_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    program = Program(monkeypatch, capsys, folder)
    program.set(
        RAGCTL_CACHE__ANSWERS="off",  # tests script several answers to one question;
        RAGCTL_CACHE__EMBEDDINGS="off",  # those of the caches turn them on
        RAGCTL_DATABASE_URL=empty_url,
        RAGCTL_DATA_DIR=str(tmp_path / "data"),
        XDG_CONFIG_HOME=str(tmp_path / "config"),
        OLLAMA_HOST=ollama.url,
    )
    return program
