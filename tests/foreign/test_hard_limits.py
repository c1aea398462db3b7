"""Servers with tight limits, and addresses whose password must stay hidden."""

from __future__ import annotations

from contextlib import ExitStack

import psycopg
import pytest

from tests.foreign.conftest import Field
from tests.foreign.server import PASSWORD, ForeignServer
from tests.program import Done

EXTENSION = "CREATE EXTENSION vector"


def test_tight_timeouts_are_named_and_nothing_is_half_written(plain: Field) -> None:
    server = plain.server
    with server.database(owner="itself") as role:
        server.do(role, EXTENSION)
        url = server.url(role, role)
        assert plain.ingest(url).code == 0
        before = _stored(server, role)
        plain.write({"design/02-queues.md": "# Queues\n\nChanged.\n"})
        for setting, told in (
            ("statement_timeout = '1ms'", "statement_timeout = '60s'"),
            ("idle_in_transaction_session_timeout = '1ms'", ""),  # a race: it may pass
            ("lock_timeout = '50ms'", "lock that another session holds"),
        ):
            server.do(role, f"ALTER ROLE {role} SET {setting}")
            with psycopg.connect(server.url(role)) as holder:
                if "lock" in setting:
                    holder.execute("LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE")
                done = plain.ingest(url, "--rebuild")
                if told:
                    assert (done.code, told in done.err) == (4, True), done.err
                    assert "was lost" not in done.err
                assert len(done.err.strip().split("\n")) <= 4, done.err
                holder.rollback()
            if done.code == 4:
                assert _stored(server, role) == before
            server.do(role, f"ALTER ROLE {role} RESET ALL")
        assert plain.ingest(url).code == 0
        assert ("/design/02-queues", "# Queues\n\nChanged.") in _stored(server, role)


def _stored(server: ForeignServer, database: str) -> list[tuple[object, ...]]:
    with server.administer(database) as connection:
        return connection.execute(
            "SELECT p.url, string_agg(c.body, '|' ORDER BY c.position) "
            "FROM pages p LEFT JOIN chunks c ON c.page_id = p.id GROUP BY p.url ORDER BY p.url"
        ).fetchall()


def test_a_server_that_is_full_is_said_to_be_full(plain: Field) -> None:
    server = plain.server

    def requires(done: Done) -> None:
        assert done.code == 4
        assert "turns connections away" in done.err
        assert "no PostgreSQL answers" not in done.err

    with server.database(owner="itself") as role:
        server.do(role, EXTENSION)
        url = server.url(role, role)
        with ExitStack() as held:
            while True:
                try:
                    held.enter_context(psycopg.connect(url))
                except psycopg.OperationalError:
                    break
            requires(plain.ingest(url))
        assert plain.ingest(url).code == 0
        for limit in (f"ROLE {role}", f"DATABASE {role}"):
            server.do("postgres", f"ALTER {limit} CONNECTION LIMIT 0")
            requires(plain.ask(url))
            server.do("postgres", f"ALTER {limit} CONNECTION LIMIT -1")
        server.do("postgres", f"ALTER DATABASE {role} ALLOW_CONNECTIONS false")
        assert "not currently accepting connections" in plain.ask(url).err


WORD = "w0rd"
ADDRESSES = {
    "right, but refused": "postgresql://ann:my-w0rd@{place}/x",
    "a blank in quotes": "host=127.0.0.1 port={port} dbname=x user=ann password = 'my w0rd'",
    "an escaped quote": r"host=127.0.0.1 port={port} dbname=x user=ann password='my\'-w0rd x'",
    "blanks around the sign": "host=127.0.0.1 port={port} dbname=x user=ann password = w0rd",
    "a parameter": "postgresql://{place}/x?user=ann&password=w0rd",
    "an @ in it": "postgresql://ann:my@w0rd@{place}/x",
    "a / in it": "postgresql://ann:my/w0rd@{place}/x",
    "a % in it": "postgresql://ann:my%zzw0rd@{place}/x",
    "a bracket left open": "postgresql://ann:w0rd@[::1/x",
    "another scheme": "http://ann:w0rd@{place}/x",
    "no scheme": "ann:w0rd@{place}/x",
    "the password alone": "w0rd",
    "an unknown name": "host=127.0.0.1 pasword=x password='w0rd",
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_password_stays_hidden_however_wrong_the_address_is(name: str, plain: Field) -> None:
    place = f"127.0.0.1:{plain.server.port}"
    url = ADDRESSES[name].format(place=place, port=plain.server.port)
    commands = (["ask", "Who?", "--debug"], ["db", "status", "--json"])
    for command in commands:
        done = plain_run(plain, url, *command)
        assert WORD not in done.out + done.err, done
        if command[0] == "ask":
            assert done.code != 0


def plain_run(plain: Field, url: str, *arguments: str) -> Done:
    """Run ragctl where ``--debug`` may show a traceback, which is looked through too."""
    from tests.foreign.program import forked

    return forked(
        *arguments,
        environ={"RAGCTL_DATABASE_URL": url, "XDG_CONFIG_HOME": str(plain.folder)},
    )


def test_the_password_is_printed_when_it_is_asked_for(plain: Field) -> None:
    url = plain.server.url("x", "ann")
    shown = plain_run(plain, url, "db", "url").out.strip()
    assert shown == url.replace(f":{PASSWORD}", "")
    assert plain_run(plain, url, "db", "url", "--with-password").out.strip() == url


def test_no_password_is_kept_in_a_trace_or_given_to_a_command_line(plain: Field) -> None:
    server = plain.server
    with server.database(owner="itself") as role:
        server.do(role, EXTENSION)
        url = server.url(role, role)
        assert plain.ingest(url).code == 0
        plain.ask(url)
        dump = plain.folder / "site.dump"
        assert plain.ragctl(url, "db", "dump", str(dump)).code == 0
        assert PASSWORD.encode() not in dump.read_bytes()
        psql = plain.ragctl(url, "db", "psql", "--", "-Atc", "SELECT count(*) FROM traces")
        assert (psql.code, psql.out) == (0, "1\n")
        with server.administer(role) as connection:
            rows = connection.execute("SELECT t::text FROM traces t").fetchall()
        assert PASSWORD not in str(rows)
