"""Writing GCF row by row: written text is read back, and ambiguous input is refused."""

from __future__ import annotations

import io
import threading
from collections import ChainMap
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given

from compactwire import gcf
from tests.reference import gcf as reference
from tests.strategies.gcf import streamed_documents


def written(*calls: tuple[Any, ...]) -> str:
    out: list[str] = []
    with gcf.StreamEncoder(out.append) as encoder:
        for name, *arguments in calls:
            getattr(encoder, name)(*arguments)
    return "".join(out)


def test_rows_are_written_as_they_arrive() -> None:
    out = io.StringIO()
    encoder = gcf.StreamEncoder(out)
    encoder.kv("total", 2)
    encoder.list("tags", ["a", "b,c", None])
    encoder.list("none", [])
    encoder.begin_array("rows", ["id", "a,b"])
    encoder.row([1, "x|y"])
    assert out.getvalue() == (
        'GCF profile=generic\ntotal=2\ntags[3]: a,"b,c",-\n## none [0]\n'
        '## rows [?]{id,"a,b"}\n1|"x|y"\n'
    )
    encoder.row([2, ...])
    encoder.end()
    encoder.begin_keyed_map("hosts", ["key", "up"])
    encoder.row(["web-01", 1.5, True])
    encoder.close()
    encoder.close()
    assert out.getvalue().endswith(
        "2|~\n## hosts [?:]{_key,key,up}\nweb-01|1.5|true\n##! summary counts=2,1\n"
    )
    assert gcf.loads(out.getvalue()) == {
        "total": 2,
        "tags": ["a", "b,c", None],
        "none": [],
        "rows": [{"id": 1, "a,b": "x|y"}, {"id": 2}],
        "hosts": {"web-01": {"key": 1.5, "up": True}},
    }


def test_published_streams_are_written_exactly() -> None:
    text = written(
        ("begin_array", "employees", ["id", "name", "department"]),
        ("row", [1, "Alice", "Engineering"]),
        ("row", [2, "Bob", "Sales"]),
    )
    assert text == (
        "GCF profile=generic\n## employees [?]{id,name,department}\n1|Alice|Engineering\n"
        "2|Bob|Sales\n##! summary counts=2\n"
    )
    assert written() == "GCF profile=generic\n"
    assert written(("kv", "a", 1)) == "GCF profile=generic\na=1\n"


@given(streamed_documents())
def test_written_text_is_read_back(document: dict[str, Any]) -> None:
    out = io.BytesIO()
    expected: dict[str, Any] = {}
    with gcf.StreamEncoder(out) as encoder:
        for name, made in document.items():
            if not isinstance(made, tuple):
                (encoder.list if isinstance(made, list) else encoder.kv)(name, made)
                expected[name] = made
                continue
            columns, rows = made
            expected[name] = rows
            if isinstance(rows, list):
                encoder.begin_array(name, columns)
                for row in rows:
                    encoder.row(row.get(column, ...) for column in columns)
            else:
                encoder.begin_keyed_map(name, columns)
                for key, row in rows.items():
                    encoder.row([key, *(row.get(column, ...) for column in columns)])
            encoder.end()
    text = out.getvalue().decode()
    assert gcf.loads(text) == expected
    assert reference.loads(text) == expected


ARRAY = ("begin_array", "rows", ["a", "b"])
MAP = ("begin_keyed_map", "rows", ["a"])


@pytest.mark.parametrize(
    ("calls", "code"),
    [
        ([ARRAY, ("row", [1])], "row_width_mismatch"),
        ([ARRAY, ("row", [1, [2]])], "unsupported_type"),
        ([ARRAY, ("row", [1, float("inf")])], "not_finite"),
        ([ARRAY, ("row", [1, 2**63])], "out_of_range"),
        ([ARRAY, ("kv", "x", 1)], "invalid_line"),
        ([ARRAY, ("end",), ("kv", "x", 1)], "invalid_line"),
        ([ARRAY, ("end",), ("list", "x", [1])], "invalid_line"),
        ([ARRAY, ("begin_array", "more", ["a"])], "invalid_line"),
        ([ARRAY, ("end",), ("begin_array", "rows", ["a"])], "duplicate_key"),
        ([("kv", "a", 1), ("list", "a", [1])], "duplicate_key"),
        ([("row", [1])], "invalid_line"),
        ([("end",)], "invalid_line"),
        ([("close",), ("kv", "a", 1)], "invalid_line"),
        ([("close",), ARRAY], "invalid_line"),
        ([("kv", "a", float("nan"))], "not_finite"),
        ([("list", "a", ["\ud800"])], "invalid_surrogate"),
        ([("begin_array", "r", [])], "invalid_field_declaration"),
        ([("begin_array", "r", ["a>b"])], "invalid_field_declaration"),
        ([("begin_array", "r", ["a", "a"])], "duplicate_field_name"),
        ([("begin_keyed_map", "r", [])], "too_few_fields"),
        ([MAP, ("row", ["k", 1]), ("row", ["k", 2])], "duplicate_member_key"),
        ([MAP, ("row", [1, 1])], "invalid_key"),
        ([MAP, ("row", [..., 1])], "invalid_key"),
    ],
)
def test_an_invalid_call_is_refused_and_writes_nothing(
    calls: list[tuple[Any, ...]], code: str
) -> None:
    out: list[str] = []
    encoder = gcf.StreamEncoder(out.append)
    for name, *arguments in calls[:-1]:
        getattr(encoder, name)(*arguments)
    before = list(out)
    name, *arguments = calls[-1]
    with pytest.raises(gcf.GcfError) as caught:
        getattr(encoder, name)(*arguments)
    assert caught.value.code == code
    assert out == before
    encoder.close()
    gcf.loads("".join(out))


UNORDERED = [{"a": 1}, MappingProxyType({"a": 1}), ChainMap({"a": 1}), {1, 2}, frozenset((1, 2))]


@pytest.mark.parametrize("values", [*UNORDERED, "ab", b"ab", bytearray(b"ab"), memoryview(b"ab")])
def test_a_row_and_a_list_have_their_values_in_order(values: Any) -> None:
    out: list[str] = []
    with gcf.StreamEncoder(out.append) as encoder:
        with pytest.raises(TypeError, match=r"^values must be an iterable of str, int"):
            encoder.list("list", values)
        encoder.list("list", (value for value in "ab"))
        encoder.begin_array("rows", ["a", "b"])
        with pytest.raises(TypeError, match=r"^values must be an iterable of str, int"):
            encoder.row(values)
        encoder.row({"a": 1, "b": 2}.values())
    assert gcf.loads("".join(out)) == {"list": ["a", "b"], "rows": [{"a": 1, "b": 2}]}


def interrupted(path: Path) -> None:
    with path.open("wb") as file, gcf.StreamEncoder(file) as encoder:
        encoder.begin_array("rows", ["a"])
        encoder.row([1])
        raise KeyError


def test_a_with_block_left_by_an_exception_writes_no_summary(tmp_path: Path) -> None:
    path = tmp_path / "rows.gcf"
    with pytest.raises(KeyError):
        interrupted(path)
    assert path.read_text() == "GCF profile=generic\n## rows [?]{a}\n1\n"


def test_pieces_of_several_threads_are_written_in_order() -> None:
    """Another thread goes on while a row is being written."""
    out: list[str] = []
    others: list[threading.Thread] = []

    def rest() -> None:
        encoder.row([2])
        encoder.close()

    def write(piece: str) -> None:
        if piece == "1\n":
            others.append(threading.Thread(target=rest))
            others[0].start()
            others[0].join(0.2)
        out.append(piece)

    encoder = gcf.StreamEncoder(write)
    encoder.begin_array("rows", ["a"])
    encoder.row([1])
    others[0].join()
    assert gcf.loads("".join(out)) == {"rows": [{"a": 1}, {"a": 2}]}


def test_a_target_that_calls_its_encoder_is_refused() -> None:
    refused: list[gcf.GcfError] = []
    out: list[str] = []

    def write(piece: str) -> None:
        out.append(piece)
        if piece == "1\n":
            try:
                encoder.row([2])
            except gcf.GcfError as error:
                refused.append(error)

    encoder = gcf.StreamEncoder(write)
    encoder.begin_array("rows", ["a"])
    encoder.row([1])
    encoder.close()
    assert [error.code for error in refused] == ["invalid_line"]
    assert gcf.loads("".join(out)) == {"rows": [{"a": 1}]}


class Long(list[str]):
    """A sequence that says it is too long for any memory."""

    def __len__(self) -> int:
        return 1 << 40


FIELDS: dict[str, Callable[[Any], object]] = {
    "begin_array": lambda fields: gcf.StreamEncoder(io.StringIO()).begin_array("x", fields),
    "begin_keyed_map": lambda fields: gcf.StreamEncoder(io.StringIO()).begin_keyed_map("x", fields),
    "KeyedSet": lambda fields: gcf.KeyedSet([{"a": 1, "b": 2}], key="a", fields=fields),
    "KeyedDelta": lambda fields: gcf.KeyedDelta(
        key="a", base_root="x", new_root="y", fields=fields
    ),
}


@pytest.mark.parametrize("call", FIELDS)
def test_the_stated_length_of_fields_takes_no_memory(call: str) -> None:
    FIELDS[call](Long(["a", "b"]))
    for wrong, found in ((range(1 << 40), "int"), ("ab", "str"), ({"a", "b"}, "set"), ([1], "int")):
        with pytest.raises(TypeError, match=rf"fields(\[0\])? must be .*, not {found}"):
            FIELDS[call](wrong)
    with pytest.raises(gcf.GcfError, match="field 1: lone surrogate") as caught:
        FIELDS[call](["a", "\ud800"])
    assert caught.value.code == "invalid_surrogate"


def test_an_invalid_target_is_named() -> None:
    with pytest.raises(TypeError, match="a function, not int"):
        gcf.StreamEncoder(1)  # type: ignore[arg-type]


@pytest.mark.parametrize("fails", ["function", "text file", "binary file"])
def test_a_stream_whose_write_failed_stays_failed(fails: str) -> None:
    written: list[Any] = []
    healthy = True

    def write(piece: Any) -> int:
        if not healthy:
            raise OSError("no space")
        written.append(piece)
        return len(piece)

    class Text(io.StringIO):
        def write(self, text: str) -> int:
            return write(text)

    class Binary(io.RawIOBase):
        def write(self, data: Any) -> int:
            return write(bytes(data))

    target: Any = {"function": write, "text file": Text(), "binary file": Binary()}[fails]
    stream = gcf.StreamEncoder(target)
    stream.begin_array("a", ["x"])
    stream.row([1])
    healthy = False
    with pytest.raises(OSError, match="no space"):
        stream.row([2])
    healthy = True
    calls: list[Callable[[], object]] = [
        lambda: stream.row([3]),
        stream.end,
        lambda: stream.begin_array("b", ["x"]),
        lambda: stream.begin_keyed_map("b", ["x"]),
        lambda: stream.kv("b", 1),
        lambda: stream.list("b", []),
        stream.close,
        stream.close,
    ]
    for call in calls:
        with pytest.raises(gcf.GcfError, match="an earlier part of the text could not be written"):
            call()
    assert "summary" not in str(written)
