"""A damaged pickle gives a value or an error of ours: never another exception, or a panic.

Loading a pickle calls a function with arguments, both of which it names. The tests call the
function with other arguments, as a changed pickle would.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import compactwire as cw
from compactwire.turns import Sender
from tests.package import kept

VALUES = {
    **kept.values(),
    "session": cw.Session(),
    "built-in dictionary": cw.Dictionary.default(),
    "decoded response": cw.decode(cw.encode("The answer is 42.")),
    "decoded tool call": cw.decode_tool_call(cw.encode_tool_call("search", {"q": "Lem"})),
}
OTHERS: list[Any] = [
    *(None, True, -1, 2**32, 2**70, 0.5, "", "zzz", "\ud800", b"", b"\xff" * 40, {}, object()),
    *((), ("a",), [1], ("a", {}, "b", 4)),
]


def changed(arguments: Any) -> Iterator[Any]:
    """The arguments with one of them, or one within a tuple, replaced, left out or added."""
    for at, argument in enumerate(arguments):
        before, after = arguments[:at], arguments[at + 1 :]
        yield (*before, *after)
        for other in OTHERS:
            yield (*before, other, *after)
        if type(argument) is tuple:
            yield from ((*before, inner, *after) for inner in changed(argument))
    yield (*arguments, None)


@pytest.mark.parametrize("name", VALUES)
def test_a_damaged_pickle_gives_a_value_or_an_error_of_ours(name: str) -> None:
    function, arguments, *_ = VALUES[name].__reduce_ex__(4)
    for others in changed(arguments):
        with suppress(cw.CompactWireError, TypeError):
            function(*others)


def test_a_damaged_state_of_a_sender_is_an_error_of_ours() -> None:
    state = Sender(number=3).__getstate__()
    for other in [*changed(state), *OTHERS]:
        sender = Sender()
        with suppress(cw.CompactWireError, TypeError):
            sender.__setstate__(other)
            assert isinstance(sender.session, cw.Session)
            assert sender.send(lambda turn: turn.number) > 0
