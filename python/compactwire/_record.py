"""What the value types of the core do in Python: `copy.replace`.

A function of the core with `**changes` gets its dict from a constructor of PyO3 that panics if there is not enough
memory; here it is a `MemoryError`.
"""

from typing import Any


def replace(self: Any, /, **changes: Any) -> Any:
    """Return an object of the same class with some fields changed."""
    fields = {name: getattr(self, name) for name in self._fields}
    return type(self)(**(fields | changes))
