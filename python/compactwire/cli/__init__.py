"""The command ``compactwire``.

``decode`` writes exactly the bytes that ``encode`` has read. Input is a file or standard input,
output is a file or standard output, and both are UTF-8 on every platform. Invalid input ends with
one line on standard error and exit code 1, wrong usage with exit code 2; ``verify`` has the exit
codes of its report.

Each system adds its commands from its own module; ``_main`` collects them, and ``_shell`` has the
functions that they share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: ``sys.argv``) and return the exit code."""
    try:
        # Imported here because it takes a while, in which Ctrl-C must not show a traceback either.
        from ._main import run

        return run(argv)
    except KeyboardInterrupt:
        return _INTERRUPTED
