"""``ragctl config`` as typed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ragctl.settings import known_settings
from tests.program import Program


def test_every_setting_is_listed_with_where_it_came_from(ragctl: Program) -> None:
    (ragctl.folder / "ragctl.toml").write_text("[retrieval]\nk = 7\n")
    listed = {row["key"]: row for row in ragctl("config", "--json").document["settings"]}
    assert list(listed) == [known.key for known in known_settings()]
    assert listed["retrieval.k"]["value"] == 7
    assert listed["retrieval.k"]["origin"] == str(ragctl.folder / "ragctl.toml")
    assert listed["ollama.url"]["origin"] == "OLLAMA_HOST"
    assert listed["chunking.size"]["origin"] == "default"
    assert "retrieval.k" in ragctl("config").out


def test_a_password_is_never_shown(ragctl: Program) -> None:
    ragctl.set(RAGCTL_DATABASE_URL="postgresql://me:hunter2@h/x")
    assert "hunter2" not in ragctl("config").out + ragctl("config", "--json").out
    assert "hunter2" not in ragctl("config", "get", "database.url").out


def test_get_and_set_work_on_one_setting(ragctl: Program) -> None:
    assert ragctl("config", "set", "generation.stall_seconds", "500ms").code == 0
    assert ragctl("config", "get", "generation.stall_seconds").out == "0.5\n"
    assert ragctl("config", "set", "site.tracks", "design, kernel").code == 0
    assert ragctl("config", "get", "site.tracks", "--json").document["value"] == [
        "design",
        "kernel",
    ]
    assert ragctl("config", "path").out == f"{ragctl.folder / 'ragctl.toml'}\n"


def test_set_keeps_comments_mode_and_all_else(ragctl: Program) -> None:
    file = ragctl.folder / "ragctl.toml"
    file.write_text("# mine\n[site]\nroot = 'content' # here\n")
    file.chmod(0o600)
    below = ragctl.folder / "deep"
    below.mkdir()
    assert ragctl("config", "set", "retrieval.k", "9").code == 0
    text = file.read_text()
    assert text.startswith("# mine\n[site]\nroot = 'content' # here\n")
    assert "k = 9" in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not list(ragctl.folder.glob(".ragctl.toml.*"))


def test_the_users_own_file_is_another_place(ragctl: Program, tmp_path: Path) -> None:
    assert ragctl("config", "set", "--user", "generation.model", "phi4").code == 0
    assert "phi4" in (tmp_path / "config/ragctl/config.toml").read_text()
    assert ragctl("config", "get", "generation.model").out == "phi4\n"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("site.base_ulr", "x", "site.base_url"),
        ("retrieval.k", "many", "whole number"),
        ("retrieval.k", "0", "at least 1"),
        ("generation.stall_seconds", "5 parsecs", "seconds"),
        ("embedding.provider", "oracle", "auto, ollama, local"),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_nothing_written(
    key: str, value: str, words: str, ragctl: Program
) -> None:
    done = ragctl("config", "set", key, value)
    assert done.code == 2
    assert words in done.err
    assert not (ragctl.folder / "ragctl.toml").exists()
    if key == "site.base_ulr":
        assert ragctl("config", "get", key).code == 2


def test_init_writes_a_file_that_works_and_says_what_it_guessed(
    ragctl: Program, site: Path
) -> None:
    (ragctl.folder / "mkdocs.yml").write_text("site_url: https://m.example/\n")
    page = ragctl.folder / "docs/guide/a.md"
    page.parent.mkdir(parents=True)
    page.write_text("A page about locks.\n")
    done = ragctl("config", "init")
    assert done.code == 0
    assert "MkDocs" in done.err
    assert "https://m.example" in done.err
    assert "guide" in done.err
    assert ragctl("config", "get", "site.base_url").out == "https://m.example\n"
    assert ragctl("ingest").code == 0
    again = ragctl("config", "init")
    assert again.code == 2
    assert "--force" in again.err
    assert ragctl("config", "init", "--force").code == 0


def test_init_in_an_empty_folder_says_that_it_guessed_nothing(ragctl: Program) -> None:
    done = ragctl("config", "init")
    assert done.code == 0
    assert "site.root" in done.err
    assert ragctl("config", "get", "site.root").out == "\n"
