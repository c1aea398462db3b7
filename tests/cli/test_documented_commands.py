"""Every command line in README.md and in the handbook is run as it stands there.

The shell fences of a page are one script, run by ``sh -e`` in a project laid out as the pages
assume, on an embedded server of this module's own and with a scripted model server. A line must
exit 0, or with the code that a comment behind it names: ``# exit code 2``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

from ragctl.cli.demo import handbook
from ragctl.db.connect import connect
from ragctl.db.programs import find_programs
from ragctl.db.server import PACKAGES, EmbeddedServer
from ragctl.settings import SettingsFile, read
from tests.ollama_server import OllamaServer, Reply, chat

README = Path(__file__).resolve().parents[2] / "README.md"
PAGES = [README, *sorted(handbook().rglob("*.md"))]

# What no test can run, by the beginning of the line; everything else is run.
NOT_RUN = (
    "./scripts/",  # set up a checkout, with a virtual environment of its own
    "python -m venv",  # the same by hand
    ". .venv/",
    "source .venv/",
    "python -m pip",  # asks a package index
    "pip ",
    "ollama ",  # is another program
)
# What ends with 1 where it finds something, which is no failure of the command.
MAY_FIND = ("ragctl audit ", "ragctl diff ", "ragctl links ", "ragctl why ")
# Where a page names something that only its reader has, and what stands for it here.
NAMED_SERVER = "db.example.org"  # the embedded server of this module
STAND_INS = {
    # The shell is recognised by its process, and `sh` has no completion.
    "ragctl --install-completion": "bash -c 'ragctl-process --install-completion; exit $?'",
    "ragctl --show-completion": "bash -c 'ragctl-process --show-completion; exit $?'",
}

# What must have been done before a page that speaks of it.
DONE_BEFORE = {
    " --from build": "ragctl ingest --artifacts build",
    " diff build/monday": "ragctl ingest --artifacts build/monday",
    " build/tuesday": "ragctl ingest --artifacts build/tuesday",
    " from-feedback": 'ragctl ask "What is RCU?"\nragctl feedback last --good',
}
# An identifier that a page makes up, and a command that prints one that exists.
MADE_UP_TRACE = "0199a3c1-2b3f"
NEWEST_TRACE = "$(ragctl db psql -- -Atc 'SELECT max(id::text) FROM traces')"

# Questions that the pages below answer, and others that they do not.
EVIDENCE = "".join(
    f'{{"id": "q{n}", "question": "{text} {n}?", "answerable": {answerable}}}\n'
    for n in range(12)
    for text, answerable, n in (
        ("How does the token bucket refill in case", "true", n),
        ("Why do zebras sing in spring", "false", n + 100),
    )
)

LAYOUT = {
    "project/evidence.jsonl": EVIDENCE,
    "project/paraphrases.jsonl": (
        '{"id": "p1", "original": "What is RCU?", "same": ["What does RCU mean?"], '
        '"traps": ["Who wrote RCU?"]}\n'
    ),
    "project/others.jsonl": EVIDENCE,
    "ragctl.toml": '[site]\nroot = "project/website/src/content"\n',
    "handbook/content/release.md": "# Release\n\nThe maintainer approves a release.\n",
    "project/questions.jsonl": (
        '{"id": "q1", "question": "What is RCU?", "gold": [{"url": "/kernel/10-rcu"}], '
        '"must_contain": ["never wait"]}\n'
    ),
    "project/website/dist/kernel/10-rcu/index.html": '<h1 id="rcu">RCU</h1>\n',
    "project/website/astro.config.mjs": "export default { site: 'https://example.org' };\n",
    "project/website/src/content/design/_index.md": "---\ntitle: System design\n---\nHello.\n",
    "project/website/src/content/design/22-rate-limiter.md": (
        "---\ntitle: Rate limiter\n---\nAbout limits.\n\n## The token bucket\n\n"
        + "The token bucket refills lazily, when a request arrives.\n\n" * 30
    ),
    "project/website/src/content/kernel/10-rcu.md": "# RCU\n\nReaders never wait for writers.\n",
    "project/website/src/content/essays/old-one.md": "# Old\n\nAn essay of long ago.\n",
    "project/website/src/content/essays/broken.md": "# Draft\n\nNot ready yet.\n",
}
# A command would spend most of its time on imports: they are done once, by a process that forks
# for each command. SYSTEM replaces the system's folder that root's clusters go to.
PROGRAM = """\
import importlib, marshal, os, signal, socket, sys
from pathlib import Path
from ragctl.cli import main as program
from ragctl.db.server import EmbeddedServer

def handle(link):
    head, files, _, _ = socket.recv_fds(link, 8, 3)
    with link.makefile("rb") as sent:
        arguments, folder, environ = marshal.loads(sent.read(int.from_bytes(head)))
    pid = os.fork()
    if pid:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        link.sendall(str(code if code >= 0 else 128 - code).encode())
        return
    for number, file in enumerate(files):
        os.dup2(file, number)
    sys.stdin = open(0, closefd=False)
    sys.stdout = open(1, "w", closefd=False)
    sys.stderr = open(2, "w", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    try:
        program.main(arguments)
    except SystemExit as ended:
        sys.stderr.flush()
        os._exit(ended.code)  # without the long way through everything that was imported

EmbeddedServer.__init__.__kwdefaults__["system_dir"] = Path(SYSTEM)
if sys.argv[1:2] != ["serve"]:
    program.main()
for name in ("ragctl.cli.home", *(command.module for command in program.COMMANDS)):
    importlib.import_module(name)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[2])
listener.listen()
while True:
    link, _ = listener.accept()
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        handle(link)
        os._exit(0)
    link.close()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
"""
CLIENT = """\
import marshal, os, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect(SOCKET)
sent = marshal.dumps((sys.argv[1:], os.getcwd(), dict(os.environ)))
socket.send_fds(link, [len(sent).to_bytes(8)], [0, 1, 2])
link.sendall(sent)
sys.exit(int(link.recv(8)))
"""
ROLES = ("ragctl", "handbook_writer", "handbook_reader")
READMES_DATABASE = "CREATE ROLE ragctl LOGIN SUPERUSER"  # README names one that exists already


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the documented commands are run: folders, server and environment."""

    work: Path
    home: Path
    server: EmbeddedServer
    environ: dict[str, str]

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script with ``sh -e`` in the project; ``-v`` names the line that failed."""
        file = self.work.parent / "script.sh"
        file.write_text(script, encoding="utf-8")
        return subprocess.run(
            ["sh", "-ev", file],
            cwd=self.work / "project",
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )

    def begin(self, *, readmes_database: bool = False) -> None:
        """Lay everything out anew: files, a site that was ingested, and the demo."""
        for folder in (self.work, self.home):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for path, text in LAYOUT.items():
            file = self.work / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        project = self.work / "project"
        shutil.copytree(project / "website/src/content", project / "new-place/content")
        self.server.ensure_running()
        with connect(self.server.url("postgres")) as connection:
            names = connection.execute("SELECT datname FROM pg_database").fetchall()
            for (name,) in names:
                if name == "handbook" or name.startswith("ragctl_"):
                    drop = sql.SQL("DROP DATABASE {} WITH (FORCE)")
                    connection.execute(drop.format(sql.Identifier(name)))
            for role in ROLES:
                connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))
            if ("kept_default",) in names:
                _copy(connection, "kept_default", "ragctl_default")
                _copy(connection, "kept_demo", "ragctl_demo")
            if readmes_database:
                connection.execute(READMES_DATABASE)
                _copy(connection, "kept_default", "handbook")


def _copy(connection: psycopg.Connection[tuple[object, ...]], source: str, target: str) -> None:
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
    connection.execute(create.format(sql.Identifier(target), sql.Identifier(source)))


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="ragctl-docs-", dir="/tmp") as folder:
        base = Path(folder)
        base.chmod(0o711)
        server = EmbeddedServer(base / "data", system_dir=base / "system")
        with OllamaServer() as ollama, _program(base):
            ollama.on("/api/chat", chat("It refills lazily ", "[1]."))
            names = ("nomic-embed-text", "llama3", "mistral")
            models = [{"name": f"{name}:latest", "digest": f"digest-of-{name}"} for name in names]
            ollama.on("/api/tags", Reply(document={"models": models}))
            try:
                yield _prepared(base, server, ollama)
            finally:
                server.stop()


def _prepared(base: Path, server: EmbeddedServer, ollama: OllamaServer) -> Place:
    """Start the server, ingest the project and the handbook, and keep both to be copied."""
    server.ensure_running()
    with connect(server.url("postgres")) as connection:  # nothing here outlives the test
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    place = Place(
        work=base / "work",
        home=base / "home",
        server=server,
        environ=_environment(base, server, ollama),
    )
    place.begin()
    done = place.run("ragctl ingest\nragctl demo\n")
    assert done.returncode == 0, done.stdout
    with connect(server.url("postgres")) as connection:
        _copy(connection, "ragctl_default", "kept_default")
        _copy(connection, "ragctl_demo", "kept_demo")
    return place


@contextmanager
def _program(base: Path) -> Iterator[None]:
    """Put ``ragctl`` into a folder for PATH and run the process that it speaks to."""
    folder = base / "bin"
    folder.mkdir()
    listening = base / "program.socket"
    program, client = folder / "program.py", folder / "client.py"
    program.write_text(PROGRAM.replace("SYSTEM)", f"{str(base / 'system')!r})"))
    client.write_text(CLIENT.replace("SOCKET)", f"{str(listening)!r})"))
    for name, command in (
        ("ragctl", f'"{sys.executable}" -ISE "{client}"'),
        ("ragctl-process", f'"{sys.executable}" "{program}"'),
    ):
        wrapper = folder / name
        wrapper.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        wrapper.chmod(0o755)
    process = subprocess.Popen([sys.executable, program, "serve", listening])
    try:
        while not listening.exists():
            assert process.poll() is None, "the program does not start"
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait()


def _environment(base: Path, server: EmbeddedServer, ollama: OllamaServer) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RAGCTL_", "PG", "XDG_"))
    }
    path = [str(base / "bin"), str(find_programs(PACKAGES)), str(Path(sys.executable).parent)]
    return kept | {
        "PATH": os.pathsep.join([*path, kept.get("PATH", os.defpath)]),
        "HOME": str(base / "home"),
        "RAGCTL_DATA_DIR": str(base / "data"),
        "OLLAMA_HOST": ollama.url,
        # What createdb and psql take for an administrator of the server.
        "PGHOST": str(server.status().socket_directory),
        "PGUSER": "postgres",
    }


def fences(page: Path, *languages: str) -> list[str]:
    """Return the text of a page's fences in these languages."""
    found = re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"))
    return [text for language, text in found if language in languages]


def as_script(fence: str) -> str:
    """Return a fence as a script: without what cannot run, with the exit codes it names."""
    lines, here = [], ""
    for line in re.sub(r"\\\n\s*", "", fence).split("\n"):
        if here:
            here = "" if line == here else here
        elif line.startswith(NOT_RUN):
            continue
        elif started := re.search(r"<<'(\w+)'", line):
            here = started[1]
        elif expected := re.fullmatch(r"(.*\S)\s+# exit code (\d+)", line):
            line = f"{expected[1]} && code=0 || code=$?; test $code -eq {expected[2]}"
        elif line.startswith(MAY_FIND):
            line = f"{line} || test $? -eq 1"
        lines.append(STAND_INS.get(line, line))
    return "\n".join(lines)


def _name(page: Path) -> str:
    return page.name if page == README else page.relative_to(handbook()).as_posix()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if fences(page, "bash", "sh")], ids=lambda page: _name(page)
)
def test_the_commands_of_a_page_run_as_they_stand_there(page: Path, place: Place) -> None:
    place.begin(readmes_database=page == README)
    script = "\n".join(as_script(fence) for fence in fences(page, "bash", "sh"))
    before = [command for text, command in DONE_BEFORE.items() if text in script]
    script = "\n".join([*before, script.replace(MADE_UP_TRACE, NEWEST_TRACE)])
    address = quote(place.environ["PGHOST"], safe="")
    done = place.run(script.replace(NAMED_SERVER, address))
    assert done.returncode == 0, f"{_name(page)}: exit code {done.returncode}\n{done.stdout}"


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(text, id=f"{_name(page)}-{number}")
        for page in PAGES
        for number, text in enumerate(fences(page, "sql"), 1)
    ],
)
def test_a_documented_query_runs_on_the_tables(query: str, place: Place) -> None:
    place.server.ensure_running()
    url = place.server.url("kept_demo")
    with psycopg.connect(url, autocommit=True) as connection, psycopg.RawCursor(connection) as rows:
        vector = "[" + ",".join(["0.1"] * 768) + "]"
        rows.execute(query.encode(), [vector] if "$1" in query else None)
        assert rows.description


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=f"{_name(page)}-{number}")
        for page in PAGES
        for number, text in enumerate(fences(page, "toml"), 1)
    ],
)
def test_a_documented_settings_file_is_accepted(text: str) -> None:
    read(
        flags={},
        environ={},
        files=(SettingsFile(path=Path("/x/config.toml"), text=text, is_own=True),),
    )


def test_a_script_leaves_out_what_cannot_run_and_checks_named_exit_codes() -> None:
    fence = (
        "ollama pull llama3\nragctl ask \\\n  x\nragctl y   # exit code 3\n"
        "psql <<'SQL'\nollama x # exit code 1\nSQL\nragctl z # a remark\n"
    )
    assert as_script(fence).split("\n") == [
        "ragctl ask x",
        "ragctl y && code=0 || code=$?; test $code -eq 3",
        "psql <<'SQL'",
        "ollama x # exit code 1",
        "SQL",
        "ragctl z # a remark",
        "",
    ]


def test_every_link_between_pages_leads_to_a_page_and_a_heading() -> None:
    pages = {f"/{_name(page).removesuffix('.md')}": page for page in PAGES if page != README}
    for page in PAGES:
        text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
        for target, anchor in re.findall(r"\]\((/[^)#\s]*)(?:#([^)]*))?\)", text):
            assert target in pages, f"{_name(page)}: {target}"
            headings = re.findall(r"(?m)^#+ (.*)$", pages[target].read_text(encoding="utf-8"))
            slugs = [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in headings]
            assert not anchor or anchor in slugs, f"{_name(page)}: {target}#{anchor}"
