"""The shape of the code: who may import whom, and what stays out of start-up."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ragctl

PACKAGE = Path(ragctl.__file__).parent

# Lower layers first; a module may import from layers below its own and from its own package.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("records",),
    ("errors",),
    ("addresses",),
    ("route_settings",),
    ("checkout_settings", "setting_sections", "setting_values"),
    ("protocols", "settings"),
    ("stages", "artifacts", "files", "db", "models", "gateway", "cache", "observe"),
    (
        "audit",
        "comparing",
        "freshness",
        "index_match",
        "ledger",
        "link_check",
        "prompts",
        "site_guess",
    ),
    ("answering", "indexing"),
    ("pipeline",),
    ("evaluate", "replay", "staging", "why", "wiring"),
    ("doctor",),
    ("cli",),
)
ONLY_IMPORTER = {
    "psycopg": {"db"},
    "pgvector": {"db"},
    "pgserver": set[str](),
    "psutil": {"db"},
    "requests": {"models"},
    "fastembed": {"models"},
    "numpy": {"models"},
    "typer": {"cli"},
    "click": {"cli"},
    "rich": {"cli"},
}
STAGES_DO_WITHOUT = {"os", "time", "random", "subprocess", "socket", "pathlib"}


UNITS = {
    path.name.removesuffix(".py")
    for path in PACKAGE.iterdir()
    if path.name not in ("__init__.py", "__main__.py")
    and (path.suffix == ".py" or (path / "__init__.py").exists())
}


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _unit(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _layer(unit: str) -> int:
    for number, units in enumerate(LAYERS):
        if unit in units:
            return number
    raise AssertionError(f"{unit} belongs to no layer: add it to LAYERS")


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_layers_below_and_from_its_own_package(path: Path) -> None:
    unit = _unit(path)
    imported = {name.split(".")[1] for name in _imports(path) if name.startswith("ragctl.")}
    others = {name for name in imported if name in UNITS and name != unit}
    allowed = {
        name for name in UNITS if unit in ("__init__", "__main__") or _layer(name) < _layer(unit)
    }
    assert others <= allowed, f"{path.name} imports {others - allowed}"


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_heavy_package_is_imported_by_its_owner_alone(path: Path) -> None:
    for name in _imports(path):
        owners = ONLY_IMPORTER.get(name.split(".")[0])
        assert owners is None or _unit(path) in owners, f"{path.name} imports {name}"


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "stages").rglob("*.py")), ids=lambda path: path.name
)
def test_a_stage_knows_neither_clock_nor_environment_nor_disk(path: Path) -> None:
    assert not {name.split(".")[0] for name in _imports(path)} & STAGES_DO_WITHOUT


def test_nobody_opens_a_file_or_reads_the_clock_in_a_stage() -> None:
    for path in (PACKAGE / "stages").rglob("*.py"):
        calls = {
            node.func.id
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not calls & {"open", "print", "input"}, path.name
        assert not re.search(r"\b(?:now|today|utcnow)\(", path.read_text(encoding="utf-8"))


def test_help_loads_no_driver_no_http_client_and_no_model() -> None:
    program = (
        "import sys\n"
        "from ragctl.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'psycopg', 'requests', 'numpy', 'pydantic', 'fastembed', 'rich', 'psutil'}\n"
        "heavy.add('ragctl.records')  # a hundred small classes, made one by one\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert "LOADED []" in done.stdout
    assert "ingest" in done.stdout


def test_a_list_of_pages_loads_no_check_of_claims_and_no_gateway() -> None:
    program = (
        "import sys, ragctl.cli.sources\n"
        "unneeded = ('ragctl.stages.claims', 'ragctl.indexing', 'ragctl.gateway.generator', "
        "'requests')\n"
        "print([name for name in sys.modules if name.startswith(unneeded)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_question_loads_what_writes_artifacts_and_replays_only_where_that_is_asked_for() -> None:
    program = (
        "import sys, ragctl.cli.ask\n"
        "unneeded = ('ragctl.staging', 'ragctl.artifacts', 'ragctl.replay.running')\n"
        "print([name for name in sys.modules if name.startswith(unneeded)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_no_statement_is_built_in_python() -> None:
    verbs = ("SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "COPY ")
    for path in _modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not node.value.lstrip().startswith(verbs), f"{path.name}: {node.value[:40]}"
