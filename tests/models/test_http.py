from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from ragctl.addresses import is_loopback, normalise_host, without_password
from ragctl.errors import ModelError, ModelReplyError, ModelUnreachable, SettingsError
from ragctl.models.http import (
    ConnectionLost,
    HttpServer,
    TimedOut,
)
from tests.ollama_server import OllamaServer, Reply

PROXY_VARIABLES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXY_VARIABLES, *(name.lower() for name in PROXY_VARIABLES)):
        monkeypatch.delenv(name, raising=False)


def server_at(url: str, *, connect_seconds: float = 1.0) -> HttpServer:
    return HttpServer(url, connect_seconds=connect_seconds, server="Ollama", hint="ollama serve")


@contextmanager
def no_thread_is_left() -> Iterator[None]:
    """Require that threads of the block end soon, those of the model server included."""
    before = threading.active_count()
    yield
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("  ", "http://127.0.0.1:11434"),
        ("gpubox", "http://gpubox:11434"),
        ("gpubox:8080", "http://gpubox:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000"),
        ("http://0.0.0.0:9000/", "http://127.0.0.1:9000"),
        ("http://gpubox", "http://gpubox:80"),
        ("https://gpubox", "https://gpubox:443"),
        ("HTTPS://gpubox:8443/", "https://gpubox:8443"),
        ("http://", "http://127.0.0.1:80"),
        ("[::1]:11434", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("::1", "http://[::1]:11434"),
        ("[::]:9000", "http://[::1]:9000"),
        ("http://[fe80::1]", "http://[fe80::1]:80"),
        ("gpubox:8080/", "http://gpubox:8080"),
        ("https://models.example.org/ollama/", "https://models.example.org:443/ollama"),
        ("'gpubox:1'", "http://gpubox:1"),
        (' "http://gpubox:1" ', "http://gpubox:1"),
        ("http://me:secret@gpubox:1", "http://me:secret@gpubox:1"),
    ],
)
def test_every_form_of_the_host_variable_gives_an_address(value: str, url: str) -> None:
    assert normalise_host(value) == url
    assert normalise_host(url) == url


@pytest.mark.parametrize(
    "value",
    [
        "ftp://gpubox",
        "gpubox:http",
        "gpubox:0",
        "gpubox:70000",
        "gpubox:١",
        "gpubox?x=1",
        "gpu box",
        "http://a b:1",
        "[::1",
        "[::1]x",
        "1:2:3",
    ],
)
def test_a_malformed_host_is_refused_by_name(value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        normalise_host(value)
    assert value in caught.value.message


def test_a_malformed_host_is_shown_without_its_password() -> None:
    with pytest.raises(SettingsError) as caught:
        normalise_host("http://me:secret@gpu box")
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:1", True),
        ("http://127.8.9.10:1", True),
        ("http://localhost:1", True),
        ("http://LOCALHOST.:1", True),
        ("http://models.localhost", True),
        ("http://[::1]:1", True),
        ("http://[::ffff:127.0.0.1]:1", True),
        ("http://10.0.0.1:1", False),
        ("http://localhost.example.org", False),
        ("http://gpubox:1", False),
    ],
)
def test_loopback_addresses_are_told_apart(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback


@pytest.mark.parametrize(
    ("variables", "host"),
    [
        ({"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}, "127.0.0.1"),
        ({"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "elsewhere"}, "127.0.0.1"),
        ({"HTTP_PROXY": "http://127.0.0.1:9"}, "localhost"),
        ({"ALL_PROXY": "socks5h://127.0.0.1:9"}, "127.0.0.1"),
        ({"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "[::1]"}, "127.0.0.1"),
        ({"HTTP_PROXY": "not a proxy"}, "127.0.0.1"),
    ],
)
def test_a_loopback_call_never_uses_a_proxy(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], host: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with OllamaServer() as ollama:
        reply = server_at(f"http://{host}:{ollama.port}").request(
            "GET", "/api/version", timeout_seconds=2
        )
    assert reply.status == 200
    assert ollama.requests[0].target == "/api/version"


def test_another_host_is_called_through_the_proxy_without_looking_its_name_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with OllamaServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        reply = server_at("http://models.invalid:11434").request(
            "GET", "/api/version", timeout_seconds=2
        )
    assert reply.status == 200
    assert proxy.requests[0].target == "http://models.invalid:11434/api/version"


def test_a_host_named_in_no_proxy_is_called_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    with OllamaServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "models.invalid")
        with pytest.raises(ModelUnreachable):
            server_at("http://models.invalid:11434").request("GET", "/", timeout_seconds=2)
    assert not proxy.requests


@pytest.mark.parametrize(
    ("variable", "proxy"),
    [
        ("HTTP_PROXY", "http://me:secret@127.0.0.1:9"),
        ("ALL_PROXY", "socks5h://me:secret@127.0.0.1:9"),
        ("HTTP_PROXY", "http://me:secret@:::"),
    ],
)
def test_a_proxy_that_fails_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str
) -> None:
    monkeypatch.setenv(variable, proxy)
    with pytest.raises(ModelUnreachable) as caught:
        server_at("http://models.invalid:11434").request("GET", "/", timeout_seconds=2)
    assert variable in caught.value.message
    assert "secret" not in caught.value.message + caught.value.hint
    assert caught.value.__cause__ is not None


def test_a_proxy_that_answers_with_an_error_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with OllamaServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        proxy.on("/api/version", Reply(status=403, raw=b"<html><b>No\nway</b></html>"))
        server = server_at("http://models.invalid:11434")
        error = server.refusal(server.request("GET", "/api/version", timeout_seconds=2))
    assert "HTTP_PROXY" in error.message
    assert "\n" not in error.message


def test_no_server_gives_one_line_with_what_to_do() -> None:
    with OllamaServer() as ollama:
        url = ollama.url
    with pytest.raises(ModelUnreachable) as caught:
        server_at(url).request("GET", "/", timeout_seconds=2)
    assert url in caught.value.message
    assert caught.value.hint == "ollama serve"
    assert not isinstance(caught.value, ConnectionLost)


def test_a_reset_before_the_reply_is_a_lost_connection() -> None:
    with OllamaServer() as ollama:
        ollama.on("/api/version", Reply(end="reset"))
        with pytest.raises(ConnectionLost) as caught:
            server_at(ollama.url).request("GET", "/api/version", timeout_seconds=2)
    assert caught.value.__cause__ is not None


def test_a_silent_server_is_left_when_its_time_is_up() -> None:
    with OllamaServer() as ollama:
        ollama.on("/api/version", Reply(end="hang"))
        with pytest.raises(TimedOut):
            server_at(ollama.url).request("GET", "/api/version", timeout_seconds=0.1)


@pytest.mark.parametrize("chunked", [True, False])
def test_a_server_that_drips_is_left_when_its_time_is_up(chunked: bool) -> None:
    with OllamaServer() as ollama:
        ollama.on("/api/version", Reply(packets=[b" "] * 100, gap_seconds=0.02, chunked=chunked))
        with pytest.raises(TimedOut):
            server_at(ollama.url).request("GET", "/api/version", timeout_seconds=0.2)
        assert ollama.left.wait(1)


@pytest.mark.parametrize("packets", [None, [b'{"version": ']])
def test_a_head_or_an_end_that_comes_byte_by_byte_is_left_when_its_time_is_up(
    packets: list[bytes] | None,
) -> None:
    with OllamaServer() as ollama, no_thread_is_left():
        ollama.on("/api/version", Reply(packets=packets, end="slow"))
        with pytest.raises(TimedOut):
            server_at(ollama.url).request("GET", "/api/version", timeout_seconds=0.2)


def test_a_stream_whose_head_comes_byte_by_byte_is_left_and_leaves_no_thread() -> None:
    with OllamaServer() as ollama, no_thread_is_left():
        ollama.on("/x", Reply(end="slow"))
        slow = server_at(ollama.url).stream("/x", body={}, first_byte_seconds=0.1)
        with pytest.raises(TimedOut), slow:
            pytest.fail("it never began")


def test_a_stream_whose_end_comes_byte_by_byte_is_left_and_leaves_no_thread() -> None:
    with OllamaServer() as ollama, no_thread_is_left():
        ollama.on("/x", Reply(packets=[b"a"], end="slow"))
        with server_at(ollama.url).stream("/x", body={}, first_byte_seconds=1) as stream:
            assert stream.read(timeout_seconds=1) == b"a"
            with pytest.raises(TimedOut):
                stream.read(timeout_seconds=0.2)


def test_a_body_shorter_than_announced_is_a_lost_connection() -> None:
    with OllamaServer() as ollama:
        short = Reply(packets=[b"{}"], chunked=False, headers={"Content-Length": "10"})
        ollama.on("/api/version", short)
        with pytest.raises(ConnectionLost):
            server_at(ollama.url).request("GET", "/api/version", timeout_seconds=1)


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"[1]", b"", b"{", b"[" * 100_000])
def test_a_reply_that_is_no_json_object_is_refused(body: bytes) -> None:
    with OllamaServer() as ollama:
        ollama.on("/api/version", Reply(raw=body))
        reply = server_at(ollama.url).request("GET", "/api/version", timeout_seconds=2)
    with pytest.raises(ModelReplyError) as caught:
        reply.json_object()
    assert caught.value.hint


def test_a_redirect_is_reported_and_not_followed() -> None:
    with OllamaServer() as ollama:
        ollama.on("/old", Reply(status=301, raw=b"", headers={"Location": "/api/version"}))
        server = server_at(ollama.url)
        reply = server.request("POST", "/old", body={}, timeout_seconds=2)
    assert reply.status == 301
    assert isinstance(server.refusal(reply), ModelError)
    assert len(ollama.requests) == 1


def test_an_address_is_shown_without_user_and_password() -> None:
    assert without_password("http://me:se@cret@gpubox:1/x") == "http://gpubox:1/x"
    assert "secret" not in server_at("http://me:secret@gpubox:1").shown_url


@pytest.mark.parametrize(
    "endless",
    [b"HTTP/1.1 100 Continue\r\n\r\n", b"X"],
    ids=["interim replies", "a head byte by byte"],
)
@pytest.mark.parametrize("streams", [True, False])
def test_a_head_that_never_ends_is_left_when_its_time_is_up(endless: bytes, streams: bool) -> None:
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def send_for_ever() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                while not is_over.wait(0.005):
                    connection.sendall(endless)

        sending = threading.Thread(target=send_for_ever, daemon=True)
        sending.start()
        server = server_at(f"http://127.0.0.1:{listening.getsockname()[1]}")
        with pytest.raises(TimedOut):
            if streams:
                with server.stream("/x", body={}, first_byte_seconds=0.1):
                    pass
            else:
                server.request("POST", "/x", body={}, timeout_seconds=0.2)
        is_over.set()
        sending.join(timeout=2)
