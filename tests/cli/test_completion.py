"""What a shell is offered while a command is typed."""

from __future__ import annotations

from pathlib import Path

from tests.program import Program, run_process


def _offered(words: str, incomplete: str) -> list[str]:
    done = run_process(
        environ={
            "_RAGCTL_COMPLETE": "complete_zsh",
            "_TYPER_COMPLETE_ARGS": f"ragctl {words}{incomplete}",
            "COMP_WORDS": f"ragctl {words}{incomplete}",
            "COMP_CWORD": str(len(words.split()) + 1),
        }
    )
    return done.stdout.decode().split('"')[1::2]


def test_commands_are_offered(ragctl: Program) -> None:
    assert any(offer.startswith("ingest") for offer in _offered("", "in"))


def test_tracks_of_the_database_are_offered(ragctl: Program, site: Path) -> None:
    ragctl("ingest", str(site))
    assert "kernel" in _offered("ask x --track ", "k")
    assert "design" in _offered("sources --track ", "")


def test_completion_stays_silent_where_nothing_can_be_known(ragctl: Program) -> None:
    ragctl.set(RAGCTL_DATABASE_URL="postgresql://127.0.0.1:9/x")
    assert _offered("ask x --track ", "k") == []
