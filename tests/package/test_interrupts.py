"""Ctrl-C ends every long call, and leaves objects as they were.

No test measures time: a signal is pending when a call begins, and no Python code runs before the
call ends, so that only the call itself can notice the signal. It does so at its first check.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import gc
import io
import itertools
import json
import operator
import os
import pickle
import random
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import cad, claims, gcf, wire
from tests.package.calls import CALLS
from tests.scaling import cad as cad_inputs
from tests.scaling import graph as graph_inputs
from tests.strategies.claims import SEED, chain

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs the function raise of C")

MANY = 10_000  # more steps than there are between two checks
INTERVAL_SECONDS = 0.11  # a thread checks signals every tenth of a second at most

Call = Callable[[], Any]


def is_finished(call: Call, number: int = signal.SIGINT) -> bool:
    """Whether a call returns although a signal is pending when it begins.

    A `partial` of a function in C is not Python code, and neither is the loop of `deque`.
    """
    results: list[None] = []
    raise_signal = partial(ctypes.CDLL(None)["raise"], int(number))
    calls: list[Call] = [raise_signal, call, partial(results.append, None)]
    time.sleep(INTERVAL_SECONDS)
    with contextlib.suppress(KeyboardInterrupt):
        collections.deque(map(operator.call, calls), maxlen=0)
    return bool(results)


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises, as it does by default; the worker processes of pytest ignore it.

    Python ignores what is raised during a callback of the collector, and hypothesis has one.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    yield
    gc.callbacks[:] = callbacks
    signal.signal(signal.SIGINT, before)


# Inputs

TEXT = "".join(f"Line {n} of a long text.\n" for n in range(MANY * 10))
RESPONSE = cw.Response(TEXT)
ESCAPED = "\n" * (MANY * 10)
ESCAPED_GCF, ESCAPED_JSON = gcf.dumps(ESCAPED), json.dumps(ESCAPED)
ESCAPED_CALL = cw.encode_tool_call("t", ESCAPED, format="verbose")
ESCAPED_MESSAGE = cw.encode(cw.Response(ESCAPED), format="verbose")
HEADER = "GCF profile=generic\n## [1]{" + ",".join(f"f{n}" for n in range(MANY * 10))
REQUEST: Any = cw.Request(args=[{"a": n} for n in range(MANY)])
ROWS: list[Any] = [{"a": n, "b": f"text {n}", "c": [n]} for n in range(MANY)]
FLAT: list[Any] = [{"id": n, "group": n // 9} for n in range(MANY)]
ORDERED = [collections.OrderedDict(row) for row in ROWS]
for row in ORDERED:
    row.move_to_end("a")
GCF, JSON = gcf.dumps(ROWS), json.dumps(ROWS)
SET = gcf.KeyedSet(FLAT, key="id")
NEXT = gcf.KeyedSet([{"id": n, "group": n // 8} for n in range(MANY)], key="id")
CHANGED: Any = SET.delta(NEXT)
SYMBOLS = graph_inputs.symbols(MANY)
PAYLOAD: Any = gcf.decode(SYMBOLS)
EDGES = wire.decode_gcb(graph_inputs.gcb_edges(MANY))
BASE, NEW = gcf.snapshot(PAYLOAD), gcf.snapshot(wire.Payload("other"))
DELTA = gcf.diff(BASE, NEW)
SPHERES = cad_inputs.spheres(MANY)
PART = cad.from_compact(SPHERES)
KEY = claims.SigningKey.from_seed(SEED)
SAMPLES = [f"sample {n} {n * n} of some text" for n in range(MANY)]


def bundle(items: int) -> partial[dict[str, Any]]:
    """Writes a bundle to a new folder."""
    folder = tempfile.mkdtemp()
    texts = [{"kind": "symbol", "ref": f"@s{n}", "text": f"Text {n}. " * 9} for n in range(items)]
    return partial(claims.build_bundle, Path(folder, "bundle"), "run", "job", "message", texts)


def claim() -> Call:
    made = bundle(3)
    return partial(claims.make_claim, made(), made.args[0])


def packed_request() -> Call:
    return partial(cw.Session().encode_request, context=TEXT, pack=True)


def request_of_many_frames() -> Call:
    *definition, last = cw.Session().encode_request(tool={"name": "a"})
    return partial(cw.Session().decode_request, definition * MANY + [last])


LONG: dict[Any, dict[str, list[Callable[[], Call]]]] = {
    cw: {
        "Dictionary": [lambda: partial(cw.Dictionary.train, SAMPLES)],
        "Request": [
            lambda: partial(hash, REQUEST),
            lambda: partial(operator.eq, REQUEST, REQUEST.__replace__(context="other")),
        ],
        "Session": [
            packed_request,
            request_of_many_frames,
            lambda: partial(cw.Session().encode_graph, PAYLOAD),
            lambda: partial(cw.Session().decode_graph, SYMBOLS),
            lambda: partial(cw.Session().encode_keyed, SET),
            lambda: partial(cw.Session().decode_keyed, SET.encode()),
        ],
        "encode": [
            lambda: partial(cw.encode, RESPONSE, format="zlib"),
            lambda: partial(cw.encode, RESPONSE, format="zstd"),
            lambda: partial(cw.encode, RESPONSE, format="dictionary"),
            lambda: partial(cw.encode, cw.Response(ESCAPED), format="verbose"),
        ],
        "encode_bytes": [
            lambda: partial(cw.encode_bytes, RESPONSE, format="zstd"),
        ],
        "decode": [lambda: partial(cw.decode, ESCAPED_MESSAGE)],
        "decode_tool_call": [lambda: partial(cw.decode_tool_call, ESCAPED_CALL)],
        "encode_delta": [lambda: partial(cw.encode_delta, "old", TEXT)],
        "inspect": [lambda: partial(cw.inspect, ESCAPED_MESSAGE)],
        "estimate_tokens": [lambda: partial(cw.estimate_tokens, "a b " * 1_000_000)],
        "encode_tool_call": [lambda: partial(cw.encode_tool_call, "t", ROWS)],
        "encode_tool_call_bytes": [lambda: partial(cw.encode_tool_call_bytes, "t", ROWS)],
    },
    gcf: {
        "DeltaPayload": [lambda: DELTA.__reduce__],
        "KeyedDelta": [lambda: partial(SET.delta, NEXT), lambda: partial(SET.apply, CHANGED)],
        "KeyedProducer": [lambda: gcf.KeyedProducer(SET).full],
        "KeyedSet": [lambda: partial(gcf.KeyedSet, FLAT, key="id"), lambda: SET.encode],
        "KeyedSnapshots": [lambda: partial(gcf.KeyedSnapshots().respond, SET, None)],
        "Payload": [lambda: PAYLOAD.__reduce__],
        "apply_delta": [lambda: partial(gcf.apply_delta, BASE, DELTA)],
        "count_tokens": [lambda: partial(gcf.count_tokens, TEXT)],
        "decode": [lambda: partial(gcf.decode, SYMBOLS)],
        "diff": [lambda: partial(gcf.diff, BASE, NEW)],
        "dump": [lambda: partial(gcf.dump, ROWS, io.StringIO())],
        "dumps": [
            lambda: partial(gcf.dumps, ROWS),
            lambda: partial(gcf.dumps, ORDERED),
            lambda: partial(gcf.dumps, ESCAPED),
        ],
        "dumps_bytes": [
            lambda: partial(gcf.dumps_bytes, ROWS),
            lambda: partial(gcf.dumps_bytes, ORDERED),
        ],
        "dumps_grouped": [lambda: partial(gcf.dumps_grouped, FLAT, "id", "group")],
        "encode": [lambda: partial(gcf.encode, PAYLOAD), lambda: partial(gcf.encode, EDGES)],
        "encode_delta": [lambda: partial(gcf.encode_delta, DELTA)],
        "from_json": [
            lambda: partial(gcf.from_json, JSON),
            lambda: partial(gcf.from_json, ESCAPED_JSON),
        ],
        "iter_rows": [lambda: partial(list, gcf.iter_rows(io.BytesIO(GCF.encode())))],
        "load": [lambda: partial(gcf.load, io.StringIO(GCF))],
        "loads": [
            lambda: partial(gcf.loads, GCF),
            lambda: partial(gcf.loads, ESCAPED_GCF),
        ],
        "pack_root": [lambda: partial(gcf.pack_root, PAYLOAD)],
        "read_keyed": [lambda: partial(gcf.read_keyed, SET.encode())],
        "read_keyed_delta": [lambda: partial(gcf.read_keyed_delta, CHANGED.encode())],
        "receive_keyed": [lambda: partial(gcf.receive_keyed, SET.encode(), None)],
        "respond": [lambda: partial(gcf.respond, PAYLOAD)],
        "snapshot": [lambda: partial(gcf.snapshot, PAYLOAD)],
        "to_json": [
            lambda: partial(gcf.to_json, GCF),
            lambda: partial(gcf.to_json, ESCAPED_GCF),
        ],
    },
    wire: {
        "decode_gcb": [lambda: partial(wire.decode_gcb, graph_inputs.gcb_edges(MANY))],
        "decode_json": [lambda: partial(wire.decode_json, graph_inputs.json_symbols(MANY))],
        "encode_gcb": [lambda: partial(wire.encode_gcb, EDGES)],
        "encode_json": [lambda: partial(wire.encode_json, EDGES)],
    },
    cad: {
        "CompactIterator": [lambda: partial(list, cad.iter_compact([SPHERES]))],
        "canonical": [lambda: partial(cad.canonical, PART)],
        "check": [lambda: partial(cad.check, SPHERES)],
        "dumps": [lambda: partial(cad.dumps, PART)],
        "from_binary": [lambda: partial(cad.from_binary, cad.to_binary(PART))],
        "from_compact": [lambda: partial(cad.from_compact, SPHERES)],
        "from_hybrid": [lambda: partial(cad.from_hybrid, cad_inputs.hybrid(MANY))],
        "iter_compact": [lambda: partial(list, cad.iter_compact([SPHERES]))],
        "load": [lambda: partial(cad.load, io.StringIO(SPHERES))],
        "loads": [
            lambda: partial(cad.loads, SPHERES),
            lambda: partial(cad.loads, cad.dumps(PART)),
        ],
        "losses": [lambda: partial(cad.losses, PART, "0.1")],
        "to_binary": [lambda: partial(cad.to_binary, PART)],
        "to_compact": [lambda: partial(cad.to_compact, PART)],
        "to_hybrid": [lambda: partial(cad.to_hybrid, PART)],
    },
    claims: {
        "build_bundle": [lambda: bundle(MANY)],
        "canonical_json": [lambda: partial(claims.canonical_json, ROWS)],
        "make_claim": [claim],
        "merkle_attestation": [
            lambda: partial(claims.merkle_attestation, chain(bundle(3)(), 2), KEY)
        ],
        "merkle_root": [lambda: partial(claims.merkle_root, ["0" * 64] * 9)],
        "parse_json": [lambda: partial(claims.parse_json, JSON)],
    },
}

SHORT: dict[Any, set[str]] = {
    # Bounded by `max_size`, or take only small values; `verify_claim` has its own test.
    cw: {
        *("ClaimReport", "DeltaStream", "Format", "Inspection", "Response"),
        *("SessionStats", "ToolCall", "apply_delta", "decode_base85"),
        *("Shrunk", "detect", "encode_base85", "expand"),
        *("shrink", "shrink_messages", "verify_claim"),
    },
    # Values of one object, one row or symbol per call, and Python code.
    gcf: {
        *("Components", "Edge", "GraphStreamEncoder", "Location"),
        *("SQLiteStore", "StreamEncoder", "Symbol", "Unchanged", "encode_unchanged"),
        "from_context_block",
    },
    wire: {
        *("Components", "DeltaPayload", "Edge", "Location", "Payload", "Symbol"),
        *("GcbCodec", "GcfCodec", "JsonCodec", "decode_with", "encode_with"),
        *("get", "list", "list_names", "register"),
    },
    # Python code that calls the functions above.
    cad: {"Preview", "create_cad_compact", "preview"},
    # One receipt of at most a MiB, or a few values.
    claims: {
        *("Check", "ClaimReport", "Problem", "SigningKey", "estimate_tokens", "generate_key"),
        *("make_receipt", "make_trust_policy", "sign_merkle", "sign_receipt", "verify_claim"),
        *("verify_merkle_signature", "write_json", "write_receipt"),
    },
}

CASES = {
    f"{module.__name__}.{name} {number}": make
    for module, names in LONG.items()
    for name, makes in names.items()
    for number, make in enumerate(makes)
}


@pytest.mark.parametrize("module", list(CALLS), ids=lambda module: module.__name__)
def test_every_public_name_is_long_or_short(module: Any) -> None:
    assert CALLS[module].keys() <= LONG[module].keys() | SHORT[module]
    assert not LONG[module].keys() & SHORT[module]


@pytest.mark.parametrize("name", CASES)
def test_ctrl_c_ends_a_long_call(name: str) -> None:
    assert not is_finished(CASES[name]())
    CASES[name]()()


@pytest.mark.parametrize("end", [",!}", ",f0}"])
def test_ctrl_c_ends_the_header_of_a_wide_table(end: str) -> None:
    """Nothing after the header is read: a name is invalid, or a duplicate."""
    with pytest.raises(cw.GcfError):
        gcf.loads(HEADER + end)
    assert not is_finished(partial(gcf.loads, HEADER + end))
    rows = gcf.iter_rows(io.BytesIO((HEADER + end).encode()))
    assert not is_finished(partial(next, rows))
    with pytest.raises(KeyboardInterrupt):
        next(rows)


def table() -> gcf.StreamEncoder:
    encoder = gcf.StreamEncoder(io.StringIO())
    encoder.begin_array("t", ["a", "b"])
    return encoder


ITERABLES: dict[str, Call] = {
    "fields": partial(gcf.StreamEncoder(io.StringIO()).begin_array, "t", ("a", "b")),
    "frames": partial(cw.Session().decode_request, cw.Session().encode_request(context="a")),
    "list": partial(gcf.StreamEncoder(io.StringIO()).list, "a", [1, 2]),
    "messages": partial(cw.Session().encode_request, messages=[{"role": "user", "content": "a"}]),
    "row": partial(table().row, [1, 2]),
    "rows": partial(gcf.KeyedSet, [{"id": "a"}], key="id"),
    "symbols": partial(gcf.Payload, symbols=[gcf.Symbol("a", "function")]),
}


@pytest.mark.parametrize("name", ITERABLES)
def test_ctrl_c_ends_an_iterable_that_is_not_python_code(name: str) -> None:
    """It may be endless: signals are checked before the first item, and every now and then."""
    assert not is_finished(ITERABLES[name])
    ITERABLES[name]()


def test_a_row_that_is_too_wide_is_not_read_to_its_end() -> None:
    values = itertools.count()
    with pytest.raises(cw.GcfError, match="a row of 2 cells, found more") as caught:
        table().row(values)
    assert caught.value.code == "row_width_mismatch"
    assert next(values) == 3


def test_ctrl_c_ends_an_iterator_over_lines_without_items() -> None:
    """The signal comes while the iterator asks for chunks, and no item is due."""
    ctrl_c = partial(ctypes.CDLL(None)["raise"], int(signal.SIGINT))
    blank, lines = partial(bytes, b""), partial(bytes, b"# no node\n" * MANY)
    for chunks in ([lines, ctrl_c, lines], [ctrl_c, lines], [lines, ctrl_c, *[blank] * 9]):
        # No Python code runs between the chunks; `raise` returns 0, which is no chunk.
        source = filter(partial(operator.ne, 0), map(operator.call, chunks))
        with pytest.raises(KeyboardInterrupt):
            next(cad.iter_compact(source))


READERS = [
    "cad.load(path)",
    "next(cad.iter_compact(path))",
    "gcf.load(path)",
    "next(gcf.iter_rows(path))",
    "cw.Dictionary.load(path)",
]


@pytest.mark.parametrize("wait", ["", "writer = os.open(path, os.O_RDWR); "])
@pytest.mark.parametrize("reader", READERS)
def test_a_signal_ends_the_wait_for_a_fifo(reader: str, wait: str, tmp_path: Path) -> None:
    """Opening a FIFO waits for a writer, and reading it waits for data."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    code = (
        "import os, signal, sys; import compactwire as cw; from compactwire import cad, gcf; "
        "signal.signal(signal.SIGALRM, signal.default_int_handler); path = sys.argv[1]; "
        f"{wait}signal.setitimer(signal.ITIMER_REAL, 0.1); {reader}"
    )
    # A reader that no signal ends waits forever.
    result = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, check=False, timeout=60
    )
    assert result.stderr.strip().endswith(b"KeyboardInterrupt")


@pytest.mark.parametrize("reader", ["cad.load", "gcf.load", "cw.Dictionary.load"])
def test_a_signal_ends_the_reading_of_an_endless_file(reader: str) -> None:
    """The limit of memory ends a reader that no signal ends, with another error."""
    code = (
        "import resource, signal; import compactwire as cw; from compactwire import cad, gcf; "
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)); "
        "signal.signal(signal.SIGALRM, signal.default_int_handler); "
        f"signal.setitimer(signal.ITIMER_REAL, 0.05); {reader}('/dev/zero')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=60
    )
    assert result.stderr.strip().endswith(b"KeyboardInterrupt")


def test_a_file_of_several_pieces_is_read_whole(tmp_path: Path) -> None:
    text = json.dumps("x" * 9_000_000)  # Files are read in pieces of 8 MiB.
    (tmp_path / "file").write_text(gcf.from_json(text))
    assert gcf.load(tmp_path / "file") == json.loads(text)


@pytest.mark.parametrize("reader", READERS)
def test_a_file_at_a_path_is_closed(reader: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("C 1 1 1\n")
    names = {"cad": cad, "gcf": gcf, "cw": cw, "path": tmp_path / "file"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with contextlib.suppress(cw.CompactWireError):
            eval(reader, names)
        gc.collect()


def test_ctrl_c_waits_for_the_end_of_a_short_call() -> None:
    assert is_finished(partial(gcf.loads, gcf.dumps([1])))


def test_a_call_continues_after_a_handler_that_returns() -> None:
    handled: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: handled.append(number))
    rows: list[object] = []
    assert is_finished(partial(rows.extend, map(gcf.loads, [GCF])))
    assert (handled, rows) == ([signal.SIGINT], [ROWS])


def test_dumps_begins_again_after_a_handler_that_returns() -> None:
    handled: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: handled.append(number))
    out = io.StringIO()
    assert is_finished(partial(gcf.dump, ROWS, out))
    assert (handled, out.getvalue()) == ([signal.SIGINT], GCF)


def test_another_signal_ends_a_call_that_may_run_python_code() -> None:
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    assert not is_finished(partial(gcf.loads, GCF), signal.SIGUSR1)
    assert not is_finished(partial(gcf.to_json, GCF), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


def test_ctrl_c_ends_the_list_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their constructor is Python code, in which the handler of a signal may raise."""

    def interrupted(*args: Any, **facts: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cw.errors.CompactWireError, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cad.check("C 1\n")


@contextlib.contextmanager
def running(call: Call) -> Iterator[None]:
    """Another thread makes a call again and again."""
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            call()

    thread = threading.Thread(target=run)
    thread.start()
    yield
    stop.set()
    thread.join()


def delta_stream() -> tuple[Call, Call]:
    stream, texts = cw.DeltaStream(), itertools.cycle([TEXT, TEXT[::-1]])
    return (lambda: stream.push(next(texts))), partial(getattr, stream, "content")


def session() -> tuple[Call, Call]:
    session, texts = cw.Session(), itertools.cycle([TEXT, TEXT[::-1]])
    encode = partial(session.encode_request, pack=True)
    return (lambda: encode(context=next(texts))), partial(getattr, session, "stats")


def producer() -> tuple[Call, Call]:
    producer, sets = gcf.KeyedProducer(SET), itertools.cycle([NEXT, SET])
    return (lambda: producer.push(next(sets))), partial(getattr, producer, "last")


@pytest.mark.parametrize("make", [delta_stream, session, producer])
def test_ctrl_c_ends_the_wait_for_another_thread(make: Callable[[], tuple[Call, Call]]) -> None:
    long, short = make()
    with running(long):
        # Now and then, the call finds the other thread between two calls.
        assert not all(is_finished(short) for _ in range(5))
    assert is_finished(short)


def test_ctrl_c_ends_the_wait_for_a_stream_whose_target_blocks() -> None:
    blocked, go_on = threading.Event(), threading.Event()

    def write(text: str) -> None:
        if "1" in text:
            blocked.set()
            go_on.wait(10)  # As a socket does whose peer does not read.

    stream = gcf.StreamEncoder(write)
    stream.begin_array("t", ["a"])
    thread = threading.Thread(target=stream.row, args=[[1]])
    thread.start()
    blocked.wait()
    assert not is_finished(partial(stream.row, (2,)))
    assert not is_finished(stream.close)
    go_on.set()
    thread.join()
    stream.close()


def test_an_interrupted_session_is_unchanged() -> None:
    ours, theirs = cw.Session(), cw.Session()
    theirs.decode_request(ours.encode_request(system="Be brief.", context="Hi", pack=True))
    state = pickle.dumps(ours)
    assert not is_finished(partial(ours.encode_request, context=TEXT, pack=True))
    assert pickle.dumps(ours) == state
    request = theirs.decode_request(ours.encode_request(context=TEXT, pack=True))
    assert request.context == TEXT


def press_shortly_after_a_check(call: Call) -> None:
    """Calls while a signal is pending, within the interval after the checks of another call."""
    raise_signal = partial(ctypes.CDLL(None)["raise"], int(signal.SIGINT))
    calls: list[Call] = [partial(time.sleep, INTERVAL_SECONDS), partial(gcf.loads, GCF)]
    calls += [raise_signal, call]
    with pytest.raises(KeyboardInterrupt):
        collections.deque(map(operator.call, calls), maxlen=0)


@pytest.mark.parametrize("pack", [False, True, "bytes"])
def test_ctrl_c_during_a_short_request_leaves_the_session_unchanged(pack: Any) -> None:
    ours, theirs = cw.Session(), cw.Session()
    ours.encode_request(system="Be brief.")
    theirs.encode_request(system="Be brief.")
    states = ours.to_bytes(), theirs.to_bytes()
    context = random.Random(0).randbytes(50_000).hex()  # long, also as a packed request
    press_shortly_after_a_check(partial(ours.encode_request, context=context, pack=pack))
    frames = cw.Session().encode_request(context=context, pack=pack)
    press_shortly_after_a_check(partial(theirs.decode_request, frames))
    assert (ours.to_bytes(), theirs.to_bytes()) == states


def test_ctrl_c_during_a_short_call_leaves_a_stream_and_a_producer_unchanged() -> None:
    stream = cw.DeltaStream("Hi")
    press_shortly_after_a_check(partial(stream.push, "Hi" * 20_000))
    press_shortly_after_a_check(partial(stream.apply, "D|F|" + "Hi" * 20_000))
    assert stream.content == "Hi"
    base, rows = gcf.KeyedSet([], key="id", fields=["id"]), [{"id": n} for n in range(4000)]
    producer, new = gcf.KeyedProducer(base), gcf.KeyedSet(rows, key="id")
    press_shortly_after_a_check(partial(producer.push, new))
    assert producer.last == base


def test_the_collector_is_on_while_a_handler_runs() -> None:
    seen: list[bool] = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(gc.isenabled()))
    assert is_finished(partial(cad.from_compact, SPHERES))
    assert seen == [True]
    assert gc.isenabled()


def test_an_interrupted_bundle_leaves_nothing() -> None:
    call = bundle(MANY)
    assert not is_finished(call)
    folder = call.args[0]
    assert list(folder.parent.iterdir()) == []


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="the collector goes on while values are built, because other threads run",
)
@pytest.mark.parametrize("own", [None, (500, 5, 5)])
def test_a_signal_handler_starts_no_collection_of_what_is_being_built(
    own: tuple[int, int, int] | None,
) -> None:
    """It would visit all objects so far, which takes a second for some million."""
    collected: list[int] = []

    def collections() -> int:
        return sum(generation["collections"] for generation in gc.get_stats())

    def handle(*_: object) -> None:
        assert gc.isenabled()
        before = collections()
        kept: list[list[int]] = [[] for _ in range(MANY)]
        collected.append(collections() - before)
        del kept
        if own:
            gc.set_threshold(*own)

    thresholds = gc.get_threshold()
    signal.signal(signal.SIGINT, handle)
    try:
        assert is_finished(partial(gcf.loads, GCF))
        assert collected == [0]
        assert gc.get_threshold() == (own or thresholds)
        assert gc.isenabled()
    finally:
        gc.set_threshold(*thresholds)


def test_a_signal_handler_that_leaves_no_memory_leaves_the_collector_as_it_was() -> None:
    get_threshold = gc.get_threshold

    def fail() -> tuple[int, int, int]:
        raise MemoryError

    def handle(*_: object) -> None:
        vars(gc)["get_threshold"] = fail

    thresholds = get_threshold()
    signal.signal(signal.SIGINT, handle)
    try:
        assert is_finished(partial(gcf.loads, GCF))
        assert vars(gc)["get_threshold"] is fail
        assert get_threshold() == thresholds
    finally:
        vars(gc)["get_threshold"] = get_threshold
        gc.set_threshold(*thresholds)
