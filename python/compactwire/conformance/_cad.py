"""The vectors of CAD: texts of both dialects, text for vcad, hybrids, bytes and numbers."""

from __future__ import annotations

import struct
from typing import Any

import compactwire as cw
from compactwire import cad

from ._compare import equal, fails, same_document

Case = dict[str, Any]

_FIELDS = ("line", "column", "path", "message")


def _is(error: Exception, expected: Case) -> None:
    facts = vars(error)
    equal("the error", {name: facts[name] for name in _FIELDS if name in facts}, expected)


def read(case: Case) -> None:
    """Compact text, and its document or error."""
    text, dialect = case["compact"], case["dialect"]
    if case["error"] is None:
        expected = cad.canonical(case["document"])
        equal("the document", cad.from_compact(text, dialect), expected, same_document)
        equal("the errors", cad.check(text, dialect=dialect), [])
        return
    caught = fails("reading", lambda: cad.from_compact(text, dialect), cad.CompactParseError)
    _is(caught, case["error"])


def write(case: Case) -> None:
    """A document, and its compact text or error."""
    options = {name: case[name] for name in ("names", "lossy")}
    _written(case, lambda: cad.to_compact(case["document"], case["dialect"], **options))


def target(case: Case) -> None:
    """A document, and its text for the public program, or the error."""
    options = {name: case[name] for name in ("target", "names", "lossy")}
    _written(case, lambda: cad.to_compact(case["document"], **options))
    if case["error"] is None:
        found = cad.from_compact(case["compact"])
        equal(
            "the text read back", cad.canonical(found), cad.canonical(case["read"]), same_document
        )
    if case["losses"] is not None:
        losses = cad.losses(case["document"], "0.2", target="vcad")
        equal("the losses", losses, case["losses"])


def _written(case: Case, call: Any) -> None:
    if case["error"] is None:
        equal("the text", call(), case["compact"])
    else:
        _is(fails("writing", call, cad.DocumentError), case["error"])


def hybrid(case: Case) -> None:
    """A hybrid, and its document or error."""
    if case["error"] is None:
        found = cad.from_hybrid(case["hybrid"])
        equal("the document", found, cad.canonical(case["document"]), same_document)
        return
    caught = fails("reading", lambda: cad.from_hybrid(case["hybrid"]), cw.CompactWireError)
    _is(caught, case["error"])


def binary(case: Case) -> None:
    """A document and its bytes, or bytes that are no document."""
    data = bytes.fromhex(case["hex"])
    if case["document"] is None:
        fails("reading", lambda: cad.from_binary(data), cad.BinaryError)
        return
    equal("the bytes", cad.to_binary(case["document"]), data)
    expected = cad.canonical(case["document"])
    equal("the document", cad.from_binary(data), expected, same_document)


def number(case: Case) -> None:
    """A double and its text."""
    (expected,) = struct.unpack(">d", bytes.fromhex(case["bits"]))
    document = cad.from_compact(f"S {case['text']}")
    radius = document["nodes"]["0"]["op"]["radius"]
    equal("the bits", struct.pack(">d", radius).hex(), case["bits"])
    document["nodes"]["0"]["op"]["radius"] = expected
    equal("the text", cad.to_compact(document), f"S {case['text']}")
