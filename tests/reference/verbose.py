"""Verbose responses: v2 section 1 "Verbose (JSON)".

    {"model":"gemini","returncode":0,"response":"Hello"}

`model`, `returncode` and `response` are required; `reasoning_effort`, `ultrathink`, `status` and
`tokens` are not; all others are ignored. An invalid member is InvalidFormat; MissingField is for an
object in which everything else is valid, and names the first missing member in the order above.
"""

from __future__ import annotations

import json

from .errors import EncodeError, InvalidFormat, MissingField
from .values import (
    MAX_TOKENS,
    MODELS_V2,
    MODELS_V4,
    Response,
    check_text,
    is_integer,
    is_unicode,
    model_code,
    status_from,
    status_text,
)

MAX_DEPTH = 128
MIN_RETURNCODE, MAX_RETURNCODE = -(2**63), 2**63 - 1


class _Other:
    """A JSON value that no member of a response accepts: a fraction, a huge integer, an array, an
    inner object."""


class _Object(_Other):
    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs


def status_of_returncode(returncode: int) -> str:
    return "OK" if returncode == 0 else "ERR"


def returncode_of_status(status: str) -> int:
    return 1 if status == "ERR" else 0


def _require_shallow(text: str) -> None:
    """Refuse nesting deeper than 128 inside the object, before a recursive parser sees it."""
    depth = 0
    in_string = False
    escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            if depth > 1 + MAX_DEPTH:
                raise InvalidFormat(f"the JSON text is nested deeper than {MAX_DEPTH}")
        elif char in "]}":
            depth -= 1


def _integer(digits: str) -> int | _Other:
    # The longest number in range has 19 digits and a sign.
    return int(digits) if len(digits) <= 20 else _Other()


def _not_json(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _members(text: str) -> dict[str, object]:
    _require_shallow(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_Object,
            parse_int=_integer,
            parse_float=lambda _: _Other(),
            parse_constant=_not_json,
        )
    except ValueError as error:
        raise InvalidFormat(f"not JSON: {error}") from None
    assert isinstance(value, _Object)  # the text starts with a brace
    members: dict[str, object] = {}
    for name, member in value.pairs:
        if not is_unicode(name):
            raise InvalidFormat("the name of a member has a lone surrogate")
        if name in members:
            raise InvalidFormat(f"the member {name[:40]!r} is there twice")
        members[name] = member
    return members


def _take_text(members: dict[str, object], name: str) -> str | None:
    if name not in members:
        return None
    value = members[name]
    if not isinstance(value, str) or not is_unicode(value):
        raise InvalidFormat(f"{name!r} must be text")
    return value


def _take_integer(members: dict[str, object], name: str, low: int, high: int) -> int | None:
    if name not in members:
        return None
    value = members[name]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidFormat(f"{name!r} must be an integer from {low} to {high}")
    return value


def decode_verbose(text: str) -> Response:
    members = _members(text)
    for name in ("reasoning_effort", "ultrathink"):  # null means not set
        if name in members and members[name] is None:
            del members[name]

    name_of_model = _take_text(members, "model")
    returncode = _take_integer(members, "returncode", MIN_RETURNCODE, MAX_RETURNCODE)
    result = _take_text(members, "response")
    reasoning_effort = _take_text(members, "reasoning_effort")
    ultrathink = members.get("ultrathink")
    if ultrathink is not None and not isinstance(ultrathink, bool):
        raise InvalidFormat("'ultrathink' must be true or false")
    status_member = _take_text(members, "status")
    explicit_status = None if status_member is None else status_from(status_member)
    if status_member is not None and explicit_status is None:
        raise InvalidFormat(f"unknown status {status_member[:40]!r}")
    tokens = _take_integer(members, "tokens", 0, MAX_TOKENS)

    if name_of_model is None:
        raise MissingField("model")
    if returncode is None:
        raise MissingField("returncode")
    if result is None:
        raise MissingField("response")

    status = explicit_status or status_of_returncode(returncode)
    model, model_name = model_and_name(name_of_model)
    return Response(
        result,
        model,
        status,
        tokens or 0,
        model_name=model_name,
        returncode=None if returncode == returncode_of_status(status) else returncode,
        reasoning_effort=reasoning_effort,
        ultrathink=ultrathink,
        format="verbose",
    )


def model_and_name(member: str) -> tuple[str, str | None]:
    """The code in the member `model`, and the name unless it is an exact code or empty."""
    code = model_code(member)
    if member == "" or member in MODELS_V2 or member in MODELS_V4:
        return code, None
    return code, member


def encode_verbose(response: Response, protocol: int) -> str:
    """The members in this order: model, returncode, response, reasoning_effort, ultrathink, status,
    tokens."""
    name = response.model
    if response.model_name is not None:
        check_text(response.model_name, "model_name")
        name = response.model_name
        if response.model != "" and model_code(name) != response.model:
            raise EncodeError("model_name is the name of another model")

    returncode = returncode_of_status(response.status)
    if response.returncode is not None:
        returncode = response.returncode
        if not is_integer(returncode) or not MIN_RETURNCODE <= returncode <= MAX_RETURNCODE:
            raise EncodeError("returncode must be an integer from -2^63 to 2^63-1")

    members: dict[str, object] = {
        "model": name,
        "returncode": returncode,
        "response": response.result,
    }
    if response.reasoning_effort is not None:
        check_text(response.reasoning_effort, "reasoning_effort")
        members["reasoning_effort"] = response.reasoning_effort
    if response.ultrathink is not None:
        if not isinstance(response.ultrathink, bool):
            raise EncodeError("ultrathink must be True or False")
        members["ultrathink"] = response.ultrathink
    if response.status != status_of_returncode(returncode):
        members["status"] = status_text(response.status, protocol)
    if response.tokens != 0:
        members["tokens"] = response.tokens
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))
