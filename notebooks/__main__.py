"""Run notebooks from a clean kernel, top to bottom, and write them back with their outputs.

    python -m notebooks [01 03 ...]

Needs the extra `test`. What is written names no machine and no time of day.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
SECONDS_PER_CELL = 120


def paths() -> list[Path]:
    """Give every notebook, in order."""
    return sorted(HERE.glob("*.ipynb"))


def run(path: Path) -> Any:
    """Run a notebook in its folder; the first cell that raises ends it with its error."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=SECONDS_PER_CELL,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        coalesce_streams=True,
    )
    client.execute()
    return notebook


def main() -> int:
    """Run the command."""
    for path in paths():
        if len(sys.argv) > 1 and not path.name.startswith(tuple(sys.argv[1:])):
            continue
        notebook = run(path)
        notebook.metadata = {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
        nbformat.write(notebook, path)
        print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
