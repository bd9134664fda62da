"""Reading GCF row by row: the same rows and errors as `loads`, without holding the whole text."""

from __future__ import annotations

import codecs
import contextlib
import gc
import io
import sys
import threading
import traceback
import tracemalloc
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import cad, gcf
from tests.strategies.gcf import groupable, result_or_error, values

ORDERS = [{"id": i, "item": f"n{i}", "tags": ["a", i], "to": {"zip": i}} for i in range(50)]
TEXT = gcf.dumps({"total": 50, "report": {"orders": ORDERS}, "users": {"a": {"v": 1}, "b": {}}})


class Drops:
    """A file that returns a few characters at a time."""

    def __init__(self, text: str | bytes, size: int) -> None:
        self.text = text
        self.size = size

    def read(self, size: int) -> str | bytes:
        piece, self.text = self.text[: self.size], self.text[self.size :]
        return piece


def elements(value: Any) -> Any:
    return list(value.items()) if isinstance(value, dict) else value


@pytest.mark.parametrize("size", [1, 3, 100, 10_000])
def test_rows_equal_loads_for_any_chunks(size: int) -> None:
    for text in (TEXT, TEXT.encode()):
        assert list(gcf.iter_rows(Drops(text, size), "report", "orders")) == ORDERS
        assert list(gcf.iter_rows(Drops(text, size), "users")) == [("a", {"v": 1}), ("b", {})]
        assert list(gcf.iter_rows(Drops(text, size))) == elements(gcf.loads(text))


@given(values, st.sampled_from([1, 7, 1000]))
def test_elements_of_any_root_equal_loads(value: Any, size: int) -> None:
    text = gcf.dumps(value)
    rows = gcf.iter_rows(Drops(text, size))
    if isinstance(value, list | dict):
        expected = elements(gcf.loads(text))
        assert repr(list(rows)) == repr(expected)
    else:
        with pytest.raises(gcf.GcfError, match="missing_section"):
            next(rows)


@given(values, st.data())
def test_an_error_equals_that_of_loads(value: Any, data: st.DataObject) -> None:
    text = gcf.dumps({"a": value, "rows": [{"x": 1}, {"x": [2]}]})
    at = data.draw(st.integers(20, len(text)))
    text = text[:at] + data.draw(st.sampled_from(["", "|", "\n", " ", "@9 ", '"', "^"])) + text[at:]
    whole, rows = (
        result_or_error(lambda: gcf.loads(text)),
        result_or_error(lambda: list(gcf.iter_rows(Drops(text, 5), "rows"))),
    )
    if isinstance(rows, gcf.GcfError) and rows.code == "missing_section":
        # It is raised at once, before the rest was read.
        there = isinstance(whole, dict) and isinstance(whole.get("rows"), list | dict)
        assert not there
    elif isinstance(whole, gcf.GcfError):
        assert str(rows) == str(whole)
    else:
        assert rows == elements(whole["rows"])


@given(groupable(), st.data())
def test_groups_or_their_error_equal_those_of_loads(table: Any, data: st.DataObject) -> None:
    rows, key, group = table
    text = gcf.dumps_grouped(rows, key, group, reorder=True)
    at = data.draw(st.integers(text.index("["), len(text)))
    drop = data.draw(st.sampled_from([0, 0, 1, 5]))
    pieces = ["", "|", "\n", " ", "~", " [1]", "@", "=", "^", "\nx=1 [1]\n"]
    added = data.draw(st.sampled_from(pieces))
    text = text[:at] + added + text[at + drop :]
    size = data.draw(st.sampled_from([1, 7, 1000]))
    whole = result_or_error(lambda: gcf.loads(text))
    found = result_or_error(lambda: list(gcf.iter_rows(Drops(text, size))))
    if isinstance(whole, gcf.GcfError):
        assert str(found) == str(whole)
    else:
        assert repr(found) == repr(elements(whole))


@given(values, st.data())
def test_rows_with_lists_or_their_error_equal_those_of_loads(
    value: Any, data: st.DataObject
) -> None:
    options = {"list_columns": True, "matrices": True, "constant_columns": True}
    text = gcf.dumps([value, value], **options)
    at = data.draw(st.integers(text.index("["), len(text)))
    drop = data.draw(st.sampled_from([0, 0, 1, 5]))
    pieces = ["", "|", ",", "\n", " ", "~", "[]", "[2]", "@", '"', "^", "\n1|a,b\n"]
    added = data.draw(st.sampled_from(pieces))
    text = text[:at] + added + text[at + drop :]
    size = data.draw(st.sampled_from([1, 7, 1000]))
    whole = result_or_error(lambda: gcf.loads(text, extensions=True))
    found = result_or_error(lambda: list(gcf.iter_rows(Drops(text, size), extensions=True)))
    if isinstance(whole, gcf.GcfError):
        assert str(found) == str(whole)
    else:
        assert repr(found) == repr(elements(whole))


def test_rows_before_an_error_are_returned() -> None:
    rows = gcf.iter_rows(io.StringIO("GCF profile=generic\n## [3]{a}\n1\n2\n"))
    assert [next(rows), next(rows)] == [{"a": 1}, {"a": 2}]
    with pytest.raises(gcf.GcfError, match="count_mismatch") as caught:
        next(rows)
    assert (caught.value.line, caught.value.column) == (2, 4)
    # It is raised again: an end would look as if all rows had been read.
    with pytest.raises(gcf.GcfError, match="count_mismatch"):
        next(rows)


class Node:
    """An object that a weak reference can refer to."""


def test_an_iterator_that_failed_is_collected() -> None:
    def read() -> weakref.ref[Node]:
        held = Node()
        rows = gcf.iter_rows(io.StringIO("GCF profile=generic\n## [1]{a}\n1|2\n"))
        # The traceback of the error that `rows` keeps refers to this frame.
        with contextlib.suppress(gcf.GcfError):
            list(rows)
        return weakref.ref(held)

    found = read()
    gc.collect()
    assert found() is None


def test_sources_may_be_paths_and_files(tmp_path: Path) -> None:
    path = tmp_path / "orders.gcf"
    path.write_text(TEXT, encoding="utf-8")
    for source in (path, str(path)):
        assert list(gcf.iter_rows(source, "report", "orders")) == ORDERS
    for mode in ("r", "rb"):
        with path.open(mode) as file:
            assert list(gcf.iter_rows(file, "report", "orders")) == ORDERS
    with pytest.raises(FileNotFoundError, match=r"none\.gcf"):
        gcf.iter_rows(tmp_path / "none.gcf")
    with pytest.raises(FileNotFoundError, match=r"none\.gcf"):
        gcf.load(tmp_path / "none.gcf")
    with pytest.raises(TypeError, match="source must be a path"):
        gcf.iter_rows(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="str keys only, not int"):
        gcf.iter_rows(path, 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_depth"):
        gcf.iter_rows(path, max_depth=0)


def test_a_failing_or_wrong_file_object_is_reported() -> None:
    class Broken:
        def read(self, size: int) -> Any:
            if size:
                raise OSError("unplugged")

    class Odd:
        def read(self, size: int) -> Any:
            return 5

    rows = gcf.iter_rows(Broken())
    for _ in range(2):
        with pytest.raises(OSError, match="unplugged"):
            next(rows)
    with pytest.raises(TypeError, match="read\\(\\) must return str or bytes, not int"):
        next(gcf.iter_rows(Odd()))


def test_a_path_without_rows_names_what_is_there() -> None:
    for path, message in [
        (("total",), "expected an array or object to read rows from, found a scalar"),
        (("nix",), 'no member "nix"; the object has "total", "report", "users"'),
        (("report", "nix"), 'no member "nix"; the object has "orders"'),
        (("report", "orders", "x"), "expected an object on the path to the rows, found an array"),
        (("users", "c"), 'no member "c"; the object has "a", "b"'),
        (("users", "a", "v"), "expected an array or object to read rows from, found a scalar"),
        (("users", "a", "x"), 'no member "x"'),
    ]:
        with pytest.raises(gcf.GcfError, match="missing_section") as caught:
            list(gcf.iter_rows(io.StringIO(TEXT), *path))
        assert message in str(caught.value)


def test_a_path_leads_through_every_form_of_dicts() -> None:
    orders = [{"id": 1}, {"id": 2}]
    for regions in (["eu"], ["eu", "us"], ["us", "eu"]):
        text = gcf.dumps({"all": {region: {"orders": orders} for region in regions}})
        for size in (5, 1000):
            assert list(gcf.iter_rows(Drops(text, size), "all", "eu", "orders")) == orders
            assert list(gcf.iter_rows(Drops(text, size), "all", "eu")) == [("orders", orders)]


def test_rows_before_invalid_utf8_are_returned() -> None:
    data = b"GCF profile=generic\n## [3]{a}\n1\n2\n\xff\n"
    text = data[:-2].decode() + "\ud800\n"
    for source in (data, text):
        for size in (1, 7, 1000):
            rows = gcf.iter_rows(Drops(source, size))
            assert [next(rows), next(rows)] == [{"a": 1}, {"a": 2}]
            with pytest.raises(
                gcf.GcfError, match="invalid_utf8: not UTF-8 from byte 34 on"
            ) as caught:
                next(rows)
            assert caught.value.line == 5


def test_a_text_wrapper_is_read_through_its_own_read(tmp_path: Path) -> None:
    path = tmp_path / "utf-16.gcf"
    path.write_text(TEXT, encoding="utf-16")
    codec = codecs.lookup("utf-16")
    with codecs.StreamReaderWriter(path.open("rb"), codec.streamreader, codec.streamwriter) as file:
        assert list(gcf.iter_rows(file, "report", "orders")) == ORDERS
    with pytest.raises(OSError, match="director") as caught:
        next(gcf.iter_rows(tmp_path))
    assert caught.value.filename == str(tmp_path)


def test_row_size_and_depth_are_limited() -> None:
    text = "GCF profile=generic\n## [1]{a}\n" + "x" * 5000 + "\n"
    with pytest.raises(gcf.GcfError, match="limit_exceeded"):
        list(gcf.iter_rows(Drops(text, 100), max_row_size=1000))
    assert len(list(gcf.iter_rows(Drops(text, 100)))) == 1
    deep: Any = []
    for _ in range(20):
        deep = [deep]
    with pytest.raises(gcf.GcfError, match="limit_exceeded"):
        list(gcf.iter_rows(io.StringIO(gcf.dumps(deep)), max_depth=10))


class Endless:
    """Many rows, generated while they are read."""

    def __init__(self, rows: int) -> None:
        self.lines = self._lines(rows)

    def _lines(self, rows: int) -> Iterator[str]:
        yield "GCF profile=generic\n## first [?]{id,name}\n"
        for start in range(0, rows, 1000):
            yield "".join(f"{i},item {i}\n".replace(",", "|") for i in range(start, start + 1000))
        yield "## second [?]{id}\n"
        for start in range(0, rows, 1000):
            yield "".join(f"{i}\n" for i in range(start, start + 1000))
        yield f"##! summary counts={rows},{rows}\n"

    def read(self, size: int) -> str:
        return next(self.lines, "")


def test_memory_does_not_grow_with_rows() -> None:
    def used(rows: int) -> int:
        tracemalloc.start()
        try:
            assert sum(1 for _ in gcf.iter_rows(Endless(rows), "second")) == rows
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert used(100_000) < 2 * used(10_000)


def test_a_row_is_returned_before_more_input_is_awaited() -> None:
    class Live:
        def __init__(self) -> None:
            self.reads = 0

        def read(self, size: int) -> str:
            self.reads += 1
            head = "GCF profile=generic\n## [?]{id}\n" if self.reads == 1 else ""
            return f"{head}{self.reads}\n"

    live = Live()
    rows = gcf.iter_rows(live)
    for i in range(1, 50):
        assert next(rows) == {"id": i}
        assert live.reads == i + 1


def test_rows_before_a_failed_read_are_returned() -> None:
    class Unplugged:
        def __init__(self) -> None:
            self.pieces = ["GCF profile=generic\n## [9]{id}\n1\n2\n3\n"]

        def read(self, size: int) -> str:
            if self.pieces:
                return self.pieces.pop()
            raise OSError("unplugged")

    rows = gcf.iter_rows(Unplugged())
    # Whether the third is complete, the next line tells.
    assert [next(rows), next(rows)] == [{"id": 1}, {"id": 2}]
    with pytest.raises(OSError, match="unplugged"):
        next(rows)


def test_threads_take_turns_or_get_an_error() -> None:
    gate = threading.Event()
    inside = threading.Event()

    class Slow:
        def read(self, size: int) -> str:
            inside.set()
            gate.wait(10)
            return ""

    rows = gcf.iter_rows(Slow())
    caught: list[BaseException] = []

    def read() -> None:
        try:
            next(rows)
        except gcf.GcfError as error:
            caught.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    inside.wait(10)
    with pytest.raises(ValueError, match="already executing"):
        next(rows)
    gate.set()
    thread.join()
    assert [error.code for error in caught if isinstance(error, gcf.GcfError)] == ["missing_header"]


def test_an_error_that_is_raised_again_does_not_grow() -> None:
    rows = gcf.iter_rows(io.StringIO("no GCF"))
    depths = set()
    for _ in range(4):
        with pytest.raises(gcf.GcfError) as caught:
            next(rows)
        depths.add(len(list(traceback.walk_tb(caught.value.__traceback__))))
    assert len(depths) == 1


@pytest.mark.parametrize("read", [gcf.iter_rows, cad.iter_compact])
def test_a_read_that_raises_stop_iteration_is_an_error_and_no_end(read: Any) -> None:
    class Pieces:
        def __init__(self) -> None:
            self.left = iter(
                ["GCF profile=generic\n## [3]{a}\n1\n" if read is gcf.iter_rows else "C 1 2 3\n"]
            )

        def read(self, _: int = -1) -> str:
            return next(self.left)

    with pytest.raises(RuntimeError, match="the source raised StopIteration") as caught:
        list(read(Pieces()))
    assert isinstance(caught.value.__cause__, StopIteration)


@pytest.mark.parametrize("name", ["GCF report.gcf", "{name}.gcf", "no such file"])
def test_a_file_that_does_not_exist_is_not_taken_for_content(name: str, tmp_path: Path) -> None:
    for path in (name, str(tmp_path / name)):
        for call in (gcf.load, gcf.iter_rows, cad.load, cad.iter_compact):
            with pytest.raises(FileNotFoundError):
                list(call(path))


def test_modules_of_python_may_be_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    modules: Any = sys.modules
    for name in ("io", "os"):
        monkeypatch.setitem(modules, name, SimpleNamespace(**vars(modules[name])))
    path = tmp_path / "a.gcf"
    gcf.dump([{"a": 1}], path)
    with path.open() as file:
        assert gcf.load(path) == list(gcf.iter_rows(file)) == [{"a": 1}]


def test_content_in_place_of_a_path_is_not_read_to_its_end() -> None:
    columns = ",".join(f"c{number}=1" for number in range(2000))
    text = f"GCF profile=generic\n## [2000]{{id,{columns}}}\n" + "1\n" * 2000
    for call in (gcf.load, gcf.iter_rows):
        with pytest.raises(cw.OptionError, match="is content, not the path of a file"):
            call(text + "wrong")
    for content in ("C 1 2 3\n" * 9_000, '{"version": "0.1"}' + " " * 9_000):
        with pytest.raises(cw.OptionError, match="is content, not the path of a file"):
            cad.load(content)
    for content in ("C 1 2 3\n" * 9_000, '{"version": "0.1"}', '{"a"'):
        with pytest.raises(cw.OptionError, match="is content, not the path of a file"):
            list(cad.iter_compact(content))
