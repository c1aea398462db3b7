"""The files between the stages: exact, the same every time, and clear about what is wrong."""

from __future__ import annotations

import json
import math
import random
import tracemalloc
from array import array
from pathlib import Path

import pytest

from ragctl.artifacts.index import INDEX_FILE, nearest, read_index, write_index
from ragctl.artifacts.manifest import STAGES, Folder
from ragctl.artifacts.pages import PAGES_FILE, read_page_lines, read_pages, writing_pages
from ragctl.artifacts.passages import PassageLine, read_passages, writing_passages
from ragctl.artifacts.retrieved import Retrieved, read_retrieved, write_retrieved
from ragctl.artifacts.storage import replacing, write_document
from ragctl.artifacts.vectors import VECTORS_FILE, read_vectors, writing_vectors
from ragctl.errors import UsageError
from ragctl.records.chunks import Chunk
from ragctl.records.pages import Heading, Page, Removal
from ragctl.records.search import Hit


def _page(
    url: str = "/design/01-buckets", text: str = "Tokens.\r\nÄ\u2028b 漢字 \U0001f600\n"
) -> Page:
    return Page(
        url=url,
        track="design",
        title="Buckets",
        source_path=f"{url.strip('/')}.md",
        sha256="ab" * 32,
        text=text,
        front_matter={"tags": ["a", 1, None], "date": "2024-01-02"},
        is_landing=False,
        is_draft=False,
        order=(math.inf, "buckets"),
        headings=(Heading(label="A", level=2, anchor="a", start_char=3, line=7),),
        source_lines=(5, 6, 7, 10, 11),
        removals=(Removal(first_line=1, last_line=4, kind="front_matter"),),
        warnings=("design/01-buckets.md:3: odd",),
        size_bytes=99,
    )


def _write_pages(folder: Path, *pages: Page) -> None:
    with writing_pages(folder) as write:
        for page in pages:
            write(page)


def _chunk(number: int) -> Chunk:
    return Chunk(
        url="/t/p",
        track="t",
        position=number,
        ref=f"/t/p#c{number}",
        section=None,
        anchor=None,
        breadcrumb="",
        start_char=number,
        end_char=number + 1,
        body=f"body {number}",
    )


def _write_vectors(folder: Path, rows: int, dimensions: int = 8, seed: int = 1) -> None:
    numbers = random.Random(seed)
    with writing_vectors(folder, dimensions=dimensions) as write:
        for row in range(rows):
            vector = array("f", [numbers.gauss(0, 3) for _ in range(dimensions)])
            write(f"/t/p#c{row}", f"hash{row}", vector)


def test_a_page_comes_back_as_it_was(tmp_path: Path) -> None:
    _write_pages(tmp_path, _page())
    assert list(read_pages(tmp_path)) == [_page()]
    line = json.loads((tmp_path / PAGES_FILE).read_bytes())
    assert line["chars"] == len(_page().text)
    assert (tmp_path / line["text_file"]).read_bytes() == _page().text.encode()


def test_passages_and_hits_come_back_as_they_were(tmp_path: Path) -> None:
    lines = [PassageLine(chunk=_chunk(n), content_hash=f"h{n}") for n in range(3)]
    with writing_passages(tmp_path) as write:
        for line in lines:
            write(line)
    assert list(read_passages(tmp_path)) == lines
    hit = Hit(
        n=1,
        chunk_id=4,
        ref="/t/p#c0",
        url="/t/p",
        title="T",
        track="t",
        section="S",
        anchor=None,
        body="b\ud800",
        start_char=0,
        end_char=1,
        source_path="t/p.md",
        score=1 / 3,
        vector_score=1 / 3,
    )
    found = Retrieved(
        question="What?",
        tracks=("t",),
        k=5,
        search="database",
        embedding="local/m",
        query_sha256="00",
        hits=(hit,),
    )
    write_retrieved(tmp_path, found)
    assert read_retrieved(tmp_path) == found


def test_the_same_values_make_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        _write_pages(tmp_path / name, _page())
        _write_vectors(tmp_path / name, rows=5)
        write_index(tmp_path / name, read_vectors(tmp_path / name))
    for file in (PAGES_FILE, VECTORS_FILE, INDEX_FILE):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_numpy_reads_vectors_and_index(rows: int, tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    _write_vectors(tmp_path, rows=rows)
    stored = read_vectors(tmp_path)
    write_index(tmp_path, stored)
    loaded = numpy.load(tmp_path / VECTORS_FILE)
    assert loaded.shape == (rows, 8)
    assert loaded.dtype == numpy.dtype("<f4")
    assert loaded.tolist() == [row.tolist() for row in stored.rows()]
    index = numpy.load(tmp_path / INDEX_FILE)
    assert index["ids"].tolist() == list(stored.ids)
    assert numpy.allclose(numpy.linalg.norm(index["unit"], axis=1), 1, atol=1e-6)
    assert [(ref, row.tolist()) for ref, row in read_index(tmp_path)] == list(
        zip(index["ids"].tolist(), index["unit"].tolist(), strict=True)
    )


def test_what_numpy_writes_is_read(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    _write_vectors(tmp_path, rows=3)
    matrix = numpy.arange(24, dtype=numpy.float32).reshape(3, 8)
    numpy.save(tmp_path / VECTORS_FILE, matrix)
    assert [row.tolist() for row in read_vectors(tmp_path).rows()] == matrix.tolist()


def test_the_nearest_are_sorted_by_cosine_and_not_by_length(tmp_path: Path) -> None:
    with writing_vectors(tmp_path, dimensions=2) as write:
        write("far", "1", array("f", [0, 9]))
        write("long", "2", array("f", [100, 90]))
        write("same", "3", array("f", [0.5, 0]))
        write("same too", "4", array("f", [2, 0]))
    write_index(tmp_path, read_vectors(tmp_path))
    found = nearest(tmp_path, array("f", [7, 0]), k=3)
    assert [neighbour.ref for neighbour in found] == ["same", "same too", "long"]
    assert found[0].score == pytest.approx(1)
    among = nearest(tmp_path, array("f", [7, 0]), k=3, among={"far"})
    assert [neighbour.ref for neighbour in among] == ["far"]


def test_texts_of_two_pages_never_share_a_file(tmp_path: Path) -> None:
    urls = ["/a/b", "/a__b", "/A/b", "/a_/b", "/a/_b", "/", "/__root", f"/{'x' * 300}"]
    _write_pages(tmp_path, *(_page(url, text=url) for url in urls))
    assert [(page.url, page.text) for page in read_pages(tmp_path)] == [(u, u) for u in urls]
    assert next(read_page_lines(tmp_path)).text_file == "text/a__b.txt"


def test_the_text_of_a_page_that_is_gone_goes_and_a_file_of_somebody_else_stays(
    tmp_path: Path,
) -> None:
    _write_pages(tmp_path, _page("/a"), _page("/b"))
    (tmp_path / "text" / "notes.txt").write_text("mine")
    _write_pages(tmp_path, _page("/b"))
    assert sorted(file.name for file in (tmp_path / "text").iterdir()) == ["b.txt", "notes.txt"]


def test_a_write_that_breaks_off_leaves_the_file_of_before_and_nothing_else(
    tmp_path: Path,
) -> None:
    file = tmp_path / "file"
    file.write_text("before")
    with pytest.raises(KeyboardInterrupt), replacing(file) as half:
        half.write(b"half")
        raise KeyboardInterrupt
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def _damaged(tmp_path: Path, line: int, old: str, new: str) -> str:
    _write_pages(tmp_path, _page("/a"), _page("/b"))
    lines = (tmp_path / PAGES_FILE).read_text(encoding="utf-8").split("\n")
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    (tmp_path / PAGES_FILE).write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        list(read_pages(tmp_path))
    return raised.value.message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"title"', '"titel"', "title is missing"),
        ('"size_bytes": 99', '"size_bytes": "99"', "int expected, str found"),
        ('"is_draft": false', '"is_draft": 0', "bool expected, int found"),
        ('"source_lines": [[5, 3]', '"source_lines": [[5]', "pairs of line and count"),
        ('{"url"', '"url"', "is not JSON"),
        ('"chars"', "\udc80", "is not"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    if new == "\udc80":
        _write_pages(tmp_path, _page("/a"))
        data = (tmp_path / PAGES_FILE).read_bytes()
        (tmp_path / PAGES_FILE).write_bytes(data + b"\xff\n")
        with pytest.raises(UsageError, match=r"parse\.jsonl:2 is not UTF-8"):
            list(read_page_lines(tmp_path))
        return
    message = _damaged(tmp_path, 2, old, new)
    assert message.startswith(f"{tmp_path / PAGES_FILE}:2")
    assert words in message


def test_a_text_that_is_not_its_lines_is_refused(tmp_path: Path) -> None:
    _write_pages(tmp_path, _page("/a"))
    (tmp_path / "text" / "a.txt").write_text("Other.")
    with pytest.raises(UsageError, match=r"a\.txt is not the text that .*parse\.jsonl:1"):
        list(read_pages(tmp_path))


def test_an_array_whose_size_is_not_its_shape_is_refused(tmp_path: Path) -> None:
    _write_vectors(tmp_path, rows=4)
    data = (tmp_path / VECTORS_FILE).read_bytes()
    (tmp_path / VECTORS_FILE).write_bytes(data[:-4])
    with pytest.raises(UsageError, match=r"124 bytes of numbers; its 4 rows x 8 .* are 128"):
        read_vectors(tmp_path)
    (tmp_path / VECTORS_FILE).write_bytes(b"text")
    with pytest.raises(UsageError, match=r"is not an array"):
        read_vectors(tmp_path)


def test_rows_and_references_must_be_as_many(tmp_path: Path) -> None:
    _write_vectors(tmp_path, rows=4)
    write_document(tmp_path / "vector_ids.json", ["one"])
    with pytest.raises(UsageError, match=r"vector_ids\.json names 1 rows, vectors\.npy holds 4"):
        read_vectors(tmp_path)


@pytest.mark.parametrize("number", [0.0, math.nan, math.inf])
def test_a_row_without_direction_makes_no_index(number: float, tmp_path: Path) -> None:
    with writing_vectors(tmp_path, dimensions=2) as write:
        write("/p#c1", "h", array("f", [number, 0.0]))
    with pytest.raises(UsageError, match="/p#c1 has no direction"):
        write_index(tmp_path, read_vectors(tmp_path))


def test_an_index_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / INDEX_FILE).write_bytes(b"PK nothing")
    with pytest.raises(UsageError, match="is no index"):
        list(read_index(tmp_path))


def test_a_reference_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with writing_passages(tmp_path) as write:
        for _ in range(2):
            write(PassageLine(chunk=_chunk(1), content_hash="h"))
    with pytest.raises(UsageError, match=r"chunks\.jsonl:2.*second time"):
        list(read_passages(tmp_path))


def test_memory_does_not_grow_with_the_pages(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        with writing_pages(tmp_path / str(count)) as write:
            for number in range(count):
                write(_page(f"/t/{number}", text="word " * 2000))
        for _page_read in read_pages(tmp_path / str(count)):
            pass
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(5)
    # The 360 texts more have 3.6 MB; what is left is the names of their files and garbage.
    assert peak(400) - peak(40) < 900_000


def test_a_folder_with_other_things_is_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        Folder(tmp_path, claims=True)
    with pytest.raises(UsageError, match="no folder of artifacts"):
        Folder(tmp_path)
    assert (tmp_path / "prompt.txt").read_text() == "mine"


def test_a_prompt_that_lost_a_passage_does_not_close(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "new", claims=True)
    (tmp_path / "new" / "prompt.txt").write_text("prompt")
    counts = {
        "counter": "c",
        "prompt_tokens": 100,
        "passage_tokens": 80,
        "frame_tokens": 10,
        "passages": [1, 2],
        "passages_found_whole": 2,
    }
    for found_whole in (2, 1):
        folder.record(
            "render",
            command="stage",
            inputs={},
            parameters={},
            counts={**counts, "passages_found_whole": found_whole},
        )
        (identity,) = folder.identities()
        assert identity["closes"] is (found_whole == 2)
        assert identity["remainder_tokens"] == 20


def test_every_file_of_a_stage_is_made_by_one_stage() -> None:
    written = [name for stage in STAGES.values() for name in stage.writes]
    assert len(set(written)) == len(written)
    for stage in STAGES.values():
        assert set(stage.reads) <= set(written)
