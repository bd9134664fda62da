"""Why data cannot be read as Arrow."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import UnsupportedValue


class Problem(NamedTuple):
    """Why data cannot be read as Arrow."""

    code: str
    """The code of the error."""
    column: str | None
    """The name of the column; None for a Series."""
    message: str
    """What is wrong, and what to do."""

    def error(self) -> UnsupportedValue:
        """The error for data that is not part of a value."""
        path = "$[*]" if self.column is None else f"$[*].{self.column}"
        return UnsupportedValue(
            f"{path}: {self.message}", field=path, code=self.code, path=path, line=None, column=None
        )
