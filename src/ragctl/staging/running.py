"""Skipping a stage or doing it, and noting it in the manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragctl.artifacts.manifest import PRODUCERS, STAGES, Folder
from ragctl.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRun:
    """What came of one stage.

    ``skipped`` says that its files were already made from these inputs and parameters; ``open``
    names the identities of the manifest that do not close.
    """

    stage: str
    skipped: bool
    files: tuple[str, ...]
    counts: Mapping[str, Any]
    open: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """Skips a stage or does it, and notes it in the manifest."""

    folder: Folder
    stage: str
    force: bool

    def __call__(
        self,
        inputs: Mapping[str, str],
        parameters: Mapping[str, Any],
        work: Callable[[], Mapping[str, Any]],
    ) -> StageRun:
        folder, stage = self.folder, self.stage
        if not self.force and folder.is_done(stage, inputs, parameters):
            return self._told(folder.stages[stage].counts, skipped=True)
        counts = work()
        folder.record(stage, command="stage", inputs=inputs, parameters=parameters, counts=counts)
        return self._told(counts, skipped=False)

    def _told(self, counts: Mapping[str, Any], *, skipped: bool) -> StageRun:
        identities = self.folder.identities()
        return StageRun(
            stage=self.stage,
            skipped=skipped,
            files=STAGES[self.stage].writes,
            counts=counts,
            open=tuple(identity["name"] for identity in identities if not identity["closes"]),
        )


def run_on_files(
    path: Path,
    stage: str,
    parameters: Mapping[str, Any],
    work: Callable[[], Mapping[str, Any]],
    *,
    force: bool,
) -> StageRun:
    folder = Folder(path)
    require_inputs(folder, stage, force=force)
    inputs = folder.hashes(STAGES[stage].reads)
    return Run(folder, stage, force=force)(inputs, parameters, work)


def require_inputs(folder: Folder, stage: str, *, force: bool = False) -> None:
    """Raise UsageError where a file that a stage reads is missing, or stale and not forced.

    The hint is the command that makes it.
    """
    stale = [] if force else folder.stale()
    for name in STAGES[stage].reads:
        maker = PRODUCERS[name]
        if not (folder.path / name).exists():
            raise UsageError(
                f"{stage} reads {folder.path / name}, which is not there",
                hint=f"Make it: `{command_for(maker, folder.path)}`.",
            )
        if maker in stale:
            first = next(one for one in stale if one in _upstream(maker))
            raise UsageError(
                f"{folder.path / name} is stale: what {first} reads has changed since",
                hint=f"Run `{command_for(first, folder.path)}` first, or go on with --force.",
            )


def _upstream(stage: str) -> set[str]:
    found = {stage}
    for name in STAGES[stage].reads:
        found |= _upstream(PRODUCERS[name])
    return found


def command_for(stage: str, folder: Path) -> str:
    """Return the command that makes the files of a stage."""
    more = {"parse": " --root PATH", "retrieve": ' --question "..."'}.get(stage, "")
    return f"ragctl stage {stage} --from {folder}{more}"
