"""Whole commands as processes, against a running server and a model that answers at once."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from statistics import median
from typing import Final

from ragctl.models.local import local_available
from tests.bench.figures import Absolute, Measured, Ratio, paired
from tests.bench.rig import HANDBOOK, Rig, Run
from tests.ollama_server import OllamaServer, chat

ROUNDS: Final = 7
QUESTION: Final = "How does the exact scan find the nearest passages?"
RAGCTL: Final = ("-m", "ragctl")
ASK: Final = (*RAGCTL, "ask", "--no-cache")
"""A question that was asked before would be answered without any of what is measured."""
FLOOR: Final = ("-c", "import psycopg, pgvector.psycopg, requests, rich.console, typer")
"""What no command that asks can do without: the packages it is made of, and nothing done."""

BARE: Final = ("-c", "import typer")
_SITE, _QUOTED_SITE = "bench", "quoted"
_LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")
_GROUPS: Final = {
    "requests": ("requests", "urllib3", "idna", "charset_normalizer", "certifi"),
    "rich": ("rich", "pygments", "markdown_it", "mdurl"),
    "typer": ("typer", "click", "shellingham", "annotated_doc"),
    "psycopg": ("psycopg", "psycopg_binary"),
    "pgvector": ("pgvector", "numpy"),
    "ragctl": ("ragctl",),
}
WANTED_MS: Final = {
    "ask, wall": 450, "ask, cpu": 330, "ask --no-model, wall": 1300, "--help, wall": 110,
    "sources, wall": 300,
}  # fmt: skip


def measure(rig: Rig) -> Measured:
    """Return times of commands, ratios to a process that only imports, and where imports go."""
    with OllamaServer() as model:
        model.on("/api/chat", chat("It reads every vector and keeps the nearest ", "[1]."))
        environ = rig.environment(OLLAMA_HOST=model.url, RAGCTL_SITE__NAME=_SITE)
        rig.run(*RAGCTL, "ingest", str(HANDBOOK), environ=environ)
        commands: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
            "imports alone": (FLOOR, environ),
            "typer alone": (BARE, environ),
            "ask": ((*ASK, QUESTION), environ),
            "--help": ((*RAGCTL, "--help"), environ),
            "sources": ((*RAGCTL, "sources"), environ),
        }
        remarks = []
        if local_available().usable:
            quoted = rig.environment(
                RAGCTL_SITE__NAME=_QUOTED_SITE, RAGCTL_EMBEDDING__PROVIDER="local"
            )
            rig.run(*RAGCTL, "ingest", str(HANDBOOK / "start"), environ=quoted)
            commands["ask --no-model"] = ((*ASK, "--no-model", QUESTION), quoted)
        else:
            remarks.append("ask --no-model: skipped, the embedded model is not installed")
        runs = _taking_turns(rig, commands)
        for command in ("ask", "sources", "--help"):
            arguments, own = commands[command]
            remarks.append(f"{command} imports, own ms: {_imports(rig, arguments, own)}")
        remarks.append(f"ask, by its own account: {_phases(rig, environ)}")
    return _measured(runs, tuple(remarks))


def _taking_turns(
    rig: Rig, commands: dict[str, tuple[tuple[str, ...], dict[str, str]]]
) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for number in range(ROUNDS + 1):
        for name, (arguments, environ) in commands.items():
            run = rig.run(*arguments, environ=environ)
            if number:  # the first one fills caches
                runs[name].append(run)
    return runs


def _measured(runs: dict[str, list[Run]], remarks: tuple[str, ...]) -> Measured:
    cpu = {name: [run.cpu_ms for run in each] for name, each in runs.items()}
    ratios = [
        Ratio(name=f"{name} / {floor}, cpu", value=paired(cpu[name], cpu[floor]))
        for name, floor in (
            ("ask", "imports alone"),
            ("sources", "imports alone"),
            ("ask --no-model", "imports alone"),
            ("--help", "typer alone"),
        )
        if name in cpu
    ]
    absolutes = []
    for name, each in runs.items():
        for kind, values in (("wall", [run.wall_ms for run in each]), ("cpu", cpu[name])):
            wanted = WANTED_MS.get(f"{name}, {kind}")
            told = f"{name}, {kind}" + (f" (wanted under {wanted})" if wanted else "")
            absolutes.append(Absolute(name=told, value=median(values), unit="ms", kind=kind))
        peak = median(run.peak_mb for run in each)
        absolutes.append(Absolute(name=f"{name}, peak", value=peak, unit="MB", kind="memory"))
    return Measured(ratios=tuple(ratios), absolutes=tuple(absolutes), remarks=remarks)


def _imports(rig: Rig, arguments: tuple[str, ...], environ: dict[str, str]) -> str:
    """Return the milliseconds that imports took themselves, by group, the most first.

    From a run of its own: being told of every import makes them slower.
    """
    program = f"import sys, runpy; sys.argv = {['ragctl', *arguments[2:]]!r}\n"
    program += "import os; os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n"
    program += "runpy.run_module('ragctl', run_name='__main__')"
    said = rig.run("-X", "importtime", "-c", program, environ=environ).err
    spent: Counter[str] = Counter()
    for line in said.splitlines():
        found = _LINE.match(line)
        if found:
            spent[_group(found[2])] += int(found[1])
    return ", ".join(f"{group} {spent[group] / 1000:.0f}" for group, _ in spent.most_common())


def _group(module: str) -> str:
    package = module.partition(".")[0]
    for group, packages in _GROUPS.items():
        if package in packages:
            return group
    return "standard library" if package in sys.stdlib_module_names else "others"


def _phases(rig: Rig, environ: dict[str, str]) -> str:
    document = json.loads(rig.run(*ASK, QUESTION, "--json", environ=environ).out)
    return ", ".join(
        f"{phase} {spent:.0f} ms" for phase, spent in document["ms"].items() if spent is not None
    )
