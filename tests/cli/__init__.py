"""Tests of the command line; those of a single command are in its own file."""

from __future__ import annotations

from pathlib import Path

import pytest

from compactwire.cli import main


def message_about(
    path: Path, content: bytes, captured: pytest.CaptureFixture[str], *command: str
) -> str:
    """The error of a command for a file with this content: one line, here without the path."""
    path.write_bytes(content)
    code = main([*command, str(path)])
    out, error = captured.readouterr()
    assert (code, out, error.count("\n")) == (1, "", 1)
    start = f"compactwire: error: {path}: "
    assert error.startswith(start)
    return error.removeprefix(start)
