"""Writes the docstrings of the compiled module into its stubs.

Docstrings are written once, in Rust. Signatures and types of `python/compactwire/_core/*.pyi` are
written by hand; the docstrings of their modules, classes, functions, methods and properties are
copied from the compiled module by this command:

    python .ci/stubs.py          # after a docstring in Rust has changed and the module is built
    python .ci/stubs.py --check  # changes nothing; fails if a stub differs

Names that begin with an underscore get no docstring. Of several overloads, only the first gets one.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

STUBS = Path(__file__).parents[1] / "python" / "compactwire" / "_core"

Documented = ast.Module | ast.ClassDef | ast.FunctionDef


def main() -> int:
    """Update or check every stub; return the exit code."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="only fail if a stub differs")
    check = arguments.parse_args().check
    exit_code = 0
    for stub in sorted(STUBS.glob("*.pyi")):
        before = stub.read_text(encoding="utf-8")
        name = "compactwire._core" + ("" if stub.stem == "__init__" else f".{stub.stem}")
        after = rendered(before, importlib.import_module(name))
        if before == after:
            continue
        if check:
            lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
            sys.stdout.writelines(difflib.unified_diff(*lines, str(stub), "rendered from Rust"))
            exit_code = 1
        else:
            stub.write_text(after, encoding="utf-8")
    return exit_code


def rendered(stub: str, module: object) -> str:
    """Return the text of a stub with the docstrings of `module`."""
    lines = stub.splitlines()
    # From the last to the first, so that the numbers of the lines above stay right.
    for node, thing in reversed(list(documented(ast.parse(stub), module))):
        doc = inspect.getdoc(thing)
        if not doc:
            message = f"{getattr(node, 'name', thing)} has no docstring in Rust"
            raise SystemExit(message)
        replace_docstring(lines, node, doc)
    return "\n".join(lines) + "\n"


def documented(node: Documented, thing: object) -> Iterator[tuple[Documented, object]]:
    """Yield each node that gets a docstring, with its object, in the order of the lines."""
    yield node, thing
    if isinstance(node, ast.FunctionDef):
        return
    seen: set[str] = set()
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            if not child.name.startswith("_") and child.name not in seen:
                yield from documented(child, getattr(thing, child.name))
            seen.add(child.name)


def replace_docstring(lines: list[str], node: Documented, doc: str) -> None:
    """Put the docstring `doc` at the beginning of `node`."""
    first = node.body[0]
    indent = " " * (0 if isinstance(node, ast.Module) else node.col_offset + 4)
    quotes = 'r"""' if "\\" in doc else '"""'
    text = [f"{indent}{line}".rstrip() for line in f"{quotes}{doc}".splitlines()]
    text[-1] += '"""' if len(text) == 1 else ""
    text += [f'{indent}"""'] if len(text) > 1 else []
    start, end = first.lineno - 1, first.end_lineno or first.lineno
    if ast.get_docstring(node) is None:
        end = start
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            # The body is `...`, usually at the end of the line of the signature.
            before = lines[start][: first.col_offset].rstrip()
            text, end = [*([before] if before else []), *text], start + 1
    lines[start:end] = text


if __name__ == "__main__":
    raise SystemExit(main())
