"""Base64: v2 section 3 "Binary", which only names it; RFC 4648 section 4 defines it.

Standard alphabet, padding required, nothing skipped. The unused bits of the last symbol are
ignored.
"""

from __future__ import annotations

import base64
import string

from .errors import InvalidBase64

ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"


def encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def decode_base64(text: str) -> bytes:
    bits = 0
    data = bytearray()
    padding = 0
    for position, char in enumerate(text):
        place = position % 4
        if padding:
            # After the first `=` only a second one may follow, and only to complete the group.
            if char != "=" or place != 3 or padding != 1:
                raise InvalidBase64(position)
            padding = 2
        elif char == "=":
            if place < 2:
                raise InvalidBase64(position)
            padding = 1
        elif char in ALPHABET:
            bits = bits * 64 + ALPHABET.index(char)
        else:
            raise InvalidBase64(position)
        if place == 3:
            data += (bits << 6 * padding).to_bytes(3, "big")[: 3 - padding]
            bits = 0
    if len(text) % 4:
        raise InvalidBase64(len(text))
    return bytes(data)
