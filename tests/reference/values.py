"""The response as a value, with the status and model codes of v2 section 2 "Compact DSL", the
integers of v2 section 3 "Integer Mappings" and the codes of v4 section 3 "DSL Format".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .errors import EncodeError, InvalidFormat

DEFAULT_MAX_SIZE = 64 * 1024 * 1024
MAX_TOKENS = 2**63 - 1

WHITESPACE = "\t\n\f\r "
BYTE_ORDER_MARK = "\ufeff"

# The index in the tuple is the integer of the MessagePack layouts 2 and 3.
STATUSES = ("OK", "ERR", "PART", "STREAM")
MODELS_V2 = ("G3", "C4", "X5", "OL", "AD", "SE")
MODELS_V4 = ("C4", "C45", "CS", "CH", "G3", "G4", "G5", "O4")

CODE_IN_NAME = (
    ("gemini", "G3"),
    ("claude", "C4"),
    ("codex", "X5"),
    ("gpt", "X5"),
    ("ollama", "OL"),
    ("adam", "AD"),
    ("seele", "SE"),
)

Version = Literal[1, 2, 3, "map"]
# The bytes of a zstd dictionary, or these with a name.
Dictionary = bytes | tuple[str, bytes]


def skip_blank(text: str) -> str:
    """The text after leading white space and byte order mark."""
    return text.lstrip(WHITESPACE).removeprefix(BYTE_ORDER_MARK).lstrip(WHITESPACE)


@dataclass(frozen=True)
class Response:
    """`format` and `version` are those of the decoded message; equality ignores them. `version` is
    the MessagePack layout, None without one."""

    result: str
    model: str = ""
    status: str = "OK"
    tokens: int = 0
    model_name: str | None = field(default=None, kw_only=True)
    returncode: int | None = field(default=None, kw_only=True)
    reasoning_effort: str | None = field(default=None, kw_only=True)
    ultrathink: bool | None = field(default=None, kw_only=True)
    format: str | None = field(default=None, kw_only=True, compare=False)
    version: Version | None = field(default=None, kw_only=True, compare=False)


def status_from(text: str) -> str | None:
    """The status that `text` spells in v2 or v4, None for anything else."""
    if text == "PARTIAL":
        return "PART"
    return text if text in STATUSES else None


def status_text(status: str, protocol: int) -> str:
    return "PARTIAL" if status == "PART" and protocol == 4 else status


def model_code(name: str) -> str:
    """The code for a model's name; a name without a code is its own code."""
    if name in MODELS_V2 or name in MODELS_V4:
        return name
    for part, code in CODE_IN_NAME:
        if part in name.lower():
            return code
    return name


def is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_unicode(text: str) -> bool:
    """Whether the text has no lone surrogate."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def require_unicode(text: str) -> None:
    if not is_unicode(text):
        raise InvalidFormat("the text has a lone surrogate")


def check_text(value: object, name: str) -> None:
    if not isinstance(value, str) or not is_unicode(value):
        raise EncodeError(f"{name} must be text without lone surrogates")


def check_response(response: Response) -> None:
    """Check what every format requires of a response."""
    check_text(response.result, "result")
    check_text(response.model, "model")
    if response.status not in STATUSES:
        raise EncodeError(f"status must be one of {', '.join(STATUSES)}")
    if not is_integer(response.tokens) or not 0 <= response.tokens <= MAX_TOKENS:
        raise EncodeError("tokens must be an integer from 0 to 2^63-1")
