"""`batches`: files and columns in parts, and hostile files."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

from compactwire import CompactWireError, OptionError, analysis, gcf
from compactwire._csv import read_records
from compactwire.analysis.corpus import naming_parquet
from compactwire.analysis.extra import need
from compactwire.analysis.sources import _kind_of_batch
from tests.strategies.moments import interrupted
from tests.strategies.privileges import guarded_lake, without_privileges

pa, parquet = need("pyarrow", ""), need("pyarrow.parquet", "")


def read(source: Any, **options: Any) -> list[tuple[str | None, str | None]]:
    """The rows of a source: text and error."""
    found = [batch.to_pydict() for batch in analysis.batches(source, **options)]
    return [pair for one in found for pair in zip(one["text"], one["error"], strict=True)]


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "lines.ndjson").write_bytes(b'{"a":1}\n\n[2]')
    (tmp_path / "a.md").write_bytes(b"An answer.\n")
    (tmp_path / "c.json").write_bytes(b'{"pretty":\n 1}')
    (tmp_path / "d.parquet").write_bytes(b"")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden.md").write_bytes(b"hidden")
    parquet.write_table(pa.table({"n": [1, 2]}), tmp_path / "d.parquet")
    texts = ["An answer.\n", '{"a":1}', "[2]", '{"pretty":\n 1}', '{"n":1}', '{"n":2}']
    assert read(tmp_path) == [(text, None) for text in texts]
    assert read(str(tmp_path / "**" / "*.ndjson")) == [('{"a":1}', None), ("[2]", None)]
    assert read([tmp_path / "c.json", tmp_path / "a.md"])[1] == ("An answer.\n", None)


def test_records_of_csv_are_rows(tmp_path: Path) -> None:
    long = "x" * 200_000  # More than the limit for a cell of the module `csv`.
    content = f'\ufeffid,text\r\n007,"a, \u2028\nb"\r\n\r\n1\r\n2,{long}\r\n'
    (tmp_path / "a.CSV").write_text(content, encoding="utf-8", newline="")
    wrong = (None, "WrongNumberOfCells")
    first, last = '{"id":"007","text":"a, \u2028\\nb"}', f'{{"id":"2","text":"{long}"}}'
    assert read(tmp_path / "a.CSV", rows=1) == [(first, None), wrong, (last, None)]
    assert read(tmp_path, column="text") == [("a, \u2028\nb", None), wrong, (long, None)]
    (tmp_path / "a.CSV").write_text("id\ttext, all\n1\ta,b\n", encoding="utf-8")
    (tmp_path / "a.CSV").rename(tmp_path / "a.tsv")
    assert read(tmp_path, column="text, all") == [("a,b", None)]
    (tmp_path / "a.tsv").write_text("", encoding="utf-8")
    assert read(tmp_path, column="text") == []


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("a;b\n1;2,5\n", ['{"a":"1","b":"2,5"}']),
        ("a|b\n", []),
        ("a;b\tc\n1\t2\n", ['{"a;b":"1","c":"2"}']),
        ("a;b\n1\n", ['{"a;b":"1"}']),
        ("a;b,c\n1;2,3\n", ['{"a;b":"1;2","c":"3"}']),
        ('"a;b"\n"1;2"\n', ['{"a;b":"1;2"}']),
    ],
)
def test_the_delimiter_of_csv_is_that_of_header_and_first_record(
    content: str, rows: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    assert [text for text, _ in read(tmp_path)] == rows
    assert analysis.read_corpus(tmp_path)["a.csv"] == [json.loads(row) for row in rows]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b'a,b\n1,2\n"x,3\n', {}, "line 3: invalid CSV: unexpected end of data; a cell with"),
        (b'a\n"' + b"x\n" * 99, {"max_row": 50}, "a record of more than 50 characters; a cell"),
        (b"a\n1\n" + b"x" * 99, {"max_row": 50}, "line 3: invalid CSV: a record of more than 50"),
        (b"a,a\n1,2\n", {}, "line 1: two columns are named 'a'; rename one"),
        (b"a\n\xff\n", {}, "not UTF-8 from byte 2 on"),
        (b"\xef\xbb\xbfa\n" + b"1\n" * 90_000 + b"\xff\n", {}, "not UTF-8 from byte 180005 on"),
        (b"a\n" + "é\n".encode() * 90_000 + b"\xc3", {}, "not UTF-8 from byte 270002 on"),
        ("a\n1\n".encode("utf-16"), {}, "UTF-16 or UTF-32; convert it to UTF-8"),
        (b"a,b\n1,2\n", {"column": "c"}, "expected one column 'c'; the columns are 'a', 'b'"),
    ],
)
def test_csv_that_cannot_be_read_is_an_error_with_the_name_of_the_file(
    content: bytes, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(CompactWireError) as caught:
        read(tmp_path, **options)
    assert str(caught.value).startswith(f"{tmp_path / 'a.csv'}: ")
    assert message in str(caught.value)


def test_the_limit_of_the_program_for_cells_is_not_that_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name;text\na;longer than ten characters\n", encoding="utf-8")
    before = csv.field_size_limit(10)
    try:
        assert read(tmp_path) == [('{"name":"a","text":"longer than ten characters"}', None)]
        assert csv.field_size_limit() == 10
    finally:
        csv.field_size_limit(before)


def test_the_limits_of_threads_for_cells_are_their_own(tmp_path: Path) -> None:
    for name, cell in (("small.csv", "x"), ("large.csv", "x" * 3000)):
        (tmp_path / name).write_text("a\n" + f"{cell}\n" * 1000, encoding="utf-8")
    before, interval = csv.field_size_limit(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            tasks = [
                threads.submit(read, tmp_path / name, max_row=limit)
                for name, limit in [("small.csv", 100), ("large.csv", 10_000)] * 4
            ]
            assert all(len(task.result()) == 1000 for task in tasks)
    finally:
        sys.setswitchinterval(interval)
        left = csv.field_size_limit(before)
    assert left == before


def test_a_limit_for_cells_is_never_lowered_and_that_of_another_thread_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("a\nx\n" + "y" * 3000 + "\n", encoding="utf-8")
    usual, seen = csv.field_size_limit, []

    def field_size_limit(*limit: int) -> int:
        seen.extend(limit)
        return usual(*limit)

    monkeypatch.setattr(csv, "field_size_limit", field_size_limit)
    before = usual()
    try:
        read(tmp_path, max_row=4000)
        assert min([before, *seen]) == before
        usual(10)
        rows = analysis.batches(tmp_path / "a.csv", rows=1, max_row=4000)
        next(iter(rows))
        usual(20)
        assert sum(batch.num_rows for batch in rows) == 1
        assert usual() == 20
    finally:
        usual(before)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs Unix")
def test_a_folder_that_cannot_be_read_is_an_error() -> None:
    with guarded_lake(0) as lake:
        with without_privileges():
            for call in (
                lambda: list(analysis.batches(lake)),
                lambda: analysis.read_corpus(lake),
            ):
                with pytest.raises(PermissionError) as caught:
                    call()
                assert caught.value.filename == str(lake / "b")
        (lake / "b").chmod(0o755)
        assert len(analysis.read_corpus(lake)) == 2


def test_batches_are_bounded_by_rows_and_by_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'"x"\n' * 100)
    assert [one.num_rows for one in analysis.batches(path, rows=40)] == [40, 40, 20]
    column = pa.array(["y" * (3 << 20)] * 5)
    assert [one.num_rows for one in analysis.batches(column)] == [2, 2, 1]
    path.write_bytes((b'"' + b"x" * (5 << 20) + b'"\n') * 4)
    assert max(one.num_rows for one in analysis.batches(path)) == 2


@pytest.mark.parametrize("option", ["rows", "max_row"])
@pytest.mark.parametrize("limit", [2**62, 2**63 - 1, 2**63, 2**70])
def test_a_limit_beyond_what_can_exist_is_none(tmp_path: Path, option: str, limit: int) -> None:
    for suffix, content in (("jsonl", b'"x"'), ("csv", b"a\nx"), ("txt", b"x"), ("json", b'"x"')):
        (tmp_path / f"a.{suffix}").write_bytes(content)
    parquet.write_table(pa.table({"a": ["x"]}), tmp_path / "a.parquet")
    rows = read(tmp_path, **{option: limit})
    assert [error for _, error in rows] == [None] * 5
    assert read(pa.array(["x", "y"]), **{option: limit}) == [("x", None), ("y", None)]


@pytest.mark.parametrize("column", [None, "text"])
def test_rows_that_share_a_long_text_are_not_all_in_memory(column: str | None) -> None:
    indices = pa.array([0] * 400, pa.int32())
    known = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * (1 << 20)]))
    tracemalloc.start()
    try:
        batches = analysis.batches(pa.table({"text": known}), column=column)
        rows = sum(batch.num_rows for batch in batches)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == 400
    assert peak < 50 << 20


def test_a_member_of_each_line_is_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = ['{"t":"x"}', "{}", '{"t":null}', '{"t":5}', "[1]", "{", '{"t":"\\ud800"}']
    path.write_text("\n".join(lines), encoding="utf-8")
    errors = ["TypeError", "TypeError", "JSONDecodeError", "UnicodeEncodeError"]
    nothing = [(None, None)] * 2
    assert read(path, column="t") == [("x", None), *nothing, *((None, error) for error in errors)]


def test_a_line_of_100_megabytes_is_skipped_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(b'"before"\n"')
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b'"\n"after"\n')
    read(path, max_row=1)  # What it imports takes more.
    tracemalloc.start()
    found = read(path, max_row=1 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [('"before"', None), (None, "RowTooLarge"), ('"after"', None)]
    assert peak < 8 << 20
    summary = analysis.summarize(analysis.measure(analysis.batches(path), formats=["json"]))
    line = analysis.report(summary).iloc[0]
    assert (line["inputs"], line["failed"], line["errors"]) == (3, 1, "RowTooLarge: 1")


def test_a_row_in_another_encoding_is_counted_and_a_file_in_one_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('"ok"\n"Köln"\n'.encode("latin-1"))
    assert read(path) == [('"ok"', None), (None, "UnicodeDecodeError")]
    path.with_name("b.md").write_bytes(b"\xff\xfea\x00")
    assert read(path.with_name("b.md")) == [(None, "UnicodeDecodeError")]
    for encoding in ("utf-16", "utf-32"):
        path.write_bytes('"ok"\n'.encode(encoding))
        with pytest.raises(CompactWireError, match=r"a\.jsonl: the text is UTF-16 or UTF-32"):
            read(path)


def test_a_broken_parquet_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"t": [f"text {n}" * 20 for n in range(5_000)]}), path)
    whole = path.read_bytes()
    middle = bytearray(whole)
    middle[len(whole) // 3 : len(whole) // 2] = bytes(len(whole) // 2 - len(whole) // 3)
    for data in (b"", b"PAR1", whole[:-9], whole[9:], b"PAR1" + b"\xff" * 40 + b"PAR1", middle):
        path.write_bytes(data)
        for reader in (read, analysis.compare):
            with pytest.raises(CompactWireError, match=r"^[^:]*a\.parquet: invalid Parquet: \S"):
                reader(path)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("unit", "times", "texts"),
    [
        ("us", [253402300799999999, None], ["9999-12-31T23:59:59.999999", None]),
        (
            "ns",
            [-1, 1_000_000_001],
            ["1969-12-31T23:59:59.999999999", "1970-01-01T00:00:01.000000001"],
        ),
    ],
)
def test_times_of_int96_are_kept(
    tmp_path: Path, unit: str, times: list[int | None], texts: list[str | None], nested: bool
) -> None:
    # Older files of Spark have them. pyarrow reads nanoseconds, which the year 9999 does not have.
    column = pa.array(times, pa.int64()).cast(pa.timestamp(unit))
    if nested:
        column = pa.ListArray.from_arrays([0, 1, 2], column)
    path = tmp_path / "a.parquet"
    table = pa.table({"id": ["a", "b"], "t": column})
    parquet.write_table(table, path, use_deprecated_int96_timestamps=True)
    cells = zip("ab", [[text] for text in texts] if nested else texts, strict=True)
    rows = [{"id": name, "t": cell} for name, cell in cells]
    assert [json.loads(text or "") for text, _ in read(path)] == rows
    assert [json.loads(text or "") for text, _ in read(path, rows=1)] == rows
    assert analysis.read_corpus(tmp_path)["a.parquet"] == rows


def write_before_1970(path: Path, table: Any) -> None:
    """Write a table with times of INT96 of which 1969-12-31T12:00:00 is as pyarrow 18 writes it."""
    options = {"use_dictionary": False, "compression": "none"}
    parquet.write_table(table, path, use_deprecated_int96_timestamps=True, **options)
    half = 43_200 * 10**9
    ours, theirs = struct.pack("<QI", half, 2440587), struct.pack("<qI", -half, 2440588)
    data = path.read_bytes()
    assert ours in data or theirs in data
    path.write_bytes(data.replace(ours, theirs))


def test_times_of_int96_relative_to_the_next_day_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    early, late = datetime(1969, 12, 31, 12), datetime(9999, 12, 31)
    texts = {early: early.isoformat(), late: late.isoformat(), None: None}
    for times in ([early, None], [early, late, None, late, early], [datetime(2300, 1, 1), early]):
        column = pa.array(times, pa.timestamp("us"))
        write_before_1970(path, pa.table({"t": column, "late": [late] * len(times)}))
        rows = [
            {"t": texts.get(time, "2300-01-01T00:00:00"), "late": texts[late]} for time in times
        ]
        assert [json.loads(text or "") for text, _ in read(path)] == rows
        assert [json.loads(text or "") for text, _ in read(path, rows=1)] == rows
        assert analysis.read_corpus(tmp_path)["a.parquet"] == rows


def test_nested_times_of_int96_relative_to_the_next_day_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    early = datetime(1969, 12, 31, 12)
    kinds = [pa.list_(pa.timestamp("us")), pa.map_(pa.utf8(), pa.timestamp("us"))]
    for kind in [*kinds, pa.struct({"x": kinds[0], "y": pa.timestamp("us")})]:
        values = {"list": [[early]], "map": [[("k", early)]], "struct": [{"x": [early, None]}]}
        column = pa.array([*values[str(kind).partition("<")[0]], None], kind)
        write_before_1970(path, pa.table({"t": column}))
        assert "1969-12-31T12:00:00" in (read(path)[0][0] or "")
    both = pa.array([[early, datetime(9999, 12, 31)]], kinds[0])
    write_before_1970(path, pa.table({"t": both}))
    for reading in (read, lambda path: analysis.read_corpus(path.parent)):
        with pytest.raises(CompactWireError, match=r"a\.parquet: the column 't' has nested times"):
            reading(path)


@pytest.mark.parametrize("unwritable", [False, True])
@pytest.mark.parametrize("kind", [pa.string(), pa.string_view()], ids=str)
def test_rows_are_read_in_parts_that_hold_no_other_rows(
    kind: Any, unwritable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 400
    texts = pa.array([f"text {n}" for n in range(count)], kind)
    indices = pa.array(range(count))
    columns = {"list": [["x" * 20, "y"]] * count, "in": [{"text": "z"}] * count}
    known = pa.DictionaryArray.from_arrays(indices, texts)
    table = pa.table({**columns, "dictionary": known})
    if unwritable:  # Each row is then read by itself.
        table = table.append_column("bytes", pa.array([b"\xff", None] * (count // 2)))
    sizes: list[int] = []
    original = gcf.dumps

    def dumps(part: Any) -> str:
        sizes.append(part.get_total_buffer_size())
        return original(part)

    monkeypatch.setattr("compactwire.analysis.sources.gcf.dumps", dumps)
    found = read(table, rows=count if unwritable else 4)
    assert len(sizes) >= 100
    assert sum(sizes) < 20 * table.get_total_buffer_size()
    assert [error for _, error in found[:2]] == ["UnsupportedValue" if unwritable else None, None]
    expected = {"list": ["x" * 20, "y"], "in": {"text": "z"}, "dictionary": "text 1"}
    assert json.loads(found[1][0] or "") == expected | ({"bytes": None} if unwritable else {})


def test_a_missing_column_is_an_error_that_names_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"id": [1], "text": ["x"]})
    parquet.write_table(table, path)
    for source, place in ((path, r"\S*a\.parquet: "), (table, "")):
        expected = f"^{place}expected one column 'txt'; the columns are 'id', 'text'$"
        with pytest.raises(ValueError, match=expected):
            read(source, column="txt")
    parquet.write_table(pa.table({"": ["x"], "id": [1]}), path)
    assert read(path, column="") == [("x", None)]
    with pytest.raises(ValueError, match="'text' is of a table; the source is a column of string"):
        read(table["text"], column="text")


@pytest.mark.parametrize("name", [".text", ".", "[0]", ".a[", "a.b", "\\"])
def test_the_name_of_a_column_is_no_path(tmp_path: Path, name: str) -> None:
    # pyarrow takes the name ".text" for the path to the column "text".
    table = pa.table({"text": ["other"], "": ["another"], name: ["x"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    for source in (table, tmp_path / "a.parquet"):
        assert read(source, column=name) == [("x", None)]


def test_a_column_without_nulls_of_its_own_is_read_in_rows_that_are_null() -> None:
    kinds = pa.array([0, 1, 0], pa.int8())
    union = pa.UnionArray.from_sparse(kinds, [pa.array([None, 1, 2]), pa.nulls(3, pa.string())])
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], pa.array([None, 1]))
    for column in (union, runs):
        row = pa.StructArray.from_arrays([column], ["a"], mask=pa.array([False, True, False]))
        found = [('{"a":null}', None), (None, None), (None, "UnsupportedValue")]
        assert read(row) == found
        assert read(row, column="a") == [(None, None), *found[1:]]
        assert read(pa.table({"row": row}))[1] == ('{"row":null}', None)


def test_a_row_does_not_depend_on_the_rows_that_are_read_with_it() -> None:
    maps = pa.array([[("a", 1), ("b", 2)], [("b", 3), ("a", 4), ("c", 5)]], pa.map_("utf8", "int8"))
    structs = pa.array([{"a>b": 1, "c": 2}, None])
    for column in (maps, structs):
        for source, options in ((column, {}), (pa.table({"x": column}), {"column": "x"})):
            whole = read(source, **options)
            assert whole == read(source, rows=1, **options)
            samples = [analysis.sample(source.slice(at, 1), 9, **options) for at in (1, 0)]
            sample = analysis.sample(source, 9, **options)
            assert analysis.merge_samples(samples, 9).equals(sample)
    assert read(maps)[1] == ('{"b":3,"a":4,"c":5}', None)


def test_a_null_of_a_dictionary_a_run_or_a_union_is_a_null_row() -> None:
    kinds = pa.array([0, 1], pa.int8())
    columns = [
        pa.DictionaryArray.from_arrays(kinds, pa.array([5, None])),
        pa.RunEndEncodedArray.from_arrays([1, 2], pa.array([5, None])),
        pa.UnionArray.from_sparse(kinds, [pa.array([5, 5]), pa.nulls(2, pa.string())]),
    ]
    for column in columns:
        assert read(column)[1] == read(pa.table({"a": column}), column="a")[1] == (None, None)


def test_a_column_that_pyarrow_cannot_copy_is_read() -> None:
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([None, 1], pa.int8()))
    runs = pa.RunEndEncodedArray.from_arrays([1, 2], flags)
    with pytest.raises(pa.ArrowNotImplementedError):
        pa.concat_arrays([runs])
    assert read(runs) == [(None, None), (None, "UnsupportedValue")]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_texts_of_an_extension_as_of_json_in_parquet_are_texts(tmp_path: Path, kind: Any) -> None:
    texts = [None, '{"a": 1}', "[]"]
    column = pa.ExtensionArray.from_storage(pa.json_(kind), pa.array(texts, kind))
    rows = [(text, None) for text in texts]
    assert read(column) == read(pa.table({"j": column}), column="j") == rows
    hidden = pa.StructArray.from_arrays([column], ["j"], mask=pa.array([False, True, False]))
    assert read(hidden[1:], column="j") == [(None, None), rows[2]]
    assert read(column, kind="json") == rows
    if kind != pa.string_view():  # Which not every version writes.
        path = tmp_path / "a.parquet"
        parquet.write_table(pa.table({"j": column}), path)
        assert read(path, column="j") == rows
        assert read(path)[1] == ('{"j":"{\\"a\\": 1}"}', None)


def test_bytes_of_an_extension_are_no_texts() -> None:
    column = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)], pa.binary(16)))
    assert read(column) == [('"00000000-0000-0000-0000-000000000000"', None)]


def test_lists_of_an_empty_slice_are_read() -> None:
    lists = pa.ListArray.from_arrays(pa.array([0, 0], pa.int32()), pa.array([1, 2]).slice(2))
    assert read(pa.table({"a": lists})) == [('{"a":[]}', None)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="NOT RUN: needs a FIFO")
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.parquet"])
def test_a_pipe_where_rows_are_meant_is_named(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)  # It has no writer: to open it would wait.
    with pytest.raises(CompactWireError, match=f"{name}: a pipe or device, expected a file"):
        read(tmp_path / name)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are UTF-8")
def test_names_that_are_not_utf8_are_read(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"logs\xff")
    folder.mkdir()
    (folder / "a.jsonl").write_text("1\n", encoding="utf-8")
    for path in (folder, folder / "a.jsonl", str(folder / "*.jsonl")):
        assert read(path) == [("1", None)]
    with pytest.raises(OptionError, match="source: lone surrogate"):
        read("\ud800")


def test_a_source_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.org").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.org: cannot read a file with the suffix '\.org'"):
        read(tmp_path / "a.org")
    assert read(tmp_path / "a.org", kind="text") == [("a,b\n1,2\n", None)]
    with pytest.raises(FileNotFoundError, match="to measure a text, put it into a column"):
        read("The answer is 42.")
    with pytest.raises(ValueError, match="no file matches"):
        read(str(tmp_path / "*.json"))
    for read_path in (read, analysis.read_corpus):
        with pytest.raises(FileNotFoundError, match="is empty, expected the path"):
            read_path("")
    with pytest.raises(ValueError, match="no file to read in"):
        read(tmp_path)
    for source in (5, {"a": 1}, b"text"):
        with pytest.raises(TypeError, match=f"source must be .*, not {type(source).__name__}"):
            read(source)


def test_a_producer_that_fails_is_an_error_with_its_reason() -> None:
    class Failing:
        error: OSError

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            def batches() -> Iterator[Any]:
                yield pa.record_batch({"a": [1]})
                raise self.error

            schema = pa.schema({"a": pa.int64()})
            return pa.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__()

    failing = Failing()
    failing.error = OSError("cannot convert 'x'")
    with pytest.raises(
        CompactWireError, match=r"^reading this Failing failed: .*cannot convert 'x'"
    ):
        read(failing)


def test_a_stream_that_has_no_schema_once_it_is_read_is_read() -> None:
    class Stream:
        """As a reader of arro3, or a stream of nanoarrow."""

        def __init__(self, table: Any) -> None:
            self.tables = [table]

        @property
        def schema(self) -> Any:
            if not self.tables:
                raise OSError("the stream is closed")
            return self.tables[0].schema

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return self.tables.pop().__arrow_c_stream__()

    texts = pa.table({"a": ["x", "y"]})
    assert read(Stream(texts), column="a") == [("x", None), ("y", None)]
    (batch,) = analysis.batches(texts, column="a")
    assert read(Stream(pa.table(batch))) == [("x", None), ("y", None)]
    frame = analysis.compare(Stream(texts), formats=["json"], seconds=0, tokenizer=len)
    assert list(frame["round_trip"]) == [True]


def test_the_kind_of_rows_survives_batches() -> None:
    column = pa.array([json.dumps({"id": n}) for n in range(3)])
    kinds: list[tuple[Literal["text", "json"], str]] = [("json", "gcf"), ("text", "dsl")]
    for kind, name in kinds:
        (batch,) = analysis.batches(column, kind=kind)
        assert name in set(analysis.measure(batch)["format"].to_pylist())
        with pytest.raises(CompactWireError, match="one column 'error'; the columns are 'text'"):
            analysis.measure(batch.select(["text"]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_reads_csv_while_a_thread_of_its_parent_does() -> None:
    script = """
import csv, io, os, signal, threading
from compactwire._csv import read_records, read_table

inside, done = threading.Event(), threading.Event()

class Slow(io.StringIO):
    def readline(self, size=-1, /):
        inside.set()
        done.wait()
        return ""

usual = csv.field_size_limit()
thread = threading.Thread(target=lambda: list(read_records(Slow(), ",", 1 << 20)))
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    assert csv.field_size_limit() == usual
    assert read_table("a,b\\n1,2\\n", "csv") == [{"a": "1", "b": "2"}]
    os._exit(0)
print(os.waitpid(child, 0)[1])
done.set()
thread.join()
assert csv.field_size_limit() == usual
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_too_little_memory_is_not_invalid_parquet(tmp_path: Path) -> None:
    with pytest.raises(MemoryError), naming_parquet(tmp_path / "a.parquet"):
        raise pa.ArrowMemoryError("malloc of size 64 failed")
    with pytest.raises(CompactWireError, match="invalid Parquet"), naming_parquet(tmp_path / "a"):
        raise pa.ArrowInvalid("no magic bytes")


def test_a_parquet_file_that_is_replaced_meanwhile_is_read_as_it_was(tmp_path: Path) -> None:
    path, other = tmp_path / "a.parquet", tmp_path / "other"
    for name, rows in ((path, 50), (other, 20)):
        times = pa.array([datetime(9999, 1, 1)] * rows, pa.timestamp("us"))
        table = pa.table({"id": [name.name] * rows, "t": times})
        parquet.write_table(table, name, use_deprecated_int96_timestamps=True)
    usual, opened = parquet.ParquetFile, []

    def open_file(*given: Any, **options: Any) -> Any:
        opened.append(usual(*given, **options))
        if other.exists():
            other.replace(path)
        return opened[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "ParquetFile", open_file)
        found = read(path, rows=20)
    assert len(opened) == 2
    assert not other.exists()
    texts = {text for text, _ in found}
    assert (len(found), texts) == (50, {'{"id":"a.parquet","t":"9999-01-01T00:00:00"}'})


def test_ctrl_c_in_a_producer_is_ctrl_c() -> None:
    def rows(error: BaseException) -> Any:
        def batches() -> Iterator[Any]:
            yield pa.record_batch({"a": ["x"]})
            raise error

        return pa.RecordBatchReader.from_batches(pa.schema({"a": pa.utf8()}), batches())

    calls: list[Any] = [lambda rows: list(analysis.batches(rows)), analysis.measure]
    calls += [analysis.summarize, lambda rows: analysis.merge_samples([rows], 5)]
    for call in calls:
        for error in (KeyboardInterrupt(), MemoryError()):
            with pytest.raises(type(error)):
                call(rows(error))
        with pytest.raises(CompactWireError, match="RecordBatchReader failed: ValueError: mine"):
            call(rows(ValueError("mine")))


def test_ctrl_c_leaves_the_limit_of_the_module_csv() -> None:
    usual = csv.field_size_limit()
    for number in itertools.count(1):
        file = io.StringIO("id,text\n1,x\n2,y\n")
        work = partial(list, read_records(file, ",", 1 << 20))
        reached = interrupted(number, ("_csv.py",), KeyboardInterrupt(), work)
        assert csv.field_size_limit() == usual
        if not reached:
            break
    assert number > 20


def test_a_batch_is_no_foreign_table_because_memory_is_short() -> None:
    class Short:
        schema = property(lambda _: take())

    def take() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        _kind_of_batch(Short())
