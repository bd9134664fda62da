"""`gcf.dumps` and `gcf.loads` beyond the fixtures: types, options, errors, limits."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import io
import json
import math
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import gcf
from tests.strategies.growth import assert_linear

HEADER = "GCF profile=generic\n"
ORDERS = {"orders": [{"id": 1, "total": 9.5, "items": [{"sku": "a", "n": 1}]}, {"id": 2}]}
DEEP = 100_000


@pytest.mark.parametrize("character", ["é", "ÿ", "Ā", "я", "語", "、", "\uffff", "🎉"])
def test_texts_of_any_characters_and_length_are_written(character: str) -> None:
    for length in range(70):
        for text in (character * length, "a" * length + character, f"é{character}語a" * length):
            fresh = text.encode().decode()
            written = gcf.dumps([fresh])
            assert gcf.dumps_bytes([fresh]) == written.encode()
            # Both kinds of input: a str whose UTF-8 nobody has asked for yet, and bytes.
            assert gcf.loads(written) == gcf.loads(written.encode()) == [text]
            with pytest.raises(gcf.GcfError, match="surrogate"):
                gcf.dumps([text + "\ud800"])


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Name(str):
    __slots__ = ()


class Twin(str):
    """A str that equals no other str, even with the same text."""

    __slots__ = ()

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclasses.dataclass
class Point:
    x: int
    y: int


def convert(value: object) -> object:
    if isinstance(value, Point):
        return dataclasses.asdict(value)
    if isinstance(value, Colour):
        return value.value
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, uuid.UUID | decimal.Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not for the wire")


def failure(call: Callable[..., object], *arguments: object, **options: Any) -> gcf.GcfError:
    with pytest.raises(gcf.GcfError) as caught:
        call(*arguments, **options)
    return caught.value


def test_subclasses_are_written_as_their_base_type() -> None:
    point = collections.namedtuple("point", "x y")
    value = {Name("k"): [Level.HIGH, Name("v"), (1, 2), point(3, 4)], "d": collections.Counter("a")}
    assert gcf.loads(gcf.dumps(value)) == {"k": [3, "v", [1, 2], [3, 4]], "d": {"a": 1}}


def test_an_ordered_dict_keeps_its_own_order() -> None:
    ordered = collections.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    assert gcf.dumps([ordered]) == gcf.dumps([{"b": 2, "a": 1}])


def test_default_is_called_for_other_types() -> None:
    now = datetime.date(2024, 2, 29)
    key = uuid.UUID(int=7)
    value = {"p": Point(1, 2), "c": [Colour.RED], "d": now, "u": key, "n": decimal.Decimal("1.10")}
    assert gcf.loads(gcf.dumps(value, default=convert)) == {
        "p": {"x": 1, "y": 2},
        "c": ["red"],
        "d": "2024-02-29",
        "u": str(key),
        "n": "1.10",
    }


def test_an_error_of_default_is_raised() -> None:
    with pytest.raises(TypeError, match="object is not for the wire"):
        gcf.dumps([object()], default=convert)


def test_an_endless_default_is_an_error() -> None:
    error = failure(gcf.dumps, [object()], default=lambda value: value)
    assert (error.code, error.path) == ("limit_exceeded", "$[0]")


def test_default_may_change_the_value_during_the_call() -> None:
    inner: list[object] = ["x" * 100 for _ in range(100)]
    value: dict[str, object] = {"a": object(), "b": inner, "c": object()}

    def meddle(_: object) -> object:
        inner.clear()
        value.clear()
        value.update({f"k{i}": i for i in range(1000)})
        return "converted"

    value["b"] = [object(), inner]
    text = gcf.loads(gcf.dumps(value, default=meddle))
    assert text["a"] == text["c"] == text["b"][0] == "converted"


def test_other_threads_may_change_the_value_during_the_call() -> None:
    value: dict[str, object] = {f"k{i}": [{"a": i}] for i in range(100)}
    stop = threading.Event()

    def meddle() -> None:
        while not stop.is_set():
            value.clear()
            value.update({f"k{i}": [{"a": i, "b": "x" * i}] for i in range(100)})

    thread = threading.Thread(target=meddle)
    thread.start()
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        assert isinstance(gcf.loads(gcf.dumps(value)), dict)
    stop.set()
    thread.join()


CYCLE: list[object] = []
CYCLE.append({"again": CYCLE})

BAD_VALUES: dict[str, tuple[object, str, str]] = {
    "NaN": ({"orders": [1, {"total": math.nan}]}, "not_finite", "$.orders[1].total"),
    "infinity": ([[-math.inf]], "not_finite", "$[0][0]"),
    "integer": ({"a b": 2**63}, "out_of_range", '$["a b"]'),
    "long integer": (-(10**5000), "out_of_range", "$"),
    "surrogate": ({"a": "\ud800"}, "invalid_surrogate", "$.a"),
    "surrogate in a key": ({"a": {"\udc00": 1}}, "invalid_surrogate", "$.a"),
    "key": ({"a": {1: 2}}, "unsupported_type", "$.a"),
    "bytes": ({"a": [b""]}, "unsupported_type", "$.a[0]"),
    "set": ({"a": {1}}, "unsupported_type", "$.a"),
    "keys of one text": ([{Twin("a"): 1, Twin("a"): 2}], "duplicate_key", "$[0]"),
    "cycle": (CYCLE, "limit_exceeded", "$" + "[0].again" * 64),
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_an_unwritable_value_is_named_by_its_path(name: str) -> None:
    value, code, path = BAD_VALUES[name]
    error = failure(gcf.dumps, value)
    assert (error.code, error.path) == (code, path)
    assert (error.line, error.column) == (None, None)
    assert str(error).startswith(f"{code}: ")
    assert error.path is not None
    assert error.path[:50] in str(error)  # The middle of a long path is left out.


@pytest.mark.parametrize("text", ["[1]", ' {"a": 1}'])
def test_json_is_told_from_other_text_that_is_not_gcf(text: str) -> None:
    message = "expected GCF as the first word; this begins like JSON: expand reads both"
    for read in (gcf.loads, gcf.to_json, lambda data: list(gcf.iter_rows(io.StringIO(data)))):
        error = failure(read, text)
        assert error.code == "missing_header"
        assert message in str(error)
    assert "JSON" not in str(failure(gcf.loads, "prose"))


DEEP_TEXT = HEADER + "".join("  " * level + "## a\n" for level in range(300))
DEEP_READERS: dict[str, Callable[..., object]] = {
    "loads": lambda **options: gcf.loads(DEEP_TEXT, **options),
    "to_json": lambda **options: gcf.to_json(DEEP_TEXT, **options),
    "from_json": lambda **options: gcf.from_json("[" * 300, **options),
}


@pytest.mark.parametrize("name", DEEP_READERS)
def test_depth_of_a_text_has_the_option_that_allows_it(name: str) -> None:
    read = DEEP_READERS[name]
    message = "limit_exceeded: nested more than 128 levels deep; max_depth allows up to 256 (line "
    assert str(failure(read)).startswith(message)
    assert "max_depth" not in str(failure(read, max_depth=256))


BAD_TEXTS: dict[str, tuple[str | bytes, str, int, int]] = {
    "nothing": ("", "missing_header", 1, 1),
    "byte order mark": ("\ufeffGCF profile=generic\n", "missing_header", 1, 1),
    "version": ("GCF2 profile=generic", "missing_header", 1, 1),
    "no profile": ("GCF", "missing_profile", 1, 1),
    "empty profile": ("GCF profile=", "missing_profile", 1, 1),
    "profile": ("GCF  profile=x", "unknown_profile", 1, 6),
    "field": ("GCF profile=generic x", "malformed_header_field", 1, 21),
    "field twice": ("GCF profile=generic a=1 a=2", "duplicate_header_field", 1, 25),
    "graph": ("GCF profile=graph\n", "wrong_profile", 1, 1),
    "bytes": (b"GCF profile=generic\na=\xff\n", "invalid_utf8", 2, 3),
    "absent": (HEADER + "a=~\n", "invalid_missing", 2, 3),
    "absent in a list": (HEADER + "a[2]: 1,~\n", "invalid_missing", 2, 9),
    "marker": (HEADER + "=^{a}\n", "invalid_attachment_marker", 2, 2),
    "braces": (HEADER + "a=^{}\n", "invalid_attachment_marker", 2, 3),
    "escape": (HEADER + 'é="\\x"\n', "invalid_line", 2, 1),
    "key with a blank": (HEADER + "a b=1\n", "invalid_line", 2, 1),
    "key twice": (HEADER + 'ab=1\n"a\\u0062"=1\n', "duplicate_key", 3, 1),
    "too large": (HEADER + "a=9223372036854775808\n", "out_of_range", 2, 3),
    "overflow": (HEADER + "a=1e400\n", "out_of_range", 2, 3),
    "too many": (HEADER + "## a [1]{b}\n1\n2\n", "count_mismatch", 4, 1),
    "too few": (HEADER + "## a [3]{b}\n1\n2\n", "count_mismatch", 2, 6),
    "leading zero": (HEADER + "## a [03]{b}\n1\n", "invalid_count", 2, 6),
    "deeper": (HEADER + "a=1\n  b=2\n", "invalid_indent", 3, 3),
    "root array too long": (HEADER + "## [1]: 1\na=1\n", "count_mismatch", 3, 1),
    "root scalar": (HEADER + "=1\n=2\n", "trailing_characters", 3, 1),
    "row id": (HEADER + "## [1]{a}\n@1 2\n", "invalid_item_id", 3, 1),
    "row without id": (HEADER + "## [1]{a}\n^\n.a {}\n", "missing_attachment", 3, 1),
    "attachment is a scalar": (HEADER + "## [1]{a}\n@0 ^\n.a =5\n", "invalid_line", 4, 1),
    "schema filled by name": (
        HEADER + "## [1]{a}\n@0 ^{b,c,d}\n.a {}\n",
        "orphan_attachment",
        4,
        1,
    ),
    "wrong width": (HEADER + "## [1]{a}\n@0 ^{b,c}\n1\n", "inline_width_mismatch", 4, 1),
    "marker in a path": (HEADER + '## [1]{"a>b"}\n@0 ^\n', "invalid_attachment_marker", 3, 1),
    "path and leaf": (HEADER + '## [1]{a,"a>b"}\n1|2\n', "duplicate_field_name", 2, 10),
    "path in path": (HEADER + '## [1]{"a>b","a>b>c"}\n1|2\n', "duplicate_field_name", 2, 14),
    "keyed without count": (HEADER + "## a [0:]{k,v}\n", "zero_count", 2, 6),
    "keyed without field": (HEADER + "## a [1:]{k}\nx\n", "too_few_fields", 2, 10),
    "keyed null": (HEADER + "## a [1:]{k,v}\n-|1\n", "invalid_key", 3, 1),
    "keyed twice": (HEADER + "## a [2:]{k,v}\nx|1\nx|2\n", "duplicate_member_key", 4, 1),
    "constant marker": (HEADER + "## [1]{a=^,b}\n1\n", "invalid_const_value", 2, 10),
    "constant without name": (HEADER + "## [1]{=1,b}\n1\n", "malformed_header_field", 2, 8),
    "nothing but constants": (HEADER + "## [1]{a=1}\n\n", "no_bare_column", 2, 7),
    "list column": (HEADER + "## [1]{id,t[]}\n1|a\n", "unsupported_extension", 2, 12),
    "matrix": (HEADER + "## [1]{[2]}\n1|2\n", "unsupported_extension", 2, 8),
    "grouping without identity": (
        HEADER + "## [1]{a,b} group=a\n",
        "invalid_group_header",
        2,
        13,
    ),
    "after the summary": (HEADER + "a=1\n##! summary\nb=1\n", "trailing_characters", 4, 1),
    "nested summary": (
        HEADER + "## a [?]{b}\n@0 ^\n.b [?]{c}\n    1\n##! summary counts=1\n",
        "count_mismatch",
        6,
        13,
    ),
    "labelled summary": (
        HEADER + "## a [?]{b}\n1\n##! summary counts=a:1\n",
        "count_mismatch",
        4,
        13,
    ),
    "tab": (HEADER + "\ta=1\n", "tab_indentation", 2, 1),
    "raw tab in quotes": (HEADER + 'a="\t"\n', "invalid_escape", 2, 4),
    "odd indentation": (HEADER + "## a\n b=1\n", "invalid_indent", 3, 2),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_an_invalid_text_is_refused_with_its_place(name: str) -> None:
    text, code, line, column = BAD_TEXTS[name]
    error = failure(gcf.loads, text)
    assert (error.code, error.line, error.column, error.path) == (code, line, column, None)
    assert str(error).startswith(f"{code}: ")


GOOD_TEXTS: dict[str, tuple[str, object]] = {
    "no line": (HEADER.rstrip(), {}),
    "carriage returns": ("GCF profile=generic\r\na=1\r\n", {"a": 1}),
    "unknown header field": ("GCF  profile=generic  tool=x\n=1", 1),
    "comment": (HEADER + "# a\n## a [1]{b}\n    # c\n1\n# d\n", {"a": [{"b": 1}]}),
    "blanks": (
        HEADER + '## a \n  b= 1 \n## c [1]{ d , "e" } \n2 | 3\n',
        {"a": {"b": 1}, "c": [{"d": 2, "e": 3}]},
    ),
    "line separators": (HEADER + 'a="\u2028\x85"\n', {"a": "\u2028\x85"}),
    "count left to the end": (HEADER + "a[?]: 1,2\n##! summary counts=2\n", {"a": [1, 2]}),
    "summary of a table with a count": (
        HEADER + "## a [1]{b}\n1\n##! summary counts=7\n",
        {"a": [{"b": 1}]},
    ),
    "nothing of an unknown count": (HEADER + "## a [?]{b}\n", {"a": []}),
    "rows that look like members": (
        HEADER + "## a [?]{b}\nz=3\n",
        {"a": [{"b": "z=3"}]},
    ),
    "attachments out of order": (
        HEADER + '## [1]{a,b,c}\n@0 ^|^|1\n.b [1]: 2\n."x>y" =3\n.a {}\n    d=4\n',
        [{"a": {"d": 4}, "b": [2], "c": 1, "x>y": 3}],
    ),
    "inline bodies out of order": (
        HEADER + "## [2]{a,b}\n@0 ^{x,y,z}|^\n.b {}\n1|2|3\n@1 ^|^\n.b {}\n4|5|6\n",
        [{"a": {"x": i, "y": i + 1, "z": i + 2}, "b": {}} for i in (1, 4)],
    ),
    "expanded after a shared schema": (
        HEADER + "## [2]{a}\n@0 ^\n.a [1]{b}\n    1\n@1 ^\n.a [1]\n    @0 =2\n",
        [{"a": [{"b": 1}]}, {"a": [2]}],
    ),
    "constant columns": (
        HEADER + '## [2]{id,region=us-east,n=1.50,"a>b"}\n1|2\n3|4\n',
        [{"id": i, "region": "us-east", "n": 1.5, "a": {"b": i + 1}} for i in (1, 3)],
    ),
    "literal names with >": (
        HEADER + '## [1]{">","a>","a>>b"}\n1|2|3\n',
        [{">": 1, "a>": 2, "a>>b": 3}],
    ),
    "numbers as keys": (
        HEADER + "## [2:]{k,v}\n1.0|1\ntrue|2\n",
        {"1.0": {"v": 1}, "true": {"v": 2}},
    ),
    "keyed set": (
        "GCF profile=generic pack_root=x key=id\n## rows [1]{@id,v}\n1|2\n",
        {"rows": [{"id": 1, "v": 2}]},
    ),
}


@pytest.mark.parametrize("name", GOOD_TEXTS)
def test_a_valid_text_in_another_form_is_read(name: str) -> None:
    text, value = GOOD_TEXTS[name]
    assert gcf.loads(text) == value
    assert gcf.loads(text.encode()) == gcf.loads(bytearray(text.encode())) == value
    assert json.loads(gcf.to_json(text)) == value


@pytest.mark.parametrize("value", [["^{a", "b}"], ["^{a", "b", "}"], [{"x": ["^{a", "b}"]}]])
def test_elements_that_look_like_a_schema_round_trip(value: Any) -> None:
    assert gcf.loads(gcf.dumps(value)) == value


def test_types_and_order_round_trip() -> None:
    value = {"z": True, "a": 1, "m": [None, 0.5, -1, "1", [], {}], "b": {"y": 1, "x": 2}}
    back = gcf.loads(gcf.dumps(value))
    assert json.dumps(back) == json.dumps(value)


@pytest.mark.parametrize("text", ["{", "[1,]", '{"a":1,"a":2}', '"\\ud800"', "1e999", "01", ""])
def test_invalid_json_is_refused_with_its_place(text: str) -> None:
    error = failure(gcf.from_json, text)
    assert error.line == 1
    assert error.column is not None


def test_json_is_exact() -> None:
    text = '{"b":9223372036854775807,"a":[1e20,1.5,"\\u00e9"]}'
    assert gcf.to_json(gcf.from_json(text)) == text.replace("1e20", "1e+20").replace("\\u00e9", "é")
    assert gcf.to_json(gcf.from_json(text), ensure_ascii=True).isascii()
    assert failure(gcf.from_json, '{"a":[100000000000000000000]}').path == "$.a[0]"


def test_flatten_and_constant_columns_are_options() -> None:
    rows = [{"id": i, "c": {"n": "x"}, "r": "eu"} for i in range(2)]
    assert '"c>n"' in gcf.dumps(rows)
    assert '"c>n"' not in gcf.dumps(rows, flatten=False)
    assert '{id,"c>n",r=eu}' in gcf.dumps(rows, constant_columns=True)
    for options in ({}, {"flatten": False}, {"constant_columns": True}):
        assert gcf.loads(gcf.dumps(rows, **options)) == rows


def test_files_are_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "orders.gcf"
    gcf.dump(ORDERS, path)
    assert path.read_text(encoding="utf-8") == gcf.dumps(ORDERS)
    assert gcf.load(path) == gcf.load(str(path)) == ORDERS
    text, binary = io.StringIO(), io.BytesIO()
    gcf.dump(ORDERS, text)
    gcf.dump(ORDERS, binary)
    assert text.getvalue().encode() == binary.getvalue()
    assert (
        gcf.load(io.StringIO(text.getvalue())) == gcf.load(io.BytesIO(binary.getvalue())) == ORDERS
    )
    with pytest.raises(FileNotFoundError):
        gcf.load(tmp_path / "absent")


def test_load_of_a_text_names_loads() -> None:
    text = gcf.dumps(ORDERS)
    with pytest.raises(ValueError, match="`loads`"):
        gcf.load(text)
    with pytest.raises(TypeError, match="`loads`"):
        gcf.load(text.encode())  # type: ignore[arg-type]


def test_rows_of_a_text_name_the_class_that_reads_it() -> None:
    text = gcf.dumps(ORDERS)
    with pytest.raises(ValueError, match=r"content, not the path of a file; use `io\.StringIO`"):
        gcf.iter_rows(text)
    with pytest.raises(FileNotFoundError):
        gcf.iter_rows("missing.gcf")


def test_load_of_a_file_that_returns_no_text_names_read() -> None:
    class File:
        def read(self) -> int:
            return 5

    with pytest.raises(TypeError, match=r"file\.read\(\) must be str, bytes, .*, not int"):
        gcf.load(File())  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [None, 1, ["GCF"]])
def test_loads_wrong_type_raises_type_error(wrong: object) -> None:
    with pytest.raises(TypeError, match="text must be str, bytes, bytearray or memoryview"):
        gcf.loads(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_loads_bytes_of_any_kind_equals_str(kind: Callable[[bytes], Any]) -> None:
    text = gcf.dumps(ORDERS)
    assert gcf.loads(kind(text.encode())) == gcf.loads(text)


def nested(depth: int, wrap: Callable[[object], object]) -> object:
    value: object = 1
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"a": v}, lambda v: [{"a": v}]])
def test_depth_is_limited_when_reading_and_writing(wrap: Callable[[object], object]) -> None:
    levels = 2 if isinstance(wrap(1), list) and isinstance(wrap(1)[0], dict) else 1  # type: ignore[index]
    deepest = nested(128 // levels, wrap)
    text = gcf.dumps(deepest)
    assert gcf.loads(text) == deepest
    assert failure(gcf.dumps, wrap(deepest)).code == "limit_exceeded"
    assert failure(gcf.loads, text, max_depth=127).code == "limit_exceeded"
    deep = nested(256 // levels, wrap)
    assert gcf.loads(gcf.dumps(deep, max_depth=256), max_depth=256) == deep


def test_a_small_stack_holds_the_deepest_value() -> None:
    results: list[object] = []
    deep = nested(128, lambda v: [{"a": v}])
    previous = threading.stack_size(1 << 20)
    try:
        thread = threading.Thread(
            target=lambda: results.append(
                gcf.loads(gcf.dumps(deep, max_depth=256), max_depth=256) == deep
            )
        )
        thread.start()
        thread.join()
    finally:
        threading.stack_size(previous)
    assert results == [True]


@pytest.mark.parametrize("depth", [0, -1, 257])
def test_max_depth_has_a_maximum(depth: int) -> None:
    with pytest.raises((ValueError, OverflowError)):
        gcf.dumps(1, max_depth=depth)


def test_very_deep_values_are_refused() -> None:
    assert failure(gcf.dumps, nested(DEEP, lambda v: [v])).code == "limit_exceeded"
    assert failure(gcf.from_json, "[" * DEEP + "]" * DEEP).code == "limit_exceeded"
    text = HEADER + "## [1]\n" + "".join("  " * i + "@0 [1]\n" for i in range(1000))
    assert failure(gcf.loads, text).code == "limit_exceeded"
    path = ">".join("a" * 1 for _ in range(DEEP))
    assert failure(gcf.loads, f'{HEADER}## [1]{{"{path}"}}\n1\n').code == "limit_exceeded"


def test_a_large_count_allocates_no_memory() -> None:
    for line in (
        "## [9223372036854775807]{a}",
        "## a [18446744073709551616]",
        "a[9999999999999]: 1",
    ):
        assert failure(gcf.loads, f"{HEADER}{line}\n").code == "count_mismatch"


def table_of_attachments(count: int) -> str:
    names = ",".join(f"a{i}" for i in range(count))
    row = "|".join(["^"] * count)
    blocks = "".join(f".a{i} [0]\n" for i in reversed(range(count)))
    return f"{HEADER}## [1]{{{names}}}\n@0 {row}\n{blocks}"


@pytest.mark.slow
def test_a_count_beyond_64_bits_is_not_named_as_a_smaller_one() -> None:
    head = f"GCF profile=generic\n## rows [{10**20}]"
    delta = "GCF profile=generic delta=true base_root=sha256:a new_root=sha256:b key=id\n## added"
    graph = f"GCF profile=graph tool=t\n## targets [{10**20}]\n@0 fn a 0.50 x\n"
    texts: list[tuple[Callable[[str], object], str]] = [
        (gcf.loads, head + "{a}\n1\n"),
        (gcf.to_json, head + ": 1\n"),
        (lambda text: list(gcf.iter_rows(io.StringIO(text))), head + "{a}\n1\n"),
        (gcf.read_keyed_delta, f"{delta} [{10**20}]{{@id}}\n1\n"),
        (gcf.decode, graph),
    ]
    for read, text in texts:
        with pytest.raises(cw.GcfError, match=r" 2\^64 - 1 or more ") as caught:
            read(text)
        assert caught.value.code == "count_mismatch"


def test_many_names_take_linear_time() -> None:
    assert gcf.loads(table_of_attachments(9)) == [{f"a{i}": [] for i in range(9)}]
    assert_linear(gcf.loads, table_of_attachments, 3000)
    assert_linear(
        gcf.loads, lambda count: HEADER + "".join(f"b{i}=1\n" for i in range(count)), 5000
    )


def test_errors_show_little_of_the_input() -> None:
    long = "ß" * 2000
    texts = [
        f"GCF profile={long}",
        f"GCF profile=generic {long}",
        f"{HEADER}{long}",
        f"{HEADER}## [{long}]",
        f'{HEADER}## [1:]{{"{long}","{long}"}}\n',
        f'{HEADER}## [1]{{a}}\n@0 ^\n."{long}" {{}}\n',
        f"{HEADER}## [?]{{a}}\n1\n##! summary counts={long}\n",
    ]
    errors = [failure(gcf.loads, text) for text in texts]
    errors.append(failure(gcf.dumps, {long: math.nan}))
    assert all(str(error).count("ß") <= 80 for error in errors)


def test_the_error_is_a_value_error() -> None:
    assert issubclass(gcf.GcfError, cw.CompactWireError)
    assert issubclass(gcf.GcfError, ValueError)


def test_a_file_with_partial_writes_gets_everything() -> None:
    class Slow(io.RawIOBase):
        def __init__(self, most: int) -> None:
            self.data = b""
            self.most = most

        def write(self, data: Any) -> int | None:
            self.data += bytes(data[: self.most])
            return min(self.most, len(data)) or None

    slow = Slow(7)
    gcf.dump(ORDERS, slow)
    assert gcf.loads(slow.data) == ORDERS
    with pytest.raises(BlockingIOError, match="bytes are missing"):
        gcf.dump(ORDERS, Slow(0))


@pytest.mark.parametrize("count", [-1, 10**6])
def test_a_file_that_counts_wrong_is_an_error(count: int) -> None:
    class Wrong(io.RawIOBase):
        def write(self, _: Any) -> int:
            return count

    with pytest.raises(OSError, match="fewer bytes than none, or more than all"):
        gcf.dump(ORDERS, Wrong())
