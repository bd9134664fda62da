"""Errors of producers of Arrow, which are no errors about types."""

from __future__ import annotations

from typing import Any

from .._texts import one_line
from ..errors import CompactWireError


def raise_of_producer(source: Any, error: Exception) -> None:
    """Raise what a producer in Python raised, of which pyarrow has the text only, or `MemoryError`.

    Return if the error is pyarrow's own.
    """
    if isinstance(error, MemoryError):  # That of pyarrow is an `ArrowException`, too.
        raise error
    text = str(error)
    if "Python exception: " not in text:
        return
    last = text.rstrip().splitlines()[-1]
    if last.partition(":")[0] == KeyboardInterrupt.__name__:
        raise KeyboardInterrupt from error
    raise CompactWireError(
        f"reading this {type(source).__name__} failed: {one_line(last[:200])}"
    ) from error
