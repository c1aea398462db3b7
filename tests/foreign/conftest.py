"""One foreign server a session, and the program pointed at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.foreign.program import forked
from tests.foreign.server import PASSWORD, ForeignServer, foreign_server
from tests.ollama_server import OllamaServer, chat
from tests.program import PAGES, Done

QUESTION = "How does the token bucket refill?"


@dataclass(slots=True, kw_only=True)
class Field:
    """What every test here has: the server, a content folder, and the program."""

    server: ForeignServer
    folder: Path
    model_url: str
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def site(self) -> Path:
        """The content folder."""
        return self.folder / "content"

    def write(self, pages: dict[str, str]) -> None:
        """Write pages into the content folder; an empty text removes one."""
        for path, text in pages.items():
            file = self.site / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if text:
                file.write_text(text, encoding="utf-8")
            else:
                file.unlink(missing_ok=True)

    def ragctl(self, url: str, *arguments: str, **environ: str) -> Done:
        """Run ragctl on a database; whatever it says, no password and no traceback is in it."""
        done = forked(
            *arguments,
            environ={
                "RAGCTL_DATABASE_URL": url,
                "RAGCTL_DATA_DIR": str(self.folder / "data"),
                "XDG_CONFIG_HOME": str(self.folder / "config"),
                "OLLAMA_HOST": self.model_url,
                **environ,
            },
        )
        for said in (done.out, done.err):
            assert PASSWORD not in said, said
            assert "Traceback" not in said, said
        assert done.code != 70, done.err
        return done

    def ingest(self, url: str, *arguments: str, **environ: str) -> Done:
        """Ingest the content folder."""
        return self.ragctl(url, "ingest", str(self.site), *arguments, **environ)

    def ask(self, url: str, *arguments: str, **environ: str) -> Done:
        """Ask the question that the site answers."""
        return self.ragctl(url, "ask", QUESTION, *arguments, **environ)


@pytest.fixture(scope="session")
def foreign() -> Iterator[ForeignServer]:
    """A server that is not ours, running for the session."""
    with foreign_server() as server:
        yield server


@pytest.fixture(scope="session")
def model() -> Iterator[OllamaServer]:
    """A healthy model server."""
    with OllamaServer() as server:
        server.on("/api/chat", chat("It refills lazily ", "[1]."))
        yield server


@pytest.fixture
def plain(foreign: ForeignServer, model: OllamaServer, tmp_path: Path) -> Field:
    """The small site, the server and the program."""
    made = Field(server=foreign, folder=tmp_path, model_url=model.url)
    made.write(PAGES)
    return made
