"""The vectors of Compact Protocol messages."""

from __future__ import annotations

from typing import Any

import compactwire as cw

from ._compare import equal, fails

Case = dict[str, Any]


def response(case: Case) -> None:
    """A wire text, its response, and the options that write it."""
    expected = cw.Response(**case["response"])
    decoded = cw.decode(case["wire"])
    equal("the decoded response", decoded, expected)
    equal("the format of the decoded response", decoded.format, case["format"])
    equal("the detected format", cw.detect(case["wire"]), case["format"])
    equal("the inspected response", cw.inspect(case["wire"]).response, expected)
    if "encode" in case:
        wire = cw.encode(expected, format=case["format"], **case["encode"])
        equal("the encoded response", wire, case["wire"])


def bad_response(case: Case) -> None:
    """A wire text that is not a response."""
    caught = fails("decoding", lambda: cw.decode(case["wire"]), cw.CompactWireError)
    equal("the error", type(caught).__name__, case["error"])


def delta(case: Case) -> None:
    """A content, a delta, and the content after it."""
    content, expected = case["content"], case["result"]
    equal("the applied delta", cw.apply_delta(content, case["delta"]), expected)
    ours = cw.encode_delta(content, expected)
    equal("a delta of our own, applied", cw.apply_delta(content, ours), expected)


def bad_delta(case: Case) -> None:
    """A delta that cannot be applied."""
    fails("applying", lambda: cw.apply_delta(case["content"], case["delta"]), cw.DecodeError)


def base85(case: Case) -> None:
    """Bytes and their Base85 text."""
    data = bytes.fromhex(case["bytes"])
    equal("the text", cw.encode_base85(data), case["text"])
    equal("the bytes", cw.decode_base85(case["text"]), data)
