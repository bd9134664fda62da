"""Limits and counts may be any int. A limit above the address space has no effect; a limit below 0
and a count beyond 64 bits raise an error of ours.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import compactwire as cw
from compactwire import analysis, arrow, cad, gcf, turns, wire
from tests.columns.producer import Column

# More digits than Python prints.
MANY_DIGITS = 10**5000
HUGE = [2**31, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30]

TEXT = 'GCF profile=generic\n## [2]{a,b=x,"c>d"}\n1|2\n3|4\n'
SET, NEXT = gcf.KeyedSet([{"id": 1}], key="id"), gcf.KeyedSet([{"id": 2}], key="id")
PAYLOAD = gcf.Payload(
    symbols=[gcf.Symbol(name, "function", 0.5, "lsp") for name in "ab"],
    edges=[gcf.Edge("a", "b", "calls")],
)
BASE, NEW = gcf.snapshot(PAYLOAD), gcf.snapshot(gcf.Payload(symbols=PAYLOAD.symbols[:1]))
DELTA = gcf.diff(BASE, NEW)
BINARY = cad.to_binary(cad.from_compact("C 1 1 1 # n"))
BIG = cw.encode(cw.Response("a" * 1000), format="zstd")
CALL = cw.encode_tool_call("f", ["b"] * 500, format="zstd")
COMPRESSED = "D|Z|" + cw.encode_delta("", "a" * 5000)[4:]


def session(limit: int) -> object:
    ours, theirs = cw.Session(max_size=limit), cw.Session(max_size=limit)
    for pack in (False, True):
        frames = ours.encode_request(tool={"a": 1}, system="s", context="c" * 200, pack=pack)
        theirs.decode_request(frames)
    return theirs.decode_graph(ours.encode_graph(PAYLOAD)), theirs.decode_keyed(
        ours.encode_keyed(SET)
    )


def stream(limit: int) -> str:
    return cw.DeltaStream("ab", max_size=limit).apply(COMPRESSED)


def produced(count: int) -> list[str]:
    producer = gcf.KeyedProducer(SET, fixed_n=count)
    return [producer.full(), producer.push(NEXT)]


Call = Callable[[Any], object]

LIMITS: dict[str, Call] = {
    "loads": lambda n: gcf.loads(TEXT, max_expansion=n),
    "load": lambda n: gcf.load(io.StringIO(TEXT), max_expansion=n),
    "to_json": lambda n: gcf.to_json(TEXT, max_expansion=n),
    "iter_rows": lambda n: list(gcf.iter_rows(io.StringIO(TEXT), max_expansion=n)),
    "iter_rows, max_row_size": lambda n: list(gcf.iter_rows(io.StringIO(TEXT), max_row_size=n)),
    "pack_root": lambda n: gcf.pack_root(PAYLOAD, max_expansion=n),
    "snapshot": lambda n: gcf.snapshot(PAYLOAD, max_expansion=n),
    "diff": lambda n: gcf.diff(BASE, NEW, max_expansion=n),
    "apply_delta of a graph": lambda n: gcf.apply_delta(BASE, DELTA, max_expansion=n),
    "encode_delta of a graph": lambda n: gcf.encode_delta(DELTA, max_expansion=n),
    "respond": lambda n: gcf.respond(PAYLOAD, max_expansion=n),
    "encode_json": lambda n: wire.encode_json(PAYLOAD, max_expansion=n),
    "from_binary": lambda n: cad.from_binary(BINARY, max_expansion=n),
    "cad.loads": lambda n: cad.loads(BINARY, max_expansion=n),
    "cad.load": lambda n: cad.load(io.BytesIO(BINARY), max_expansion=n),
    "iter_compact": lambda n: list(cad.iter_compact(b"C 1 1 1\nS 1", max_line=n)),
    "check": lambda n: cad.check("Q\nQ", limit=n),
    "decode": lambda n: cw.decode(BIG, max_size=n),
    "inspect": lambda n: cw.inspect(BIG, max_size=n),
    "decode_tool_call": lambda n: cw.decode_tool_call(CALL, max_size=n),
    "apply_delta": lambda n: cw.apply_delta("", COMPRESSED, max_size=n),
    "DeltaStream": stream,
    "Session": session,
    "shrink, max_size": lambda n: cw.shrink([1] * 99, max_size=n),
    "shrink, min_tokens": lambda n: cw.shrink("[1, 2]", min_tokens=n),
    "KeyedSnapshots": lambda n: gcf.KeyedSnapshots(limit=n).respond(SET, None),
}

COUNTS: dict[str, Call] = {
    "sizes": lambda n: SET.delta(NEXT).encode(sizes=(n, 1)),
    "full_tokens": lambda n: gcf.DeltaPayload(full_tokens=n),
    "tokens_used": lambda n: gcf.Payload(tokens_used=n),
    "token_budget": lambda n: gcf.GraphStreamEncoder(lambda _: None, token_budget=n),
    "line": lambda n: gcf.Location("f", n, 1),
    "distance": lambda n: gcf.Symbol("a", "type", distance=n),
    "estimate_tokens": lambda n: cw.claims.estimate_tokens(n),
    "response tokens": lambda n: cw.encode(cw.Response("a", tokens=n)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_may_be_any_large_number(name: str) -> None:
    expected = repr(LIMITS[name](2**20))
    for limit in (*HUGE, MANY_DIGITS):
        assert repr(LIMITS[name](limit)) == expected, limit


@pytest.mark.parametrize("limit", [-1, -(2**63), -(10**30), pytest.param(-MANY_DIGITS, id="long")])
@pytest.mark.parametrize("name", LIMITS)
def test_a_negative_limit_is_a_value_error(name: str, limit: int) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        LIMITS[name](limit)


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_beyond_64_bits_is_an_encode_error(name: str) -> None:
    for count in (2**63, 2**64 - 1, 2**64, 10**30, MANY_DIGITS):
        with pytest.raises(cw.EncodeError):
            COUNTS[name](count)


@pytest.mark.parametrize(
    "depth", [0, 257, -1, 2**63, 2**64, 10**30, -(10**30), pytest.param(MANY_DIGITS, id="long")]
)
def test_a_depth_out_of_range_is_a_value_error(depth: int) -> None:
    calls: list[Call] = [
        lambda n: gcf.dumps(1, max_depth=n),
        lambda n: gcf.loads(TEXT, max_depth=n),
        lambda n: gcf.load(io.StringIO(TEXT), max_depth=n),
        lambda n: gcf.dump(1, io.StringIO(), max_depth=n),
        lambda n: gcf.from_json("1", max_depth=n),
        lambda n: gcf.to_json(TEXT, max_depth=n),
        lambda n: gcf.iter_rows(io.StringIO(TEXT), max_depth=n),
        lambda n: cw.shrink([1], max_depth=n),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="1 to 256"):
            call(depth)


@pytest.mark.parametrize("count", [-(10**30), -1, 0])
def test_an_interval_that_is_not_positive_is_the_default(count: int) -> None:
    assert produced(count) == produced(15)


@pytest.mark.parametrize("count", HUGE)
def test_an_interval_may_be_any_large_number(count: int) -> None:
    assert produced(count) == produced(1000)


@pytest.mark.parametrize("number", ["NaN", "sNaN", "Infinity", "-1"])
def test_a_decimal_out_of_range_is_an_option_error(number: str) -> None:
    with pytest.raises(cw.OptionError, match="min_saving"):
        cw.shrink("[1, 2]", min_saving=Decimal(number))  # type: ignore[arg-type]


def test_a_fraction_beyond_the_doubles_is_an_option_error() -> None:
    with pytest.raises(cw.OptionError, match="min_saving"):
        cw.shrink("[1, 2]", min_saving=Fraction(10**400))  # type: ignore[arg-type]


def test_a_signaling_nan_is_a_nan() -> None:
    symbol = gcf.Symbol("a", "type", Decimal("sNaN"))  # type: ignore[arg-type]
    assert math.isnan(symbol.score)


OPTIONS: dict[str, Call] = {
    "protocol": lambda n: cw.encode("a", protocol=n),
    "msgpack_version": lambda n: cw.encode("a", msgpack_version=n),
    "tokenizer": lambda n: cw.shrink("[1, 2]", tokenizer=lambda _: n),
    "max_sessions": lambda n: turns.MemorySessionStore(max_sessions=n),
    "max_memory": lambda n: turns.MemorySessionStore(max_memory=n),
    "threads": lambda n: arrow.count_tokens(Column(["a"]), threads=n),
    "format": lambda n: cad.create_cad_compact("", format=n),
    "kind": lambda n: cad.preview({}, kind=n),
    "width": lambda n: cad.preview({}, width=n),
    "seconds": lambda n: analysis.compare(1, seconds=n),
    "price": lambda n: analysis.compare(1, price=n, tokenizer=len),
    "token_fraction": lambda n: analysis.measure([1], token_fraction=n),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_of_more_digits_than_python_prints_is_an_error_of_ours(name: str) -> None:
    with pytest.raises(cw.CompactWireError, match=name):
        OPTIONS[name](-MANY_DIGITS)


@pytest.mark.parametrize("name", ["azimuth", "elevation"])
@pytest.mark.parametrize("number", [Fraction(10**400), -(10**400), math.nan, -math.inf])
def test_a_direction_out_of_range_is_an_error_of_ours(name: str, number: Any) -> None:
    with pytest.raises(cw.CompactWireError, match="expected degrees"):
        cad.preview({}, **{name: number})
    with pytest.raises(TypeError, match=f"{name} must be a number, not Decimal"):
        cad.preview({}, **{name: Decimal("sNaN")})
