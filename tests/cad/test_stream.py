"""`iter_compact`: sources, chunks, errors, and readers in several threads."""

from __future__ import annotations

import io
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from compactwire import cad
from tests.strategies.documents import BRACKET, assembled


def test_max_line_limits_a_line_of_a_stream() -> None:
    line = "C 1 1 1 #" + "x" * 91
    assert len(list(cad.iter_compact([line], max_line=100))) == 2
    for chunks in ([line + "x\n"], list(line + "x"), [line + "x"]):
        with pytest.raises(cad.CompactParseError) as caught:
            list(cad.iter_compact(["S 1\n", *chunks], max_line=100))
        assert str(caught.value) == "line 2, column 1: line is longer than 100 bytes"
    assert len(cad.from_compact(line + "x" * 2_000_000)["nodes"]) == 1


def test_a_stream_takes_little_memory() -> None:
    resource = pytest.importorskip("resource")
    if sys.platform != "linux":
        pytest.skip("ru_maxrss is in other units")
    chunk = "C 1 2 3\n" + "T 0 1.5 2.5 3\n" * 4000 + "U 0 1\n"
    size, chunks = 0, 0

    def many() -> Any:
        nonlocal size, chunks
        while size < 20_000_000:
            size += len(chunk)
            chunks += 1
            yield chunk

    for _ in zip(range(10_000), cad.iter_compact(many()), strict=False):
        pass
    size = chunks = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    nodes = sum(1 for kind, _ in cad.iter_compact(many()) if kind == "node")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert nodes == 4002 * chunks
    assert grown * 1024 < 64 * 2**20 + 2 * nodes


def test_a_stream_takes_paths_files_and_chunks(tmp_path: Path) -> None:
    path = tmp_path / "part.vcadc"
    path.write_text(BRACKET, encoding="utf-8")
    expected = cad.from_compact(BRACKET)
    with path.open("rb") as binary, path.open(encoding="utf-8") as text:
        for source in (path, str(path), binary, text, io.BytesIO(BRACKET.encode()),
                       BRACKET.encode(), bytearray(BRACKET.encode()), memoryview(BRACKET.encode()),
                       [bytearray(BRACKET.encode())], [BRACKET], iter(BRACKET)):  # fmt: skip
            assert assembled(cad.iter_compact(source)) == expected  # type: ignore[arg-type]
    with path.open("rb") as binary:
        list(cad.iter_compact(binary))
        assert not binary.closed
    with pytest.raises(FileNotFoundError) as caught:
        cad.iter_compact(tmp_path / "none")
    assert caught.value.filename == str(tmp_path / "none")
    with pytest.raises(IsADirectoryError) as inside:
        list(cad.iter_compact(tmp_path))
    assert inside.value.filename == str(tmp_path)

    class Bytes:
        def __fspath__(self) -> bytes:
            return bytes(path)

    assert assembled(cad.iter_compact(Bytes())) == expected  # type: ignore[call-overload]
    half = cad.iter_compact(path)
    assert next(half)[0] == "node"
    del half
    with pytest.raises(TypeError):
        cad.iter_compact(5)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="a chunk must be bytes or str"):
        list(cad.iter_compact([object()]))  # type: ignore[list-item]


def test_a_text_in_place_of_a_path_names_the_class_that_reads_it() -> None:
    for text in ("C 1 2 3\nS 1\n", "C 1 2 3\n" * 1000):
        with pytest.raises(
            ValueError, match=r"content, not the path of a file; use `io\.StringIO`"
        ):
            cad.iter_compact(text)
    with pytest.raises(FileNotFoundError):
        cad.iter_compact("missing.vcadc")


def test_nodes_before_an_error_are_returned() -> None:
    items = cad.iter_compact(["C 1 1 1\nS 1\n", "Q\nS 1\n"])
    assert [next(items)[1]["id"], next(items)[1]["id"]] == [0, 1]
    with pytest.raises(cad.CompactParseError):
        next(items)
    assert list(items) == []


def test_a_stream_has_one_reader_at_a_time() -> None:
    asked, answered = threading.Event(), threading.Event()

    def chunks() -> Any:
        yield "C 1 1 1\nT 0"
        asked.set()
        answered.wait(60)
        yield " 0 0 1\n"

    items = cad.iter_compact(chunks())
    seen = [next(items)]
    reader = threading.Thread(target=lambda: seen.extend(items))
    reader.start()
    try:
        assert asked.wait(60)
        with pytest.raises(ValueError, match="already executing"):
            next(items)
    finally:
        answered.set()
        reader.join()
    assert [kind for kind, _ in seen] == ["node", "node", "end"]

    def inside() -> Any:
        yield next(again)

    again = cad.iter_compact(inside())
    with pytest.raises(ValueError, match="already executing"):
        next(again)


def test_an_error_of_the_source_is_raised() -> None:
    def chunks() -> Any:
        yield "C 1 1 1\nS"
        raise OSError("gone")

    items = cad.iter_compact(chunks())
    assert next(items)[0] == "node"
    with pytest.raises(OSError, match="gone"):
        next(items)
