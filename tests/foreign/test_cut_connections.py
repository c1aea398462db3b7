"""The line to the server is cut at statements of an ingest and of an ask.

With RAGCTL_TEST_EVERY_CUT set it is cut at every one of them, which takes some minutes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.foreign.conftest import Field
from tests.foreign.proxy import CuttingProxy, cutting_proxy
from tests.foreign.server import ForeignServer

AT_ALL = bool(os.environ.get("RAGCTL_TEST_EVERY_CUT"))


def numbers(first: int, *, step: int) -> range:
    """Return the numbers of the statements to cut at."""
    return range(1, 1000) if AT_ALL else range(first, 1000, step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """A database behind a proxy, with a site whose pages can be written anew."""

    field: Field
    proxy: CuttingProxy
    url: str
    database: str

    @property
    def server(self) -> ForeignServer:
        return self.field.server

    def write(self, version: int) -> None:
        """Write the site: two pages with three passages, and one that is there every other time."""
        parts = [f"## Part {part}\n\nversion{version} {'refills ' * 60}\n\n" for part in range(3)]
        pages = {f"design/0{page}.md": f"# Page {page}\n\n{''.join(parts)}" for page in range(2)}
        pages["design/09.md"] = f"# Nine\n\nversion{version}\n" if version % 2 else ""
        self.field.write(pages)

    def versions(self) -> dict[str, str]:
        """Return which version each page is of; fails where one is not whole."""
        with self.server.administer(self.database) as connection:
            rows = connection.execute(
                "SELECT p.url, p.text, string_agg(c.body, '') FROM pages p "
                "LEFT JOIN chunks c ON c.page_id = p.id GROUP BY p.id"
            ).fetchall()
        versions = {}
        for url, text, bodies in rows:
            in_page, stored = (re.findall(r"version\d+", said or "") for said in (text, bodies))
            assert in_page == stored, f"{url} is torn: {in_page} {stored}"
            assert len(set(stored)) == 1, f"{url} is of several versions: {stored}"
            versions[url] = stored[0]
        return versions


@pytest.fixture
def cutting(plain: Field) -> Iterator[Cutting]:
    """The site in its version 0, ingested."""
    server = plain.server
    for page in plain.site.rglob("*.md"):
        page.unlink()
    with cutting_proxy(server.port) as proxy, server.database(owner="itself") as database:
        server.do(database, "CREATE EXTENSION vector")
        url = server.url(database, database, port=proxy.port)
        made = Cutting(field=plain, proxy=proxy, url=url, database=database)
        made.write(0)
        assert plain.ingest(url).code == 0
        yield made


@pytest.mark.parametrize(
    ("arguments", "first", "after"),
    [
        pytest.param([], 1, False, id="before it"),
        pytest.param([], 3, True, id="after it"),
        pytest.param(["--rebuild"], 2, True, id="of a rebuild"),
    ],
)
def test_an_ingest_cut_at_a_statement_says_so_tears_nothing_and_the_next_completes(
    arguments: list[str], first: int, after: bool, cutting: Cutting
) -> None:
    cuts = 0
    for version, number in enumerate(numbers(first, step=14), start=1):
        cutting.write(version)
        cutting.proxy.arm(number, after=after)
        done = cutting.field.ingest(cutting.url, *arguments)
        if not cutting.proxy.is_cut():
            break
        cuts += 1
        stored = set(cutting.versions().values())
        assert stored <= {f"version{version - 1}", f"version{version}"}
        if done.code == 0:  # all was done: only the lease, which ends with its process, was left
            assert stored == {f"version{version}"}
        else:
            assert done.code == 4, done.err
            assert "was lost" in done.err, done.err
            assert "Run the command again" in done.err
        if arguments:
            assert len(stored) == 1, "half of a rebuild"
        cutting.proxy.arm(None)
        again = cutting.field.ingest(cutting.url)
        assert again.code == 0, again.err
        assert set(cutting.versions().values()) == {f"version{version}"}
        assert len(cutting.versions()) == 2 + version % 2
    assert cuts > 3


def test_an_ask_cut_at_a_statement_says_so_or_shows_the_answer(cutting: Cutting) -> None:
    answered, failed = 0, 0
    for number in numbers(2, step=7):
        cutting.proxy.arm(number, after=number % 2 == 0)
        done = cutting.field.ask(cutting.url, "--refresh")
        if not cutting.proxy.is_cut():
            break
        if done.code == 0:
            assert "It refills lazily [1]." in done.out
            answered += 1
        else:
            assert done.code == 4, done.err
            assert "was lost" in done.err
            assert ".." not in done.err
            failed += 1
    assert failed > 2
    assert answered > 2
    cutting.proxy.arm(None)
    assert cutting.field.ask(cutting.url, "--refresh").err == ""


def test_migrations_cut_at_a_statement_are_ended_by_the_next_run(plain: Field) -> None:
    server = plain.server
    cuts = 0
    with cutting_proxy(server.port) as proxy:
        for number in numbers(3, step=60):
            with server.database(owner="itself") as database:
                server.do(database, "CREATE EXTENSION vector")
                url = server.url(database, database, port=proxy.port)
                proxy.arm(number, after=number % 2 == 0)
                done = plain.ragctl(url, "db", "migrate")
                if not proxy.is_cut():
                    break
                cuts += 1
                assert done.code == 4, done.err
                proxy.arm(None)
                assert plain.ragctl(url, "db", "migrate").code == 0
                assert plain.ragctl(url, "db", "status", "--json").document["pending"] == []
    assert cuts > 1
