"""``manifest.json``: what made each file, of which hash, and the identities that must close.

A stage that would read the same bytes with the same parameters, and whose files are what it
wrote, has nothing to do. A stage whose input has changed since is stale, and so is all that
follows from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ragctl.artifacts import answers, index, pages, passages, retrieved, vectors
from ragctl.artifacts.storage import read_document, record_of, sha256_of, write_document
from ragctl.errors import ArtifactError

MANIFEST_FILE = "manifest.json"
SCHEMA = "ragctl.manifest/1"
TEXTS = f"{pages.TEXT_FOLDER}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage by its files: what it reads and what it writes, below the folder."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


STAGES = {
    stage.name: stage
    for stage in (
        Stage(name="parse", reads=(), writes=(pages.PAGES_FILE, TEXTS)),
        Stage(name="chunk", reads=(pages.PAGES_FILE, TEXTS), writes=(passages.PASSAGES_FILE,)),
        Stage(
            name="embed",
            reads=(passages.PASSAGES_FILE,),
            writes=(vectors.VECTORS_FILE, vectors.IDS_FILE, vectors.HASHES_FILE),
        ),
        Stage(
            name="index",
            reads=(vectors.VECTORS_FILE, vectors.IDS_FILE),
            writes=(index.INDEX_FILE,),
        ),
        Stage(
            name="retrieve",
            reads=(index.INDEX_FILE, passages.PASSAGES_FILE, pages.PAGES_FILE),
            writes=(retrieved.RETRIEVED_FILE,),
        ),
        Stage(name="render", reads=(retrieved.RETRIEVED_FILE,), writes=(answers.PROMPT_FILE,)),
        Stage(
            name="generate",
            reads=(answers.PROMPT_FILE, retrieved.RETRIEVED_FILE),
            writes=(answers.DRAFT_FILE,),
        ),
        Stage(
            name="check",
            reads=(answers.DRAFT_FILE, answers.PROMPT_FILE, retrieved.RETRIEVED_FILE),
            writes=(answers.ANSWER_FILE,),
        ),
    )
}
PRODUCERS = {name: stage.name for stage in STAGES.values() for name in stage.writes}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """One run of a stage: who ran it, what it read, with which parameters, what it wrote.

    ``inputs`` and ``outputs`` map names to sha256; an input that is no file of the folder (the
    content folder) has a name of its own. ``counts`` is what the stage tells about its output.
    """

    command: str
    inputs: Mapping[str, str]
    parameters: Mapping[str, Any]
    outputs: Mapping[str, str]
    counts: Mapping[str, Any] = field(default_factory=dict)


class Folder:
    """A folder of artifacts and its manifest.

    ``claims`` makes the folder where there is none, and refuses one that holds other things.
    """

    def __init__(self, path: Path, *, claims: bool = False) -> None:
        self.path = path
        self._hashes: dict[str, str] = {}
        self._files: dict[str, Any] = {}
        self.stages: dict[str, StageRecord] = {}
        if (path / MANIFEST_FILE).is_file():
            self._load()
        elif claims:
            self._claim()
        else:
            raise ArtifactError(
                f"{path} holds no {MANIFEST_FILE}: it is no folder of artifacts",
                hint="Make one: `ragctl ingest PATH --artifacts DIR`, or "
                "`ragctl stage parse --from DIR --root PATH`.",
            )

    def _load(self) -> None:
        path = self.path / MANIFEST_FILE
        document = read_document(path, made_by="")
        if document.get("schema") != SCHEMA:
            raise ArtifactError(f"{path} is no {SCHEMA} document")
        files, stages = document.get("files"), document.get("stages")
        if not isinstance(files, dict) or not isinstance(stages, dict):
            raise ArtifactError(f"{path}: files and stages are missing")
        self._files = files
        self.stages = {
            name: record_of(StageRecord, values, f"{path}: {name}")
            for name, values in stages.items()
            if name in STAGES
        }

    def _claim(self) -> None:
        try:
            strangers = [entry.name for entry in self.path.iterdir()] if self.path.exists() else []
        except OSError as error:
            raise ArtifactError(f"cannot use {self.path}: {error.strerror or error}") from error
        if strangers:
            raise ArtifactError(
                f"{self.path} is not empty and holds no {MANIFEST_FILE}",
                hint="Name a folder of its own for artifacts: they would lie among other files.",
            )
        self.save()

    def sha256(self, name: str) -> str:
        """Return the hash of a file as it is on disk now; ``""`` where there is none."""
        if name not in self._hashes:
            self._hashes[name] = (
                pages.texts_digest(self.path) if name == TEXTS else sha256_of(self.path / name)
            )
        return self._hashes[name]

    def hashes(self, names: Iterable[str]) -> dict[str, str]:
        """Return the hashes of some files as they are on disk now."""
        return {name: self.sha256(name) for name in names}

    def is_done(self, stage: str, inputs: Mapping[str, str], parameters: Mapping[str, Any]) -> bool:
        """Tell whether a stage has already made its files from these inputs and parameters."""
        record = self.stages.get(stage)
        return (
            record is not None
            and dict(record.inputs) == dict(inputs)
            and record.parameters == plain(parameters)
            and all(self.sha256(name) == sha for name, sha in record.outputs.items())
        )

    def stale(self) -> list[str]:
        """Return the stages whose inputs are no longer what they read, in order."""
        found: list[str] = []
        for name, record in self.stages.items():
            files = {file: sha for file, sha in record.inputs.items() if file in PRODUCERS}
            changed = any(self.sha256(file) != sha for file, sha in files.items())
            if changed or any(PRODUCERS[file] in found for file in files):
                found.append(name)
        return found

    def record(
        self,
        stage: str,
        *,
        command: str,
        inputs: Mapping[str, str],
        parameters: Mapping[str, Any],
        counts: Mapping[str, Any],
    ) -> None:
        """Note a run of a stage whose files are written, and save the manifest."""
        for name in STAGES[stage].writes:
            self._hashes.pop(name, None)
        outputs = self.hashes(STAGES[stage].writes)
        self.stages[stage] = StageRecord(
            command=command,
            inputs=inputs,
            parameters=plain(parameters),
            outputs=outputs,
            counts=plain(counts),
        )
        self.stages = {name: self.stages[name] for name in STAGES if name in self.stages}
        self._files.update(
            {name: {"bytes": self._bytes(name), "sha256": sha} for name, sha in outputs.items()}
        )
        self.save()

    def save(self) -> None:
        """Write ``manifest.json``."""
        write_document(
            self.path / MANIFEST_FILE,
            {
                "schema": SCHEMA,
                "files": {name: self._files[name] for name in PRODUCERS if name in self._files},
                "stages": {name: asdict(record) for name, record in self.stages.items()},
                "stale": self.stale(),
                "identities": self.identities(),
            },
        )

    def _bytes(self, name: str) -> int:
        if name != TEXTS:
            return (self.path / name).stat().st_size
        lines = pages.read_page_lines(self.path)
        return sum((self.path / line.text_file).stat().st_size for line in lines)

    def identities(self) -> list[dict[str, Any]]:
        """Return the sums that must close, those alone of stages that are there and not stale."""
        stale = self.stale()
        makers = {"embed": self._of_vectors, "index": self._of_index, "render": self._of_prompt}
        return [
            identity
            for name, maker in makers.items()
            if name in self.stages and name not in stale
            for identity in maker(self.stages[name].counts)
        ]

    def _of_vectors(self, counts: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
        rows, dimensions = int(counts["rows"]), int(counts["dimensions"])
        there = vectors.data_bytes_of(self.path / vectors.VECTORS_FILE)
        expected = rows * dimensions * vectors.BYTES_A_NUMBER
        yield {
            "name": "rows x dimensions x 4 = bytes of the array in vectors.npy",
            "rows": rows,
            "dimensions": dimensions,
            "expected_bytes": expected,
            "bytes": there,
            "closes": expected == there,
        }
        lines = _lines_of(self.path / passages.PASSAGES_FILE)
        ids = _lines_of(self.path / vectors.IDS_FILE) - 2  # the brackets have lines of their own
        without = len(counts["without_vector"])
        yield {
            "name": "lines of chunks.jsonl = rows + passages without a vector; ids = rows",
            "lines": lines,
            "rows": rows,
            "without_vector": without,
            "ids": ids,
            "closes": lines == rows + without and ids == rows,
        }

    def _of_index(self, counts: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
        embedded = self.stages.get("embed")
        rows = int(embedded.counts["rows"]) if embedded else None
        yield {
            "name": "rows of index.npz = rows of vectors.npy",
            "index_rows": counts["rows"],
            "rows": rows,
            "closes": counts["rows"] == rows,
        }

    def _of_prompt(self, counts: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
        remainder = counts["prompt_tokens"] - counts["passage_tokens"]
        yield {
            "name": "tokens of prompt.txt = tokens of its passages + the remainder",
            "counter": counts["counter"],
            "prompt_tokens": counts["prompt_tokens"],
            "passage_tokens": counts["passage_tokens"],
            "remainder_tokens": remainder,
            "remainder": "instructions, labels of the passages, blank lines and the question; "
            "of these without labels: "
            f"{counts['frame_tokens']}",
            "passages": len(counts["passages"]),
            "passages_found_whole": counts["passages_found_whole"],
            "closes": counts["passages_found_whole"] == len(counts["passages"])
            and remainder >= counts["frame_tokens"] - len(counts["passages"]),
        }


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as they come back from JSON, to be compared with recorded ones."""
    loaded: dict[str, Any] = json.loads(json.dumps(values, ensure_ascii=False, allow_nan=False))
    return loaded


def _lines_of(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    except FileNotFoundError:
        return 0
