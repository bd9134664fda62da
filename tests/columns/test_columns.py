"""Columns without an Arrow library: results, errors, and hostile producers."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

import pytest

import compactwire as cw
from compactwire import arrow, cad, gcf
from tests.columns.producer import Array, Column, OneArray, binaries, texts

TEXTS = ["short", "", "x" * 60, "so it goes. " * 40, "한국어 응답 🚀", "a|b\nc"]
ROWS = [*TEXTS, None]


def test_encode_and_decode_equal_the_loop() -> None:
    wires = arrow.encode(Column(ROWS))
    assert texts(wires) == [row if row is None else cw.encode(row) for row in ROWS]
    assert (len(wires), wires.null_count, wires.num_chunks, wires.type) == (7, 1, 1, "u")
    assert texts(arrow.detect(wires)) == [
        row if row is None else str(cw.detect(cw.encode(row))) for row in ROWS
    ]


@pytest.mark.parametrize(
    "format", ["verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary"]
)
def test_every_format_is_written_as_by_encode(format: str) -> None:
    assert texts(arrow.encode(Column(ROWS), format=format, protocol=2)) == [
        row if row is None else cw.encode(row, format=format, protocol=2) for row in ROWS
    ]


def test_each_chunk_becomes_a_chunk() -> None:
    column = Column(["a", None], [], ["b"])
    wires = arrow.encode(column)
    assert (texts(wires), wires.num_chunks) == ([cw.encode("a"), None, cw.encode("b")], 3)
    assert texts(arrow.encode(Column())) == []


def test_an_array_without_a_stream_is_a_column() -> None:
    assert texts(arrow.encode(OneArray(["a", None]))) == [cw.encode("a"), None]


def test_a_result_is_a_column_and_can_be_taken_again() -> None:
    once = arrow.gcf_from_json(Column(['{"id":1}', None]))
    assert texts(once) == texts(once) == [gcf.from_json('{"id":1}'), None]
    assert texts(arrow.gcf_to_json(once)) == ['{"id":1}', None]


@pytest.mark.parametrize(
    ("column", "scalar"),
    [
        (arrow.encode, cw.encode),
        (arrow.decode, cw.decode),
        (arrow.inspect, cw.inspect),
        (arrow.gcf_from_json, gcf.from_json),
        (arrow.gcf_to_json, gcf.to_json),
        (arrow.gcf_loads, gcf.loads),
        (arrow.cad_from_compact, cad.from_compact),
        (arrow.cad_to_compact, cad.to_compact),
        (arrow.cad_from_binary, cad.from_binary),
    ],
)
def test_every_option_for_one_message_is_one_for_a_column(column: Any, scalar: Any) -> None:
    _, *options = inspect.signature(scalar).parameters.values()
    of_column = inspect.signature(column).parameters
    assert {option.name: option.default for option in options} == {
        option.name: of_column[option.name].default for option in options
    }


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("flatten", [{"a": {"b": 1}}] * 2),
        ("constant_columns", [{"a": 1, "b": 2}] * 4),
        ("group_values", [{"id": n, "team": f"team number {n // 9}"} for n in range(27)]),
        ("list_columns", [{"id": n, "tags": ["a", "b"]} for n in range(4)]),
        ("matrices", [[1, 2], [3, 4]]),
    ],
)
def test_the_options_of_gcf_are_those_for_one_text(option: str, value: Any) -> None:
    text = json.dumps(value)
    changed = {option: option != "flatten"}
    assert gcf.from_json(text, **changed) != gcf.from_json(text)
    column = arrow.gcf_from_json(Column([text]), **changed)
    assert texts(column) == [gcf.from_json(text, **changed)]
    assert json.loads(texts(arrow.gcf_to_json(column, extensions=True))[0] or "") == value


def test_json_of_a_column_is_ascii_on_request() -> None:
    column = arrow.gcf_from_json(Column(['["é"]']))
    assert texts(arrow.gcf_to_json(column, ensure_ascii=True)) == ['["\\u00e9"]']
    assert texts(arrow.gcf_to_json(column)) == ['["é"]']


def test_cad_texts_become_json_and_back() -> None:
    text = cad.to_compact(cad.from_compact("C 10 20 30"))
    documents = arrow.cad_from_compact(Column([text, None]))
    assert texts(arrow.cad_to_compact(documents)) == [text, None]


def test_cad_documents_become_binary_and_back() -> None:
    documents = arrow.cad_from_compact(Column(["C 10 20 30", None]))
    binary = arrow.cad_to_binary(documents)
    assert binaries(binary) == [cad.to_binary(cad.from_compact("C 10 20 30")), None]
    assert texts(arrow.cad_from_binary(binary)) == texts(documents)


def test_binary_cad_is_not_a_text() -> None:
    with pytest.raises(TypeError, match=r'expected a column of bytes .*, not of "Utf8"'):
        arrow.cad_from_binary(Column(["C 10 20 30"]))


def test_content_that_the_cad_model_lacks_is_kept_on_request() -> None:
    text = json.dumps({**cad.from_compact("C 10 20 30"), "mine": 1})
    with pytest.raises(cw.DocumentError, match="mine"):
        arrow.cad_to_compact(Column([text]), dialect="0.2")
    kept = arrow.cad_to_compact(Column([text]), dialect="0.2", unknown="keep")
    assert texts(kept) == [cad.to_compact(text, "0.2", unknown="keep")]
    for options in ({"dialect": "0.1"}, {"dialect": "0.2", "lossy": True}, {"target": "vcad"}):
        with pytest.raises(cw.OptionError, match='unknown="keep"') as caught:
            arrow.cad_to_compact(Column([text]), unknown="keep", **options)
        with pytest.raises(cw.OptionError) as scalar:
            cad.to_compact(text, unknown="keep", **options)
        assert str(caught.value) == str(scalar.value)


@pytest.mark.parametrize("dialect", [None, "0.1", "0.2"])
@pytest.mark.parametrize("target", [None, "vcad"])
@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("lossy", [False, True, [], ["segments"], ["segments", "unknown"]])
def test_cad_texts_and_their_losses_are_those_of_to_compact(
    dialect: Any, target: Any, names: bool, lossy: Any
) -> None:
    options = {"dialect": dialect, "target": target, "names": names, "lossy": lossy}
    named = {"nodes": {"0": {"name": "rod", "op": {"type": "Cylinder", "radius": 1, "height": 2}}}}
    ball = {"nodes": {"0": {"op": {"type": "Sphere", "radius": 1, "segments": 3}}}}
    hybrid = cad.to_hybrid(cad.from_compact("C 10 20 30"))
    rows = [json.dumps(one) for one in (named, ball, {**named, "mine": 1}, hybrid, {"nodes": 1})]
    try:
        cad.to_compact({"nodes": {}}, **options)
    except (ValueError, TypeError) as error:
        with pytest.raises(type(error)) as caught:
            arrow.cad_to_compact(Column(rows), **options)
        assert str(caught.value) == str(error)  # noqa: PT017
        return
    for row in rows:
        try:
            expected = cad.to_compact(row, **options)
        except cad.DocumentError as error:
            with pytest.raises(cad.DocumentError) as caught_row:
                arrow.cad_to_compact(Column([row]), **options)
            assert str(caught_row.value) == str(error)  # noqa: PT017
        else:
            assert texts(arrow.cad_to_compact(Column([row]), **options)) == [expected]


def test_a_hybrid_is_no_cad_document_for_a_writer() -> None:
    hybrid = json.dumps(cad.to_hybrid(cad.from_compact("C 10 20 30")))
    for column, scalar in (
        (arrow.cad_to_compact, cad.to_compact),
        (arrow.cad_to_binary, cad.to_binary),
    ):
        with pytest.raises(cad.DocumentError) as expected:
            scalar(hybrid)
        with pytest.raises(cad.DocumentError) as caught:
            column(Column([hybrid]))
        assert str(caught.value) == str(expected.value)


def test_the_first_row_that_fails_is_raised_with_its_number() -> None:
    good, bad = cw.encode("x"), "A~~"
    rows = [[good] * 70_000, [good, bad, "", good]]
    for threads in (1, 2, 7):
        with pytest.raises(cw.InvalidBase85Char) as caught:
            arrow.decode(Column(*rows), threads=threads)
        with pytest.raises(cw.InvalidBase85Char) as scalar:
            cw.decode(bad)
        assert (str(caught.value), caught.value.position) == (str(scalar.value), 0)
        assert (caught.value.row, caught.value.__notes__) == (70_001, ["in row 70001"])


def test_rows_that_fail_become_null_or_are_reported() -> None:
    column = Column([cw.encode("x"), "A~~", None, ""])
    nulls = arrow.detect(Column(["RES|", "?", None, ""]), errors="null")
    assert (texts(nulls), nulls.failed, nulls.null_count) == (["dsl", None, None, None], 2, 3)
    report = arrow.decode(column, errors="report")
    assert (len(report), report.failed, report.type, report.null_count) == (4, 0, "+s", 1)


def test_a_failed_row_has_row_none_by_default() -> None:
    with pytest.raises(cw.EmptyResponse) as caught:
        cw.decode("")
    assert caught.value.row is None


@pytest.mark.parametrize("argument", [["a"], "a", 1, None, object(), Column])
def test_an_argument_that_is_no_column_is_a_type_error(argument: Any) -> None:
    with pytest.raises(TypeError):
        arrow.encode(argument)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"errors": "ignore"}, "'raise', 'null' or 'report'"),
        ({"threads": 0}, "1 or more"),
        ({"threads": -1}, "1 or more"),
        ({"fields": ["result", "answer"]}, "'result', 'model'"),
        ({"fields": ["result", "result"]}, "twice"),
        ({"fields": []}, "at least one"),
        ({"max_size": -1}, "0 or more"),
    ],
)
def test_an_unknown_option_is_named_before_any_row(options: dict[str, Any], names: str) -> None:
    with pytest.raises(cw.OptionError, match=names):
        arrow.decode(Column(["not a message"]), **options)


@pytest.mark.parametrize(
    "offsets", [(0, 3, 2, 4), (0, -1, 2, 4), (5, 1, 2, 4), (0, 100, 2, 4)], ids=str
)
def test_offsets_that_contradict_each_other_are_refused(offsets: tuple[int, ...]) -> None:
    with pytest.raises(cw.CompactWireError, match=r"(?i)offset"):
        arrow.encode(Column(["a", "b", "cd"], offsets=offsets))


def test_texts_that_are_not_utf8_are_refused() -> None:
    for rows in ([b"\xff"], ["€".encode()[:2], "€".encode()[2:]]):
        with pytest.raises(cw.CompactWireError, match=r"(?i)utf"):
            arrow.encode(Column(rows))


def test_bytes_that_are_not_utf8_fail_as_a_row() -> None:
    column = Column(["RES|OK||0|a", b"\xff"], format=b"z")
    with pytest.raises(cw.EncodeError, match="result: not UTF-8 from byte 0 on") as caught:
        arrow.encode(column)
    assert (caught.value.row, caught.value.field) == (1, "result")
    with pytest.raises(cw.InvalidFormat) as caught:
        arrow.decode(column)
    assert caught.value.row == 1


def test_a_stream_that_fails_is_raised_with_its_message() -> None:
    for errors in ("raise", "null", "report"):
        with pytest.raises(cw.CompactWireError, match="the disk is gone"):
            arrow.encode(Column(["a"], error="the disk is gone"), errors=errors)


def test_a_producer_that_says_nothing_of_its_failure_gives_no_reason() -> None:
    with pytest.raises(cw.CompactWireError, match="it gives no reason"):
        arrow.encode(Column(["a"], error="\n"))


@pytest.mark.parametrize("format", [b"+l", b"+L", b"+vl", b"+vL", b"+m", b"+r", b"+w:2"])
def test_a_schema_without_its_children_is_refused_quietly(format: bytes, capfd: Any) -> None:
    with pytest.raises(cw.CompactWireError, match="another number of children"):
        arrow.encode(Column(["a"], format=format))
    # A panic that is caught would still be written there.
    assert capfd.readouterr().err == ""


def test_sizes_of_values_that_no_memory_has_are_refused_quietly(capfd: Any) -> None:
    with pytest.raises(cw.CompactWireError, match="impossible number of rows"):
        arrow.encode(
            Column(["a"], format=b"w:2147483647", fields={"length": 2**48, "n_buffers": 2})
        )
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"length": -1},
        {"length": 2**62},
        {"offset": -1},
        {"offset": 2**62, "length": 2**62},
        {"null_count": 7},
        {"null_count": -2},
        {"n_buffers": 2},
        {"n_buffers": -1},
        {"n_buffers": 2**40},
        {"n_children": 1},
        {"n_children": -1},
        {"buffers": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("format", [b"u", b"vu", b"+s", b"+l", b"n", b"c", b"U"])
def test_arrays_that_contradict_their_type_are_refused(
    format: bytes, fields: dict[str, Any]
) -> None:
    if format == b"n" and not {"length", "offset", "null_count", "n_children"} & {*fields}:
        pytest.skip("some producers pass buffers that the type does not have")
    if format == b"c" and fields.get("n_buffers") == 2:
        pytest.skip("the type has two buffers")
    for column in (
        Column(["a"], format=format, fields=fields),
        OneArray(["a"], format=format, fields=fields),
    ):
        with pytest.raises((cw.CompactWireError, TypeError)):
            arrow.encode(column)


@pytest.mark.parametrize("format", [b"", b"\xff", b"w:-1", b"?", b"+s", b"+l", b"tsq:"])
def test_schemas_that_describe_no_type_are_refused(format: bytes) -> None:
    with pytest.raises((cw.CompactWireError, TypeError)):
        arrow.encode(Column(["a"], format=format))


def test_offsets_that_are_not_aligned_are_read() -> None:
    for column in (Column(ROWS, ROWS, shift=1), OneArray(ROWS, shift=3)):
        rows = texts(arrow.encode(column))
        assert rows[:7] == [row if row is None else cw.encode(row) for row in ROWS]


@pytest.mark.parametrize("format", [b"u", b"z"])
def test_the_only_offset_of_no_rows_is_not_read(format: bytes) -> None:
    # As in a slice of no rows of the crate `arrow-array`.
    assert texts(arrow.encode(Column([], format=format, offsets=[4]))) == []
    assert gcf.loads(gcf.dumps(Column([], format=format, offsets=[4]))) == []


@pytest.mark.parametrize("format", [b"u", b"U", b"z", b"Z"])
def test_no_rows_need_no_offsets(format: bytes) -> None:
    class Producer(Column):
        def fill_array(self, array: Array, length: int, buffers: Iterable[bytes]) -> None:
            super().fill_array(array, length, buffers)
            array.buffers[1] = None

    assert texts(arrow.encode(Producer([], [], format=format))) == []
    assert gcf.loads(gcf.dumps(Producer([], format=format))) == []


@pytest.mark.parametrize(
    ("returned", "found"),
    [((1,), "a tuple of 1"), ((1, 2, 3), "a tuple of 3"), ([1, 2], "list"), (None, "NoneType")],
    ids=str,
)
def test_a_producer_must_return_two_capsules(returned: object, found: str) -> None:
    class Producer:
        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            return returned

    with pytest.raises(TypeError, match=f"expected a tuple of two capsules.*, not {found}$"):
        arrow.encode(Producer())
    with pytest.raises(TypeError, match=f"expected a tuple of two capsules.*, not {found}$"):
        gcf.dumps(Producer())


def test_the_type_of_an_option_is_an_error_with_its_name() -> None:
    column, builtin = Column(["RES|OK||0|x"]), cw.Dictionary.default()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"fields": "result"}, 'fields must be a list of names, not str: pass ["result"]'),
        (
            {"dictionaries": builtin},
            "dictionaries must be an iterable of Dictionary, not Dictionary",
        ),
        ({"dictionaries": [1]}, "dictionaries[0] must be a Dictionary, not int"),
    ]
    for options, message in wrong:
        with pytest.raises(TypeError, match=re.escape(message)):
            arrow.decode(column, **options)


def test_capsules_of_an_array_are_taken_once() -> None:
    column = OneArray(["a"])
    capsules = column.__arrow_c_array__()

    class Same:
        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            return capsules

    assert texts(arrow.encode(Same())) == [cw.encode("a")]
    with pytest.raises(cw.CompactWireError, match="released"):
        arrow.encode(Same())


def test_a_method_that_is_none_is_no_method() -> None:
    class Nothing:
        __arrow_c_stream__ = None

    with pytest.raises(TypeError, match="not Nothing"):
        arrow.encode(Nothing())


@pytest.mark.parametrize("call", [arrow.encode, gcf.dumps, cw.shrink])
def test_values_without_an_arrow_type_are_an_error_that_says_what_to_do(call: Any) -> None:
    class Mixed:
        error: BaseException = ValueError("cannot convert 'x' to int64\n" + "x" * 999)

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise self.error

    expected = r"this Mixed cannot be read as Arrow: cannot convert 'x' to int64\\nx{172}; give the"
    with pytest.raises(cw.UnsupportedValue, match=expected) as caught:
        call(Mixed())
    assert (caught.value.code, caught.value.path) == ("unsupported_type", "$[*]")
    assert caught.value.__cause__ is Mixed.error
    Mixed.error = KeyError("a fault of the producer")
    with pytest.raises(KeyError):
        call(Mixed())


def test_a_lazy_frame_is_an_error_that_names_its_method() -> None:
    class Lazy:
        def collect_schema(self) -> None:
            """As a lazy frame of Polars has it."""

    for call in (arrow.encode, gcf.dumps, cw.shrink, lambda lazy: gcf.dumps({"a": [lazy]})):
        with pytest.raises((TypeError, cw.UnsupportedValue)) as caught:
            call(Lazy())
        assert "Lazy is not in memory: pass the result of its collect()" in str(caught.value)


def test_a_stream_is_not_read_twice() -> None:
    column = Column(["a"])  # It owns the memory that the capsule points to.
    capsule = column.__arrow_c_stream__()

    class Same:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return capsule

    assert texts(arrow.encode(Same())) == [cw.encode("a")]
    with pytest.raises(cw.CompactWireError, match="released"):
        arrow.encode(Same())


def test_a_capsule_of_another_name_is_refused() -> None:
    schema = arrow.encode(Column(["a"])).__arrow_c_schema__()

    class Wrong:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return schema

    message = 'expected a capsule arrow_array_stream, not <capsule object "arrow_schema"'
    with pytest.raises(TypeError, match=message):
        arrow.encode(Wrong())


def test_a_bomb_is_an_error_of_its_row() -> None:
    wire = cw.encode("x" * 1_000_000, format="zstd")
    with pytest.raises(cw.OutputTooLarge) as caught:
        arrow.decode(Column(["RES|OK||0|", wire]), max_size=1000)
    assert caught.value.row == 1


def test_other_threads_run_meanwhile() -> None:
    column = Column([f"{n} " * 400 for n in range(4_000)])
    steps, during, done = 0, [], threading.Event()

    def work() -> None:
        before = steps
        arrow.encode(column, format="dictionary", threads=1)
        # This thread gives up the lock only inside of the call.
        during.append(steps - before)
        done.set()

    thread = threading.Thread(target=work)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        thread.start()
        while not done.is_set():
            steps += 1
            time.sleep(0)
    finally:
        sys.setswitchinterval(interval)
    thread.join()
    assert during[0] > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_process_works_after_a_call() -> None:
    code = (
        "import os\n"
        "from compactwire import arrow\n"
        "from tests.columns.producer import Column, texts\n"
        "column = Column(['text ' * 20] * 100_000)\n"
        "arrow.encode(column, threads=4)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(len(texts(arrow.encode(column, threads=4))) != 100_000)\n"
        "raise SystemExit(os.waitpid(child, 0)[1])\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_variable_limits_the_threads() -> None:
    code = (
        "import os, threading, time\n"
        "from compactwire import arrow\n"
        "from tests.columns.producer import Column\n"
        "column = Column(['text ' * 200] * 20_000)\n"
        "seen, done = 0, False\n"
        "def look():\n"
        "    global seen\n"
        "    while not done:\n"
        "        seen = max(seen, len(os.listdir('/proc/self/task')))\n"
        "looker = threading.Thread(target=look); looker.start()\n"
        # On a busy machine, no look may fall into the time in which all threads of one call live.
        "limit, end = 1 + int(os.environ['COMPACTWIRE_THREADS']), time.monotonic() + 60\n"
        "arrow.encode(column, format='zstd')\n"
        "while seen < limit and time.monotonic() < end:\n"
        "    arrow.encode(column, format='zstd')\n"
        "done = True; looker.join(); print(seen)\n"
    )
    if not sys.platform.startswith("linux"):
        pytest.skip("threads are counted the Linux way")
    for threads in (1, 3):
        found = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "COMPACTWIRE_THREADS": str(threads), "OMP_NUM_THREADS": "2"},
        )
        assert int(found.stdout) == 2 + threads - 1


def test_the_error_of_a_pickled_column_says_what_to_do() -> None:
    import copy
    import pickle

    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied; make an array"):
            act(arrow.encode(Column(["a"])))


def test_an_error_with_a_row_survives_pickling() -> None:
    import pickle

    with pytest.raises(cw.EmptyResponse) as caught:
        arrow.decode(Column([cw.encode("x"), ""]))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.row, str(again)) == (cw.EmptyResponse, 1, str(caught.value))
