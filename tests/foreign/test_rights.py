"""Roles without power, extensions in odd places, encodings, servers that only read."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ragctl.cli.demo import handbook
from tests.foreign.conftest import Field
from tests.foreign.server import PASSWORD, ForeignServer, free_port, own, running

EXTENSION = "CREATE EXTENSION vector"
READER = (
    f"CREATE ROLE {{role}}_reader LOGIN PASSWORD '{PASSWORD}'",
    "GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}_reader",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A database that cannot be ingested into, what is said, and what mends it."""

    before: tuple[str, ...] = ()
    owner: str = "itself"
    options: str = ""
    said: tuple[str, ...]
    mended_by: tuple[str, ...] = field(default=())


UNSUITABLE = {
    "no CREATE on the schema": Case(
        owner="postgres",
        before=(EXTENSION,),
        said=("may not make tables in schema public", "GRANT USAGE, CREATE ON SCHEMA"),
        mended_by=('GRANT USAGE, CREATE ON SCHEMA "public" TO "{role}"',),
    ),
    "no USAGE on the schema": Case(
        owner="postgres",
        before=(EXTENSION, "REVOKE ALL ON SCHEMA public FROM PUBLIC"),
        said=("may not use schema public", 'GRANT USAGE ON SCHEMA "public"'),
        mended_by=('GRANT USAGE, CREATE ON SCHEMA "public" TO "{role}"',),
    ),
    "an extension that the role may not make": Case(
        said=('permission denied to create extension "vector"', EXTENSION),
        mended_by=(EXTENSION,),
    ),
    "an extension in a schema that is not searched": Case(
        before=(
            "CREATE SCHEMA extensions",
            f"{EXTENSION} SCHEMA extensions",
            "GRANT USAGE ON SCHEMA extensions TO {role}",
        ),
        said=("lies in schema extensions", 'SET search_path = public, "extensions"'),
        mended_by=(
            'ALTER ROLE "{role}" IN DATABASE "{role}" SET search_path = public, "extensions"',
        ),
    ),
    "an extension in a schema that the role may not use": Case(
        before=(
            "CREATE SCHEMA extensions",
            f"{EXTENSION} SCHEMA extensions",
            "ALTER ROLE {role} SET search_path = public, extensions",
        ),
        said=("may not use schema extensions", 'GRANT USAGE ON SCHEMA "extensions" TO'),
        mended_by=('GRANT USAGE ON SCHEMA "extensions" TO "{role}"',),
    ),
    "an encoding that cannot hold the text": Case(
        options="ENCODING 'LATIN1' LOCALE 'C'",
        before=(EXTENSION,),
        said=("has encoding LATIN1", "--encoding=UTF8"),
    ),
    "transactions that only read": Case(
        before=(EXTENSION, "ALTER ROLE {role} SET default_transaction_read_only = on"),
        said=("is read-only", "default_transaction_read_only"),
        mended_by=("ALTER ROLE {role} RESET default_transaction_read_only",),
    ),
}


@pytest.mark.parametrize("name", UNSUITABLE)
def test_an_unsuitable_database_is_told_with_what_mends_it_and_gets_no_table(
    name: str, plain: Field
) -> None:
    case, server = UNSUITABLE[name], plain.server
    with server.database(owner=case.owner, options=case.options) as role:
        server.do(role, *(command.format(role=role) for command in case.before))
        url = server.url(role, role)
        done = plain.ingest(url)
        assert done.code == 4, done
        for text in case.said:
            assert text in done.err
        with server.administer(role) as connection:
            count = "SELECT count(*) FROM pg_class WHERE relname IN ('pages', 'schema_migrations')"
            assert connection.execute(count).fetchone() == (0,)
        if case.mended_by:
            server.do(role, *(command.format(role=role) for command in case.mended_by))
            assert plain.ingest(url).code == 0
            assert "It refills lazily [1]." in plain.ask(url).out


def test_doctor_sees_beforehand_that_the_tables_cannot_be_made(plain: Field) -> None:
    with plain.server.database(owner="postgres") as role:
        done = plain.ragctl(plain.server.url(role, role), "doctor")
    assert done.code == 1
    assert "may not make tables in schema public" in done.out


def test_a_database_without_an_encoding_holds_every_script(plain: Field) -> None:
    text = "Die Größe der Straße ist 日本語, naïve."
    plain.write({"kernel/12-more.md": f"# Größe 日本語\n\n{text}\n"})
    with plain.server.database(owner="itself", options="ENCODING 'SQL_ASCII' LOCALE 'C'") as role:
        plain.server.do(role, EXTENSION)
        url = plain.server.url(role, role)
        assert plain.ingest(url).code == 0
        found = plain.ragctl(url, "search", "Größe 日本語", "--mode", "keyword")
        assert text in found.out
        assert plain.ragctl(url, "ask", "Wie ist die Größe der Straße?").code == 0
        assert "Größe der Straße" in plain.ragctl(url, "trace", "show", "last").out


def test_a_reader_reads_and_is_told_which_rights_an_ingest_needs(plain: Field) -> None:
    server = plain.server
    with server.database(owner="itself") as role:
        server.do(role, EXTENSION)
        assert plain.ingest(server.url(role, role)).code == 0
        server.do(role, *(command.format(role=role) for command in READER))
        url = server.url(role, f"{role}_reader")
        asked = plain.ask(url)
        assert asked.code == 0
        assert "Not recorded: traces cannot be written with these rights." in asked.err
        for command in (["search", "token bucket"], ["sources"], ["show", "/design/01-buckets"]):
            assert plain.ragctl(url, *command).code == 0
        plain.write({"design/02-queues.md": "# Queues\n\nChanged.\n"})
        refused = plain.ingest(url)
        assert refused.code == 4
        assert "lacks rights to ingest: INSERT on chunks" in refused.err
        assert "Embedding" not in refused.err
        grants = re.search("Let the owner of the tables run: (.*)", refused.err)
        assert grants is not None
        server.do(role, *grants[1].split("; "))
        assert plain.ingest(url).code == 0
        assert plain.ingest(url, "--rebuild").code == 0
        server.do(role, f"DROP OWNED BY {role}_reader", f"DROP ROLE {role}_reader")


def test_tables_out_of_reach_are_not_taken_for_an_empty_database(plain: Field) -> None:
    server = plain.server
    with server.database(owner="itself") as role:
        server.do(role, EXTENSION)
        url = server.url(role, role)
        assert plain.ingest(url).code == 0
        server.do(role, f"ALTER ROLE {role} SET search_path = ''")
        done = plain.ask(url)
    assert done.code == 4
    assert "the tables of ragctl lie in schema public" in done.err


def test_the_documented_roles_have_just_the_rights_they_need(plain: Field) -> None:
    page = (handbook() / "operate/11-team.md").read_text(encoding="utf-8")
    scripts = re.findall(r"(?ms)^psql \"\S+/(\w+)\" <<'SQL'\n(.*?)^SQL$", page)
    assert len(scripts) >= 5
    roles = ("handbook_writer", "handbook_ingest", "handbook_reader")
    server = plain.server
    has_tables = False
    try:
        for database, script in scripts:
            if "traces" in script and not has_tables:  # the page has ingested by now
                assert plain.ingest(server.url("handbook", roles[0])).code == 0
                has_tables = True
            script = re.sub(r"PASSWORD '[^']+'", f"PASSWORD '{PASSWORD}'", script)
            server.do(database, *filter(str.strip, script.split(";")))
        plain.write({"design/02-queues.md": "# Queues\n\nChanged.\n"})
        ingesting, reading = (server.url("handbook", role) for role in roles[1:])
        for arguments in ([], ["--rebuild"]):
            assert plain.ingest(ingesting, *arguments).code == 0
        assert "lacks rights to ingest: INSERT on chunks" in plain.ingest(reading).err
        asked = plain.ask(reading, RAGCTL_LIMITS__GENERATIONS="2")
        assert (asked.code, asked.err) == (0, "")
    finally:
        server.do("postgres", "DROP DATABASE IF EXISTS handbook WITH (FORCE)")
        server.do("postgres", *(f"DROP ROLE IF EXISTS {role}" for role in roles))


def test_a_standby_answers_and_takes_no_ingest(plain: Field) -> None:
    server = plain.server
    with server.database(owner="itself") as role:
        server.do(role, EXTENSION)
        assert plain.ingest(server.url(role, role)).code == 0
        port = free_port()
        with running(_standby(server), server.programs, server.account, port):
            url = server.url(role, role, port=port)
            asked = plain.ask(url)
            assert (asked.code, asked.out[:22]) == (0, "It refills lazily [1].")
            assert "Not recorded: the database is read-only." in asked.err
            assert plain.ragctl(url, "sources").code == 0
            refused = plain.ingest(url)
            assert refused.code == 4
            assert "is read-only" in refused.err
            limited = plain.ask(url, "--no-cache", RAGCTL_LIMITS__GENERATIONS="2")
            assert limited.code == 4
            assert "GRANT" not in limited.err
            assert "may ask, not ingest: the database is read-only" in plain.ragctl(
                url, "doctor"
            ).out.replace(f"{role} ", "")


def _standby(server: ForeignServer) -> Path:
    cluster = server.folder / "standby"
    cluster.mkdir()
    own(cluster, server.account)
    subprocess.run(
        [
            *(server.programs / "pg_basebackup", "--pgdata", cluster, "--write-recovery-conf"),
            *("--checkpoint=fast", "--no-sync", "--dbname", server.url("postgres")),
        ],
        cwd="/",
        user=server.account.uid,
        group=server.account.gid,
        extra_groups=server.account.extra_groups,
        check=True,
    )
    return cluster
