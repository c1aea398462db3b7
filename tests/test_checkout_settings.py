"""What a ``ragctl.toml`` that came with a checkout cannot do, and what it still can."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from ragctl.errors import SettingsError
from ragctl.setting_sections import SECTIONS
from ragctl.settings import Settings, SettingsFile, known_settings, read
from ragctl.wiring.stages import make_template

CHECKOUT, OWN = Path("/site/ragctl.toml"), Path("/home/me/.config/ragctl/config.toml")
DATABASE = "[database]\nurl = '{}'"


def settings(checkout: str, own: str = "", **environ: str) -> Settings:
    files = (
        SettingsFile(path=CHECKOUT, text=checkout),
        SettingsFile(path=OWN, text=own, is_own=True),
    )
    return read(flags={}, environ=environ, files=files)


def refusal(checkout: str, own: str = "") -> str:
    with pytest.raises(SettingsError) as refused:
        settings(checkout, own)
    return f"{refused.value.message}\n{refused.value.hint}"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://evil.example/x",
        "postgresql://127.0.0.1,evil.example/x",
        "postgresql://127.0.0.1:5432,evil.example:5432/x",
        "postgresql://me@evil.example:5433/x",
        "postgresql://127.0.0.1/x?host=evil.example",
        "postgresql://127.0.0.1/x?hostaddr=10.1.2.3",
        "postgresql:///x?host=/tmp/evil",
        "postgresql://%2Ftmp%2Fevil/x",
        "postgresql://127.0.0.1?x@evil.example/x",
        "postgresql://127.0.0.1#@evil.example/x",
        "postgresql://127.0.0.1\\\\@evil.example/x",
        "postgresql://[::1]:5432,evil.example/x",
        "postgresql://[2001:db8::1]/x",
        "postgresql://localhost.evil.example/x",
        "postgresql:///x?service=evil",
        "postgresql://127.0.0.1/x?passfile=/site/pgpass",
        "postgresql://127.0.0.1/x?sslkey=/home/me/.ssh/id_rsa",
        "host=evil.example dbname=x",
        "host = evil.example",
        "dbname=x host=127.0.0.1,evil.example",
        "host=127.0.0.1\\\\ host=evil.example",
        "host=/tmp/evil dbname=x",
        "host=@abstract",
        "service=evil",
        "dbname=postgresql://evil.example/x",
        "evil",
    ],
)
def test_a_checkout_cannot_choose_a_database_that_its_user_has_not_allowed(address: str) -> None:
    told = refusal(f'[database]\nurl = "{address}"')
    assert "database.url" in told
    assert "config set --user" in told


@pytest.mark.parametrize(
    "address",
    [
        "",
        "postgresql:///handbook",
        "postgresql://me@localhost:5433/handbook?sslmode=require",
        "postgresql://[::1]:5432/handbook",
        "host=127.0.0.1 dbname=handbook user=me",
    ],
)
def test_a_database_of_this_machine_may_stand_in_a_checkout(address: str) -> None:
    assert settings(DATABASE.format(address)).database.url == address


def test_a_host_that_the_user_allows_may_stand_in_a_checkout() -> None:
    own = "[gateway]\nallowed_hosts = ['db.example.org', '/run/postgresql', '2001:db8::1']"
    for address in (
        "postgresql://db.example.org/x",
        "host=/run/postgresql",
        "postgresql://[2001:db8::1]:5432/x",
    ):
        assert settings(DATABASE.format(address), own).database.url == address


def test_what_overrules_a_checkout_is_not_laid_at_its_door() -> None:
    url = "postgresql://db.example.org/x"
    found = settings(DATABASE.format("postgresql://evil.example/x"), RAGCTL_DATABASE_URL=url)
    assert found.database.url == url
    assert settings("", DATABASE.format(url)).database.url == url


@pytest.mark.parametrize(
    "text",
    [
        DATABASE.format("postgresql://me:hunter22@127.0.0.1/x"),
        DATABASE.format("postgresql:///x?password=hunter22"),
        DATABASE.format("host=127.0.0.1 password=hunter22"),
        DATABASE.format("host=127.0.0.1 sslpassword=hunter22"),
        DATABASE.format("postgresql://me:hunter22@127.0.0.1?x@y/x"),
        "[ollama]\nurl = 'http://me:hunter22@127.0.0.1:11434'",
        "[ollama]\nurl = 'me:hunter22@127.0.0.1'",
        "[embedding]\nprovider = 'openai'\nurl = 'http://hunter22@127.0.0.1/v1'",
        "[embedding]\nfallback_urls = ['http://127.0.0.1', 'http://me:hunter22@127.0.0.1']",
        "[embedding]\napi_key_env = 'sk-hunter22'",
        "[embedding]\napi_key = 'hunter22'",
        "[[routes]]\nmodel = 'm'\napi_key = 'hunter22'",
        "[[routes]]\nmodel = 'm'\napi_key_env = 'sk-hunter22'",
        "[[routes]]\nmodel = 'm'\nurl = 'http://me:hunter22@127.0.0.1:1'",
        "[site]\nbase_url = 'https://me:hunter22@site.example'",
    ],
)
def test_a_checkout_holds_no_secret_and_the_refusal_does_not_repeat_it(text: str) -> None:
    assert "hunter22" not in refusal(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[database]\ndata_dir = 'data'", "can run programs"),
        ("[gateway]\nallowed_hosts = ['*']", "cannot allow itself"),
        ("[generation]\nprompt = '/etc/passwd'", "outside /site"),
        ("[generation]\nprompt = '../../home/me/.ssh/id_rsa'", "outside /site"),
        ("[generation]\nprompt = '~/.ssh/id_rsa'", "outside /site"),
    ],
)
def test_a_checkout_names_no_place_of_its_users(text: str, words: str) -> None:
    assert words in refusal(text)
    with pytest.raises(SettingsError):
        settings(text, "[gateway]\nallowed_hosts = ['x']")
    assert settings("", text)


def test_a_template_beside_the_settings_file_may_be_named() -> None:
    assert settings("[generation]\nprompt = 'prompts/own.txt'").generation.prompt == (
        "/site/prompts/own.txt"
    )


def test_what_its_user_has_set_for_all_sites_no_checkout_undoes() -> None:
    loose = (
        "[checks]\nblock = []\nallowed_hosts = ['evil.example']\nstrict_citations = false\n"
        "[limits]\nquestions_per_minute = 0\nuser = 'somebody'\n[traces]\nrecord = 'on'\n"
    )
    strict = (
        "[checks]\nblock = ['secret']\nallowed_hosts = ['mine.example']\nstrict_citations = true\n"
        "[limits]\nquestions_per_minute = 9\nuser = 'me'\n[traces]\nrecord = 'off'\n"
    )
    found = settings(loose, strict)
    assert found.checks.block == ("secret",)
    assert found.checks.allowed_hosts == ("mine.example",)
    assert found.checks.strict_citations
    assert (found.limits.questions_per_minute, found.limits.user) == (9, "me")
    assert found.traces.record == "off"
    assert found.origin("checks.block") == str(OWN)
    assert settings(loose).traces.record == "on"
    assert settings(loose, strict, RAGCTL_TRACES__RECORD="numbers").traces.record == "numbers"


def test_no_number_goes_beyond_what_a_timer_a_database_or_a_model_takes() -> None:
    for known in known_settings():
        if known.kind in (int, float):
            section, _, name = known.key.partition(".")
            # A size that is too small is refused by its chunker, together with the overlap.
            below = () if known.key == "chunking.size" else ("-1e9",)
            for value in ("inf", "1e300", "9" * 30, *below):
                assert f"{known.key} must be" in refusal(f"[{section}]\n{name} = {value}"), known


def test_every_setting_that_names_a_host_or_a_place_to_write_to_is_thought_of() -> None:
    """A new one fails here until somebody has decided what a checkout may say with it."""
    names = {f"{section}.{each.name}" for section, cls in SECTIONS.items() for each in fields(cls)}
    named = {one for one in names if one.endswith(("url", "urls", "hosts", "dir", "dist", "root"))}
    assert named == {
        "site.base_url",  # where links lead: http and https alone
        "site.root",  # read, never written
        "site.dist",  # read, never written
        "database.url",
        "database.data_dir",
        "ollama.url",
        "embedding.url",
        "embedding.fallback_urls",
        "gateway.allowed_hosts",
        "checks.allowed_hosts",  # what answers may name; nothing is sent there
    }


@pytest.mark.parametrize(
    "address",
    [
        *("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//evil.example"),
        *("https://site.example@evil.example", "https://me:x@evil.example", "https://a\\\\b"),
        *("https://a\\u001b]8;;x", "https://a b", 'https://a/"><script>', "ftp://site.example"),
    ],
)
def test_the_address_of_the_site_is_one_of_the_web(address: str) -> None:
    quoted = address.replace('"', '\\"')
    assert "site.base_url must be" in refusal(f'[site]\nbase_url = "{quoted}"')


def test_no_link_leads_a_template_out_of_a_checkout(tmp_path: Path) -> None:
    checkout, outside = tmp_path / "site", tmp_path / "secret.txt"
    checkout.mkdir()
    outside.write_text("{passages} {question} secret")
    (checkout / "prompt.txt").symlink_to(outside)
    file = SettingsFile(
        path=checkout / "ragctl.toml", text='[generation]\nprompt = "prompt.txt"', is_own=False
    )
    with pytest.raises(SettingsError, match="leads to a file outside"):
        make_template(read(flags={}, environ={}, files=(file,)))
    (checkout / "prompt.txt").unlink()
    (checkout / "prompt.txt").write_text("{passages} {question}")
    assert make_template(read(flags={}, environ={}, files=(file,))).text
