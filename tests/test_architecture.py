"""Who may import whom: a format knows no other, and nothing but the binding knows Python.

The list is the design's; a new arrow is a decision, to be made here.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
PACKAGE = ROOT / "python" / "compactwire"

LOWEST = {"limits", "position"}
RUST_ARROWS: dict[str, set[str]] = {
    "limits": set(),
    "position": set(),
    "base85": LOWEST,
    "msgpack": LOWEST,
    "compression": LOWEST,
    "compact": {"base85", "msgpack", "compression"} | LOWEST,
    "python": {"base85", "msgpack", "compression", "compact"} | LOWEST,
}
PYTHON_ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "_format": set(),
    "__init__": {"_core", "_format", "errors"},
    "_demo": {""},
    "cli": {"", "_demo"},
    "__main__": {"cli"},
}


def rust_modules() -> dict[str, list[Path]]:
    modules: dict[str, list[Path]] = {}
    for path in sorted(SOURCE.rglob("*.rs")):
        name = path.relative_to(SOURCE).parts[0].removesuffix(".rs")
        if name != "lib":
            modules.setdefault(name, []).append(path)
    return modules


def test_every_module_of_the_core_is_in_the_list() -> None:
    assert set(rust_modules()) == set(RUST_ARROWS)


@pytest.mark.parametrize("module", RUST_ARROWS)
def test_a_module_of_the_core_uses_only_what_it_may(module: str) -> None:
    used: set[str] = set()
    for path in rust_modules()[module]:
        text = path.read_text(encoding="utf-8")
        used |= set(re.findall(r"\bcrate::(\w+)", text))
        for group in re.findall(r"\bcrate::\{([^;]*)\};", text):
            used |= set(
                re.findall(r"(?:^|[,{]\s*)(\w+)(?=[:,}\s]|$)", re.sub(r"\{[^{}]*\}", "", group))
            )
    assert used - {module} <= RUST_ARROWS[module]


def test_only_the_binding_knows_python() -> None:
    knowing = {
        module
        for module, paths in rust_modules().items()
        if any("pyo3" in path.read_text(encoding="utf-8") for path in paths)
    }
    assert knowing == {"python"}


def own_imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            found |= {node.module} if node.module else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("compactwire"):
            found.add((node.module or "").removeprefix("compactwire").removeprefix("."))
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.removeprefix("compactwire").removeprefix(".")
                for alias in node.names
                if alias.name.split(".")[0] == "compactwire"
            }
    return found


def test_every_module_of_the_package_is_in_the_list() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == set(PYTHON_ARROWS)


@pytest.mark.parametrize("module", PYTHON_ARROWS)
def test_a_module_of_the_package_imports_only_what_it_may(module: str) -> None:
    assert own_imports(PACKAGE / f"{module}.py") <= PYTHON_ARROWS[module]


def test_the_reference_imports_nothing_of_the_product() -> None:
    for path in (ROOT / "tests" / "reference").glob("*.py"):
        assert "compactwire" not in re.findall(
            r"^\s*(?:from|import) (\w+)", path.read_text("utf-8"), re.M
        )
