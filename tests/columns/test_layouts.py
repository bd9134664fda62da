"""Every Arrow layout of texts and responses, by pyarrow, against the loop over the rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import arrow, gcf
from tests.columns import needed

pa = needed("pyarrow")

TEXTS = ["short", None, "", "x" * 60, "so it goes. " * 40, None, "한국어 응답 🚀", "a|b\nc"] * 3
TYPES = [
    pa.utf8(),
    pa.large_utf8(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int8(), pa.utf8()),
    pa.dictionary(pa.uint32(), pa.large_utf8()),
]


def encoded(rows: list[str | None], **options: Any) -> list[str | None]:
    return [row if row is None else cw.encode(row, **options) for row in rows]


def rows_of(column: Any) -> list[Any]:
    rows: list[Any] = pa.chunked_array(column).to_pylist()
    return rows


def array(rows: list[str | None], type: Any) -> Any:
    if pa.types.is_dictionary(type):
        return pa.array(rows, type.value_type).dictionary_encode().cast(type)
    if pa.types.is_string_view(type) or pa.types.is_binary_view(type):
        # pyarrow before 25 ends the process if it exports what `cast` makes of short texts.
        return pa.array(rows, type)
    return pa.array(rows, pa.utf8()).cast(type)


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("start", range(0, 18, 5))
def test_every_type_of_texts_and_every_slice(type: Any, start: int) -> None:
    column = array(TEXTS, type).slice(start, 5)
    rows = TEXTS[start : start + 5]
    assert rows_of(arrow.encode(column)) == encoded(rows)
    assert rows_of(arrow.count_tokens(column)) == [
        row if row is None else cw.estimate_tokens(row) for row in rows
    ]


@pytest.mark.parametrize("start", [0, 1, 3])
def test_bytes_of_a_fixed_size_are_texts_too(start: int) -> None:
    rows = ["four", None, "a|b\n", "\u00e9\u00e9", "five"]
    column = pa.array([row and row.encode() for row in rows], pa.binary(4))
    encoded_dictionary = pa.DictionaryArray.from_arrays(pa.array(range(5), pa.int8()), column)
    for some in (column.slice(start), encoded_dictionary.slice(start)):
        assert rows_of(arrow.encode(some)) == encoded(rows[start:])
    empty = arrow.encode(pa.array([b"", None], pa.binary(0)), errors="null")
    assert rows_of(empty) == [cw.encode(""), None]


def test_null_values_of_a_dictionary_are_null() -> None:
    column = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None], pa.int8()), pa.array(["a", None])
    )
    assert rows_of(arrow.encode(column)) == [cw.encode("a"), None, None]


def test_a_result_of_several_chunks_can_be_taken_as_one_array() -> None:
    wires = arrow.encode(pa.chunked_array([["a", None], [], ["b"]]))
    assert pa.array(wires).to_pylist() == [cw.encode("a"), None, cw.encode("b")]
    rows = pa.array(arrow.decode(wires))
    assert rows.to_pylist() == pa.chunked_array(arrow.decode(wires)).to_pylist()
    assert len(rows) == 3


def test_buffers_that_are_not_aligned_are_read() -> None:
    def moved(buffer: Any) -> Any:
        return buffer and pa.py_buffer(b"\0" + buffer.to_pybytes())[1:]

    for type in (pa.utf8(), pa.large_utf8(), pa.large_binary(), pa.string_view()):
        column = array(TEXTS, type)
        again = pa.Array.from_buffers(type, len(TEXTS), [moved(one) for one in column.buffers()])
        assert rows_of(arrow.encode(again)) == encoded(TEXTS)
    numbers = pa.array([1, 2, None])
    again = pa.Array.from_buffers(numbers.type, 3, [moved(one) for one in numbers.buffers()])
    assert cw.gcf.loads(cw.gcf.dumps(again)) == [1, 2, None]


def test_a_deep_type_is_an_error_not_a_crash() -> None:
    type = pa.int8()
    for _ in range(5_000):
        type = pa.list_(type)
    with pytest.raises(cw.CompactWireError, match="levels deep"):
        arrow.encode(pa.nulls(1, type))


def test_a_column_without_a_type_is_null() -> None:
    assert rows_of(arrow.encode(pa.nulls(3))) == [None] * 3


@pytest.mark.parametrize("column", [pa.array([1]), pa.array([["a"]]), pa.array([1.5])])
def test_another_type_is_refused_without_rows_too(column: Any) -> None:
    for some in (column, column.slice(0, 0), pa.chunked_array([], column.type)):
        with pytest.raises(TypeError, match="expected a column of texts"):
            arrow.encode(some)


RESPONSES = [
    cw.Response("a", "", "ERR", 3, model_name="claude", returncode=7, ultrathink=True),
    cw.Response("b" * 300, reasoning_effort="high", returncode=-1),
    cw.Response("", "other", "PART"),
]
FIELDS = ("result", "model", "status", "tokens", "model_name", "returncode", "reasoning_effort")
FIELDS = (*FIELDS, "ultrathink")


def test_structs_are_responses() -> None:
    rows = [{name: getattr(response, name) for name in FIELDS} for response in RESPONSES]
    table = pa.Table.from_pylist(rows)
    for some in (table, table.select(FIELDS[::-1]), table.to_batches()[0], table.slice(1)):
        expected = RESPONSES[1:] if len(some) == 2 else RESPONSES
        wires = arrow.encode(some, format="verbose", protocol=2)
        loop = [cw.encode(response, format="verbose", protocol=2) for response in expected]
        assert rows_of(wires) == loop
        assert rows_of(arrow.decode(wires, fields=FIELDS)) == [
            {name: getattr(cw.decode(wire), name) for name in FIELDS} for wire in loop
        ]


def test_a_decoded_column_can_be_encoded_again() -> None:
    wires = pa.chunked_array(arrow.encode(pa.array(TEXTS), format="base85"))
    again = arrow.encode(arrow.decode(wires), format="base85")
    assert rows_of(again) == wires.to_pylist()


def test_null_fields_are_defaults_and_a_null_result_is_an_error() -> None:
    table = pa.table({"result": ["a", None], "model": [None, "C4"], "tokens": [None, 1]})
    assert rows_of(arrow.encode(table, errors="null")) == [cw.encode("a"), None]
    with pytest.raises(cw.EncodeError, match="result: it is null") as caught:
        arrow.encode(table)
    assert caught.value.row == 1
    structs = pa.array([{"result": "a"}, None])
    assert rows_of(arrow.encode(structs)) == [cw.encode("a"), None]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"answer": ["a"]}, 'unknown field "answer"'),
        ({"model": ["a"]}, 'no field "result"'),
        ({"result": ["a"], "tokens": ["1"]}, '"tokens": expected a column of integers'),
        ({"result": [1]}, '"result": expected a column of texts'),
        ({"result": ["a"], "ultrathink": [1]}, '"ultrathink": expected a column of booleans'),
    ],
)
def test_structs_of_other_fields_are_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        arrow.encode(pa.table(columns))


@pytest.mark.parametrize(
    ("field", "value"), [("tokens", -1), ("status", "FINE"), ("returncode", 2**63)]
)
def test_a_field_out_of_range_fails_as_in_a_response(field: str, value: Any) -> None:
    column = pa.array([value], pa.uint64() if field == "returncode" else None)
    table = pa.table({"result": ["a"], field: column})
    with pytest.raises(cw.EncodeError) as caught:
        arrow.encode(table)
    with pytest.raises(cw.EncodeError) as scalar:
        cw.Response("a", **{field: value})
    assert (caught.value.field, str(caught.value)) == (field, str(scalar.value))


def test_bytes_are_written_on_request_and_told_apart_when_read() -> None:
    wires = pa.chunked_array(arrow.encode(pa.array(TEXTS), output="bytes"))
    assert wires.type == pa.binary()
    assert wires.to_pylist() == [t if t is None else cw.encode_bytes(t) for t in TEXTS]
    results = pa.chunked_array(arrow.decode(wires, fields=["result"])).to_pylist()
    assert [row and row["result"] for row in results] == TEXTS


def test_inspect_returns_the_layers() -> None:
    wires = [cw.encode(t, format=f) for t in ("short", "x" * 600) for f in ("dsl", "zstd", "zlib")]
    wires.append(cw.encode("x" * 600, format="dictionary"))
    for wire, found in zip(wires, rows_of(arrow.inspect(pa.array(wires))), strict=True):
        one = cw.inspect(wire)
        layers = dict(one.layers)
        assert found == {
            "format": str(one.format),
            "version": None if one.version is None else str(one.version),
            "compression": one.compression,
            "dictionary_id": one.dictionary_id,
            "wire_bytes": layers["wire"],
            "binary_bytes": layers.get(one.compression or ""),
            "msgpack_bytes": layers.get("msgpack"),
            "result_bytes": layers["result"],
            "verbose_bytes": one.verbose_size,
        }


def test_a_report_has_the_class_and_message_of_the_exception() -> None:
    wires = [cw.encode("x"), "A~~", None, "", "Axx", "Z0000", "RES|", "{}", "?", "D00000"]
    report = rows_of(arrow.decode(pa.array(wires), errors="report", fields=["result"]))
    for wire, found in zip(wires, report, strict=True):
        try:
            result = None if wire is None else cw.decode(wire).result
            expected = {"result": result, "error": None, "message": None}
        except cw.DecodeError as error:
            expected = {"result": None, "error": type(error).__name__, "message": str(error)}
        assert found == (None if wire is None else expected)
    texts = pa.table(arrow.encode(pa.array(["a|b"]), format="dsl", errors="report"))
    assert texts.column_names == ["value", "error", "message"]


@pytest.mark.parametrize(
    ("function", "scalar", "rows"),
    [
        ("gcf_from_json", "gcf.from_json", ['{"a":1}', "[1,2", '{"a":1e999}', '{"a":1,"a":2}', ""]),
        ("gcf_to_json", "gcf.to_json", ["GCF profile=generic\na=1\n", "GCF", "", "hello"]),
        ("cad_from_compact", None, ["C 1 2 3\nROOT 0", "C 1 2", "QQ 1", ""]),
        ("detect", "detect", ["RES|OK||0|x", "", "?", "@tool"]),
    ],
)
def test_errors_of_texts_are_those_of_the_scalar_function(
    function: str, scalar: str | None, rows: list[str]
) -> None:
    one = cw.cad.from_compact if scalar is None else eval(f"cw.{scalar}", {"cw": cw})
    report = pa.table(getattr(arrow, function)(pa.array(rows), errors="report")).to_pylist()
    for row, found in zip(rows, report, strict=True):
        if found["error"] is None:
            one(row)
            continue
        raised = getattr(cw, found["error"])
        with pytest.raises(raised) as expected:
            one(row)
        with pytest.raises(raised) as caught:
            getattr(arrow, function)(pa.array([row]))
        assert {type(expected.value), type(caught.value)} == {raised}
        assert {str(expected.value), str(caught.value)} == {found["message"]}


FORMATS = ["auto", "smallest", "verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary"]
STRINGS = st.text(st.characters(exclude_categories=["Cs"]))
CHUNKS = st.lists(st.lists(st.none() | STRINGS))


@st.composite
def chunked(draw: Any) -> Any:
    """A column of any type, whose chunks are slices of longer arrays."""
    type, chunks = draw(st.sampled_from(TYPES)), draw(CHUNKS)
    slices = []
    for rows in chunks:
        start, end = sorted((draw(st.integers(0, len(rows))), draw(st.integers(0, len(rows)))))
        slices.append(array(rows, type).slice(start, end - start))
    return pa.chunked_array(slices, type)


@given(chunked(), st.sampled_from(FORMATS), st.sampled_from([2, 4]), st.booleans())
def test_any_texts_in_any_chunks(column: Any, format: str, protocol: Any, as_bytes: bool) -> None:
    options: Any = {"format": format, "protocol": protocol}
    output: Any = "bytes" if as_bytes else "text"
    wires = pa.chunked_array(arrow.encode(column, output=output, **options))
    texts = column.cast(pa.binary()).cast(pa.utf8()).to_pylist()
    encode: Any = cw.encode_bytes if as_bytes else cw.encode
    assert wires.to_pylist() == [
        text if text is None else encode(text, **options) for text in texts
    ]
    assert [len(chunk) for chunk in wires.chunks] == [len(chunk) for chunk in column.chunks]
    decoded = pa.chunked_array(arrow.decode(wires, fields=["result"])).to_pylist()
    assert [row and row["result"] for row in decoded] == texts


@st.composite
def damaged(draw: Any) -> str:
    """A message, from which a part may be cut."""
    wire = cw.encode(draw(STRINGS), format=draw(st.sampled_from(FORMATS)))
    start, end = sorted((draw(st.integers(0, len(wire))), draw(st.integers(0, len(wire)))))
    return wire[:start] + wire[end:]


@given(st.lists(st.none() | STRINGS | damaged()), st.sampled_from(TYPES))
def test_any_messages_are_decoded_or_fail_as_in_a_loop(wires: list[str | None], type: Any) -> None:
    names = ("result", "model", "status", "tokens")
    expected: list[Any] = []
    for wire in wires:
        row = None
        if wire is not None:
            row = {**dict.fromkeys(names), "error": None, "message": None}
            try:
                response = cw.decode(wire)
                row |= {name: getattr(response, name) for name in names}
            except cw.DecodeError as error:
                row |= {"error": error.__class__.__name__, "message": str(error)}
        expected.append(row)
    assert rows_of(arrow.decode(array(wires, type), errors="report")) == expected
    failed = [at for at, row in enumerate(expected) if row and row["error"]]
    nulls = arrow.decode(array(wires, type), errors="null")
    assert (nulls.failed, nulls.null_count) == (len(failed), len(failed) + wires.count(None))
    if failed:
        with pytest.raises(cw.DecodeError) as caught:
            arrow.decode(array(wires, type))
        assert caught.value.row == failed[0]
        assert str(caught.value) == expected[failed[0]]["message"]


def test_threads_and_chunks_do_not_change_the_result() -> None:
    rows = [f"row {n} " * (n % 50) for n in range(30_000)]
    one = pa.chunked_array(arrow.encode(pa.array(rows), format="zstd", threads=1))
    for threads in (2, 7):
        assert pa.chunked_array(arrow.encode(pa.array(rows), format="zstd", threads=threads)) == one


def test_a_producer_written_in_python_runs_while_the_lock_is_released() -> None:
    def batches() -> Any:
        for n in range(3):
            yield pa.record_batch({"result": [f"row {n}"]})

    reader = pa.RecordBatchReader.from_batches(pa.schema([("result", pa.utf8())]), batches())
    assert rows_of(arrow.encode(reader)) == [cw.encode(f"row {n}") for n in range(3)]


def test_an_exception_in_a_producer_is_in_the_message() -> None:
    def batches() -> Any:
        yield pa.record_batch({"result": ["a"]})
        raise RuntimeError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("result", pa.utf8())]), batches())
    with pytest.raises(cw.CompactWireError, match="the disk is gone"):
        arrow.encode(reader, errors="null")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError("too much"), MemoryError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (ValueError("KeyboardInterrupt: no"), cw.CompactWireError),
    ],
)
@pytest.mark.parametrize("call", [arrow.encode, gcf.dumps])
def test_an_exception_in_a_producer_that_is_not_about_the_column_stays_as_it_is(
    call: Any, error: BaseException, expected: type[BaseException]
) -> None:
    def batches() -> Any:
        yield pa.record_batch({"result": ["a"]})
        raise error

    reader = pa.RecordBatchReader.from_batches(pa.schema([("result", pa.utf8())]), batches())
    with pytest.raises(expected, match="the producer of the column failed"):
        call(reader)


def test_a_type_that_cannot_be_read_is_named_with_its_place() -> None:
    pl = needed("polars")
    wide = pl.Series("wide", [{"n": [1]}], dtype=pl.Struct({"n": pl.List(pl.Int128)}))
    frame = pl.DataFrame([pl.Series("id", [1]), wide])
    for value, path in [
        (frame, "$[*].wide.n[*]"),
        ({"report": frame}, "$.report[*].wide.n[*]"),
        (frame["wide"], "$[*].n[*]"),
    ]:
        with pytest.raises(cw.UnsupportedValue, match=r'"_pli128" .* cast the column') as caught:
            gcf.dumps(value)
        assert caught.value.path == path
    with pytest.raises(cw.UnsupportedValue, match="_pli128") as caught:
        arrow.encode(frame.select(result=pl.lit(1, pl.Int128)))
    assert caught.value.path == "$[*].result"
    with pytest.raises(cw.UnsupportedValue, match="_pli128") as caught:
        arrow.gcf_loads("GCF profile=generic\n## [1]{b}\n1\n", schema=frame.schema)
    assert caught.value.path == "$[*].wide.n[*]"


def test_metadata_that_is_not_utf8_is_named_with_its_place() -> None:
    # Python's extension types often have a pickle there.
    metadata = {"ARROW:extension:name": "mine", "ARROW:extension:metadata": b"\x80\x04."}
    field = pa.field("n", pa.int64(), metadata=metadata)
    of_column = pa.table([[1]], schema=pa.schema([field]))
    of_table = pa.table({"n": [1]}).replace_schema_metadata({"a": b"\xff"})
    for data, path in ((of_column, "$[*].n"), (of_table, "$[*]")):
        with pytest.raises(
            cw.UnsupportedValue, match=r"metadata .* is not UTF-8; remove"
        ) as caught:
            gcf.dumps(data)
        assert caught.value.path == path


def test_rows_that_share_a_text_share_the_size_of_their_result() -> None:
    text = "RES|OK||0|" + "x" * 100_000
    view = len(text).to_bytes(4, "little") + b"RES|" + bytes(8)
    for count in (20, 1_000):
        buffers = [None, pa.py_buffer(view * count), pa.py_buffer(text.encode())]
        indices = pa.array([0] * count, pa.int8())
        for column in (
            pa.DictionaryArray.from_arrays(indices, pa.array([text])),
            pa.Array.from_buffers(pa.string_view(), count, buffers),
        ):
            if count == 20:
                assert len(arrow.decode(column, max_expansion=1_000_000)) == count
                continue
            with pytest.raises(cw.OutputTooLarge) as caught:
                arrow.decode(column, max_expansion=1_000_000)
            assert caught.value.row == 10
