"""Prints the section of CHANGELOG.md for a version: the notes of its release.

python .ci/notes.py v0.1.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def main() -> int:
    """Print the section; return the exit code."""
    version = sys.argv[1].removeprefix("v")
    parts = re.split(r"^## (\S+).*\n", CHANGELOG.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if version not in sections:
        print(f"CHANGELOG.md has no section for {version}: add one", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(sections[version].strip().encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
