"""Refuses a second import of the package in one process, which the compiled core does not support.

The core keeps the classes of the errors and others of the first import. An exception that it raises
would not be one of the second package, and `except` would not catch it.
"""

from __future__ import annotations

import sys

from . import _core

# The core adds its modules when it is first imported.
if f"{_core.__name__}.claims" not in sys.modules:
    raise ImportError(
        "compactwire was imported before, and its modules were removed from sys.modules: it cannot "
        "be imported again in this process; keep its modules, or start a new process"
    )
