"""The product against the independent reference in `tests/reference`, in both directions.

On every input both give the same value, or both an error of the same class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import compactwire as cw
import hypothesis.strategies as st
import pytest
from hypothesis import assume, given

from . import reference as ref
from . import strategies as some

FIELDS = (
    "result",
    "model",
    "status",
    "tokens",
    "model_name",
    "returncode",
    "reasoning_effort",
    "ultrathink",
)
# What `decode` always knows, for the reference: it is found by its id, and by no name.
KNOWN = [("small", some.SMALL_BYTES)]

TEXTUAL = ("verbose", "dsl", "binary", "base85")


def fields(response: cw.Response | ref.Response) -> dict[str, Any]:
    return {name: getattr(response, name) for name in FIELDS}


def travelled(response: cw.Response | ref.Response) -> dict[str, Any]:
    return {**fields(response), "format": response.format, "version": response.version}


def to_reference(response: cw.Response) -> ref.Response:
    return ref.Response(**fields(response))


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    """The value, or the name of the error's class."""
    try:
        value = call()
    except cw.CompactWireError as error:
        return "error", type(error).__name__
    except ref.ReferenceError_ as error:
        return "error", error.kind
    if isinstance(value, (cw.Response, ref.Response)):
        return "response", travelled(value)
    return "value", value


def ref_decode(wire: str, **options: Any) -> ref.Response:
    return ref.decode(wire, dictionaries=KNOWN, **options)


@some.share(1)
@given(some.HOSTILE_WIRES)
def test_hostile_wires_have_the_same_outcome(wire: str) -> None:
    assert outcome(lambda: decode(wire)) == outcome(lambda: ref_decode(wire))
