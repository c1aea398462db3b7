"""Whatever a settings file or the environment says, it is taken or refused with a hint."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from ragctl.addresses import host_of, is_loopback, normalise_host, without_password
from ragctl.errors import RagctlError, SettingsError
from ragctl.settings import Settings, SettingsFile, known_settings, read
from tests.fuzz.grammar import INLINES, ODD_CHARACTERS
from tests.fuzz.property import fuzzed, in_time

KEYS = [known.key for known in known_settings()]
VALUES = st.one_of(
    st.sampled_from(
        ["", "1", "-1", "0", "1e999", "nan", "inf", "-inf", "0x10", "1_000", "９", "1.5", "true",
         "no",
         "10s", "5m", "ms", "1e-400", "a,b", ",", "[", "~", "~root/x", "~nobody-there/x", "/",
         "\x00",
         "https://s.example", "http://", "https://[::1", "https://a:99999", "javascript:alert(1)",
         "http://u:p@h", "package.module:Class", "structured", "hybrid", "9" * 5000, "²", "𝟙"]
    ),
    st.integers().map(str),
    st.floats().map(str),
    INLINES,
)  # fmt: skip
TOML_VALUES = st.one_of(
    st.sampled_from(
        ["1", "-1", "1.5", "nan", "inf", "true", "''", "'x'", "[]", "['a']", "[1]", "[[1]]", "{}",
         "{a = 1}", "1979-05-27", "07:32:00", "9" * 30, "9" * 5000, "1e400", "0x1f", "\"\\u0000\"",
         "\"\"\"", "[", "'", "x", "['\\ud800']", "\"~x\"", "\"http://u:p@h/\"", "-0.0", "0o7"]
    ),
    st.integers().map(str),
    VALUES.map(lambda value: "'" + value.replace("'", "").replace("\n", "") + "'"),
)  # fmt: skip
TOML_LINES = st.one_of(
    st.builds(
        lambda key, value: f"[{key.partition('.')[0]}]\n{key.partition('.')[2]} = {value}",
        st.sampled_from(KEYS),
        TOML_VALUES,
    ),
    st.builds(lambda key, value: f"{key} = {value}", st.sampled_from(KEYS), TOML_VALUES),
    st.builds(
        lambda name, key, value: f"[[routes]]\nname = {name}\n{key} = {value}",
        TOML_VALUES,
        st.sampled_from(["kind", "provider", "url", "model", "api_key_env", "total_seconds", "x"]),
        TOML_VALUES,
    ),
    st.sampled_from(
        ["routes = 1", "routes = []", "routes = [1]", "[routes]", "[[routes]]", "[site]",
         "[[site]]",
         "site = 1", "[x]", "a = 1", "# c", "", "]", "[[[", "\ufeff", "\x00", "\r", "a.b.c = 1",
         "[" * 2000, "a = " + "[" * 2000, "a = " + "{a=" * 500]
    ),
    INLINES,
)  # fmt: skip
VARIABLES = st.one_of(
    st.sampled_from(KEYS).map(lambda key: f"RAGCTL_{key.replace('.', '__').upper()}"),
    st.sampled_from(["RAGCTL_X", "RAGCTL___", "RAGCTL_A__B", "RAGCTL_ROUTES__X",
                     "RAGCTL_DATABASE_URL", "OLLAMA_HOST", "RAGCTL_SITE__", "RAGCTL_İ__ß"]),
)  # fmt: skip


@fuzzed(
    st.lists(TOML_LINES, max_size=4).map("\n".join),
    st.booleans(),
    runs=120,
    found=[
        ("a = " + "[" * 2000, True),
        ("a = " + "9" * 5000, True),
        ("[chunking]\nsize = inf", True),
        ("[site]\nbase_url = 'https://[x'", False),
        ('[site]\nbase_url = "https://s.example/\\u001b]0;x"', False),
        ("[site]\ndist = '~nobody-there/x'", True),
        ('[site]\ndist = "\\u0000"', True),
    ],
)
def test_any_file_gives_settings_or_an_error_with_a_hint(text: str, is_own: bool) -> None:
    file = SettingsFile(path=Path("/s/ragctl.toml"), text=text, is_own=is_own)
    with in_time():
        _settings_or_hint(files=(file,))


@fuzzed(st.dictionaries(VARIABLES, VALUES, max_size=3), runs=100)
def test_any_environment_gives_settings_or_an_error_with_a_hint(environ: dict[str, str]) -> None:
    with in_time():
        _settings_or_hint(environ=environ)


@fuzzed(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3), runs=100)
def test_any_flag_gives_settings_or_an_error_with_a_hint(flags: dict[str, object]) -> None:
    _settings_or_hint(flags=flags)


HOSTS = st.lists(
    st.one_of(
        st.sampled_from(
            ["http", "https", "HTTP", "://", ":", "//", "/", "@", "[", "]", "::1", "::", "0.0.0.0",
             "127.0.0.1", "localhost", "a.example", "11434", "99999", "０", "²", "user", "pa:ss",
             "?", "#",
             "%", "\\", "'", '"', " ", "fe80::1%eth0", "ftp", ".", "..", "_", "xn--", "é"]
        ),
        st.sampled_from(ODD_CHARACTERS),
    ),
    max_size=7,
).map("".join)  # fmt: skip


@fuzzed(HOSTS, runs=150, found=[("[@",), ("fe80::1%eth0]",)])
def test_any_host_is_an_address_of_the_web_or_refused(value: str) -> None:
    try:
        address = normalise_host(value)
    except SettingsError as error:
        assert error.hint
        return
    assert address.startswith(("http://", "https://")) and not address.endswith("/")
    assert not any(character.isspace() for character in address)
    host_of(address)
    is_loopback(address)
    shown = without_password(address)
    assert "@" not in shown.partition("//")[2].partition("/")[0]
    if not address.endswith(("'", '"')):  # quotes around a whole address are no part of it
        assert normalise_host(address) == address


def _settings_or_hint(
    *,
    files: tuple[SettingsFile, ...] = (),
    environ: dict[str, str] | None = None,
    flags: dict[str, object] | None = None,
) -> None:
    try:
        settings = read(flags=flags or {}, environ=environ or {}, files=files)
    except RagctlError as error:
        assert isinstance(error, SettingsError)
        assert error.message and error.hint
        return
    assert isinstance(settings, Settings)
    assert settings.site.base_url == "" or settings.site.base_url.startswith(
        ("http://", "https://")
    )
    for known in known_settings():
        section, _, name = known.key.partition(".")
        value = getattr(getattr(settings, section), name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            assert value == value
            assert known.minimum is None or value >= known.minimum
            assert known.maximum is None or value <= known.maximum
