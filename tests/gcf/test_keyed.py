"""Keyed sets: the Python API, properties, and the package gcf-python."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import compactwire
import gcf as peer
from compactwire import gcf
from tests.strategies.gcf import result_or_error
from tests.strategies.keyed import FIELDS, keyed_sets
from tests.strategies.twins import Twin

ROWS = [{"id": 7, "total": 9.5, "open": True}, {"id": 8, "total": None, "open": False}]


def keyed(rows: list[dict[str, Any]], **options: Any) -> gcf.KeyedSet:
    return gcf.KeyedSet(rows, key="id", **options)


@given(keyed_sets(), keyed_sets())
def test_a_delta_leads_to_the_new_set(base: gcf.KeyedSet, new: gcf.KeyedSet) -> None:
    delta = base.delta(new)
    assert delta is not None
    made = gcf.receive_keyed(delta.encode(), base)
    assert made == new == base.apply(delta)
    assert {repr(row) for row in made.rows} == {repr(row) for row in new.rows}


@given(keyed_sets(), keyed_sets(), st.data())
def test_a_flipped_byte_of_a_delta_is_an_error_or_changes_nothing(
    base: gcf.KeyedSet, new: gcf.KeyedSet, data: st.DataObject
) -> None:
    delta = base.delta(new)
    assert delta is not None
    text = bytearray(delta.encode(tool="t").encode())
    text[data.draw(st.integers(0, len(text) - 1))] ^= data.draw(st.integers(1, 255))
    before = base.rows
    try:
        made = gcf.receive_keyed(text, base)
    except gcf.GcfError:
        assert base.rows == before
    else:
        assert made == new


def peer_keeps(each: gcf.KeyedSet) -> bool:
    """Whether gcf-python writes every double exactly: it cuts small ones after 20 decimals."""
    cells = [cell for row in each.rows for cell in row.values() if isinstance(cell, float)]
    return all("e-" not in repr(cell) or float(f"{cell:.20f}") == cell for cell in cells)


@given(keyed_sets(), keyed_sets())
def test_keyed_texts_equal_gcf_python(base: gcf.KeyedSet, new: gcf.KeyedSet) -> None:
    assume(peer_keeps(base) and peer_keeps(new))
    theirs = [
        peer.GenericSet(key="id", fields=FIELDS, rows=each.rows, name="rows")
        for each in (base, new)
    ]
    assert [peer.generic_pack_root(each) for each in theirs] == [base.root, new.root]
    assert peer.encode_generic_full(theirs[0]) == base.encode()
    delta = base.delta(new)
    assert delta is not None
    assert peer.encode_generic_delta(peer.diff_generic_sets(*theirs)) == delta.encode()


def test_a_set_is_a_value() -> None:
    one = keyed(ROWS)
    other = keyed(ROWS[::-1])
    assert one == other
    assert hash(one) == hash(other)
    assert one != keyed(ROWS, name="orders")
    assert one != keyed(ROWS[:1])
    assert one != "set"
    for same in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert same == one
        assert same.rows == ROWS
    assert (one.name, one.key, one.fields, len(one)) == ("rows", "id", ("id", "total", "open"), 2)
    assert repr(one) == f"<KeyedSet 'rows' of 2 rows by 'id', {one.root}>"
    with pytest.raises(AttributeError):
        one.name = "x"  # type: ignore[misc]
    assert gcf.loads(one.encode()) == {"rows": ROWS}


def test_a_delta_is_a_value() -> None:
    delta = keyed(ROWS).delta(keyed(ROWS[:1]))
    assert delta is not None
    assert repr(delta) == "<KeyedDelta +0 ~0 -1>"
    assert delta.removed == [8]
    for same in (pickle.loads(pickle.dumps(delta)), copy.copy(delta), copy.deepcopy(delta)):
        assert same == delta
        assert hash(same) == hash(delta)


@pytest.mark.parametrize(
    ("rows", "code", "text"),
    [
        ([{"id": 1}, {"id": 1.0}], "invalid_keyed_set", 'row 1, field "id"'),
        ([{"id": None}], "invalid_keyed_set", "null"),
        ([{"id": 1, "a": 2}, {"id": 2}], "invalid_keyed_set", 'row 1, field "a": the field is'),
        (
            [{"id": 1}, {"id": 2, "b": 2}],
            "invalid_keyed_set",
            'row 1, field "b": the set does not have this',
        ),
        ([{"id": 1, "a": [2]}], "unsupported_type", r"\$\[0\]\.a"),
        ([{"id": 1, "a": float("nan")}], "not_finite", r"\$\[0\]\.a"),
        ([{"id": 2**63}], "out_of_range", r"\$\[0\]\.id"),
        ([{"id": "\ud800"}], "invalid_surrogate", r"\$\[0\]\.id"),
        ([{"x": 1}], "invalid_keyed_set", "not among the fields"),
        ([{"id": 1, "a>b": 1}], "invalid_keyed_set", "cannot contain >"),
    ],
)
def test_invalid_rows_are_refused_with_their_place(
    rows: list[dict[str, Any]], code: str, text: str
) -> None:
    with pytest.raises(gcf.GcfError, match=text) as caught:
        keyed(rows)
    assert caught.value.code == code


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="fields="):
        keyed([])
    with pytest.raises(ValueError, match="not both"):
        gcf.KeyedProducer(keyed(ROWS), fixed_n=2, size_guard=True)
    with pytest.raises(gcf.GcfError, match="invalid_header_value"):
        keyed(ROWS).encode(tool="my tool")


def test_a_set_with_other_fields_or_name_is_sent_whole() -> None:
    base = keyed(ROWS)
    for new in (keyed(ROWS, fields=["id", "open", "total"]), keyed(ROWS, name="orders")):
        assert base.delta(new) is None
        producer = gcf.KeyedProducer(base)
        assert producer.push(new) == (new.encode(), True)


def test_a_set_with_the_rows_of_another_one_is_sent_in_full() -> None:
    """The root covers the rows only, and a peer keeps the name, key and fields that it has."""
    rows = [{"id": number, "v": "x", "w": None} for number in range(40)]
    paid = [*rows[1:], {"id": 0, "v": "y", "w": None}]
    empty = [gcf.KeyedSet([], key=key, fields=[key, "v"]) for key in ("id", "k")]
    for first, second in (
        (keyed(rows, name="open"), keyed(rows, name="all")),
        (keyed(rows), keyed(rows, fields=["id", "w", "v"])),
        empty,
    ):
        kept = gcf.KeyedSnapshots()
        kept.respond(first, None)
        assert kept.respond(second, first.root) == second.encode()
        # It is not known now which of the two a peer has.
        assert kept.respond(first, first.root) == first.encode()
    kept = gcf.KeyedSnapshots()
    for name in ("all", "open"):
        kept.respond(keyed(rows, name=name), None)
    new = keyed(paid, name="all")
    assert kept.respond(new, keyed(rows).root) == new.encode()


def test_a_peer_gets_the_shortest_response() -> None:
    kept = gcf.KeyedSnapshots(limit=1)
    base = keyed([{"id": number, "v": "x"} for number in range(100)])
    new = keyed([{"id": number, "v": "x"} for number in range(101)])
    assert kept.respond(base, None) == base.encode()
    text = kept.respond(new, base.root)
    assert gcf.receive_keyed(text, base) == new
    assert len(text) < 300
    same = kept.respond(new, new.root, tool="t")
    root = f"pack_root={new.root}"
    assert same == f"GCF profile=generic tool=t unchanged=true {root} count=101\n"
    assert gcf.receive_keyed(same, new) == new
    # The first base is no longer kept; the second was never known.
    assert kept.respond(new, base.root) == new.encode()
    assert kept.respond(new, "0" * 64) == new.encode()
    for held in (None, base):
        with pytest.raises(gcf.GcfError, match="base_mismatch"):
            gcf.receive_keyed(same, held)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: keyed([], fields=["id", "id"]), 'duplicate field "id"'),
        (lambda: keyed([{"id": 1}], fields=["id", "id"]), 'field "id": the fields of the set'),
        (lambda: keyed([{"id": 1, Twin("a"): 2, Twin("a"): 3}]), 'field "a": '),
        (
            lambda: keyed([{"id": 1, "a": 2, Twin("a"): 3}], fields=["id", "a"]),
            'field "a": the row has this field twice',
        ),
        (
            lambda: gcf.KeyedDelta(
                key="id", base_root="", new_root="", fields=["id", "id"], added=[{"id": 1}]
            ),
            'field "id": the fields of the set',
        ),
    ],
)
def test_a_field_that_is_there_twice_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(gcf.GcfError, match=message) as caught:
        call()
    assert caught.value.code == "invalid_keyed_set"


def test_an_error_of_the_counter_reaches_the_caller() -> None:
    kept = gcf.KeyedSnapshots()
    base = keyed(ROWS)
    kept.respond(base, None)
    with pytest.raises(ZeroDivisionError):
        kept.respond(keyed(ROWS[:1]), base.root, count_tokens=lambda _: 1 // 0)


def test_a_producer_sends_every_fifteenth_set_whole_by_default() -> None:
    for options in ({}, {"fixed_n": 0}, {"fixed_n": -3}):
        producer = gcf.KeyedProducer(keyed(ROWS), **options)
        full = [producer.push(keyed(ROWS))[1] for _ in range(30)]
        assert [turn for turn, is_full in enumerate(full, 1) if is_full] == [15, 30]


def test_threads_share_a_producer() -> None:
    producer = gcf.KeyedProducer(keyed(ROWS), fixed_n=10)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: producer.push(keyed(ROWS)), range(200)))
    assert sum(is_full for _, is_full in answers) == 20


def test_an_error_in_a_keyed_text_has_line_and_column() -> None:
    text = keyed(ROWS).encode().replace("8|-", "8|~")
    with pytest.raises(gcf.GcfError) as caught:
        gcf.read_keyed(text)
    assert (caught.value.code, caught.value.line, caught.value.column) == ("invalid_missing", 4, 3)


def test_a_session_sends_deltas_and_recovers_from_a_loss() -> None:
    ours, theirs = compactwire.Session(), compactwire.Session()
    rows = [{"id": i, "state": "open"} for i in range(40)]

    def turn(rows: list[dict[str, Any]], name: str = "orders") -> str:
        sent = gcf.KeyedSet(rows, key="id", name=name)
        text = ours.encode_keyed(sent, tool="t")
        received = theirs.decode_keyed(text)
        assert (received, received.rows) == (sent, rows)
        return text

    assert "## orders [40]" in turn(rows)
    assert "## others [40]" in turn(rows, "others")
    assert "unchanged=true" in turn(rows)
    assert "## removed [1]" in turn(rows[1:], "others")
    changed = [{"id": 0, "state": "paid"}, *rows[1:]]
    ours, theirs = pickle.loads(pickle.dumps(ours)), copy.copy(theirs)
    assert "## changed [1]{@id,state}\n0|paid\n" in turn(changed)
    assert "unchanged=true" in turn(changed)

    ours.encode_keyed(gcf.KeyedSet(rows, key="id", name="orders"))
    lost = ours.encode_keyed(gcf.KeyedSet(changed[:39], key="id", name="orders"))
    with pytest.raises(gcf.GcfError, match="base_mismatch"):
        theirs.decode_keyed(lost)
    ours.forget_keyed()
    assert "## orders [40]" in turn(changed)
    with pytest.raises(gcf.GcfError, match="invalid_header_value"):
        ours.encode_keyed(gcf.KeyedSet(rows, key="id", name="orders"), tool="a b")
    assert "unchanged=true" in turn(changed)
    theirs.reset()
    with pytest.raises(gcf.GcfError, match="base_mismatch"):
        turn(changed)


@given(st.data())
def test_a_session_never_returns_a_wrong_keyed_set(data: st.DataObject) -> None:
    """Texts are lost, repeated or delayed, or one side loses its memory."""
    ours, theirs = compactwire.Session(), compactwire.Session()
    sent: list[tuple[str, gcf.KeyedSet]] = []
    for _ in range(data.draw(st.integers(1, 12))):
        ids = data.draw(st.lists(st.integers(0, 6), unique=True, max_size=6))
        rows = [{"id": i, "v": data.draw(st.integers(0, 1)), "w": "some text"} for i in ids]
        fields = data.draw(st.sampled_from([["id", "v", "w"], ["id", "w", "v"]]))
        name = data.draw(st.sampled_from(["a", "b"]))
        new = gcf.KeyedSet(rows, key="id", fields=fields, name=name)
        sent.append((ours.encode_keyed(new), new))
        match data.draw(st.sampled_from(["ok", "ok", "ok", "lost", "old", "forget", "reset"])):
            case "ok":
                text, expected = sent[-1]
            case "old":
                text, expected = data.draw(st.sampled_from(sent))
            case "forget":
                ours.forget_keyed()
                continue
            case "reset":
                theirs.reset()
                continue
            case _:
                continue
        received = result_or_error(lambda text=text: theirs.decode_keyed(text))
        if isinstance(received, gcf.GcfError):
            assert received.code == "base_mismatch"
            ours.forget_keyed()
            received, expected = theirs.decode_keyed(ours.encode_keyed(new)), new
        assert received == expected
        assert received.fields == expected.fields


def test_a_delta_that_only_removes_rows_is_the_one_that_is_read() -> None:
    base = gcf.KeyedSet([{"id": 1, "x": 2}, {"id": 2, "x": 3}], key="id", name="rows")
    for rows in ([{"id": 1, "x": 2}], [{"id": 1, "x": 2}, {"id": 2, "x": 3}]):
        delta = base.delta(gcf.KeyedSet(rows, key="id", name="rows"))
        assert delta is not None
        assert delta.fields == ()
        assert gcf.read_keyed_delta(delta.encode()) == delta
        assert base.apply(delta).rows == rows
