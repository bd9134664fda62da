"""GCB and JSON; import `compactwire.wire` instead."""

from collections.abc import Iterable

from .graph import Payload

__all__ = ["decode_gcb", "decode_json", "encode_gcb", "encode_json"]

def encode_gcb(payload: Payload, /, *, lossy: Iterable[str] | None = None) -> bytes:
    """Encode a payload as GCB.

    Parameters
    ----------
    payload : Payload
        The payload.
    lossy : set of str, optional
        The losses that are allowed instead of an error: "ids" (words without an id become empty),
        "pack_root", "location", "distance" (only the lowest byte is kept), "precision" (numbers are
        rounded to binary32), "duplicates" (an edge refers to the last symbol of its name),
        "dangling" (edges to missing symbols are dropped) or "dangling_zero" (edges to missing
        symbols refer to the first symbol).

    Returns
    -------
    bytes
        GCB version 1.

    Raises
    ------
    WireError
        GCB cannot represent the payload; `path` is the path of the value.

    Source: wire codecs, "Binary Wire Layout".
    """

def decode_gcb(
    data: bytes | bytearray | memoryview,
    /,
    *,
    lossy: Iterable[str] | None = None,
    raw_float32: bool = False,
) -> Payload:
    """Decode GCB.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        GCB version 1. A str raises `TypeError`.
    lossy : set of str, optional
        "ids" decodes an unknown id as "unknown_N"; "duplicates" allows edges to symbols whose name
        is not unique.
    raw_float32 : bool
        Whether numbers are the exact values of the binary32 (0.7799999713897705) rather than the
        shortest decimals that round to it (0.78).

    Returns
    -------
    Payload
        The payload.

    Raises
    ------
    WireError
        The bytes are invalid; `offset` is the position of the error.

    Source: wire codecs, "Binary Wire Layout".
    """

def encode_json(
    payload: Payload,
    /,
    *,
    compact: bool = False,
    html_escape: bool = False,
    max_expansion: int = 268435456,
) -> str:
    """Encode a payload as JSON.

    Parameters
    ----------
    payload : Payload
        The payload; JSON contains all of it.
    compact : bool
        Whether to omit white space; otherwise each member is on its own line.
    html_escape : bool
        Whether "<", ">", "&", U+2028 and U+2029 are escaped.
    max_expansion : int
        The largest size in bytes of the names of all edges, which the text contains once per edge;
        256 MiB by default.

    Returns
    -------
    str
        The text.

    Raises
    ------
    WireError
        `not_finite`: a number is NaN or infinite; `path` is its path. `too_large`: the names of the
        edges take more than `max_expansion`.

    Source: wire codecs, "Built-In Codecs".
    """

def decode_json(text: str | bytes | bytearray | memoryview, /) -> Payload:
    """Decode a payload from JSON.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        JSON as in RFC 8259; bytes are UTF-8. Missing members default to empty or 0, unknown members
        are ignored; an object without any member of a payload is an error.

    Returns
    -------
    Payload
        The payload.

    Raises
    ------
    WireError
        `invalid_json` or `invalid_utf8` with `offset`, or `invalid_member` with `path`.

    Source: wire codecs, "Built-In Codecs".
    """
