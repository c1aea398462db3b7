"""No text that a user, a page, a file or a model gives becomes a part of a statement."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import psycopg
import pytest

import ragctl as package
from tests.ollama_server import OllamaServer, Reply
from tests.program import Program

PACKAGE = Path(package.__file__).parent
COMPOSED = {
    ("db/embedded.py", "sql.SQL"): "CREATE and DROP DATABASE take no parameters; an Identifier",
    ("db/embedded.py", "sql.Identifier"): "the name of a site, checked by the settings",
    ("db/room.py", "sql.SQL"): "ANALYZE, CLUSTER and VACUUM of a table take no parameters",
    ("db/room.py", "sql.Identifier"): "names of our own tables and indexes",
    ("db/backup.py", "sql.SQL"): "COPY, DELETE and DROP of a table take no parameters; from sql/",
    ("db/backup.py", "sql.Identifier"): "names of our own migrations, columns of plain letters",
}
"""Where statements are put together in the driver's own way, and why."""

ATTACKS = (
    "'; DROP TABLE chunks; DROP TABLE pages; --",
    "\\'; $$ $a$ \"; %s %(url)s %(question)s %% { {x} } */ /* -- \x00 \udc80 \x1b]52;c;x\x07 %",
    "'||(SELECT pg_sleep(9))||' OR 1=1 :: & | ! <-> ( ) * :* \\",
    "x' " * 3334,
)

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("ask", "How? X"),
    ("ask", "How?", "--track", "X"),
    ("ask", "How?", "--page", "X"),
    ("ask", "How?", "--site", "X"),
    ("search", "How? X", "--mode", "keyword"),
    ("search", "How?", "--track", "X", "--page", "X"),
    ("sources", "--track", "X"),
    ("sources", "--about", "X"),
    ("show", "X"),
    ("show", "/design/01-buckets#cX"),
    ("show", "/design/01-buckets#X"),
    ("why", "How? X", "--page", "X", "--section", "X", "--text", "X", "--no-answer"),
    ("audit", "--track", "X", "--no-ranks"),
    ("links", "X"),
    ("open", "1", "--trace", "X"),
    ("trace", "show", "X"),
    ("trace", "list", "--since", "X"),
    ("trace", "export", "--since", "X"),
    ("trace", "purge", "--older-than", "X", "--yes"),
    ("feedback", "X", "--good"),
    ("feedback", "last", "--bad", "--note", "X"),
    ("stats", "--since", "X"),
    ("stats", "gaps", "--since", "X"),
    ("report", "out.html", "--since", "X"),
    ("gateway", "reset", "X"),
    ("sites", "remove", "X", "--yes"),
    ("config", "get", "X"),
    ("index", "recall", "--questions", "hostile.jsonl"),
    ("db", "status", "--database-url", "postgresql://X@127.0.0.1:9/X"),
    ("eval", "make", "--track", "X"),
    ("eval", "retrieval", "hostile.jsonl"),
    ("eval", "history", "--file", "X"),
    ("cache", "evaluate", "hostile.jsonl"),
)
"""Commands that reach the database; X stands for an attack."""

SETTINGS = (
    *("RAGCTL_LIMITS__USER", "RAGCTL_GENERATION__MODEL", "RAGCTL_EMBEDDING__MODEL"),
    *("RAGCTL_SITE__TRACKS", "RAGCTL_SITE__EXCLUDE", "RAGCTL_DATABASE_URL"),
)


@pytest.fixture
def ingested(ragctl: Program, site: Path) -> Program:
    """The program with the small site in its database, and an answer to it."""
    ragctl.set(RAGCTL_CACHE__ANSWERS="on", RAGCTL_CACHE__EMBEDDINGS="on")
    assert ragctl("ingest", str(site)).code == 0
    assert ragctl("ask", "How does the token bucket refill?").code == 0
    return ragctl


def _content(url: str) -> object:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT (SELECT array_agg(relname::text ORDER BY relname) FROM pg_class "
            "WHERE relnamespace = 'public'::regnamespace), "
            "(SELECT array_agg(p::text ORDER BY id) FROM pages p), "
            "(SELECT array_agg(c::text ORDER BY id) FROM chunks c)"
        ).fetchone()


def test_no_parameter_of_a_command_becomes_a_part_of_a_statement(
    ingested: Program, empty_url: str
) -> None:
    before = _content(empty_url)
    for command in COMMANDS:  # a command that click does not know would prove nothing
        done = ingested(*(word.replace("X", "x") for word in command))
        assert "No such command" not in done.err and "unexpected" not in done.err, (
            command,
            done.err,
        )
        assert "Missing" not in done.err and "No such option" not in done.err, command
    for attack in ATTACKS:
        fields = {"question": attack, "pages": [attack], "id": attack, "facts": [attack]}
        lines = [json.dumps(fields), json.dumps({**fields, "gold": [{"page": attack}]})]
        (ingested.folder / "hostile.jsonl").write_text("\n".join(lines))
        for command in COMMANDS:
            typed = attack.replace("\x00", "")  # no argument of a program holds one
            done = ingested(*(word.replace("X", typed) for word in command))
            assert done.code != 70, (command, attack[:60], done.err)
            assert "Traceback" not in done.err, (command, attack[:60])
            assert "\x1b" not in done.out + done.err, (command, attack[:60])
    assert _content(empty_url) == before


@pytest.mark.parametrize("variable", SETTINGS)
def test_no_setting_becomes_a_part_of_a_statement(
    variable: str, ingested: Program, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _content(empty_url)
    for attack in ATTACKS:
        monkeypatch.setenv(variable, attack.replace("\x00", ""))
        done = ingested("ask", f"How? {variable}")
        assert done.code != 70, (attack[:60], done.err)
    assert _content(empty_url) == before


def test_no_text_of_a_model_or_a_page_becomes_a_part_of_a_statement(
    ingested: Program, site: Path, ollama: OllamaServer, empty_url: str
) -> None:
    for number, attack in enumerate(ATTACKS):
        text = attack.replace("\udc80", "\ufffd")
        page = f"---\ntitle: {json.dumps(text)}\n---\n## {text}\n\nBody {text}\n"
        (site / "design" / f"{number}-x'; DROP TABLE pages; --.md").write_text(page)
    assert ingested("ingest", str(site)).code in (0, 1)
    assert len(ingested("sources", "--json").document["pages"]) == 4 + len(ATTACKS)
    before = _content(empty_url)
    for attack in ATTACKS:
        written = {"message": {"content": f"It refills {attack} [1]."}, "done": True}
        ollama.on("/api/chat", Reply(raw=json.dumps(written).encode()))
        assert ingested("ask", f"How? {len(attack)}").code != 70
        ollama.on("/api/chat", Reply(status=500, document={"error": attack}))
        assert ingested("ask", f"Why? {len(attack)}").code != 70
    assert _content(empty_url) == before


def test_statements_are_composed_in_known_places_alone() -> None:
    """Whatever reaches the driver is a file of ``sql/``, or stands in COMPOSED with its reason."""
    verbs = {"execute", "executemany", "copy", "stream"}
    for path in sorted((PACKAGE / "db").rglob("*.py")):
        name = str(path.relative_to(PACKAGE))
        source = path.read_text()
        for used in re.findall(r"\bsql\.(?!\w*Error)[A-Z]\w+(?=\()", source):
            assert (name, used) in COMPOSED, (name, used)
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(func=ast.Attribute(attr=verb), args=[given, *_]) if verb in verbs:
                    assert _is_from_a_file(given), f"{name}:{node.lineno}"
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name != "db":
            found = re.search(
                r"(?m)^\s*(?:import psycopg$|from psycopg)|\.execute\(", path.read_text()
            )
            assert not found, path


def _is_from_a_file(given: ast.expr) -> bool:
    """Whether an argument is neither an f-string nor a sum nor a call of ``format`` on a text."""
    if isinstance(given, ast.Call):
        called = ast.unparse(given.func)
        return called in ("statement", "_about", "command.format") or bool(_SPELLED.match(called))
    return ast.unparse(given) in _NAMES


_SPELLED = re.compile(r"sql\.SQL\('[A-Z ()]+\{\}[A-Z {}]*'\)\.format$")
_NAMES = ("command", "explained", "migration.sql", "forget")
"""Arguments by name: a composed statement, EXPLAIN before a file's, the file of a migration."""
