"""The outcome of a call as a value that two implementations can be compared by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import compactwire as cw


def result_or_error(call: Callable[..., object], *arguments: object, **options: Any) -> Any:
    """The result of `call`, or the class of the `CompactWireError` that it raises."""
    try:
        return call(*arguments, **options)
    except cw.CompactWireError as error:
        return type(error)
