"""GCB and JSON; import `compactwire.wire` instead."""

from collections.abc import Iterable

from .graph import Payload

__all__ = ["decode_gcb", "decode_json", "encode_gcb", "encode_json"]

def encode_gcb(payload: Payload, /, *, lossy: Iterable[str] | None = None) -> bytes:
    """Write a payload as GCB.

    Parameters
    ----------
    payload : Payload
        The payload.
    lossy : set of str, optional
        What may be lost: "ids" (words without an id become empty), "pack_root", "location",
        "distance" (the lowest byte is kept), "precision" (numbers are rounded to binary32),
        "duplicates" (an edge goes to the last symbol of a name), "dangling" (edges without an end
        are left out) or "dangling_zero" (they go to the first symbol).

    Returns
    -------
    bytes
        Version 1.

    Raises
    ------
    WireError
        With the path to what the layout cannot carry.

    Source: wire codecs, "Binary Wire Layout".
    """

def decode_gcb(
    data: bytes | bytearray | memoryview,
    /,
    *,
    lossy: Iterable[str] | None = None,
    raw_float32: bool = False,
) -> Payload:
    """Read GCB.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        Version 1. Text is a `TypeError`, not a guess.
    lossy : set of str, optional
        "ids" reads an id without a word as "unknown_N", "duplicates" allows edges to symbols whose
        name another has.
    raw_float32 : bool
        Whether numbers are the widened binary32 (0.7799999713897705), not the shortest decimal that
        rounds to it (0.78).

    Returns
    -------
    Payload
        The payload.

    Raises
    ------
    WireError
        With the offset of what is wrong.

    Source: wire codecs, "Binary Wire Layout".
    """

def encode_json(payload: Payload, /, *, compact: bool = False, html_escape: bool = False) -> str:
    """Write a payload as JSON.

    Parameters
    ----------
    payload : Payload
        The payload; all of it is carried.
    compact : bool
        Whether there is no white space; else members stand one a line.
    html_escape : bool
        Whether "<", ">", "&", U+2028 and U+2029 are escaped.

    Returns
    -------
    str
        The text.

    Raises
    ------
    WireError
        `not_finite`, with the path to the number.

    Source: wire codecs, "Built-In Codecs".
    """

def decode_json(text: str | bytes | bytearray | memoryview, /) -> Payload:
    """Read a payload of JSON.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        RFC 8259; bytes are UTF-8. Missing members are empty or 0, unknown ones are ignored.

    Returns
    -------
    Payload
        The payload.

    Raises
    ------
    WireError
        `invalid_json` with the offset, `invalid_member` with the path.

    Source: wire codecs, "Built-In Codecs".
    """
