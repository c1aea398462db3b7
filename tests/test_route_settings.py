"""The routes of a settings file: what is read, what is refused, and whom a checkout may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.errors import SettingsError
from ragctl.settings import Settings, SettingsFile, read

ROUTE = '[[routes]]\nmodel = "llama3"\n'


def of_checkout(text: str) -> SettingsFile:
    return SettingsFile(path=Path("/site/ragctl.toml"), text=text)


def own(text: str) -> SettingsFile:
    return SettingsFile(path=Path("/home/config.toml"), text=text, is_own=True)


def settings(*files: SettingsFile, **environ: str) -> Settings:
    return read(flags={}, environ=environ, files=files)


def refusal(*files: SettingsFile, **environ: str) -> SettingsError:
    with pytest.raises(SettingsError) as refused:
        settings(*files, **environ)
    return refused.value


def test_routes_are_read_in_order_with_their_defaults_and_units() -> None:
    text = ROUTE + (
        "[[routes]]\n"
        'name = "backup"\nprovider = "openai"\nurl = "http://127.0.0.1:8000/v1/"\nmodel = "m"\n'
        'connect_seconds = "500ms"\nfirst_token_seconds = 5\ntotal_seconds = "1min"\n'
        'api_key_env = "MY_KEY"\nprice_input_per_million = 0.5\nprice_output_per_million = 2\n'
        "prices_read_on = 2026-01-31\n"
    )
    first, second = settings(own(text)).routes
    assert (first.name, first.provider, first.url) == ("ollama/llama3", "ollama", "")
    assert (first.connect_seconds, first.first_token_seconds, first.total_seconds) == (5, 30, 120)
    assert (second.name, second.url) == ("backup", "http://127.0.0.1:8000/v1")
    assert (second.connect_seconds, second.total_seconds) == (0.5, 60)
    assert (second.price_output_per_million, second.prices_read_on) == (2, "2026-01-31")


def test_the_nearer_file_has_all_the_routes_or_none() -> None:
    files = (of_checkout('[[routes]]\nmodel = "a"\n'), own(ROUTE + '[[routes]]\nmodel = "b"\n'))
    found = settings(*files)
    assert [route.model for route in found.routes] == ["a"]
    assert found.origin("routes") == "/site/ragctl.toml"
    assert [route.model for route in settings(of_checkout(""), files[1]).routes] == ["llama3", "b"]
    assert settings().routes == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("routes = 3", ["routes", "[[routes]]"]),
        ("[routes]\nmodel = 'x'", ["routes", "[[routes]]"]),
        ("[[routes]]\nprovider = 'ollama'", ["route 1", "model"]),
        ("[[routes]]\nmodle = 'x'", ["route 1", "modle", "model"]),
        ("[[routes]]\nname = 'a'\nmodel = 'x'\nurll = 'x'", ["route 'a'", "urll", "url"]),
        ("[[routes]]\nmodel = 'x'\nprovider = 'local'", ["provider", "ollama, openai", "'local'"]),
        ("[[routes]]\nmodel = 'x'\nprovider = 'openai'", ["url", "must be given"]),
        ("[[routes]]\nmodel = 'x'\nurl = 'gpubox:11434'", ["url", "http://host:port"]),
        ("[[routes]]\nmodel = 'x'\nurl = 'http://'", ["url", "address"]),
        ("[[routes]]\nmodel = 'x'\nurl = 'http://me:pw@h:1'", ["url", "password"]),
        ("[[routes]]\nmodel = 'x'\nurl = 7", ["url", "text"]),
        ("[[routes]]\nmodel = 'x'\ntotal_seconds = 0", ["total_seconds", "0.01"]),
        ("[[routes]]\nmodel = 'x'\ntotal_seconds = 'soon'", ["total_seconds", "number"]),
        ("[[routes]]\nmodel = 'x'\nconnect_seconds = true", ["connect_seconds", "number"]),
        ("[[routes]]\nmodel = 'x'\nfirst_token_seconds = nan", ["first_token_seconds"]),
        ("[[routes]]\nmodel = 'x'\napi_key = 'sk-secret'", ["api_key", "api_key_env"]),
        ("[[routes]]\nmodel = 'x'\napi_key_env = 'sk-secret-1'", ["api_key_env", "variable"]),
        ("[[routes]]\nmodel = 'x'\nprice_input_per_million = 1", ["price_output_per_million"]),
        ("[[routes]]\nmodel = 'x'\nprices_read_on = 'May'", ["prices_read_on", "2026-01-31"]),
        ("[[routes]]\nmodel = 'x'\n" * 2, ["two routes", "ollama/x", "name"]),
        ("[[routes]]\nmodel = 'x'\n[gateway]\nbudget_seconds = 3", ["budget_seconds", "35"]),
    ],
)
def test_a_mistake_is_told_with_the_file_the_route_and_the_key(text: str, words: list[str]) -> None:
    error = refusal(own(text))
    told = f"{error.message} {error.hint}"
    for word in words:
        assert word in told
    assert "/home/config.toml" in told or "budget" in told
    assert "sk-secret" not in told
    assert "me:pw" not in told


@pytest.mark.parametrize("variable", ["RAGCTL_ROUTES__0", "RAGCTL_ROUTES__MODEL"])
def test_variables_cannot_set_routes(variable: str) -> None:
    error = refusal(**{variable: "x"})
    assert variable in error.message
    assert "[[routes]]" in error.hint


REMOTE = '[[routes]]\nprovider = "openai"\nurl = "https://api.example.org/v1"\nmodel = "m"\n'


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (REMOTE, "route 'openai/m'"),
        ('[[routes]]\nmodel = "m"\nurl = "http://127.0.0.1@api.example.org:80"', "password"),
        ("[ollama]\nurl = 'api.example.org'", "ollama.url"),
        ("[ollama]\nurl = 'http://127.0.0.1.api.example.org'", "127.0.0.1.api.example.org"),
    ],
)
def test_a_checkout_cannot_send_questions_to_a_host_that_its_user_has_not_allowed(
    text: str, what: str
) -> None:
    assert what in refusal(of_checkout(text)).message


def test_the_hint_has_the_line_to_add_and_with_it_the_host_is_allowed() -> None:
    other = own("[gateway]\nallowed_hosts = ['gpubox']")
    error = refusal(of_checkout(REMOTE), other)
    assert "https" not in error.hint
    line = error.hint.partition("\n")[2]
    assert "api.example.org" in line
    assert "gpubox" in line
    assert settings(of_checkout(REMOTE), own(line)).routes
    allowed = {"RAGCTL_GATEWAY__ALLOWED_HOSTS": "API.example.org"}
    assert settings(of_checkout(REMOTE), **allowed).routes


def test_a_checkout_cannot_allow_itself() -> None:
    text = REMOTE + "[gateway]\nallowed_hosts = ['api.example.org']"
    assert "cannot be set in /site/ragctl.toml" in refusal(of_checkout(text)).message


def test_a_checkout_gets_no_key_for_a_host_that_is_not_allowed_not_even_here() -> None:
    text = ROUTE + 'url = "http://127.0.0.1:9999"\napi_key_env = "AWS_SECRET_ACCESS_KEY"\n'
    assert "a key to 127.0.0.1" in refusal(of_checkout(text)).message
    without_url = ROUTE + 'api_key_env = "AWS_SECRET_ACCESS_KEY"\n'
    assert "a key to gpubox" in refusal(of_checkout(without_url), OLLAMA_HOST="gpubox").message
    assert settings(of_checkout(text), own("[gateway]\nallowed_hosts = ['127.0.0.1']")).routes


def test_this_machine_the_environment_and_the_own_file_are_trusted() -> None:
    for url in ("http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "http://0.0.0.0:1"):
        assert settings(of_checkout(f'{ROUTE}url = "{url}"')).routes
    assert settings(own(REMOTE)).routes
    assert settings(of_checkout(""), OLLAMA_HOST="gpubox").ollama.url == "gpubox"
    assert settings(own("[ollama]\nurl = 'gpubox'")).ollama.url == "gpubox"
    overruled = of_checkout("[ollama]\nurl = 'elsewhere'")
    assert settings(overruled, OLLAMA_HOST="gpubox").ollama.url == "gpubox"
