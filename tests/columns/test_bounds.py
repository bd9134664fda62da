"""Columns whose rows are far larger than they look: memory, and the end of a call by Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import arrow, cad, gcf
from tests.columns.producer import Column, texts
from tests.package.test_interrupts import ctrl_c, is_finished

__all__ = ["ctrl_c"]

SIZE = 4_000_000
BOMB = cw.encode("a" * SIZE, format="zstd")
TABLE = gcf.dumps([{"a" * 10_000: n} for n in range(1000)])


def bombs(count: int) -> arrow.Column:
    """Messages that were imported already, during which a call also looks for signals."""
    return arrow.encode(Column(["a" * SIZE] * count), format="zstd")


@pytest.mark.skipif(sys.platform == "win32", reason="needs the function raise of C")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "call",
    [
        arrow.inspect,
        arrow.decode,
        partial(arrow.decode, max_size=SIZE - 1, errors="null"),
    ],
    ids=["inspect", "decode", "decode of rows that fail"],
)
def test_ctrl_c_ends_a_call_within_a_few_bombs(call: Callable[..., Any], threads: int) -> None:
    assert not is_finished(partial(call, bombs(16), threads=threads))


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("errors", ["raise", "null", "report"])
def test_all_rows_together_are_bounded(threads: int, errors: Any) -> None:
    chunks = [[BOMB] * 3, ["RES|OK||0|x"] * 200_000 + [BOMB] * 9 + [""]]
    options: dict[str, Any] = {"threads": threads, "errors": errors, "fields": ["result"]}
    with pytest.raises(cw.OutputTooLarge, match=r"raise max_expansion") as caught:
        arrow.decode(Column(*chunks), max_expansion=5 * SIZE, **options)
    assert (caught.value.row, caught.value.limit) == (200_005, 5 * SIZE)
    assert len(arrow.decode(Column(chunks[0]), max_expansion=3 * SIZE, **options)) == 3


def test_a_row_that_fails_before_the_bound_is_raised_first() -> None:
    column = Column(["?"] + ["RES|OK||0|x"] * 200_000 + [BOMB] * 9)
    for threads in (1, 2, 7):
        with pytest.raises(cw.InvalidPrefix) as caught:
            arrow.decode(column, threads=threads, max_expansion=0)
        assert caught.value.row == 0


def test_the_bound_is_for_what_the_rows_do_not_explain() -> None:
    rows = ["RES|OK||0|" + "x" * n for n in range(0, 5000, 7)]
    assert len(arrow.decode(Column(rows), max_expansion=0)) == len(rows)
    assert len(arrow.decode(Column(["?"] * 5000), errors="report", max_expansion=0)) == 5000
    assert len(arrow.decode(Column([BOMB] * 9), fields=["tokens"], max_expansion=0)) == 9
    assert len(arrow.inspect(Column([BOMB] * 9))) == 9


def test_the_default_bound_is_a_quarter_of_a_gigabyte() -> None:
    bomb = cw.encode("a" * 60_000_000, format="zstd")
    with pytest.raises(cw.OutputTooLarge) as caught:
        arrow.decode(Column(*[[bomb]] * 40))
    assert (caught.value.row, caught.value.limit) == (4, 256 << 20)


def test_json_of_all_rows_together_is_bounded() -> None:
    with pytest.raises(cw.OutputTooLarge) as caught:
        arrow.gcf_to_json(Column([TABLE] * 9), max_expansion=50_000_000)
    assert caught.value.row == 5
    assert len(texts(arrow.gcf_to_json(Column([TABLE] * 5), max_expansion=50_000_000))) == 5
    with pytest.raises(cw.GcfError) as refused:
        arrow.gcf_to_json(Column([TABLE]), max_expansion=1_000_000)
    assert (refused.value.code, refused.value.row) == ("limit_exceeded", 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory the Linux way")
def test_a_growing_column_needs_twice_its_memory_and_no_more() -> None:
    code = (
        "import resource\n"
        "import compactwire as cw\n"
        "from compactwire import arrow\n"
        "from tests.columns.producer import Column\n"
        "bomb = cw.encode('a' * 50_000_000, format='zstd')\n"
        "column = Column([bomb] * 8)\n"
        "arrow.decode(Column([bomb]), max_expansion=1 << 40)\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 1_500_000_000,) * 2)\n"
        "print(len(arrow.decode(column, max_expansion=1 << 40)))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert found.stdout == "8\n", found.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory the Linux way")
def test_no_memory_is_taken_for_rows_that_take_none() -> None:
    pytest.importorskip("pyarrow", reason="NOT RUN: pyarrow is not installed")
    code = (
        "import resource\n"
        "import pyarrow as pa\n"
        "from compactwire import gcf\n"
        "zero = pa.array([0], pa.int32())\n"
        "nulls = pa.nulls(1 << 28)\n"
        "none = pa.array([None], pa.utf8())\n"
        "runs = pa.RunEndEncodedArray.from_arrays(pa.array([1 << 28]), none)\n"
        "wide = pa.StructArray.from_arrays([runs] * 50, [str(n) for n in range(50)])\n"
        "columns = [\n"
        "    pa.DictionaryArray.from_arrays(zero, nulls),\n"
        "    pa.ListViewArray.from_arrays(zero, pa.array([1], pa.int32()), nulls),\n"
        "    pa.ListArray.from_arrays([0, 1 << 28], wide),\n"
        "]\n"
        "gcf.dumps(columns[0].slice(0, 0))\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000,) * 2)\n"
        "print([len(gcf.loads(gcf.dumps(column))) for column in columns[:2]])\n"
        "try:\n"
        "    gcf.dumps(columns[2])\n"
        "except gcf.GcfError as error:\n"
        "    print(error.code)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert found.stdout == "[1, 1]\nlimit_exceeded\n", found.stderr


def test_a_small_stack_holds_the_deepest_type() -> None:
    pytest.importorskip("pyarrow", reason="NOT RUN: pyarrow is not installed")
    code = (
        "import threading\n"
        "import pyarrow as pa\n"
        "from compactwire import gcf\n"
        "def write():\n"
        "    column = pa.array([1])\n"
        "    for _ in range(127):\n"
        "        column = pa.StructArray.from_arrays([column], ['a'])\n"
        "        column = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), column)\n"
        "    deepest = gcf.loads(gcf.dumps(column, max_depth=256), max_depth=256)\n"
        "    print(str(deepest).count('['))\n"
        "threading.stack_size(1 << 20)\n"
        "thread = threading.Thread(target=write)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert found.stdout == "128\n", found.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs the function raise of C")
def test_ctrl_c_ends_the_joining_of_chunks() -> None:
    column = arrow.detect(Column(["RES|"], ["RES|"]))
    assert not is_finished(column.__arrow_c_array__)
    assert is_finished(column.__arrow_c_schema__)


def dictionary(pa: Any, text: str, count: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))


def views(pa: Any, text: str, count: int) -> Any:
    view = len(text).to_bytes(4, "little") + text[:4].encode() + bytes(8)
    buffers = [None, pa.py_buffer(view * count), pa.py_buffer(text.encode())]
    return pa.Array.from_buffers(pa.string_view(), count, buffers)


LONG = "a" * 200_000
CUBES = cad.dumps(cad.from_compact("C 1 2 3\n" * 2_000))
# A function, a text, and how many rows share it.
SHARED: dict[str, tuple[Callable[..., arrow.Column], str, int]] = {
    "encode": (partial(arrow.encode, format="dsl"), LONG, 300),
    "encode to bytes": (partial(arrow.encode, format="verbose", output="bytes"), LONG, 300),
    "gcf_from_json": (arrow.gcf_from_json, f'"{LONG}"', 300),
    "cad_from_compact": (arrow.cad_from_compact, "C 1 2 3\n" * 2_000, 300),
    "cad_to_compact": (arrow.cad_to_compact, CUBES, 3_000),
    "cad_to_binary": (arrow.cad_to_binary, CUBES, 3_000),
}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("layout", [dictionary, views])
def test_rows_that_share_a_text_are_bounded(name: str, layout: Callable[..., Any]) -> None:
    pa = pytest.importorskip("pyarrow", reason="NOT RUN: pyarrow is not installed")
    call, text, count = SHARED[name]
    few, many = layout(pa, text, 2), layout(pa, text, count)
    assert len(call(few, max_expansion=0)) == 2
    for errors in ("raise", "null"):
        with pytest.raises(cw.OutputTooLarge, match="raise max_expansion") as caught:
            call(many, max_expansion=100_000, errors=errors)
        assert caught.value.row in range(count)
        assert caught.value.limit == 100_000
    assert len(call(layout(pa, text, 20))) == 20


@pytest.mark.parametrize("layout", [dictionary, views])
def test_chunks_that_share_a_text_are_bounded(layout: Callable[..., Any]) -> None:
    pa = pytest.importorskip("pyarrow", reason="NOT RUN: pyarrow is not installed")
    rows = layout(pa, LONG, 300)
    chunks = pa.chunked_array([rows.slice(row, 1) for row in range(300)])
    with pytest.raises(cw.OutputTooLarge, match="raise max_expansion"):
        arrow.encode(chunks, format="dsl", max_expansion=100_000)
    long = layout(pa, LONG * 10, 300)
    with pytest.raises(cw.GcfError) as refused:
        gcf.dumps(pa.chunked_array([long.slice(row, 1) for row in range(300)]))
    assert refused.value.code == "limit_exceeded"


def test_short_texts_beside_a_shared_one_do_not_hide_it() -> None:
    pa = pytest.importorskip("pyarrow", reason="NOT RUN: pyarrow is not installed")
    indices = pa.array([0] * 300, pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, pa.array([LONG] + [""] * 10_000))
    with pytest.raises(cw.OutputTooLarge, match="raise max_expansion"):
        arrow.encode(column, format="dsl", max_expansion=100_000)


def test_every_text_of_a_response_counts_towards_the_bound() -> None:
    pa = pytest.importorskip("pyarrow", reason="NOT RUN: pyarrow is not installed")
    models = dictionary(pa, LONG, 1_000)
    table = pa.table({"result": ["x"] * 1_000, "model": models})
    with pytest.raises(cw.OutputTooLarge):
        arrow.encode(table, format="dsl", max_expansion=1_000_000)
    names = pa.table({"result": ["x" * 500] * 1_000, "model": ["m" * 9_000] * 1_000})
    assert len(arrow.encode(names, format="dsl", max_expansion=0)) == 1_000


def huge_page_bytes() -> int:
    """The bytes of this process for which huge pages were requested."""
    total = size = 0
    for line in Path("/proc/self/smaps").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "Size":
            size = int(value.split()[0]) << 10
        elif name == "VmFlags" and "hg" in value.split():
            total += size
    return total


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="NOT RUN: no huge pages"
)
def test_a_large_result_gets_huge_pages() -> None:
    # Without them, almost half of the time goes into 10,000 pages of 4 KiB.
    before = huge_page_bytes()
    wires = arrow.encode(Column(["x" * 200] * 200_000), format="dsl", threads=1)
    requested = huge_page_bytes() - before
    # The capacity of the buffer is 9/8 of the texts, of which whole pages of 2 MiB are requested.
    assert wires.nbytes - (5 << 20) < requested < wires.nbytes * 9 / 8
