"""Every notebook runs from a clean kernel, top to bottom, and is committed with its output."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from notebooks.__main__ import paths, run

PATHS = paths()
HERE = Path(__file__).resolve().parents[2]
# Home and system folders, and the folder of this run.
FOREIGN = re.compile(
    r"/tmp/|/home/|/root/|/Users/|[A-Z]:\\\\|site-packages|ipykernel_|" + re.escape(f"{HERE}/")
)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_five_notebooks() -> None:
    assert [path.stem for path in PATHS] == [
        "01_compression_ratios",
        "02_sessions",
        "03_structured_data",
        "04_claims",
        "05_cad",
    ]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_runs_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    # A cell that raises ends the run with its error.
    kinds = [[output.output_type for output in cell.outputs] for cell in code(run(path))]
    committed = [[output.output_type for output in cell.outputs] for cell in code(read(path))]
    assert kinds == committed, "what is committed is of other cells: python -m notebooks"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_with_its_output(path: Path) -> None:
    notebook = read(path)
    cells = code(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [
        output for cell in cells for output in cell.outputs if output.output_type == "error"
    ]
    assert not [
        output for cell in cells for output in cell.outputs if output.get("name") == "stderr"
    ]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_contains_no_machine_name_and_no_time(path: Path) -> None:
    notebook = read(path)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert not [cell.metadata for cell in notebook.cells if cell.metadata]
    texts = [cell.source for cell in notebook.cells]
    for cell in code(notebook):
        for output in cell.outputs:
            texts.append(output.get("text", ""))
            texts += [text for kind, text in output.get("data", {}).items() if "text" in kind]
    assert not [text for text in texts if FOREIGN.search(text)]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_uses_only_the_public_api(path: Path) -> None:
    source = "\n".join(cell.source for cell in code(read(path)))
    assert not re.findall(r"compactwire\._\w+|from compactwire\.\w+\.\w+", source)
