"""Tool calls: every format carries them, and an independent MessagePack library reads the same."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from typing import Any

import msgpack
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import claims, errors
from tests.reference.base85 import decode_base85, encode_base85
from tests.scaling import harness
from tests.strategies.packing import base64_text

FORMATS = ["verbose", "binary", "base85", "zlib", "zstd", "dictionary"]

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=20,
)


def same(ours: object, expected: object) -> bool:
    """Whether two values are equal, in types and order of members too."""
    return json.dumps(ours) == json.dumps(expected)


@given(TEXT, VALUES, st.none() | TEXT, st.sampled_from(FORMATS), st.sampled_from([2, 4]))
def test_written_calls_are_read(
    name: str, arguments: object, context: str | None, form: Any, protocol: Any
) -> None:
    wire = cw.encode_tool_call(name, arguments, context, format=form, protocol=protocol)
    call = cw.decode_tool_call(wire)
    assert (call.name, call.context, call.format) == (name, context, form)
    assert same(call.arguments, arguments)
    assert call == cw.ToolCall(name, arguments, context)


@given(TEXT, VALUES, st.none() | TEXT)
def test_the_map_equals_the_specification(
    name: str, arguments: object, context: str | None
) -> None:
    wire = cw.encode_tool_call(name, arguments, context, format="base85")
    found = msgpack.unpackb(decode_base85(wire[1:]), strict_map_key=False)
    expected = {"v": 1, "n": name, "a": arguments}
    assert same(found, expected if context is None else {**expected, "c": context})


@given(TEXT, VALUES, st.none() | TEXT, st.randoms())
def test_calls_of_another_writer_are_read(
    name: str, arguments: object, context: str | None, random: Any
) -> None:
    pairs = [("v", 1), ("n", name), ("a", arguments), ("c", context), ("later", [1, {}])]
    random.shuffle(pairs)
    wire = "A" + encode_base85(msgpack.packb(dict(pairs)))
    assert cw.decode_tool_call(wire) == cw.ToolCall(name, arguments, context)
    spelled = json.dumps(
        {"context": context, "name": name, "x": 0, "arguments": arguments}, indent=1
    )
    assert cw.decode_tool_call(spelled) == cw.ToolCall(name, arguments, context)


def test_the_verbose_text_is_compact_json_in_the_given_order() -> None:
    arguments = {"b": [1, 2.0, 1e16, -0.0], "a": "é\u2028\x7f\x00\n"}
    wire = cw.encode_tool_call("find", arguments, "x", format="verbose")
    call = {"name": "find", "arguments": arguments, "context": "x"}
    assert wire == json.dumps(call, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(
    ("size", "protocol", "expected"),
    [
        (49, 4, "verbose"),
        (50, 4, "base85"),
        (255, 4, "base85"),
        (256, 4, "zstd"),
        (49, 2, "verbose"),
        (50, 2, "base85"),
        (500, 2, "base85"),
        (501, 2, "zlib"),
    ],
)
def test_auto_depends_on_the_size_of_the_verbose_text(
    size: int, protocol: Any, expected: str
) -> None:
    arguments = "x" * (size - len('{"name":"","arguments":""}'))
    wire = cw.encode_tool_call("", arguments, protocol=protocol)
    assert cw.decode_tool_call(wire).format == expected


def test_smallest_is_the_shortest() -> None:
    call = ("search", {"q": "so it goes " * 9})
    sizes = [len(cw.encode_tool_call(*call, format=form)) for form in FORMATS]  # type: ignore[arg-type]
    assert len(cw.encode_tool_call(*call, format="smallest")) == min(sizes)


def test_a_dictionary_is_used_if_it_helps() -> None:
    arguments = {"path": "src/main.rs", "text": "fn main() {\n    println!();\n}\n" * 3}
    wire = cw.encode_tool_call("write", arguments, dictionary=cw.Dictionary.default())
    assert wire[0] == "D"
    assert cw.decode_tool_call(wire).arguments == arguments


def test_integers_of_any_size_round_trip_in_json() -> None:
    for number in (2**64, -(2**63) - 1, 10**4000):
        wire = cw.encode_tool_call("n", number)
        assert cw.decode_tool_call(wire).arguments == number
        with pytest.raises(cw.EncodeError, match="64 bits") as info:
            cw.encode_tool_call("n", [number], format="base85")
        assert info.value.field == "arguments[0]"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (float("nan"), "arguments"),
        ({"a": [1, float("inf")]}, "arguments.a[1]"),
        ({"a b": "\ud800"}, 'arguments["a b"]'),
        ([10**5000], "arguments[0]"),
    ],
)
def test_values_outside_json_are_refused_with_their_path(arguments: object, field: str) -> None:
    for make in (cw.encode_tool_call, cw.ToolCall):
        with pytest.raises(cw.EncodeError) as info:
            make("x", arguments)
        assert info.value.field == field


def test_a_cycle_is_refused() -> None:
    cycle: list[object] = []
    cycle.append({"again": cycle})
    with pytest.raises(cw.EncodeError, match="within itself"):
        cw.encode_tool_call("x", cycle)


@pytest.mark.parametrize("arguments", [{1: 2}, {"a": {None: 1}}, [b"x"], {1, 2}, object()])
def test_other_types_are_unsupported(arguments: object) -> None:
    with pytest.raises(cw.UnsupportedValue, match=r"^arguments"):
        cw.encode_tool_call("x", arguments)


def test_the_dsl_cannot_carry_calls() -> None:
    with pytest.raises(cw.EncodeError) as info:
        cw.encode_tool_call("x", {}, format="dsl")
    assert info.value.field == "format"
    with pytest.raises(cw.InvalidFormat, match="found a dsl message: use decode"):
        cw.decode_tool_call("RES|OK||0|x")


@pytest.mark.parametrize(
    ("wire", "error"),
    [
        ("", cw.EmptyResponse),
        ("[]", cw.InvalidPrefix),
        ('{"name":"x"}', cw.MissingField),
        ('{"name":"x","name":"y","arguments":1}', cw.InvalidFormat),
        ('{"name":"x","arguments":1} x', cw.InvalidFormat),
        ("M" + base64_text(msgpack.packb({"v": 1, "n": "x", "a": b"bin"})), cw.InvalidMsgpack),
        ("M" + base64_text(msgpack.packb({"v": 1, "n": "x", "a": {1: 2}})), cw.InvalidMsgpack),
        (
            "M" + base64_text(msgpack.packb({"v": 1, "n": "x", "a": float("inf")})),
            cw.InvalidMsgpack,
        ),
        ("M" + base64_text(msgpack.packb({"v": True, "n": "x", "a": 0})), cw.InvalidMsgpack),
        ("M" + base64_text(msgpack.packb({"v": 1, "n": "x", "a": 0}) + b"\0"), cw.InvalidMsgpack),
        (cw.encode(cw.Response("x"), format="base85"), cw.InvalidFormat),
    ],
)
def test_an_invalid_call_is_an_error(wire: str, error: type[cw.CompactWireError]) -> None:
    with pytest.raises(error):
        cw.decode_tool_call(wire)


@pytest.mark.parametrize("form", FORMATS)
def test_a_truncated_call_is_an_error(form: Any) -> None:
    wire = cw.encode_tool_call("search", {"q": [1, "é", None]}, "context", format=form)
    for end in range(len(wire)):
        with pytest.raises(cw.CompactWireError):
            cw.decode_tool_call(wire[:end])


def test_a_call_is_a_value() -> None:
    call = cw.decode_tool_call(cw.encode_tool_call("x", {"b": 1, "a": [2]}, "c"))
    for again in (copy.copy(call), copy.deepcopy(call), pickle.loads(pickle.dumps(call))):
        assert again == call
        assert hash(again) == hash(call)
        assert again.format == call.format
    assert repr(call) == "ToolCall('x', {'b': 1, 'a': [2]}, context='c')"
    assert call != cw.ToolCall("x", {"b": 1, "a": [2]})
    assert call != ("x", {"b": 1, "a": [2]}, "c")
    match call:
        case cw.ToolCall(name, arguments, context):
            assert (name, arguments, context) == ("x", {"b": 1, "a": [2]}, "c")
    with pytest.raises(AttributeError):
        call.name = "y"  # type: ignore[misc]


def test_a_call_whose_arguments_have_no_json_is_equal_to_itself_only() -> None:
    call, other = cw.ToolCall("x", {"a": 1}), cw.ToolCall("x", {"a": 1})
    call.arguments["b"] = {2}
    assert copy.copy(call) == call
    assert call != other
    assert other != call
    assert call != copy.deepcopy(call)
    assert call not in [other]
    with pytest.raises(errors.UnsupportedValue, match=r"^arguments\.b: "):
        hash(call)
    del call.arguments["b"]
    assert call == other


def nested_objects(count: int) -> bytes:
    """A call whose arguments take the most memory for each byte: objects of one member."""
    arrays = count // 120
    arguments = b"\xdd" + arrays.to_bytes(4, "big") + (b"\x81\xa0" * 120 + b"\xc0") * arrays
    return b"\x83\xa1v\x01\xa1n\xa1f\xa1a" + arguments


def plain_call(count: int) -> str:
    return "A" + encode_base85(nested_objects(count))


def compressed_call(count: int) -> str:
    return "S" + encode_base85(zstandard.compress(nested_objects(count)))


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read the Linux way")
@pytest.mark.parametrize(
    ("make", "factor", "size_of"),
    [(plain_call, 256, len), (compressed_call, 6, lambda _: 64 << 20)],
    ids=["plain", "compressed"],
)
def test_the_memory_of_a_call_stays_within_the_stated_bound(
    make: Any, factor: int, size_of: Any
) -> None:
    case = harness.Case("", cw.decode_tool_call, make, 1, 400_000, factor, size_of)
    size, used = harness.peak(case)
    assert used <= harness.bound(case, size)


def test_the_values_of_a_compressed_call_count_towards_max_size() -> None:
    with pytest.raises(cw.OutputTooLarge, match=r"more than 5[0-9]{5} values") as caught:
        cw.decode_tool_call(compressed_call(600_000))
    assert caught.value.limit == 64 << 20
    wire = compressed_call(600_000)
    assert len(cw.decode_tool_call(wire, max_size=80 << 20).arguments) == 5000


@pytest.mark.parametrize("form", FORMATS)
def test_arguments_nested_as_deep_as_they_may_be_are_read_in_every_format(form: Any) -> None:
    deepest: Any = []
    for _ in range(127):
        deepest = [deepest]
    wire = cw.encode_tool_call("f", deepest, format=form)
    assert cw.decode_tool_call(wire).arguments == deepest
    with pytest.raises(cw.EncodeError, match="128 levels"):
        cw.encode_tool_call("f", [deepest], format=form)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_beyond_the_limit_of_readers_is_not_written(sign: int) -> None:
    # Python's limit for the conversion can be lifted; the readers keep theirs.
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        longest = sign * (10**4300 - 1)
        wire = cw.encode_tool_call("f", longest)
        assert cw.decode_tool_call(wire).arguments == longest
        assert claims.parse_json(claims.canonical_json(longest)) == longest
        for write in (
            lambda: cw.encode_tool_call("f", [longest * 10]),
            lambda: cw.ToolCall("f", longest * 10),
            lambda: claims.canonical_json(longest * 10),
            lambda: cw.Session().encode_request(args=longest * 10),
        ):
            with pytest.raises(cw.EncodeError, match="more than 4300 digits"):
                write()
    finally:
        sys.set_int_max_str_digits(limit)
