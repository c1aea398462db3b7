"""The measuring itself: what it compares, what it complains of, and that it leaves nothing."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.bench.figures import Measured, Ratio, interleaved, shown, worse
from tests.bench.rig import REPOSITORY, Rig

KEPT = REPOSITORY / "tests" / "bench" / "kept.json"


def test_a_ratio_that_is_a_fifth_worse_than_kept_is_named_and_no_other() -> None:
    kept = {"ratios": {"slow": 1.0, "quick": 1.0, "not measured": 1.0}}
    lines = worse(
        kept,
        [
            Ratio(name="slow", value=1.21),
            Ratio(name="quick", value=1.19),
            Ratio(name="new", value=9.0),
        ],
    )
    (line,) = lines
    assert line.startswith("slow: 1.21, kept 1")


def test_variants_take_turns_and_their_first_call_is_not_counted() -> None:
    now, calls = 0.0, []

    def run(name: str, takes: float) -> None:
        nonlocal now
        calls.append(name)
        now += takes if len(calls) > 2 else 100

    found = interleaved(
        {"a": lambda _number: run("a", 1), "b": lambda _number: run("b", 3)},
        rounds=3,
        clock=lambda: now,
    )
    assert found == {"a": 1, "b": 3}
    assert calls == ["a", "b"] * 4


def test_a_ratio_above_what_is_wanted_is_shown_as_missed() -> None:
    ratios = (Ratio(name="good", value=0.2, wanted=0.3), Ratio(name="bad", value=0.4, wanted=0.3))
    good, bad = shown(Measured(ratios=ratios), is_busy=False)
    assert "MISSED" not in good
    assert "MISSED" in bad


def test_the_kept_figures_are_ratios_with_machine_and_date() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", kept["date"])
    assert "cores" in kept["machine"]
    assert all(value > 0 for value in kept["ratios"].values())


def _bench(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.bench", *arguments],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _folder(process: subprocess.Popen[str]) -> Path:
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said.startswith("measuring in "), said
    return Path(said.removeprefix("measuring in ").strip())


def test_a_run_gives_ratios_that_a_later_one_is_held_against(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    process = _bench("--rows", "300", "--only", "exact", "--rounds", "1", "--json", str(file))
    folder = _folder(process)
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert not folder.exists()
    document = json.loads(file.read_text(encoding="utf-8"))
    assert "exact 300: product / numpy, one thread" in document["ratios"]
    for name in document["ratios"]:
        document["ratios"][name] /= 1000
    file.write_text(json.dumps(document), encoding="utf-8")
    process = _bench("--rows", "300", "--only", "exact", "--rounds", "1", "--check", str(file))
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert out.count("WORSE exact 300") == len(document["ratios"])


def test_a_run_that_is_interrupted_leaves_neither_server_nor_folder() -> None:
    process = _bench("--rows", "1m", "--only", "exact")
    folder = _folder(process)
    pid = Rig(folder).server.status().pid
    assert pid is not None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert not folder.exists()
    assert not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    """Tell whether a process works; one that ended and waits for its parent does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
