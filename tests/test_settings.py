"""Settings: precedence, kinds, ranges, and errors that name their source."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.errors import SettingsError
from ragctl.settings import Settings, SettingsFile, known_settings, read
from ragctl.wiring import data_directory, load_settings, settings_files


def _file(text: str, path: str = "/site/ragctl.toml") -> SettingsFile:
    return SettingsFile(path=Path(path), text=text)


def test_defaults_are_what_the_owner_fixed() -> None:
    settings = read(flags={}, environ={})
    assert settings == Settings(origins={})
    assert settings.chunking.chunker == "structured"
    assert settings.retrieval.k == 5
    assert settings.embedding.batch_size == 32
    assert (settings.generation.num_ctx, settings.generation.num_predict) == (4096, 512)


def test_flags_win_over_environment_over_the_nearer_file_over_the_farther() -> None:
    files = (_file("[retrieval]\nk = 3"), _file("[retrieval]\nk = 2\n[site]\nname = 'own'", "/u"))
    environ = {"RAGCTL_RETRIEVAL__K": "4"}
    assert read(flags={"retrieval.k": 9}, environ=environ, files=files).retrieval.k == 9
    assert read(flags={"retrieval.k": None}, environ=environ, files=files).retrieval.k == 4
    settings = read(flags={}, environ={}, files=files)
    assert settings.retrieval.k == 3
    assert settings.site.name == "own"
    assert settings.origin("retrieval.k") == "/site/ragctl.toml"
    assert settings.origin("site.name") == "/u"
    assert settings.origin("site.root") == "default"


def test_paths_in_a_file_start_at_its_folder() -> None:
    settings = read(flags={}, environ={}, files=(_file("[site]\nroot = 'content'"),))
    assert settings.site.root == "/site/content"


def test_lists_come_as_lists_in_files_and_with_commas_in_the_environment() -> None:
    files = (_file("[site]\ntracks = ['a', 'b']"),)
    assert read(flags={}, environ={}, files=files).site.tracks == ("a", "b")
    settings = read(flags={}, environ={"RAGCTL_SITE__EXCLUDE": "x/*, y"})
    assert settings.site.exclude == ("x/*", "y")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[site]\nbase_ulr = 'x'", ["site.base_ulr", "site.base_url", "/site/ragctl.toml"]),
        ("[sites]\nname = 'x'", ["sites", "site"]),
        ("name = 'x'", ["name"]),
        ("[retrieval]\nk = 'five'", ["retrieval.k", "whole number", "five"]),
        ("[retrieval]\nk = 2.5", ["retrieval.k", "whole number"]),
        ("[retrieval]\nk = true", ["retrieval.k", "whole number"]),
        ("[retrieval]\nk = 0", ["retrieval.k", "at least 1"]),
        ("[retrieval]\nk = 101", ["retrieval.k", "at most 100"]),
        ("[generation]\nstall_seconds = nan", ["generation.stall_seconds"]),
        ("[embedding]\nprovider = 'oracle'", ["auto, ollama, local"]),
        ("[site]\ntracks = [1]", ["site.tracks", "list of texts"]),
        ("[site]\nname = 7", ["site.name", "text"]),
        ("[site]\nbase_url = 'notaurl'", ["site.base_url", "https://"]),
        ("[site", ["not valid TOML", "/site/ragctl.toml"]),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name_and_source(
    text: str, words: list[str]
) -> None:
    with pytest.raises(SettingsError) as refused:
        read(flags={}, environ={}, files=(_file(text),))
    told = f"{refused.value.message} {refused.value.hint}"
    for word in words:
        assert word in told


def test_a_misspelled_variable_is_refused_and_a_foreign_one_is_not() -> None:
    with pytest.raises(SettingsError, match="RAGCTL_SITE__NAMES"):
        read(flags={}, environ={"RAGCTL_SITE__NAMES": "x"})
    read(flags={}, environ={"RAGCTL_TEST_SHARED": "/x", "OTHER__K": "1", "RAGCTL_DEBUG": "1"})


@pytest.mark.parametrize(
    ("variable", "near"),
    [
        ("RAGCTL_DATABSE_URL", "RAGCTL_DATABASE_URL"),
        ("RAGCTL_DATADIR", "RAGCTL_DATA_DIR"),
        ("RAGCTL_SITE_NAME", "RAGCTL_SITE__NAME"),
    ],
)
def test_a_misspelled_variable_without_a_section_is_refused_too(variable: str, near: str) -> None:
    with pytest.raises(SettingsError, match=variable) as refused:
        read(flags={}, environ={variable: "x"})
    assert near in refused.value.hint


def test_every_setting_says_what_it_means() -> None:
    for known in known_settings():
        assert len(known.about) > 5, known.key


def test_the_nearest_file_upwards_is_read_before_the_users_own(tmp_path: Path) -> None:
    below = tmp_path / "site" / "deep"
    below.mkdir(parents=True)
    (tmp_path / "ragctl.toml").write_text("[retrieval]\nk = 2")
    (tmp_path / "site" / "ragctl.toml").write_text("[retrieval]\nk = 3")
    config = tmp_path / "home/.config/ragctl"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[retrieval]\nk = 4")
    environ = {"HOME": str(tmp_path / "home")}
    found = settings_files(environ, below)
    assert [file.path.parent.name for file in found] == ["site", "ragctl"]
    assert load_settings({}, environ=environ, folder=below).retrieval.k == 3


def test_the_data_directory_follows_the_environment() -> None:
    plain = Settings()
    assert data_directory(plain, {"HOME": "/h"}) == Path("/h/.local/share/ragctl")
    assert data_directory(plain, {"HOME": "/h", "XDG_DATA_HOME": "/x"}) == Path("/x/ragctl")
    own = read(flags={}, environ={"RAGCTL_DATA_DIR": "/own"})
    assert data_directory(own, {"HOME": "/h"}) == Path("/own")
    with pytest.raises(SettingsError, match="no HOME"):
        data_directory(plain, {})
