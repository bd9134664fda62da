"""Base85: v2 section 4 "Base85". `docs/design.md` says which texts are errors.

Four bytes, big-endian, are one number below 2^32, written as five digits to the base of 85. The
last one to three bytes are filled up with zeros, and of their five digits the first two to four are
kept. Reading fills a short last group up with the highest digit, 84, and keeps one byte less than
it has characters.

    >>> encode_base85(b"abcd"), decode_base85("VPa.s")
    ('VPa.s', b'abcd')
    >>> encode_base85(b"a"), decode_base85("VE")
    ('VE', b'a')
"""

from __future__ import annotations

from .errors import InvalidBase85Char, InvalidBase85Length, InvalidBase85Value

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.-:+=^!/*?&<>()[]{}@%$#"
DIGIT_OF = {char: digit for digit, char in enumerate(ALPHABET)}


def encode_base85(data: bytes) -> str:
    text = ""
    for start in range(0, len(data), 4):
        group = data[start : start + 4]
        value = int.from_bytes(group + bytes(4 - len(group)), "big")
        digits = [value // 85**power % 85 for power in (4, 3, 2, 1, 0)]
        text += "".join(ALPHABET[digit] for digit in digits[: len(group) + 1])
    return text


def decode_base85(text: str) -> bytes:
    """The bytes of `text`, in which nothing is skipped, not even whitespace."""
    # A non-ASCII character is an invalid character, and that is the error to report.
    if text.isascii() and len(text) % 5 == 1:
        raise InvalidBase85Length(len(text))
    data = bytearray()
    for start in range(0, len(text), 5):
        group = text[start : start + 5]
        digits = []
        for position, char in enumerate(group, start):
            if char not in DIGIT_OF:
                raise InvalidBase85Char(char, position)
            digits.append(DIGIT_OF[char])
        digits += [84] * (5 - len(digits))
        value = 0
        for digit in digits:
            value = value * 85 + digit
        if value >= 2**32:  # the v2 algorithm wraps around here; `docs/design.md` makes it an error
            raise InvalidBase85Value(start)
        data += value.to_bytes(4, "big")[: len(group) - 1]
    return bytes(data)
