"""Deltas: v2 "Streaming Delta Protocol" and part 2 "Conversation Delta Encoding".

    D|F|text        the content becomes text
    D|+|text        text is added at the end
    D|R|pos|text    text is written over the content from the code point pos
    D|Z|data        Base85(zlib or gzip of another delta), or the old server's Base64(gzip of it)
    D|ZF|data       Base85(zlib or gzip of text), likewise D|Z+|; in D|ZR| of pos|text

A delta is read literally: nothing before `D|` is skipped and nothing after it is stripped.

    >>> apply_delta("Hello, world!", "D|R|7|World")
    'Hello, World!'
"""

from __future__ import annotations

from .base64_strict import decode_base64
from .base85 import decode_base85, encode_base85
from .compression import compress_zlib, decompress_zlib_or_gzip
from .dsl import number_from
from .errors import InvalidFormat, excerpt
from .values import DEFAULT_MAX_SIZE, check_text, require_unicode, skip_blank

# The first characters of a gzip member in Base64.
BASE64_OF_GZIP = "H4sI"


def apply_delta(
    content: str,
    delta: str,
    *,
    replace: str = "overwrite",
    max_size: int = DEFAULT_MAX_SIZE,
) -> str:
    """The new content. `replace="truncate"` is the behaviour of the v2 clients, which drop the text
    after an R."""
    if replace not in ("overwrite", "truncate"):
        raise ValueError("replace must be 'overwrite' or 'truncate'")
    op, data = read_delta(delta, max_size)
    return change(content, op, data, replace)


def read_delta(delta: str, max_size: int) -> tuple[str, str]:
    """The operation of an unpacked delta, F, + or R, and its data."""
    require_unicode(delta)
    op, data = _split(skip_blank(delta))
    if op == "Z":
        encoded_by = decode_base64 if data.startswith(BASE64_OF_GZIP) else decode_base85
        compressed = encoded_by(data)
        # The content must be an uncompressed delta: a Z inside a Z is an error.
        op, data = _split(_inflate(compressed, max_size))
    elif op in ("ZF", "Z+", "ZR"):
        op, data = op[1], _inflate(decode_base85(data), max_size)
    if op not in ("F", "+", "R"):
        raise InvalidFormat(f"unknown operation {excerpt(op)} of a delta")
    return op, data


def change(content: str, op: str, data: str, replace: str = "overwrite") -> str:
    """The content after the operation that `read_delta` returned."""
    if op == "F":
        return data
    if op == "+":
        return content + data
    return _write_over(content, data, replace)


def _split(delta: str) -> tuple[str, str]:
    """The operation and its data."""
    parts = delta.split("|", 2)
    if len(parts) < 3 or parts[0] != "D":
        raise InvalidFormat(f"not a delta: {excerpt(delta)}")
    return parts[1], parts[2]


def _inflate(compressed: bytes, max_size: int) -> str:
    try:
        return decompress_zlib_or_gzip(compressed, max_size).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidFormat("the decompressed delta is not UTF-8") from None


def _write_over(content: str, data: str, replace: str) -> str:
    digits, bar, text = data.partition("|")
    if not bar:
        raise InvalidFormat("a replacing delta needs a position and a text")
    position = number_from(digits, len(content))
    if position is None:
        raise InvalidFormat(f"{excerpt(digits)} is no position from 0 to {len(content)}")
    kept = "" if replace == "truncate" else content[position + len(text) :]
    return content[:position] + text + kept


def encode_delta(old: str, new: str) -> str:
    """The delta of the fewest UTF-8 bytes that turns `old` into `new`; of equally short ones the
    first of F, +, R and then the compressed ones in the same order."""
    check_text(old, "the old content")
    check_text(new, "the new content")
    if old == new:
        return "D|+|"
    plain = encode_plain_delta(old, new)
    packed = ["D|Z|" + encode_base85(compress_zlib(delta.encode("utf-8"))) for delta in plain]
    return min(plain + packed, key=lambda delta: len(delta.encode("utf-8")))


def encode_plain_delta(old: str, new: str) -> list[str]:
    """Every uncompressed delta."""
    plain = [f"D|F|{new}"]
    if new.startswith(old):
        plain.append(f"D|+|{new[len(old) :]}")
    if _covers(new, old):
        position = _common_ascii_prefix(old, new)
        plain.append(f"D|R|{position}|{new[position:]}")
    return plain


def _covers(new: str, old: str) -> bool:
    """Whether `new` is at least as long as `old` in code points, in bytes and in UTF-16 units. Then
    a text that overwrites the old one after a common ASCII prefix replaces all of it, whichever
    unit the reader counts."""
    return (
        len(new) >= len(old)
        and len(new.encode("utf-8")) >= len(old.encode("utf-8"))
        and len(new.encode("utf-16-le")) >= len(old.encode("utf-16-le"))
    )


def _common_ascii_prefix(one: str, other: str) -> int:
    length = 0
    for char, other_char in zip(one, other, strict=False):
        if char != other_char or not char.isascii():
            break
        length += 1
    return length
