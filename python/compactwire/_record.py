"""What the value types of the core do in Python: `copy.replace`.

In the core, PyO3 would make the dict of `**changes` by a constructor that panics without memory.
Here it is a `MemoryError`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def replace(self: Any, /, **changes: Any) -> Any:
    """Return an object of the same class with some fields changed."""
    fields = {name: getattr(self, name) for name in self._fields}
    return type(self)(**(fields | changes))
