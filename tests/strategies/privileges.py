"""A user without permission to read everything."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """Run as a user without permission to read everything; root becomes the user `nobody`."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
