"""`gcf.dumps` in one pass writes the same text as the slow path, which builds a tree of the value.

`gcf.from_json` always builds the tree, so it gives the expected text. Subclasses of dict take the
walk with owned references. A row that contradicts the columns, and an object that `default=`
converts, send the value to the slow path.
"""

from __future__ import annotations

import collections
import enum
import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactwire import _core, gcf
from tests.strategies.gcf import values
from tests.vectors import OWN


class Key(str):
    __slots__ = ()


class Level(enum.IntEnum):
    HIGH = 3


class Other:
    """An object that is not a JSON type, and what it stands for."""

    def __init__(self, value: Any) -> None:
        self.value = value


def unwrap(other: Other) -> Any:
    return other.value


def judged(value: Any, **options: Any) -> str:
    return gcf.from_json(json.dumps(value), **options)


def wrapped(value: Any, pick: Callable[[], bool]) -> Any:
    """The value with some of its parts as other objects."""
    if isinstance(value, dict):
        value = {key: wrapped(member, pick) for key, member in value.items()}
    elif isinstance(value, list):
        value = [wrapped(element, pick) for element in value]
    return Other(value) if pick() else value


@given(values, st.randoms(use_true_random=False))
def test_other_objects_are_written_as_what_they_stand_for(value: Any, random: Any) -> None:
    for share in (0.05, 0.5):
        mixed = wrapped(value, lambda share=share: random.random() < share)  # type: ignore[misc]
        for options in ({}, {"flatten": False}):
            text = judged(value, **options)
            assert gcf.dumps(mixed, default=unwrap, **options) == text
            assert gcf.dumps_bytes(mixed, default=unwrap, **options) == text.encode()
            assert gcf.dumps(value, default=unwrap, **options) == text
            assert gcf.dumps_bytes(value, **options) == text.encode()


def in_64_bits(digits: str) -> int | str:
    return int(digits) if len(digits) < 19 else digits


class Dict(dict[str, Any]):
    pass


def subclassed(value: Any, pick: Callable[[], bool]) -> Any:
    """The value with some of its dicts as a subclass, and the outermost always."""
    if isinstance(value, list):
        return [subclassed(element, pick) for element in value]
    if not isinstance(value, dict):
        return value
    members = {key: subclassed(member, pick) for key, member in value.items()}
    return Dict(members) if pick() else members


@given(values, st.randoms(use_true_random=False))
def test_subclasses_of_dict_are_written_as_dicts(value: Any, random: Any) -> None:
    for share in (0.3, 1.0):
        mixed = Dict(a=subclassed(value, lambda share=share: random.random() < share))  # type: ignore[misc]
        for options in ({}, {"flatten": False}):
            assert gcf.dumps(mixed, **options) == judged({"a": value}, **options)


def documents() -> Iterator[Any]:
    for path in sorted(OWN.rglob("*.json")):
        document = json.loads(path.read_bytes(), parse_int=in_64_bits)
        yield pytest.param(document, id=path.stem)


@pytest.mark.parametrize("value", list(documents()))
def test_the_documents_of_all_vectors_are_written_alike_on_every_path(value: Any) -> None:
    text = judged(value)
    assert gcf.dumps(value) == text
    assert gcf.dumps(value, default=unwrap) == text
    ordered = collections.OrderedDict(b=0, a=value)
    ordered.move_to_end("b")
    assert gcf.dumps_bytes(ordered) == judged({"a": value, "b": 0}).encode()


ROW = {"id": 7, "none": None, "at": {"x": 1, "y": {"z": "t"}}, "rows": [{"a": 1, "b": 2}], "l": [1]}
CONTRADICTIONS: list[Any] = [
    {"id": {"x": 1}},
    {"none": {"x": 1}},
    {"none": [{"x": 1}]},
    {"at": {"x": 1, "y": {"z": "t", "w": 0}}},
    {"at": {"y": {"z": "t"}, "x": 1}},
    {"at": {"x": None, "y": {"z": None}}},
    {"at": {"x": 1, "y": 2}},
    {"at": 5},
    {"rows": []},
    {"rows": [{"a": 1}]},
    {"rows": [{"a": 1, "b": 2}, {"c": 3}]},
    {"rows": [{"a": 1, "b": []}]},
    {"rows": 5},
    {"l": {"k": []}},
    {"new": 1},
    {"with>path": 1},
]


@pytest.mark.parametrize("at", [0, 1, 2, 20, 39], ids=str)
@pytest.mark.parametrize("change", CONTRADICTIONS, ids=str)
def test_a_contradicting_row_is_written_as_by_the_tree(change: dict[str, Any], at: int) -> None:
    rows = [dict(ROW, id=index) for index in range(40)]
    rows[at] = {**rows[at], **change}
    keyed = {f"k{index}": row for index, row in enumerate(rows)}
    for value in (rows, keyed, {"in": [{"deeper": rows}, {"deeper": rows}]}):
        text = judged(value)
        assert gcf.dumps(value) == text
        assert gcf.dumps(value, default=unwrap) == text
        assert gcf.dumps([value, Other(1)], default=unwrap) == judged([value, 1])


def test_rows_with_keys_missing_or_in_another_order_are_written_as_by_the_tree() -> None:
    rows: list[Any] = [dict(ROW) for _ in range(10)]
    for drop in ROW:
        less = [*rows, {key: value for key, value in ROW.items() if key != drop}, *rows]
        assert gcf.dumps(less) == judged(less)
    turned = [*rows, dict(reversed(ROW.items()))]
    assert gcf.dumps(turned) == judged(turned)


@pytest.mark.parametrize("last", [[], {"a": 1, "b": {"c": 2}}], ids=str)
def test_default_is_called_once_for_each_occurrence(last: Any) -> None:
    """A second call for a generator finds it empty. The last row sends the rows to the tree."""
    generators = [Other(iter([index, index])) for index in range(5)]
    calls: list[Other] = []

    def convert(other: Other) -> list[int]:
        calls.append(other)
        return list(other.value)

    rows = [{"a": 1, "b": generator} for generator in generators]
    text = gcf.dumps([*rows, {"a": 2, "b": last, "new": 1}], default=convert)
    plain = [{"a": 1, "b": [index, index]} for index in range(5)]
    assert text == judged([*plain, {"a": 2, "b": last, "new": 1}])
    assert calls == generators


SHAPES: dict[str, Callable[..., Any]] = {
    "rows": lambda a, b: [{"a": 1, "b": 2}, {"a": a, "b": b}],
    "first row": lambda a, b: [{"a": a, "b": b}, {"a": 1, "b": 2}],
    "attached": lambda a, b: [{"a": [1, {}], "b": [2, {}]}, {"a": a, "b": b}],
    "members": lambda a, b: {"a": a, "b": b},
    "members and more": lambda a, b: {"a": a, "b": b, "c": 5},
    "list": lambda a, b: [a, b],
    "mixed": lambda a, b: [a, b, 5],
    "keyed": lambda a, b: {"k": {"x": a}, "l": {"x": b}},
    "contradicted": lambda a, b: [{"a": 1, "b": a}, {"a": 1, "b": b}, {"a": {"x": []}, "c": 1}],
    # So many rows are looked at before the first is written.
    "contradicted early": lambda a, b: [
        *({"a": 1, "b": number} for number in [a, b, *range(20)]),
        {"a": {"x": []}, "c": 1},
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make", [lambda n: n, lambda n: [n, {"k": n}], lambda n: {"x": n}])
def test_default_may_return_one_object_again_with_other_content(
    shape: str, make: Callable[[int], Any]
) -> None:
    kept: dict[type, Any] = {list: [], dict: {}}

    def convert(other: Other) -> Any:
        made = make(other.value)
        if type(made) not in kept:
            return made
        again = kept[type(made)]
        again.clear()
        again.extend(made) if isinstance(made, list) else again.update(made)
        return again

    expected = judged(SHAPES[shape](make(1), make(2)))
    assert gcf.dumps(SHAPES[shape](Other(1), Other(2)), default=convert) == expected


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("made", [7, [7, {}], {"x": 7}], ids=str)
def test_what_default_takes_out_of_the_value_is_not_lost(shape: str, made: Any) -> None:
    value = SHAPES[shape](Other(0), Other(0))

    def convert(_: Other) -> Any:
        value.clear()
        return made

    # A container, or a later row, sends the value to the tree, which finds it empty.
    if (isinstance(made, int) and shape != "contradicted") or shape == "contradicted early":
        assert gcf.dumps(value, default=convert) == judged(SHAPES[shape](made, made))
    else:
        with pytest.raises(RuntimeError, match="default= changed the value"):
            gcf.dumps(value, default=convert)


def test_default_is_called_in_the_order_of_the_value() -> None:
    calls: list[int] = []

    def convert(other: Other) -> Any:
        calls.append(other.value)
        return other.value

    rows = [{"a": Other(0), "b": [1, {"c": Other(1)}], "d": {"e": Other(2)}, "f": Other(3)}] * 3
    plain = [{"a": 0, "b": [1, {"c": 1}], "d": {"e": 2}, "f": 3}] * 3
    assert gcf.dumps(rows, default=convert) == judged(plain)
    assert calls == [0, 1, 2, 3] * 3


def test_an_object_without_a_conversion_behind_others_has_its_path() -> None:
    calls: list[int] = []

    def convert(other: Other) -> Any:
        calls.append(other.value)
        return NotImplemented if other.value == 3 else str(other.value)

    with pytest.raises(gcf.GcfError) as caught:
        gcf.dumps([{"a": Other(n)} for n in range(5)], default=convert)
    assert (caught.value.code, caught.value.path) == ("unsupported_type", "$[3].a")
    assert calls == [0, 1, 2, 3]


def written(value: Any, default: Callable[[Other], Any]) -> bool:
    """Whether the text is valid, or there is none because the value has changed."""
    try:
        return gcf.loads(gcf.dumps(value, default=default)) is not None
    except RuntimeError as error:
        return "default= changed the value" in str(error)


@pytest.mark.parametrize("shape", ["rows", "members", "list", "attached", "keyed"])
def test_default_may_change_what_is_open(shape: str) -> None:
    def value() -> Any:
        row: Any = {"a": Other(0), "b": "x" * 40, "c": [Other(0), "y" * 40], "d": {"e": Other(0)}}
        rows = [dict(row) for _ in range(5)]
        return {
            "rows": rows,
            "members": rows[0],
            "list": [Other(0), "z" * 40, Other(0)],
            "attached": [{"a": [row, 1]}, {"a": [row, Other(0)]}],
            "keyed": {"k": rows[0], "l": rows[1]},
        }[shape]

    given = value()
    containers: list[Any] = []

    def collect(part: Any) -> None:
        if isinstance(part, dict | list):
            containers.append(part)
            for inner in part.values() if isinstance(part, dict) else part:
                collect(inner)

    collect(given)

    def meddle(_: Other) -> int:
        for container in containers:
            container.clear()
        return 1

    assert written(given, meddle)
    given = value()
    containers.clear()
    collect(given)

    def grow(_: Other) -> int:
        for container in containers:
            if isinstance(container, dict):
                container.pop("a", None)
                container.update({f"n{len(container)}": "new", "a": 5})
            else:
                container.append("new")
        return 1

    assert written(given, grow)


def test_subclasses_and_their_keys_are_written_as_their_base_types() -> None:
    point = collections.namedtuple("point", "x y")
    row = {"n": Level.HIGH, "p": point(1, 2), "c": collections.Counter("aab"), "t": Key("text")}
    plain = {"n": 3, "p": [1, 2], "c": {"a": 2, "b": 1}, "t": "text"}
    assert gcf.dumps([row, row]) == judged([plain, plain])
    ordered = collections.OrderedDict(b=1, a=2)
    ordered.move_to_end("b")
    assert gcf.dumps([ordered, {"a": 3, "b": 4}]) == judged([{"a": 2, "b": 1}, {"a": 3, "b": 4}])
    keys = [{Key("k"): 1, "l": 2}, {"k": 3, Key("l"): 4}]
    assert gcf.dumps(keys) == judged([{"k": 1, "l": 2}, {"k": 3, "l": 4}])


class Twin(str):
    """Equal to itself only, so that a dict may have several with the same text."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


@pytest.mark.parametrize("place", [lambda x: x, lambda x: [x], lambda x: [{"a": x}]])
def test_keys_with_the_same_text_are_refused(place: Callable[[Any], Any]) -> None:
    with pytest.raises(gcf.GcfError) as caught:
        gcf.dumps(place({"k": 1, Twin("k"): 2}))
    assert caught.value.code == "duplicate_key"


def test_an_error_after_many_rows_has_its_path() -> None:
    rows: list[Any] = [{"id": index, "total": 1.5} for index in range(100)]
    for bad, code in (
        (float("nan"), "not_finite"),
        (2**63, "out_of_range"),
        ("\ud800", "invalid_surrogate"),
    ):
        with pytest.raises(gcf.GcfError) as caught:
            gcf.dumps([*rows, {"id": 100, "total": bad}])
        assert (caught.value.code, caught.value.path) == (code, "$[100].total")


def test_bytes_take_no_more_memory_than_the_text() -> None:
    rows = [{"id": i, "name": f"name {i % 90}", "note": "x" * 99} for i in range(40_000)]
    size = len(gcf.dumps_bytes(rows))
    tracemalloc.start()
    text = gcf.dumps_bytes(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(text) == size > 4 << 20
    # A `bytes` object cannot grow in place by the functions of the stable ABI.
    assert peak <= (2.1 if ".abi3." in str(_core.__file__) else 1.2) * size
