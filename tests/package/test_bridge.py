"""The two readers of Python objects agree, and the garbage collector keeps its state.

`gcf.dumps` reads plain objects with the fast reader. An `OrderedDict` whose order was changed, at
the end, sends the same objects to the checked one.
"""

from __future__ import annotations

import collections
import enum
import gc
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

import compactwire as cw
from compactwire import cad, gcf


class Text(str):
    __slots__ = ()


class Whole(int):
    def __repr__(self) -> str:
        return "not a number"


class Real(float):
    pass


class Map(dict[str, Any]):
    def items(self) -> Any:
        raise AssertionError("the content counts, not the methods")

    __iter__ = __len__ = keys = items


class Row(list[Any]):
    def __iter__(self) -> Any:
        raise AssertionError("the content counts, not the methods")


class Level(enum.IntEnum):
    HIGH = 3


def cycle() -> list[Any]:
    inner: list[Any] = [1]
    inner.append({"again": inner})
    return inner


def nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def plain(value: Any) -> Any:
    """The value without subclasses of dict and list that define methods of their own.

    `json.dumps` calls these methods; the readers use the content alone.
    """
    if isinstance(value, Map):
        return {key: plain(element) for key, element in dict.items(value)}
    if isinstance(value, Row):
        return [plain(element) for element in list.__iter__(value)]
    return value


ORDERED = collections.OrderedDict(a=1, b=2, c=3)
ORDERED.move_to_end("a")

OBJECTS: dict[str, Any] = {
    "scalars": [None, True, False, 0, -1, 2**63 - 1, -(2**63), 0.5, -0.0, 1e300, "", "a", "ä한🚀"],
    "str subclass": [Text("text"), {Text("key"): 1}],
    "int subclass": [Whole(7), Level.HIGH],
    "float subclass": [Real(0.5)],
    "dict subclass": Map(a=1, b=[2]),
    "list subclass": Row([1, [2], {"a": 3}]),
    "tuples": (1, (2, (3,)), ()),
    "ordered dict": collections.OrderedDict(a=1, b=2),
    "ordered dict of another order": ORDERED,
    "key that is an int, in an ordered dict": collections.OrderedDict({1: 2}),
    "other dict subclasses": [collections.Counter("aab"), collections.defaultdict(int, a=1)],
    "rows": [{"a": 1, "b": "x"}, {"b": "y", "a": 2}, {"a": 3}, {}],
    "empty": [{}, [], (), ""],
    "int beyond 64 bits": {"a": [1, 2**63]},
    "negative int beyond 64 bits": [-(2**63) - 1],
    "int of 5,000 digits": [10**5_000],
    "lone surrogate": ["fine", "\udc80 "],
    "lone surrogate in a key": {"a": {"\ud800": 1}},
    "key that is an int": [{"a": {1: 2}}],
    "key that is None": {None: 1},
    "nan": {"a": [float("nan")]},
    "infinity": [1, float("-inf")],
    "cycle": cycle(),
    "deepest": nested(126),
    "too deep": nested(200),
    "set": {"a": [{1}]},
    "bytes": [b"bytes"],
    "object": [object()],
}


def outcome(value: Any) -> tuple[str, ...]:
    """The text, or the class and the facts of the error."""
    try:
        return ("text", gcf.dumps(value))
    except cw.GcfError as error:
        facts = (error.code, str(error.path), str(error))
        return (type(error).__name__, *facts)


@pytest.mark.parametrize("name", OBJECTS)
def test_checked_and_fast_reader_agree(name: str) -> None:
    value = OBJECTS[name]
    assert outcome([value, {"b": 2, "c": 3, "a": 1}]) == outcome([value, ORDERED])


@pytest.mark.parametrize(
    "change",
    [
        lambda ordered: None,
        lambda ordered: ordered.move_to_end("c", last=False),
        lambda ordered: ordered.update({Text("d"): 4, 5: 6}),
        # Methods of dict change only one of the two lists of keys.
        lambda ordered: dict.pop(ordered, "a"),
        lambda ordered: dict.pop(ordered, "c"),
        lambda ordered: dict.update(ordered, d=4),
        lambda ordered: dict.clear(ordered),
    ],
)
@pytest.mark.parametrize("collect", [True, False])
def test_checked_and_fast_reader_agree_on_an_ordered_dict(
    change: Callable[[Any], Any], collect: bool
) -> None:
    value = collections.OrderedDict(a=1, b=2, c=3)
    change(value)
    expected = outcome([value, ORDERED])
    if not collect:
        gc.disable()
    try:
        assert outcome([value, {"b": 2, "c": 3, "a": 1}]) == expected
        assert gc.isenabled() == collect
    finally:
        gc.enable()


@pytest.mark.parametrize("name", OBJECTS)
def test_tool_call_arguments_equal_json(name: str) -> None:
    value = OBJECTS[name]
    try:
        expected = json.loads(json.dumps(plain(value), allow_nan=False))
        json.dumps(expected, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        expected = None
    strict = "key that is" not in name
    try:
        wire = cw.encode_tool_call("tool", value, format="verbose")
    except cw.UnsupportedValue:
        assert expected is None or not strict or name == "too deep"
    else:
        assert cw.decode_tool_call(wire).arguments == expected


def test_ordered_dict_keeps_its_own_order() -> None:
    wire = cw.encode_tool_call("tool", ORDERED, format="verbose")
    assert list(cw.decode_tool_call(wire).arguments) == ["b", "c", "a"]
    assert list(gcf.loads(gcf.dumps(ORDERED))) == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("value", "message", "path"),
    [
        ({"a": [1, {"b": float("nan")}]}, "NaN is not a JSON number", "args.a[1].b"),
        ({"a": [1, "\udc80"]}, "lone surrogate at position 0", "args.a[1]"),
        ({"a": {"\udc80": 1}}, "lone surrogate at position 0", "args.a"),
        ([{"a": {1}}], "set is not a JSON type", "args[0].a"),
        ([{"a": {1: 2}}], "keys must be str, not int; convert them with str", "args[0].a"),
        ([[], 10**5_000], "more than 4300 digits", "args[1]"),
        ({"a b": [float("inf")]}, "inf is not a JSON number", 'args["a b"][0]'),
        (nested(200), "nested more than 128 levels deep", "args" + "[0].a" * 64),
    ],
)
def test_value_error_names_the_path(value: Any, message: str, path: str) -> None:
    with pytest.raises(cw.UnsupportedValue, match=message) as caught:
        cw.Request(args=value)
    assert caught.value.path == path
    begin, separator, end = str(caught.value).partition(": ")[0].partition("…")
    assert path.startswith(begin)
    assert path.endswith(end)
    assert bool(separator) == (len(path) > 120)


def test_kept_cad_error_names_path_and_message() -> None:
    with pytest.raises(cw.DocumentError) as caught:
        cad.to_compact({"a: b": [float("nan")]}, "0.2", unknown="keep")
    assert caught.value.path == 'document["a: b"][0]'
    assert caught.value.message == "NaN is not a JSON number; use null or a string"


def in_new_process(code: str) -> None:
    """Runs code as the first uses of its process."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("enabled", [True, False])
def test_collector_looks_unchanged_to_another_thread(enabled: bool) -> None:
    in_new_process(f"""
        import gc, sys, threading
        import compactwire as cw
        from compactwire import cad, gcf

        enabled = {enabled}
        nodes = "\\n".join("C 1 2 3" for _ in range(3_000))
        cube = {{"type": "Cube", "size": {{"x": 1, "y": 2, "z": 3}}}}
        ids = range(3_000)
        binary = cad.to_binary({{
            "version": "0.1",
            "nodes": {{str(i): {{"id": i, "name": None, "op": cube}} for i in ids}},
            "materials": {{}},
            "part_materials": {{}},
            "roots": [{{"root": i, "material": "default"}} for i in ids],
        }})
        table = gcf.dumps([{{"a": i, "b": [i, {{"c": "x"}}]}} for i in ids])
        stop, seen = threading.Event(), set()

        def watch():
            while not stop.is_set():
                seen.add(gc.isenabled())

        def read_all():
            cad.from_compact(nodes)
            cad.from_binary(binary)
            gcf.loads(table)
            for read, text in (cad.from_compact, nodes), (gcf.loads, table):
                try:
                    read(text + "\\nwrong")
                except cw.CompactWireError:
                    pass
                else:
                    raise AssertionError

        (gc.enable if enabled else gc.disable)()
        watcher = threading.Thread(target=watch)
        watcher.start()
        sys.setswitchinterval(1e-6)  # a thread that detaches waits until another one has run
        try:
            for _ in range(20):
                read_all()
            assert gc.isenabled() == enabled
        finally:
            stop.set()
            watcher.join()
        assert seen == {{enabled}}, seen
    """)


def test_a_hook_for_imports_does_not_see_the_pause_of_the_collector() -> None:
    in_new_process("""
        import builtins, gc
        from compactwire import gcf

        text = gcf.dumps([{"a": i, "b": [i, {"c": "x"}]} for i in range(100_000)])
        imported, seen = builtins.__import__, set()

        def import_(name, *rest):
            seen.add(gc.isenabled())
            return imported(name, *rest)

        builtins.__import__ = import_
        gcf.loads(text)
        assert seen == {True}
    """)


def test_what_a_first_use_imports_may_call_the_same_function() -> None:
    in_new_process("""
        import builtins, datetime, faulthandler
        from compactwire import gcf

        faulthandler.dump_traceback_later(30, exit=True)
        value, results = {"at": datetime.date(2026, 1, 2)}, []
        imported = builtins.__import__

        def import_(name, *rest):
            if name == "compactwire._types" and not results:
                results.append(None)
                results.append(gcf.dumps(value, types="common"))
            return imported(name, *rest)

        builtins.__import__ = import_
        results.append(gcf.dumps(value, types="common"))
        assert results[1] == results[2]
    """)
