"""The DSL: v2 section 2 "Compact DSL" and v4 section 3 "DSL Format".

    RES|{status}|{model}|{tokens}|{result}

The first four bars separate fields; the rest is the result, kept to the last character. The number
has one or more ASCII digits; leading zeros are allowed.

    >>> decode_dsl("RES|OK|G3|0|a|b|c").result
    'a|b|c'
"""

from __future__ import annotations

from .errors import EncodeError, InvalidFormat, excerpt
from .values import MAX_TOKENS, Response, status_from, status_text


def number_from(digits: str, largest: int) -> int | None:
    """The number of ASCII digits, None if the text is not such a number or is above `largest`."""
    if not digits or any(char not in "0123456789" for char in digits):
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > len(str(largest)) or int(digits) > largest:
        return None
    return int(digits)


def decode_dsl(text: str) -> Response:
    parts = text.split("|", 4)
    if len(parts) < 5:
        raise InvalidFormat(f"a DSL response has five parts, this one {len(parts)}")
    _, status_part, model, tokens_part, result = parts
    status = status_from(status_part)
    if status is None:
        raise InvalidFormat(f"unknown status {excerpt(status_part)}")
    tokens = number_from(tokens_part, MAX_TOKENS)
    if tokens is None:
        raise InvalidFormat(f"tokens must be digits, at most 2^63-1, not {excerpt(tokens_part)}")
    return Response(result, model, status, tokens, format="dsl")


def fits_dsl(model: str) -> bool:
    return "|" not in model and "\n" not in model


def encode_dsl(response: Response, protocol: int) -> str:
    if not fits_dsl(response.model):
        raise EncodeError("a model with a bar or a newline cannot travel in the DSL")
    status = status_text(response.status, protocol)
    return f"RES|{status}|{response.model}|{response.tokens}|{response.result}"
