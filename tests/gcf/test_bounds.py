"""The cost of hostile texts and values: content that is not in the text is counted before."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from compactwire import gcf
from compactwire.cli import main
from tests.reference import gcf_writer
from tests.scaling import harness
from tests.scaling.gcf import (
    IMPLIED,
    UNLIKE,
    constants,
    iter_rows,
    long_constant,
    path_columns,
)
from tests.scaling.harness import OBJECTS, TEXT, Case

linux = pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read the Linux way")
READERS: dict[str, Callable[..., Any]] = {"loads": gcf.loads, "to_json": gcf.to_json}
LARGE = {
    "constants": 10_000,
    "long constant": 60_000,
    "long name": 60_000,
    "long group": 60_000,
    "deep path": 49_000,
}


# Texts


@linux
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("reader", READERS)
def test_a_text_that_implies_too_much_is_refused_before_it_costs_memory(
    reader: str, name: str
) -> None:
    make, call = IMPLIED[name], READERS[reader]
    with pytest.raises(gcf.GcfError, match=r"limit_exceeded: .*max_expansion=268435456 "):
        call(make(LARGE[name]))
    factor = OBJECTS if reader == "loads" else TEXT
    case = Case(name, call, make, 1, LARGE[name], factor)
    size, used = harness.peak(case)
    assert used < harness.bound(case, size)


@pytest.mark.parametrize("name", IMPLIED)
@pytest.mark.parametrize("reader", READERS)
def test_the_limit_of_expansion_can_be_changed(reader: str, name: str) -> None:
    text, call = IMPLIED[name](50), READERS[reader]
    with pytest.raises(gcf.GcfError, match="limit_exceeded"):
        call(text, max_expansion=0)
    assert call(text, max_expansion=1 << 20) == call(text)
    with pytest.raises(ValueError, match="max_expansion"):
        call(text, max_expansion=-1)


@pytest.mark.parametrize(
    ("head", "row", "each"),
    [
        # The names, the size of a value, and the text of the constant.
        ("{a,b=xyz}", "1", 1 + 1 + 16 + 3),
        ("{a,b=1}", "1", 1 + 1 + 16),
        ("{aaaa,bbbb}", "1|~", 8),
        # Two objects of 128 bytes, each with a value of 16, and the names.
        ('{"a>bb>c"}', "1", 2 * (128 + 16) + 4),
        ('{"a>bb>c",d}', "~|1", 1 + 1),
        ('{"a>bb>c",d}', "-|1", 1 + 1),
    ],
)
def test_expansion_is_counted_exactly(head: str, row: str, each: int) -> None:
    text = f"GCF profile=generic\n## [100]{head}\n" + f"{row}\n" * 100
    free = 16 * len(text)
    least = max(100 * each - free, 0)
    for read in READERS.values():
        read(text, max_expansion=least)
        if least:
            with pytest.raises(gcf.GcfError, match="limit_exceeded"):
                read(text, max_expansion=least - 1)


def test_a_wrong_count_is_not_reported_as_expansion() -> None:
    for text in ("## [100000000]{a,b=1}\n1\n", "## a [99999999999999999999:]{key,b}\nk|1\n"):
        with pytest.raises(gcf.GcfError, match="count_mismatch"):
            gcf.loads("GCF profile=generic\n" + text)


def test_the_value_of_a_group_counts_for_each_row() -> None:
    rows = [{"id": n, "state": "x" * 1000} for n in range(100)]
    text = gcf.dumps_grouped(rows, "id", "state")
    assert gcf.loads(text) == rows
    with pytest.raises(gcf.GcfError, match="limit_exceeded"):
        gcf.loads(text, max_expansion=10_000)


def test_iter_rows_shares_constants_and_limits_each_row() -> None:
    count = 2000
    rows = iter(gcf.iter_rows(io.StringIO(long_constant(count)), max_expansion=100_000))
    first, second = next(rows), next(rows)
    assert first["b"] is second["b"]
    assert sum(1 for _ in rows) == count - 2
    with pytest.raises(gcf.GcfError, match="limit_exceeded"):
        iter_rows(long_constant(count), max_expansion=1000)


def test_iter_rows_subtracts_no_text_of_a_row() -> None:
    rows = [{"table": [{"name": 7}] * 100}]
    text = gcf.dumps(rows)
    assert gcf.loads(text, max_expansion=0) == rows
    names = len("table") + 100 * len("name")
    assert list(gcf.iter_rows(io.StringIO(text), max_expansion=names)) == rows
    with pytest.raises(gcf.GcfError, match="limit_exceeded"):
        iter_rows(text, max_expansion=names - 1)


@linux
def test_iter_rows_reads_large_expansions_row_by_row() -> None:
    case = Case("constants", iter_rows, constants, 1, 3000)
    size, used = harness.peak(case)
    assert used < harness.bound(case, size)


def test_the_command_limits_expansion(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.gcf"
    path.write_text(path_columns(3), encoding="utf-8")
    assert main(["gcf", "decode", str(path)]) == 0
    path.write_text(constants(100), encoding="utf-8")
    assert main(["gcf", "decode", "--max-expansion", "0", str(path)]) != 0
    assert "max_expansion=0" in capsys.readouterr().err


# Values


@linux
@pytest.mark.parametrize("name", UNLIKE)
@pytest.mark.parametrize("writer", ["dumps", "from_json"])
def test_a_value_of_unlike_objects_is_written_in_bounded_memory(writer: str, name: str) -> None:
    make = UNLIKE[name]
    if writer == "dumps":
        case = Case(name, gcf.dumps, make, 1, 10_000, TEXT)
    else:
        case = Case(name, gcf.from_json, lambda size: json.dumps(make(size)), 1, 10_000, TEXT)
    size, used = harness.peak(case)
    assert used < harness.bound(case, size)


@pytest.mark.parametrize("name", UNLIKE)
@pytest.mark.parametrize("count", [10, 63, 64, 65, 66, 200])
def test_unlike_objects_are_written_as_by_the_reference_and_read_back(
    name: str, count: int
) -> None:
    value = UNLIKE[name](count)
    text = gcf.dumps(value)
    assert text == gcf_writer.dumps(value) == gcf.from_json(json.dumps(value))
    assert gcf.loads(text) == value
    assert len(text) < 8192 + 8 * len(json.dumps(value))


def test_a_table_becomes_sparse_only_beyond_both_limits() -> None:
    def rows(count: int, width: int, present: int) -> list[dict[str, int]]:
        full = dict.fromkeys((f"c{n}" for n in range(width)), 1)
        return [full, *({f"c{n}": 1 for n in range(present)} for _ in range(count - 1))]

    def is_table(value: Any) -> bool:
        text = gcf.dumps(value)
        assert text == gcf_writer.dumps(value)
        return "{c0" in text

    # 64 * 64 cells are few, 65 * 64 are many; 8 for each that is present are dense.
    assert is_table(rows(64, 64, 1))
    assert not is_table(rows(65, 64, 1))
    assert is_table(rows(65, 64, 8))


@pytest.mark.slow
def test_nothing_is_flattened_that_readers_would_refuse() -> None:
    deep: Any = 1
    for _ in range(10):
        deep = {"a": deep}
    for count, flattened in ((1000, True), (300_000, False)):
        text = gcf.dumps([deep] * count)
        assert ("a>a" in text) == flattened
        assert gcf.to_json(text) == json.dumps([deep] * count, separators=(",", ":"))


def test_a_stream_refuses_rows_that_readers_would_refuse() -> None:
    pieces: list[str] = []
    stream = gcf.StreamEncoder(pieces.append)
    stream.begin_array("a", ["x" * (1 << 20)])
    # 256 MiB, and 16 bytes for each byte of the text.
    count = 256 + 16
    for _ in range(count):
        stream.row([1])
    with pytest.raises(gcf.GcfError, match="limit_exceeded"):
        stream.row([1])
    stream.close()
    text = "".join(pieces)
    assert len(gcf.loads(text)["a"]) == count


def unlike_group(count: int) -> Any:
    return [{"id": n, "g": 1, f"c{n}": n} for n in range(count)]


def test_rows_with_few_fields_in_common_are_not_grouped() -> None:
    for group in (lambda rows: gcf.dumps_grouped(rows, "id", "g"), gcf.dumps):
        assert gcf.loads(group(unlike_group(20))) == unlike_group(20)
    with pytest.raises(gcf.GcfError, match="invalid_grouping: the rows have few fields in common"):
        gcf.dumps_grouped(unlike_group(5000), "id", "g")
    value = unlike_group(5000)
    assert gcf.dumps(value, group_values=True) == gcf.dumps(value)


@linux
def test_grouping_rows_of_unlike_fields_takes_bounded_memory() -> None:
    case = Case("unlike", lambda rows: gcf.dumps_grouped(rows, "id", "g"), unlike_group, 1, 20_000)
    size, used = harness.peak(case)
    assert used < harness.bound(case, size)
