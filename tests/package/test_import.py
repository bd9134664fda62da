"""`import compactwire` loads no third-party module and no slow one."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

CODE = """
import json, sys
before = set(sys.modules)
import compactwire
print(json.dumps(sorted(set(sys.modules) - before)))
"""

# Modules of the standard library that take milliseconds to load and that a codec does not need.
HEAVY = {
    "argparse",
    "asyncio",
    "base64",
    "concurrent",
    "ctypes",
    "dataclasses",
    "email",
    "gzip",
    "http",
    "importlib.metadata",
    "inspect",
    "json",
    "logging",
    "multiprocessing",
    "pathlib",
    "pickle",
    "re",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "typing",
    "unittest",
    "urllib",
    "zlib",
}


def imported() -> list[str]:
    child = subprocess.run(
        [sys.executable, "-I", "-c", CODE], capture_output=True, check=True, encoding="utf-8"
    )
    modules: list[str] = json.loads(child.stdout)
    return modules


def test_import_loads_nothing_from_outside_the_standard_library() -> None:
    known = {*sys.stdlib_module_names, "compactwire"}
    assert [name for name in imported() if name.partition(".")[0] not in known] == []


def test_import_loads_nothing_heavy() -> None:
    modules = imported()
    assert [name for name in modules if name in HEAVY or name.partition(".")[0] in HEAVY] == []


def test_import_loads_only_the_modules_that_the_api_needs() -> None:
    ours = [name for name in imported() if name.partition(".")[0] == "compactwire"]
    assert ours == [
        "compactwire",
        "compactwire._bridge",
        "compactwire._cad_bounds",
        "compactwire._cad_preview",
        "compactwire._cad_tool",
        "compactwire._chat",
        "compactwire._codecs",
        "compactwire._core",
        "compactwire._core.arrow",
        "compactwire._core.cad",
        "compactwire._core.claims",
        "compactwire._core.gcf",
        "compactwire._core.graph",
        "compactwire._core.wire",
        "compactwire._format",
        "compactwire._once",
        "compactwire._record",
        "compactwire._texts",
        "compactwire.cad",
        "compactwire.claims",
        "compactwire.errors",
        "compactwire.gcf",
        "compactwire.wire",
    ]


def test_a_second_import_in_one_process_is_an_error_that_says_so() -> None:
    code = """
        import sys, compactwire
        for name in [name for name in sys.modules if name.startswith("compactwire")]:
            del sys.modules[name]
        for _ in range(2):
            try:
                import compactwire
            except ImportError as error:
                print(error)
    """
    printed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    expected = "compactwire was imported before, and its modules were removed from sys.modules"
    assert [line.partition(":")[0] for line in printed.stdout.splitlines()] == [expected] * 2
