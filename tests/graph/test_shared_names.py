"""A graph refers to names by number; the names of all its edges are counted and shared."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from compactwire import errors, gcf, wire
from tests.scaling.graph import gcb

COUNT = 20_000
NAME = "n" * 17_000
LONG = gcb([NAME], [(0, 0)] * COUNT)
"""94 KiB, whose edges have 680 MB of names."""
SMALL = wire.decode_gcb(gcb(["name", "other"], [(0, 1)] * 3))

CALLS: dict[str, Callable[..., object]] = {
    "encode_json": wire.encode_json,
    "pack_root": gcf.pack_root,
    "snapshot": gcf.snapshot,
    "diff, base": lambda payload, **limit: gcf.diff(payload, gcf.Payload(), **limit),
    "diff, new": lambda payload, **limit: gcf.diff(gcf.Payload(), payload, **limit),
    "encode_delta": lambda payload, **limit: gcf.encode_delta(
        gcf.DeltaPayload(base_root="a", new_root="b", added_edges=payload.edges), **limit
    ),
    "apply_delta": lambda payload, **limit: gcf.apply_delta(
        payload, gcf.DeltaPayload(base_root="a", new_root="b"), **limit
    ),
    "apply_delta, delta": lambda payload, **limit: gcf.apply_delta(
        gcf.Payload(), gcf.DeltaPayload(base_root="a", removed_edges=payload.edges), **limit
    ),
    "respond": gcf.respond,
    "JsonCodec": lambda payload, **limit: wire.JsonCodec(**limit).encode(payload),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_names_beyond_the_limit_are_refused(call: Callable[..., object]) -> None:
    payload = wire.decode_gcb(LONG)
    with pytest.raises((errors.GcfError, errors.WireError)) as caught:
        call(payload)
    code = "too_large" if isinstance(caught.value, errors.WireError) else "limit_exceeded"
    assert caught.value.code == code
    for word in (str(2 * COUNT * len(NAME)), "max_expansion", str(256 << 20), f"{COUNT} edges"):
        assert word in str(caught.value)


def message_of(call: Callable[[], object]) -> str:
    try:
        call()
    except errors.CompactWireError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_limit_is_exact(call: Callable[..., object]) -> None:
    size = 3 * len("nameother")
    with pytest.raises((errors.GcfError, errors.WireError), match="max_expansion"):
        call(SMALL, max_expansion=size - 1)
    found = message_of(lambda: call(SMALL, max_expansion=size))
    assert "max_expansion" not in found


def test_edges_and_symbols_share_the_string_of_a_long_name() -> None:
    payload = wire.decode_gcb(LONG)
    strings = {id(end) for edge in payload.edges for end in (edge.source, edge.target)}
    assert strings == {id(payload.symbols[0].qualified_name)}
    assert payload.edges[7].source == NAME


def test_payloads_with_long_names_are_compared_and_hashed_as_others() -> None:
    payload = wire.decode_gcb(LONG)
    again = pickle.loads(pickle.dumps(payload))
    assert payload == again
    assert hash(payload) == hash(again)
    ends = [(0, 1), (1, 0), (1, 1), (0, 0)]
    payloads = [
        gcf.Payload(
            symbols=[gcf.Symbol(name, "function") for name in (NAME, NAME[:-1] + "m")],
            edges=[gcf.Edge(NAME[: 17_000 - cut], NAME[:-1] + "m" * (not cut), "calls")],
        )
        for cut in (0, 1)
    ]
    payloads += [wire.decode_gcb(gcb([NAME, NAME + "2"], [end])) for end in ends]
    for i, one in enumerate(payloads):
        for j, other in enumerate(payloads):
            assert (one == other) == (i == j)


def test_the_root_does_not_depend_on_the_order_of_symbols_and_edges() -> None:
    names = ["b", "a", "a.b", "a-b", "é", "aa"]
    ends = [(i, j) for i in range(6) for j in range(6)]
    payload = wire.decode_gcb(gcb(names, ends))
    reverse = [names[::-1].index(name) for name in names]
    other = wire.decode_gcb(gcb(names[::-1], [(reverse[i], reverse[j]) for i, j in ends[::-1]]))
    assert gcf.pack_root(payload) == gcf.pack_root(other)
