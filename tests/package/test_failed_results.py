"""A call that has no memory for its result changes nothing."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import pytest

import compactwire as cw
from compactwire import gcf
from tests.package.calls import NEXT, PAYLOAD, SET

testcapi = pytest.importorskip("_testcapi", reason="NOT RUN: this Python has no _testcapi")
pytestmark = pytest.mark.skipif(
    platform.python_implementation() != "CPython", reason="NOT RUN: needs CPython"
)

TOOL = {"name": "t", "about": "x" * 600}
GRAPH = cw.Session().encode_graph(PAYLOAD)
TEXT = "A text that is no small string of the interpreter. " * 20


def asked(session: cw.Session) -> cw.Session:
    session.encode_request(tool=TOOL, system="old", context=TEXT, pack=True)
    return session


def peer(pack: Any) -> tuple[cw.Session, Any]:
    """A session, and the second request of another one for it."""
    ours, theirs = cw.Session(), cw.Session()
    theirs.decode_request(ours.encode_request(tool=TOOL, context=TEXT, pack=pack))
    return theirs, ours.encode_request(system=TEXT, context=TEXT + "more", pack=pack)


def encoding(pack: Any) -> tuple[Any, Callable[[cw.Session], object]]:
    return asked(cw.Session()), lambda session: session.encode_request(
        tool=TOOL, system=TEXT, context=TEXT + "more", pack=pack
    )


def decoding(pack: Any) -> tuple[Any, Callable[[cw.Session], object]]:
    session, request = peer(pack)
    return session, lambda session: session.decode_request(request)


def encoding_a_graph() -> tuple[Any, Callable[[cw.Session], object]]:
    return cw.Session(), lambda session: session.encode_graph(PAYLOAD)


def encoding_a_set() -> tuple[Any, Callable[[cw.Session], object]]:
    return cw.Session(), lambda session: session.encode_keyed(SET)


def decoding_a_graph(text: str) -> tuple[Any, Callable[[cw.Session], object]]:
    return cw.Session(), lambda session: session.decode_graph(text)


def decoding_a_set() -> tuple[Any, Callable[[cw.Session], object]]:
    text = cw.Session().encode_keyed(SET)
    return cw.Session(), lambda session: session.decode_keyed(text)


def state(holder: Any) -> object:
    if isinstance(holder, cw.Session):
        return holder.to_bytes(), holder.stats
    return holder.content if isinstance(holder, cw.DeltaStream) else holder.last


CASES: dict[str, Callable[[], tuple[Any, Callable[[Any], object]]]] = {
    "frames": lambda: encoding(False),
    "packed": lambda: encoding(True),
    "packed bytes": lambda: encoding("bytes"),
    "decode frames": lambda: decoding(False),
    "decode packed": lambda: decoding(True),
    "encode_graph": encoding_a_graph,
    "encode_keyed": encoding_a_set,
    "decode_graph": lambda: decoding_a_graph(GRAPH),
    "decode_graph, warnings": lambda: decoding_a_graph(GRAPH + "## unknown\n"),
    "decode_keyed": decoding_a_set,
    "apply": lambda: (cw.DeltaStream(TEXT), lambda stream: stream.apply("D|R|9|other text")),
    "apply an addition": lambda: (cw.DeltaStream(TEXT), lambda stream: stream.apply("D|+|more")),
    "push": lambda: (cw.DeltaStream(TEXT), lambda stream: stream.push(TEXT[::-1])),
    "KeyedProducer": lambda: (gcf.KeyedProducer(SET), lambda producer: producer.push(NEXT)),
}


@pytest.mark.filterwarnings("ignore:the unknown group")
@pytest.mark.parametrize("name", CASES)
def test_without_memory_for_its_result_a_call_changes_nothing(name: str) -> None:
    """Each request of the interpreter for memory fails once."""
    holder, call = CASES[name]()
    before = state(holder)
    for number in range(200):
        testcapi.set_nomemory(number, number + 1)
        try:
            call(holder)
        except MemoryError:
            failed = True
        else:
            failed = False
        finally:
            testcapi.remove_mem_hooks()
        if not failed and number > 50:
            break
        if failed:
            assert state(holder) == before
        else:
            holder, call = CASES[name]()
    assert state(holder) != before
