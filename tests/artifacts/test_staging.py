"""One stage at a time, without a database: what runs, what is skipped, what is refused."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragctl.artifacts.answers import read_answer, read_prompt
from ragctl.artifacts.manifest import Folder
from ragctl.artifacts.passages import read_passages
from ragctl.artifacts.retrieved import read_retrieved
from ragctl.artifacts.vectors import read_vectors
from ragctl.comparing import Change, Comparison, compare
from ragctl.errors import EmbeddingRefused, IndexMismatch, UsageError
from ragctl.pipeline.answer import AnswerOptions
from ragctl.prompts import shipped
from ragctl.records.answers import Answer, Draft, Prompt
from ragctl.records.vectors import EmbeddingIdentity, Purpose, Vector
from ragctl.stages.chunk.fixed import FixedChunker
from ragctl.stages.parse import MarkdownParser
from ragctl.staging.answered import run_check, run_generate, run_render, run_retrieve
from ragctl.staging.indexed import run_chunk, run_embed, run_index, run_parse
from ragctl.staging.reading import Content, recorded_content
from ragctl.staging.running import StageRun
from tests.ollama_server import unit_vector
from tests.program import PAGES


class _Embedder:
    """Gives every text a vector of its own, and remembers what it was asked."""

    def __init__(self, *, model: str = "m", refused: str = "") -> None:
        self.identity = EmbeddingIdentity(
            provider="test",
            model=model,
            digest="",
            dimensions=768,
            document_prefix="",
            query_prefix="",
        )
        self.texts: list[str] = []
        self._refused = refused

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        if self._refused and any(self._refused in text for text in texts):
            raise EmbeddingRefused("too long", reason="too_long")
        self.texts += texts
        return [array("f", unit_vector(text)) for text in texts]


class _Generator:
    """Answers every prompt in the same way and remembers it."""

    name = "test/writer"

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def generate(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Draft:
        self.prompts.append(prompt.text)
        on_text("It refills [1].")
        return Draft(text="It refills [1].", route=self.name, finish="stop")


def _document(answer: Answer) -> dict[str, object]:
    return {
        "schema": "ragctl.answer/1",
        "question": answer.question,
        "answer": answer.text,
        "citations": [citation.link for citation in answer.citations],
    }


class Build:
    """A folder of artifacts over a small site, and the stages that fill it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.embedder = _Embedder()
        self.generator = _Generator()

    def run(self, stage: str, **options: Any) -> StageRun:
        """Run one stage."""
        folder = self.folder
        stages: dict[str, Callable[..., StageRun]] = {
            "parse": lambda **o: run_parse(
                folder, Content(root=str(self.root)), MarkdownParser(), **o
            ),
            "chunk": lambda size=800, **o: run_chunk(
                folder, FixedChunker(size=size, overlap=0), **o
            ),
            "embed": lambda **o: run_embed(folder, self.embedder, **o),
            "index": lambda **o: run_index(folder, **o),
            "retrieve": lambda question="What refills?", **o: run_retrieve(
                folder, question, self.embedder, k=2, **o
            ),
            "render": lambda template="balanced", **o: run_render(
                folder, template=shipped(template), budget_tokens=3000, least_share=0.5, **o
            ),
            "generate": lambda **o: run_generate(
                folder, self.generator, parameters={}, on_text=lambda _text: None, **o
            ),
            "check": lambda **o: run_check(folder, AnswerOptions(), _document, **o),
        }
        return stages[stage](**options)

    def all(self) -> list[bool]:
        """Run every stage in order and return which were skipped."""
        return [self.run(stage).skipped for stage in STAGES]


STAGES = ("parse", "chunk", "embed", "index", "retrieve", "render", "generate", "check")


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A small site and a new folder."""
    for path, text in PAGES.items():
        file = tmp_path / "content" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return Build(tmp_path / "content", tmp_path / "build")


def _manifest(build: Build) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((build.folder / "manifest.json").read_text())
    return loaded


def test_the_stages_lead_from_a_folder_of_pages_to_an_answer(build: Build) -> None:
    assert not any(build.all())
    answer = read_answer(build.folder)
    assert answer["answer"] == "It refills [1]."
    first = read_retrieved(build.folder).hits[0]
    assert answer["citations"][0].startswith(first.url)
    assert first.body in read_prompt(build.folder)
    manifest = _manifest(build)
    assert manifest["stale"] == []
    assert [identity["closes"] for identity in manifest["identities"]] == [True] * 4
    assert manifest["stages"]["parse"]["counts"]["left_out"] == [
        {"path": "kernel/11-draft.md", "reason": "draft", "intended": True}
    ]
    assert recorded_content(build.folder) == Content(root=str(build.root))


def test_what_is_made_already_is_skipped_and_forced_only_on_request(build: Build) -> None:
    build.all()
    build.embedder.texts.clear()
    build.generator.prompts.clear()
    before = {file: file.stat().st_mtime_ns for file in build.folder.rglob("*")}
    assert all(build.all())
    assert build.embedder.texts == []
    assert build.generator.prompts == []
    assert {file: file.stat().st_mtime_ns for file in build.folder.rglob("*")} == before
    assert not build.run("embed", force=True).skipped
    assert len(build.embedder.texts) == 3


def test_an_edited_page_makes_what_follows_stale_in_order(build: Build) -> None:
    build.all()
    build.embedder.texts.clear()
    (build.root / "kernel/10-rcu.md").write_text("---\ntitle: RCU\n---\nReaders never block.\n")
    assert build.run("chunk").skipped  # parse has not run again yet
    assert not build.run("parse").skipped
    assert _manifest(build)["stale"] == ["chunk", "embed", "index", "retrieve", *STAGES[5:]]
    with pytest.raises(UsageError, match="stale") as refused:
        build.run("index")
    assert f"ragctl stage chunk --from {build.folder}" in refused.value.hint
    build.run("chunk")
    build.run("embed")
    assert build.embedder.texts == ["Readers never block."]
    assert not build.run("index").skipped


def test_an_edited_passage_is_embedded_as_it_was_edited(build: Build) -> None:
    build.all()
    file = build.folder / "chunks.jsonl"
    file.write_text(file.read_text().replace("Readers never wait", "Readers may wait"))
    build.embedder.texts.clear()
    build.run("embed", force=False)
    assert build.embedder.texts == ["Readers may wait for writers."]


def test_an_edited_prompt_is_what_the_model_gets(build: Build) -> None:
    build.all()
    prompt = build.folder / "prompt.txt"
    prompt.write_text(prompt.read_text() + " In one word.")
    assert not build.run("generate").skipped
    assert build.generator.prompts[-1].endswith(" In one word.")


def test_another_template_asks_no_model_until_generate(build: Build) -> None:
    build.all()
    build.embedder.texts.clear()
    assert build.run("retrieve").skipped
    assert not build.run("render", template="strict").skipped
    assert build.embedder.texts == []
    assert not build.run("generate").skipped


def test_a_changed_parameter_runs_the_stage_again(build: Build) -> None:
    build.all()
    assert not build.run("chunk", size=200).skipped
    assert not build.run("retrieve", question="Another?", force=True).skipped


@pytest.mark.parametrize(
    ("stage", "command"),
    [
        ("chunk", "ragctl stage parse --from"),
        ("embed", "ragctl stage chunk --from"),
        ("index", "ragctl stage embed --from"),
        ("retrieve", "ragctl stage index --from"),
        ("render", "ragctl stage retrieve --from"),
        ("generate", "ragctl stage render --from"),
        ("check", "ragctl stage generate --from"),
    ],
)
def test_a_missing_file_names_the_command_that_makes_it(
    stage: str, command: str, build: Build
) -> None:
    for earlier in STAGES[: STAGES.index(stage) - 1]:
        build.run(earlier)
    if stage == "chunk":
        Folder(build.folder, claims=True)
    with pytest.raises(UsageError) as missing:
        build.run(stage)
    assert command in missing.value.hint


def test_a_passage_that_the_model_refuses_is_named_and_the_sum_closes(build: Build) -> None:
    build.embedder = _Embedder(refused="somebody is free")
    for stage in STAGES[:4]:
        assert build.run(stage).open == ()
    manifest = _manifest(build)
    (without,) = manifest["stages"]["embed"]["counts"]["without_vector"]
    assert without.startswith("/design/02-queues#c")
    assert manifest["identities"][1]["without_vector"] == 1
    assert len(list(read_passages(build.folder))) == 3
    assert read_vectors(build.folder).shape.rows == 2


def test_a_question_is_not_compared_with_vectors_of_another_model(build: Build) -> None:
    for stage in STAGES[:4]:
        build.run(stage)
    build.embedder = _Embedder(model="other")
    with pytest.raises(IndexMismatch):
        build.run("retrieve")


def test_tracks_limit_what_is_found_and_an_unknown_one_is_refused(build: Build) -> None:
    for stage in STAGES[:4]:
        build.run(stage)
    build.run("retrieve", tracks=("kernel",))
    assert {hit.track for hit in read_retrieved(build.folder).hits} == {"kernel"}
    with pytest.raises(UsageError, match="no track 'x'"):
        build.run("retrieve", tracks=("x",))


def test_artifacts_inside_the_content_are_refused(build: Build) -> None:
    build.folder = build.root / "build"
    with pytest.raises(UsageError, match="inside the content folder"):
        build.run("parse")
    assert not build.folder.exists()


# Comparing -----------------------------------------------------------------------------------


@pytest.fixture
def pair(build: Build, tmp_path: Path) -> tuple[Build, Build]:
    """Two folders made from the same site."""
    build.all()
    other = Build(build.root, tmp_path / "other")
    other.all()
    return build, other


def _changes(comparison: Comparison, name: str) -> tuple[Change, ...]:
    return next(b.changes for b in comparison.boundaries if b.name == name)


def test_two_runs_over_the_same_pages_are_the_same(pair: tuple[Build, Build]) -> None:
    comparison = compare(pair[0].folder, pair[1].folder)
    assert comparison.first is None
    assert comparison.parameters == ()
    assert all(boundary.compared for boundary in comparison.boundaries)


def test_an_edited_page_is_followed_to_the_hits(pair: tuple[Build, Build]) -> None:
    one, other = pair
    (one.root / "kernel/10-rcu.md").write_text("---\ntitle: RCU\n---\nWhat refills?\n")
    other.all()
    comparison = compare(one.folder, other.folder)
    assert comparison.first is not None
    assert comparison.first.name == "pages"
    (page,) = _changes(comparison, "pages")
    assert (page.name, page.kind) == ("/kernel/10-rcu", "changed")
    assert "text" in page.how
    passages = {change.name: change.kind for change in _changes(comparison, "passages")}
    assert passages == {"/kernel/10-rcu#c0": "changed"}
    (vector,) = _changes(comparison, "vectors")
    assert vector.name == "/kernel/10-rcu#c0"
    assert vector.cosine is not None
    assert vector.cosine < 0.999
    hits = {change.name: change for change in _changes(comparison, "hits")}
    assert hits["/kernel/10-rcu#c0"].rank_after is not None


def test_a_passage_that_only_stands_elsewhere_has_moved(pair: tuple[Build, Build]) -> None:
    one, other = pair
    file = one.root / "design/01-buckets.md"
    one.run("chunk", size=60)
    file.write_text(file.read_text().replace("---\n## The", f"---\n{'word ' * 11}\n\n## The"))
    other.run("parse")
    other.run("chunk", size=60)
    kinds = {change.kind for change in _changes(compare(one.folder, other.folder), "passages")}
    assert "moved" in kinds


def test_a_vector_that_hardly_moved_is_no_change(pair: tuple[Build, Build]) -> None:
    one, other = pair
    file = other.folder / "vectors.npy"
    data = bytearray(file.read_bytes())
    data[128] ^= 1  # the last bit of the first number
    file.write_bytes(data)
    assert compare(one.folder, other.folder).first is None


def test_parameters_are_told_and_alone_are_no_difference(pair: tuple[Build, Build]) -> None:
    one, other = pair
    other.run("chunk", size=801)
    comparison = compare(one.folder, other.folder)
    assert comparison.first is None
    assert comparison.parameters == (("chunk", "size", 800, 801),)
    assert comparison.stale == ((), ())
    other.run("chunk", size=60)
    assert compare(one.folder, other.folder).stale[1] == STAGES[2:]


def test_a_file_that_one_run_lacks_is_a_difference(pair: tuple[Build, Build]) -> None:
    one, other = pair
    (other.folder / "answer.json").unlink()
    comparison = compare(one.folder, other.folder)
    assert comparison.first is not None
    assert comparison.first.name == "answer"
    for folder in (one.folder, other.folder):
        (folder / "prompt.txt").unlink()
    assert not compare(one.folder, other.folder).boundaries[4].compared
