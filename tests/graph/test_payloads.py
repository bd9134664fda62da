"""Graph payloads: value types, round trips of texts, deltas that verify."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import pickle
import random
import sqlite3
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import gcf, wire
from tests.strategies.graph import plain_payloads


def as_sets(payload: gcf.Payload) -> tuple[set[gcf.Symbol], set[gcf.Edge]]:
    return set(payload.symbols), set(payload.edges)


FULL = gcf.Payload(
    tool="t",
    tokens_used=1,
    token_budget=2,
    pack_root="sha256:x",
    symbols=[
        {
            "qualified_name": "a.f",
            "kind": "function",
            "score": 0.5,
            "components": {"recency": 0.25},
            "location": {"file": "a b.py", "line": 1, "column": 2},
        },
        gcf.Symbol("a.T", "type", 1, "lsp", 2, "class T", location=gcf.Location("x", 1, 2, 3, 4)),
    ],
    edges=[{"source": "a.f", "target": "a.T", "edge_type": "calls", "status": "added"}],
)
DELTA = gcf.DeltaPayload("t", "a", "b", FULL.symbols, (), FULL.edges, (), 3, 4)
VALUES = [
    FULL,
    DELTA,
    *FULL.symbols,
    *FULL.edges,
    gcf.Components(1, 2),
    gcf.Location("x", 1, 2, 3, 4),
    gcf.Unchanged("t", "r", 3),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_are_equal_hashable_and_picklable(value: Any) -> None:
    for twin in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert twin == value
        assert hash(twin) == hash(value)
    assert value != "something else"
    with pytest.raises(AttributeError):
        value.tool = "other"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_values_pickle_with_every_protocol(protocol: int) -> None:
    odd = gcf.Payload(symbols=[gcf.Symbol("a b\n", "", -0.0, components=gcf.Components(-0.0))])
    for value in (*VALUES, odd):
        again = pickle.loads(pickle.dumps(value, protocol))
        assert again == value
        assert repr(again) == repr(value)
    lone = gcf.Payload(symbols=[gcf.Symbol("a", "type", math.nan)])
    assert math.isnan(pickle.loads(pickle.dumps(lone, protocol)).symbols[0].score)
    assert math.copysign(1, pickle.loads(pickle.dumps(odd, protocol)).symbols[0].score) == -1


@pytest.mark.parametrize("value", [FULL, DELTA], ids=lambda value: type(value).__name__)
def test_a_damaged_pickle_is_an_error_with_its_offset(value: Any) -> None:
    restore, (state,) = value.__reduce__()
    assert restore(state) == value
    for end in range(len(state)):
        with pytest.raises(ValueError, match=r"^invalid state: .* at byte \d+$"):
            restore(state[:end])
    with pytest.raises(ValueError, match="1 unexpected bytes at the end"):
        restore(state + b"x")
    for at in range(len(state)):
        for byte in (0, 0x7F, 0x80, 0xFF):
            changed = bytes([*state[:at], byte, *state[at + 1 :]])
            with contextlib.suppress(ValueError):
                assert isinstance(restore(changed), type(value))
    for wrong in ("text", None, 1):
        with pytest.raises(TypeError):
            restore(wrong)
    with pytest.raises(
        ValueError, match="4294967295 strings, more than the rest of the state can contain"
    ):
        restore(state[:5] + b"\xff\xff\xff\xff\x0f")


def test_a_large_payload_shares_equal_strings_and_copies_in_place() -> None:
    names = [f"github.com/acme/service.Symbol{i}" for i in range(10_000)]
    symbols = [gcf.Symbol(name, "function", 0.5, "lsp_resolved") for name in names]
    edges = [gcf.Edge(name, names[0], "calls") for name in names]
    payload = gcf.Payload("t", symbols=symbols, edges=edges)
    state = pickle.dumps(payload)
    assert len(state) < sum(map(len, names)) + 10_000 * 25
    assert pickle.loads(state) == payload
    assert copy.copy(payload) is payload
    assert copy.deepcopy([payload])[0] is payload


def test_reprs_are_readable() -> None:
    assert repr(FULL) == "<Payload 't' tokens_used=1 token_budget=2: 2 symbols, 1 edge>"
    assert repr(FULL.edges[0]) == (
        "Edge(source='a.f', target='a.T', edge_type='calls', status='added')"
    )
    assert repr(gcf.Symbol("a", "type")) == "Symbol(qualified_name='a', kind='type')"


def test_an_invalid_field_value_is_refused() -> None:
    with pytest.raises(TypeError, match=r"symbols\[0\] must be a Symbol or a dict, not int"):
        gcf.Payload(symbols=[1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="score must be a float, not bool"):
        gcf.Symbol("a", "type", True)
    with pytest.raises(cw.EncodeError, match="kind: lone surrogate"):
        gcf.Symbol("a", "\ud800")
    for make in (
        lambda: gcf.Symbol("a", "type", 10**400),
        lambda: gcf.Symbol("a", "type", distance=10**400),
        lambda: gcf.Components(recency=-(10**400)),
    ):
        with pytest.raises(cw.EncodeError, match=r"double|not within"):
            make()
    with pytest.raises(ValueError, match="line: the number must be 1 or more"):
        gcf.Location("a", 0, 1)
    with pytest.raises(ValueError, match="both end_line and end_column, or neither"):
        gcf.Location("a", 1, 1, 1)


def outcome(make: Callable[[], object]) -> tuple[type, str] | object:
    try:
        return make()
    except Exception as error:
        return type(error), str(error)


class Dict(dict[str, Any]):
    """A subclass of dict, so that it takes the slow path through the element's class."""


ANYTHING = (
    st.none()
    | st.booleans()
    | st.integers(-1, 2)
    | st.floats(allow_nan=False)
    | st.sampled_from(["a", "é"])
)
FIELDS: dict[str, tuple[type, str]] = {
    "symbols": (gcf.Symbol, "qualified_name kind score provenance distance signature components"),
    "edges": (gcf.Edge, "source target edge_type status"),
}


@given(st.data(), st.sampled_from(["symbols", "edges"]), st.sampled_from([dict, Dict]))
def test_a_dict_is_read_like_the_class(
    data: st.DataObject, field: str, kind: type[dict[str, Any]]
) -> None:
    class_, names = FIELDS[field]
    required = names.split()[: 2 if class_ is gcf.Symbol else 3]
    fields: dict[Any, Any] = dict.fromkeys(required, "a")
    keys = st.sampled_from([*names.split(), *names.split(), "location", "unknown", 1])
    fields.update(data.draw(st.dictionaries(keys, ANYTHING, max_size=4)))
    for missing in data.draw(st.sets(st.sampled_from(required)) | st.just(set())):
        fields.pop(missing)
    whole: dict[str, Any] = {field: [kind(fields)]}
    made = outcome(lambda: getattr(gcf.Payload(**whole), field)[0])
    assert made == outcome(lambda: class_(**fields))
    assert repr(made) == repr(outcome(lambda: class_(**fields)))


@given(plain_payloads(), st.randoms(use_true_random=False))
def test_dicts_of_several_sources_and_objects_mix(
    payload: gcf.Payload, chance: random.Random
) -> None:
    def mixed(objects: Sequence[Any]) -> list[Any]:
        def fields(one: Any) -> dict[str, Any]:
            items = [(name, getattr(one, name)) for name in one._fields]
            chance.shuffle(items)
            # JSON makes other objects of the same keys.
            keys = json.loads(json.dumps([name for name, _ in items]))
            return dict(zip(keys, (value for _, value in items), strict=True))

        return [chance.choice([one, fields(one)]) for one in objects]

    again = payload.__replace__(symbols=mixed(payload.symbols), edges=mixed(payload.edges))
    assert again == payload
    assert again.symbols == payload.symbols
    assert again.edges == payload.edges


@given(plain_payloads())
def test_a_text_round_trips_and_is_canonical(payload: gcf.Payload) -> None:
    text = gcf.encode(payload)
    decoded = gcf.decode(text)
    assert isinstance(decoded, gcf.Payload)
    assert as_sets(decoded) == as_sets(payload)
    assert gcf.encode(decoded) == text
    for end in range(len(text)):
        # A group whose name is truncated looks like a group of a later version.
        with contextlib.suppress(gcf.GcfError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert isinstance(gcf.decode(text[:end]), gcf.Payload)


@given(plain_payloads(), plain_payloads())
def test_a_delta_leads_from_any_snapshot_to_any_other(old: gcf.Payload, new: gcf.Payload) -> None:
    base, goal = gcf.snapshot(old), gcf.snapshot(new)
    try:
        text = gcf.encode_delta(gcf.diff(base, goal))
    except gcf.GcfError as error:
        assert error.code == "invalid_graph_name"  # noqa: PT017
        return
    applied = gcf.apply_delta(base, text)
    assert as_sets(applied) == as_sets(goal)
    assert applied.pack_root == goal.pack_root
    assert base == gcf.snapshot(old)


@given(plain_payloads())
def test_roots_do_not_depend_on_order(payload: gcf.Payload) -> None:
    turned = payload.__replace__(symbols=payload.symbols[::-1], edges=payload.edges[::-1])
    assert gcf.pack_root(turned) == gcf.pack_root(payload)


@given(plain_payloads(), plain_payloads())
def test_respond_sends_the_shortest_usable_text(old: gcf.Payload, new: gcf.Payload) -> None:
    outcome, text, first = gcf.respond(old)
    assert outcome == ("unchanged" if first.pack_root == "" else "full")
    held = gcf.decode(text)
    assert isinstance(held, gcf.Payload)
    outcome, text, second = gcf.respond(
        new, held.pack_root, snapshots={first.pack_root: first}, count_tokens=len
    )
    received = gcf.decode(text)
    if outcome == "full":
        assert isinstance(received, gcf.Payload)
        assert as_sets(received) == as_sets(second)
    elif outcome == "delta":
        assert as_sets(gcf.apply_delta(held, text)) == as_sets(second)
    else:
        assert received == gcf.Unchanged("t", held.pack_root, len(held.symbols))


@given(
    st.lists(
        st.tuples(plain_payloads(names=st.sampled_from("abcdefgh")), st.booleans()), max_size=8
    )
)
def test_two_sessions_agree_or_raise(
    turns: list[tuple[gcf.Payload, bool]],
) -> None:
    ours, theirs = cw.Session(), cw.Session()
    for payload, lost in turns:
        text = ours.encode_graph(payload)
        if lost:
            ours.forget_graph()
            continue
        decoded = theirs.decode_graph(text)
        assert isinstance(decoded, gcf.Payload)
        assert [s.qualified_name for s in decoded.symbols] == [
            s.qualified_name for s in sorted(payload.symbols, key=lambda s: (s.distance, -s.score))
        ]
        assert set(decoded.edges) == set(payload.edges)


def test_a_lost_declaration_is_detected_and_reset_recovers() -> None:
    ours, theirs = cw.Session(), cw.Session()
    payload = gcf.Payload(symbols=[gcf.Symbol("a", "type", 0.5, "lsp")])
    ours.encode_graph(payload)
    with pytest.raises(gcf.GcfError, match="unknown_session_reference"):
        theirs.decode_graph(ours.encode_graph(payload))
    ours.reset()
    assert theirs.decode_graph(ours.encode_graph(payload)) == payload


def test_a_location_is_written_each_time_even_for_a_known_symbol() -> None:
    ours, theirs = cw.Session(), cw.Session()
    symbol = gcf.Symbol("a", "type", 0.5, "lsp", location=gcf.Location("a.py", 1, 2))
    for place in (gcf.Location("a.py", 1, 2), gcf.Location("b.py", 3, 4, 5, 6), None):
        payload = gcf.Payload(symbols=[symbol.__replace__(location=place)])
        assert theirs.decode_graph(ours.encode_graph(payload)) == payload


def test_an_unknown_group_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="later"):
        decoded = gcf.decode("GCF profile=graph\n## later\nx\n## targets\n@0 fn a 0.50 lsp\n")
    assert isinstance(decoded, gcf.Payload)
    assert [symbol.qualified_name for symbol in decoded.symbols] == ["a"]


def test_a_refused_call_of_a_stream_writes_nothing() -> None:
    pieces: list[str] = []
    with gcf.GraphStreamEncoder(pieces.append, "t") as stream:
        stream.write_symbol(gcf.Symbol("a", "type", 0.5, "lsp"))
        written = len(pieces)
        with pytest.raises(gcf.GcfError, match="dangling_edge"):
            stream.write_edge(gcf.Edge("a", "b", "calls"))
        assert len(pieces) == written
    stream.close()
    with pytest.raises(gcf.GcfError, match="closed"):
        stream.write_symbol(gcf.Symbol("b", "type", 0.5, "lsp"))
    assert isinstance(gcf.decode("".join(pieces)), gcf.Payload)
    cut: list[str] = []
    with pytest.raises(KeyError), gcf.GraphStreamEncoder(cut.append, "t"):
        raise KeyError
    assert "summary" not in "".join(cut)


@pytest.mark.slow
def test_a_hundred_thousand_symbols_round_trip() -> None:
    generator = random.Random(1)
    symbols = [
        gcf.Symbol(f"pkg.s{i}", "function", generator.random(), "lsp", i % 5)
        for i in range(100_000)
    ]
    edges = [gcf.Edge(f"pkg.s{i}", f"pkg.s{i // 2}", "calls") for i in range(100_000)]
    payload = gcf.Payload("t", symbols=symbols, edges=edges)
    decoded = gcf.decode(gcf.encode(payload))
    assert isinstance(decoded, gcf.Payload)
    assert len(decoded.symbols) == len(decoded.edges) == 100_000
    copied = wire.decode_json(wire.encode_json(payload))
    assert copied == payload


def block(names: str, **members: object) -> SimpleNamespace:
    parts = SimpleNamespace(blast_radius=0.1, confidence=0.2, recency=0.3, distance=0.4, extra=1)
    with gcf.SQLiteStore() as store:
        nodes = [store.add_node(name, "function", "def f()") for name in names]
    symbols = [
        SimpleNamespace(node=node, score=0.5, provenance="lsp", distance=1, components=parts)
        for node in nodes
    ]
    return SimpleNamespace(tokens_used=1, token_budget=2, symbols=symbols, **members)


def test_a_context_block_becomes_a_payload_with_stored_edges() -> None:
    with gcf.SQLiteStore() as store:
        a, b, c = (store.add_node(name, "function", "def f()") for name in "abc")
        for source, target in ((a, b), (b, a), (a, c), (a, b)):
            store.add_edge(source, target, "calls")
        payload = gcf.from_context_block(block("ab", pack_root=b"\x01\xff"), "tool", store)
        assert [node.qualified_name for node in store.nodes()] == ["a", "b", "c"]
    assert payload.pack_root == "01ff"
    assert payload.edges == (gcf.Edge("a", "b", "calls"), gcf.Edge("b", "a", "calls"))
    assert payload.symbols[0] == gcf.Symbol(
        "a", "function", 0.5, "lsp", 1, "def f()", gcf.Components(0.1, 0.2, 0.3, 0.4)
    )
    given_edges = [SimpleNamespace(source="a", target="z", edge_type="tests")]
    own = gcf.from_context_block(block("ab", edges=given_edges), "tool")
    assert own.edges == (gcf.Edge("a", "z", "tests"),)


def test_edges_of_a_block_may_be_an_array_which_has_no_truth_value() -> None:
    class Array(list[Any]):
        def __bool__(self) -> bool:
            raise ValueError("The truth value of an array is ambiguous")

    edges = [SimpleNamespace(source="a", target=name, edge_type="tests") for name in "bc"]
    found = gcf.from_context_block(block("ab", edges=Array(edges)), "tool")
    assert found == gcf.from_context_block(block("ab", edges=edges), "tool")
    assert gcf.from_context_block(block("ab", edges=Array()), "tool").edges == ()


@pytest.mark.parametrize("root", [5, True, 2**64])
def test_a_number_is_no_root_of_a_block(root: int) -> None:
    # `bytes(5)` are five zeros.
    with pytest.raises(TypeError, match="pack_root of the block must be a str or bytes, not "):
        gcf.from_context_block(block("a", pack_root=root), "tool")
    for empty in (None, "", b""):
        assert gcf.from_context_block(block("a", pack_root=empty), "tool").pack_root == ""


def test_a_store_in_a_file_is_closed_once_and_named_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with gcf.SQLiteStore(path) as store:
        node = store.add_node("a", "function")
    store.close()
    with gcf.SQLiteStore(path) as store:
        assert store.nodes() == [node]
    with pytest.raises(sqlite3.ProgrammingError, match=r"graph.db: .*closed"):
        store.nodes()
    with pytest.raises(cw.OptionError, match="path must name a file"):
        gcf.SQLiteStore("")
    path.write_text("no database" * 100)
    for damaged in (path, tmp_path):
        with pytest.raises(sqlite3.Error) as caught:
            gcf.SQLiteStore(damaged)
        assert str(caught.value).startswith(f"{damaged}: ")


def test_a_store_keeps_symbols_whose_kinds_have_spaces() -> None:
    names = [("b c", "a"), ("c", "a b"), ("c", "a%20b"), ("20b c", "a%"), (" c", "a b")]
    with gcf.SQLiteStore() as store:
        nodes = [store.add_node(name, kind) for name, kind in names]
        assert sorted(store.nodes()) == sorted(nodes)
        for node in nodes:
            store.add_edge(node, nodes[0], node.kind)
        assert [[edge.edge_type for edge in store.edges_from(node)] for node in nodes] == [
            [node.kind] for node in nodes
        ]


def test_a_cell_of_a_store_that_is_no_text_is_an_error_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with gcf.SQLiteStore(path) as store:
        node = store.add_node("a", "function")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("INSERT INTO edges VALUES (?, x'00', 'calls')", (node.node_hash,))
        database.execute("INSERT INTO nodes VALUES ('b', x'00', 'function', '')")
    with gcf.SQLiteStore(path) as store:
        for read in (store.nodes, lambda: store.edges_from(node)):
            with pytest.raises(sqlite3.DatabaseError, match=r"graph.db: a node or edge has a cell"):
                read()


def test_a_store_waits_for_another_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.db"
    with (
        gcf.SQLiteStore(path) as store,
        closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr("compactwire._bridge._BUSY_S", 0.1)
        with pytest.raises(sqlite3.OperationalError, match=r"graph.db: database is locked; "):
            store.add_node("a", "function")
        monkeypatch.undo()
        end = threading.Timer(0.5, other.rollback)  # Longer than SQLite itself waits.
        end.start()
        node = store.add_node("a", "function")
        end.join()
        assert store.nodes() == [node]


def test_a_failing_store_raises_or_is_skipped() -> None:
    class Broken:
        def edges_from(self, node: Any) -> list[Any]:
            raise OSError(node.qualified_name)

    with pytest.raises(OSError, match="a"):
        gcf.from_context_block(block("a"), "tool", Broken())
    payload = gcf.from_context_block(block("a"), "tool", Broken(), on_store_error="skip")
    assert payload.edges == ()

    class Full:
        def edges_from(self, node: Any) -> list[Any]:
            raise MemoryError

    with pytest.raises(MemoryError):
        gcf.from_context_block(block("a"), "tool", Full(), on_store_error="skip")


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (-1, cw.EncodeError, "count_tokens: it must return an int from 0 to 2\\^63 - 1, not -1"),
        (2**63, cw.EncodeError, "count_tokens: it must return an int from 0"),
        (1.5, TypeError, "count_tokens must return an int, not float"),
    ],
)
def test_an_invalid_token_count_is_an_error_about_count_tokens(
    result: Any, error: type[Exception], message: str
) -> None:
    old = gcf.snapshot(gcf.Payload(symbols=[gcf.Symbol("a", "type", 0.5, "lsp")]))
    new = gcf.Payload(symbols=[gcf.Symbol("b", "type", 0.5, "lsp")])
    with pytest.raises(error, match=message):
        gcf.respond(
            new, old.pack_root, snapshots={old.pack_root: old}, count_tokens=lambda _: result
        )
    kept = gcf.KeyedSnapshots()
    first = gcf.KeyedSet([{"id": 1}], key="id")
    kept.respond(first, None)
    second = gcf.KeyedSet([{"id": 2}], key="id")
    with pytest.raises(error, match=message):
        kept.respond(second, first.root, count_tokens=lambda _: result)
