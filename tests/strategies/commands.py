"""The command `compactwire` in a child process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "compactwire", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False)
