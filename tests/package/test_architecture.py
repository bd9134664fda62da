"""Which module may import which: no format imports another, and only the binding uses Python.

A new import direction is a design decision: add it to the lists below, with the reason in the
commit.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = ROOT / "python" / "compactwire"

LOWEST = {"limits", "interrupt", "memory", "excerpt", "text"}
VALUES = {"walk", "value", "json"}
RUST_ARROWS: dict[str, set[str]] = {
    "limits": set(),
    "reserve": set(),
    "interrupt": {"reserve"},
    "memory": {"interrupt", "reserve"},
    "excerpt": set(),
    "threads": {"interrupt", "memory", "reserve"},
    "text": {"limits", "interrupt", "memory", "excerpt"},
    "base85": LOWEST,
    "msgpack": LOWEST,
    "compression": LOWEST,
    "walk": LOWEST,
    "value": {"walk"} | LOWEST,
    "json": {"walk", "value"} | LOWEST,
    "compact": {"base85", "msgpack", "compression"} | VALUES | LOWEST,
    "cad": VALUES | LOWEST,
    "claims": {"threads"} | VALUES | LOWEST,
    "gcf": VALUES | LOWEST,
    "session": {"base85", "msgpack", "compression", "compact", "gcf"} | VALUES | LOWEST,
    "wire": {"gcf"} | VALUES | LOWEST,
    "shrink": {"gcf"} | VALUES | LOWEST,
    "arrow": {"base85", "cad", "compact", "gcf", "shrink", "threads"} | VALUES | LOWEST,
}
# Within a system: the neighbouring folders and files that each one may import.
GCF_LOWEST = {"error", "limits"}
RUST_FOLDERS: dict[str, dict[str, set[str]]] = {
    "gcf": {
        "error": set(),
        "limits": set(),
        "syntax": {"error"},
        "generic": {"syntax"} | GCF_LOWEST,
        "keyed": {"syntax"} | GCF_LOWEST,
        "rows": {"generic", "keyed", "syntax"} | GCF_LOWEST,
        "graph": {"syntax", "error"},
    },
    # `text` uses `json` for `XF` lines, which set JSON values, and to write while it reads.
    "cad": {
        "error": set(),
        "model": {"error"},
        "json": {"model", "error"},
        "text": {"json", "model", "error"},
        "binary": {"text", "model", "error"},
        "hybrid": {"binary", "text", "json", "model", "error"},
    },
}
PYTHON_ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "_format": set(),
    # For values of pandas that only columns have.
    "_types": {"_core.gcf", "errors"},
    "_record": set(),
    "__init__": {"_chat", "_core", "_core.claims", "_format"}
    | {"_once", "cad", "claims", "errors", "gcf", "wire"},
    "_chat": {"_core", "_texts", "errors"},
    "cad": {"_cad_preview", "_cad_tool", "_core", "errors"},
    "_cad_preview": {"_cad_bounds", "_core", "_files", "_texts", "errors"},
    "_cad_bounds": {"errors"},
    "_cad_tool": {"_core", "_texts", "errors"},
    "arrow": {"_core.arrow"},
    "claims": {"_core.claims"},
    "gcf": {"_bridge", "_core.gcf", "_core.graph", "errors"},
    "wire": {"_codecs", "_core.graph", "_core.wire", "errors"},
    "_csv": set(),
    "_files": {"_texts"},
    "_frames": {"_frames._duckdb", "_frames._pandas", "_frames._problem"},
    "_frames._duckdb": {"_frames._problem"},
    "_frames._pandas": {"_frames._problem", "_frames._values", "_types"},
    "_frames._problem": {"errors"},
    "_frames._values": {"_types"},
    "_texts": {"errors"},
    "savings": {"_texts", "errors"},
    "_tools": {"_core", "_guard", "_table", "_texts", "savings"},
    "adapters": {"_tools"},
    "_expanded": {"_core", "errors", "gcf"},
    "_lines": {"_core", "errors", "gcf"},
    "_table": set(),
    "_guard": set(),
    "_once": {"_core"},
    "_threads": set(),
    "adapters.langchain": {"_chat", "_threads", "_tools"},
    "adapters.openai_agents": {"_chat", "_threads", "_tools"},
    "adapters.pydantic_ai": {"_threads", "_tools", "errors"},
    "mcp": {"mcp._middleware"},
    "mcp._middleware": {"_tools", "mcp._project", "mcp._readers", "mcp._schemas"},
    "mcp._ledger": {"_texts", "mcp._names", "savings"},
    "mcp._names": set(),
    "mcp._outline": set(),
    "mcp._project": {"_core", "_tools", "errors", "mcp._same"},
    "mcp._readers": set(),
    "mcp._relay": {f"mcp.{name}" for name in ("_messages", "_project", "_readers", "_schemas")}
    | {"mcp._spans"},
    "mcp._same": {"_expanded", "mcp._spans"},
    "mcp._schemas": set(),
    "mcp._spans": set(),
    "mcp._stdio": {"mcp._host", "mcp._relay"},
    "mcp._host": set(),
    "mcp._http": {f"mcp.{name}" for name in ("_host", "_http_client", "_http_link", "_relay")},
    "mcp._http_link": {"_texts"}
    | {f"mcp.{name}" for name in ("_host", "_http_client", "_http_exchange")}
    | {f"mcp.{name}" for name in ("_http_notifications", "_http_session", "_messages", "_relay")}
    | {"mcp._sse"},
    "mcp._http_exchange": {
        f"mcp.{name}" for name in ("_http_client", "_http_headers", "_messages", "_retry")
    },
    "mcp._http_notifications": {f"mcp.{name}" for name in ("_http_client", "_http_session")}
    | {"mcp._retry", "mcp._sse"},
    "mcp._http_session": {
        f"mcp.{name}" for name in ("_http_client", "_http_headers", "_http_budget")
    }
    | {"mcp._sse"},
    "mcp._http_budget": set(),
    "mcp._http_client": {"_core", "_texts", "mcp._http_urls"},
    "mcp._http_urls": {"_texts"},
    "mcp._http_headers": {"mcp._messages"},
    "mcp._messages": {"mcp._outline", "mcp._spans"},
    "mcp._retry": {"mcp._http_client", "mcp._sse"},
    "mcp._sse": {"mcp._messages"},
    "mcp._claims": {"_core.claims", "_texts", "mcp._roots"},
    "mcp._definitions": {"_texts"},
    "mcp._folder": set(),
    "mcp._roots": {"_texts", "mcp._folder"},
    "mcp._serve": {"_core", "_texts"}
    | {f"mcp.{name}" for name in ("_definitions", "_folder", "_host", "_messages", "_readers")}
    | {"mcp._roots", "mcp._toolbox"},
    "mcp._toolbox": {"_cad_tool", "_core", "_expanded", "_lines", "_texts", "cad", "errors", "gcf"}
    | {f"mcp.{name}" for name in ("_claims", "_definitions", "_roots")},
    "_bridge": {"_core.graph", "_databases", "_texts", "errors"},
    "_databases": {"_guard", "_texts", "errors"},
    "_codecs": {"_core.graph", "_core.wire", "_texts", "errors"},
    "analysis": {
        f"analysis.{name}"
        for name in (
            *("advice", "candidates", "comparison", "corpus", "figure", "progress", "rows"),
            *("samples", "sources", "summary", "tokens", "turns"),
        )
    },
    "analysis.advice": {"_texts", "errors"}
    | {
        f"analysis.{name}"
        for name in ("candidates", "comparison", "extra", "progress", "timing", "tokens")
    },
    "analysis.candidates": {"", "_texts", "errors"},
    "analysis.comparison": {"", "_texts", "errors"}
    | {
        f"analysis.{name}"
        for name in (
            *("candidates", "corpus", "extra", "measured", "progress", "sources", "timing"),
            "tokens",
        )
    },
    "analysis.corpus": {"", "_csv", "_files", "_texts", "errors"}
    | {"analysis.extra", "analysis.folders", "analysis.int96"},
    "analysis.extra": set(),
    "analysis.figure": {"_texts", "analysis.extra", "analysis.timing", "errors"},
    "analysis.folders": set(),
    "analysis.int96": {"analysis.extra", "errors"},
    "analysis.measured": {"analysis.candidates", "analysis.timing", "analysis.tokens"},
    "analysis.producers": {"_texts", "errors"},
    "analysis.progress": set(),
    "analysis.rows": {"", "_texts", "errors"}
    | {
        f"analysis.{name}"
        for name in ("candidates", "comparison", "corpus", "extra", "measured", "sources", "tokens")
    },
    "analysis.samples": {"_texts", "errors"}
    | {"analysis.extra", "analysis.producers", "analysis.sources"},
    "analysis.sources": {"", "_csv", "_files", "_frames", "_texts", "errors"}
    | {f"analysis.{name}" for name in ("candidates", "corpus", "extra", "folders", "int96")}
    | {"analysis.producers"},
    "analysis.summary": {"_texts", "errors"}
    | {f"analysis.{name}" for name in ("candidates", "comparison", "extra", "producers", "rows")},
    "analysis.timing": set(),
    "analysis.tokens": {"_texts", "analysis.extra", "errors"},
    "analysis.turns": {""}
    | {
        f"analysis.{name}"
        for name in ("candidates", "extra", "measured", "progress", "timing", "tokens")
    },
    "conformance": {"conformance._deviations", "conformance._run"},
    "conformance._cad": {"", "conformance._compare"},
    "conformance._claims": {"", "conformance._compare"},
    "conformance._compact": {"", "conformance._compare"},
    "conformance._compare": {"_texts", "analysis.measured"},
    "conformance._deviations": set(),
    "conformance._gcf": {"", "analysis.measured", "conformance._compare"},
    "conformance._graph": {"", "conformance._compare"},
    "conformance._run": {"_texts", "errors", "conformance._compare"}
    | {f"conformance._{name}" for name in ("cad", "claims", "compact", "gcf", "graph")},
    "turns": {f"turns.{name}" for name in ("_memory", "_sender", "_sqlite", "_stores")},
    "turns._lock": {"_guard", "_threads", "errors"},
    "turns._sender": {"_core", "_texts", "errors", "turns._lock"},
    "turns._lease": {"_texts", "_threads", "errors"},
    "turns._stores": {"_core", "_guard", "_texts", "errors"}
    | {f"turns.{name}" for name in ("_lease", "_lock", "_sender")},
    "turns._memory": {"_guard", "_table", "_texts", "turns._stores"},
    "turns._sqlite": {"_databases", "_guard", "_texts", "errors", "turns._sender", "turns._stores"},
    "http": {"http._asgi", "http._transport"},
    "http._asgi": {"_threads", "savings"} | {f"http.{name}" for name in ("_protocol", "_server")},
    "http._client": {"_guard", "_table", "_threads", "errors"}
    | {f"http.{name}" for name in ("_header", "_protocol")},
    "http._header": set(),
    "http._protocol": {"_core", "_texts", "errors", "http._header", "savings"},
    "http._server": {"_core", "_table", "_threads", "errors"}
    | {f"http.{name}" for name in ("_header", "_protocol")},
    "http._transport": {"_threads", "errors", "savings"}
    | {f"http.{name}" for name in ("_client", "_header", "_protocol")},
    "_demo": {"", "_demo_session", "_demo_values"},
    "_demo_session": {""},
    "_demo_values": {""},
    "cli": {"cli._main"},
    "cli._main": {"", "_core"}
    | {
        f"cli.{name}"
        for name in (
            *("_rows", "_shell", "analyze"),
            *("cad", "claims", "completion", "conformance", "gcf", "mcp"),
            *("messages", "shrink", "stats", "verify"),
        )
    },
    "cli._training": {"", "analysis", "cli._shell"}
    | {f"analysis.{name}" for name in ("corpus", "folders", "samples", "sources")},
    "cli.analyze": {
        "",
        "analysis",
        "analysis.corpus",
        "analysis.progress",
        "analysis.sources",
        "cli._processes",
        "cli._shell",
        "errors",
    },
    "cli.cad": {"", "cli._rows", "cli._shell"},
    "cli.gcf": {"", "cli.stats", "cli._rows", "cli._shell"},
    "cli._forms": {"", "_csv", "_lines", "cli._rows", "cli._shell", "analysis.candidates"},
    "cli.stats": {"", "cli._forms", "cli._shell", "analysis.measured"},
    "cli.completion": {"cli._shell"},
    "cli.conformance": {"", "cli._shell", "conformance"},
    "cli._processes": set(),
    "cli._rows": {"", "_csv", "_lines", "cli._shell"},
    "cli._shell": {"_files", "_texts", "errors", "analysis.tokens"},
    "cli.claims": {"", "claims", "cli._shell"},
    "cli.mcp": {"_tools", "cli._shell", "mcp"}
    | {f"mcp.{name}" for name in ("_ledger", "_names", "_project", "_relay", "_roots", "_serve")}
    | {f"mcp.{name}" for name in ("_http", "_http_client", "_http_headers", "_stdio")},
    "cli.messages": {"", "_demo", "_files", "cli._shell", "cli._training"},
    "cli.shrink": {"", "_expanded", "_lines", "cli._rows", "cli._shell"},
    "cli.verify": {"", "cli._shell"},
    "__main__": {"cli"},
}


def rust_modules() -> dict[str, list[Path]]:
    modules: dict[str, list[Path]] = {}
    for path in sorted(SOURCE.rglob("*.rs")):
        name = path.relative_to(SOURCE).parts[0].removesuffix(".rs")
        if name != "lib":
            modules.setdefault(name, []).append(path)
    return modules


def code(path: Path) -> str:
    """The text of a Rust file without its comments, whose links may name any module."""
    return re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_every_module_of_the_core_is_in_the_list() -> None:
    assert set(rust_modules()) == set(RUST_ARROWS)


@pytest.mark.parametrize("module", RUST_ARROWS)
def test_a_module_of_the_core_uses_only_what_it_may(module: str) -> None:
    used: set[str] = set()
    for path in rust_modules()[module]:
        text = code(path)
        used |= set(re.findall(r"\bcrate::(\w+)", text))
        for group in re.findall(r"\bcrate::\{([^;]*)\};", text):
            used |= set(
                re.findall(r"(?:^|[,{]\s*)(\w+)(?=[:,}\s]|$)", re.sub(r"\{[^{}]*\}", "", group))
            )
    assert used - {module} <= RUST_ARROWS[module]


def test_every_folder_of_a_system_is_in_the_list() -> None:
    for system, folders in RUST_FOLDERS.items():
        found = {path.stem for path in (SOURCE / system).iterdir()} - {"mod"}
        assert found == set(folders), system


@pytest.mark.parametrize(
    ("system", "folder"),
    [(system, folder) for system, folders in RUST_FOLDERS.items() for folder in folders],
)
def test_a_folder_of_a_system_imports_only_the_layers_below(system: str, folder: str) -> None:
    used: set[str] = set()
    for path in rust_modules()[system]:
        parts = path.relative_to(SOURCE / system).with_suffix("").parts
        if parts[0] == folder:
            used |= imported_neighbours(path.read_text(encoding="utf-8"), system, parts)
    assert used - {folder} <= RUST_FOLDERS[system][folder]


def imported_neighbours(text: str, system: str, parts: tuple[str, ...]) -> set[str]:
    """The items directly in `system` that the file `parts` names, by `crate::` or by `super::`."""
    code = re.sub(r"//.*", "", text)
    depth = len(parts) - (parts[-1] == "mod")
    prefix = rf"(?:\bcrate::{system}::|(?<![:\w])(?:super::){{{depth}}}(?!super\b))"
    used = set(re.findall(prefix + r"(\w+)", code))
    for group in re.findall(prefix + r"\{([^;]*)\};", code):
        while "{" in group:
            group = re.sub(r"\{[^{}]*\}", "", group)
        used |= set(re.findall(r"(?:^|,)\s*(\w+)", group))
    return used


# Enums of private modules, and complete ones: steps of a reader, the model of CAD and GCF.
COMPLETE = {
    ("compression.rs", "Error"),
    ("text/leb128.rs", "Error"),
    ("gcf/rows/reader.rs", "Status"),
    ("gcf/generic/tree.rs", "ArrayKind"),
    ("cad/model/operations.rs", "OpCode"),
}


def test_errors_formats_and_codes_may_grow_in_a_minor_version() -> None:
    kinds = "Error|Code|Problem|Failure|Place|Format|Kind|Layout|Protocol|Status|Choice|Reason"
    enum = re.compile(rf"(.*)\n *pub enum (\w*(?:{kinds})) ")
    fixed = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in SOURCE.rglob("*.rs")
        for above, name in enum.findall(path.read_text(encoding="utf-8"))
        if "non_exhaustive" not in above
    }
    assert fixed == COMPLETE


def test_the_core_does_not_use_python() -> None:
    assert "pyo3" not in (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    for path in SOURCE.rglob("*.rs"):
        assert "pyo3" not in path.read_text(encoding="utf-8"), path


def python_modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)
        found[name] = path
    return found


def own_imports(path: Path) -> set[str]:
    found: set[str] = set()
    here = path.relative_to(PACKAGE).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level + 1]
            names = [node.module] if node.module else [alias.name for alias in node.names]
            found |= {".".join((*base, name)) for name in names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("compactwire"):
            found.add((node.module or "").removeprefix("compactwire").removeprefix("."))
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.removeprefix("compactwire").removeprefix(".")
                for alias in node.names
                if alias.name.split(".")[0] == "compactwire"
            }
    return found


def test_the_binding_makes_names_of_python_once() -> None:
    # PyO3 makes a str of a literal in each call, and panics if there is no memory for it.
    methods = "getattr|setattr|hasattr|import|call_method[01]?|get_item|set_item"
    assert in_binding(rf'\.(?:{methods})\("[^"]*"') == [], "use name!"


def test_the_binding_makes_the_arguments_of_calls_by_its_own_function() -> None:
    # PyO3 panics if there is no memory for a tuple that it makes itself.
    call = r"\.(?:call|call1)\((?:py,\s*)?\((?!\))|\.call_method1?\([^;]*?,\s*\((?!\))"
    assert in_binding(call) == [], "use args!"


def in_binding(pattern: str) -> list[str]:
    """Where a pattern occurs in the source of the binding."""
    binding = sorted((ROOT / "crates/compactwire-python/src").rglob("*.rs"))
    assert binding
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in binding}
    found = re.compile(pattern)
    return [f"{name}: {call}" for name, text in texts.items() for call in found.findall(text)]


def test_results_of_the_binding_are_made_by_its_own_functions() -> None:
    # PyO3 makes the int of a usize and the str of a String by constructors that panic if there
    # is no memory.
    attributes = (
        r"#\[(?:getter|pyfunction|classmethod|staticmethod|pyo3\(signature)[^\n]*\n(?:.*\n){0,9}?"
    )
    function = re.compile(
        attributes + r"\s*(?:pub\(\w+\) )?fn (\w+)[^{;]*?\) -> ([^{;]*?)\s*\{", re.MULTILINE
    )
    plain = re.compile(r"\b(?:[uif](?:8|32|64|size)|String|Vec)\b|&(?:'\w+ )?str\b|\(.")
    made = re.compile(r"\b(?:Number|Str)<(?:[^<>]|<[^<>]*>)*>")
    results = [
        (f"{path.relative_to(ROOT)}: {name}", result)
        for path in sorted((ROOT / "crates/compactwire-python/src").rglob("*.rs"))
        for name, result in function.findall(path.read_text(encoding="utf-8"))
        if name != "build"
    ]
    assert any(made.search(result) for _, result in results)
    found = [one for one in results if plain.search(made.sub("", one[1]).replace("()", ""))]
    assert found == [], "use Number, Str, or a function of make.rs"


def test_every_module_of_the_package_is_in_the_list() -> None:
    assert set(python_modules()) == set(PYTHON_ARROWS)


@pytest.mark.parametrize("module", PYTHON_ARROWS)
def test_a_module_of_the_package_imports_only_what_it_may(module: str) -> None:
    assert own_imports(python_modules()[module]) <= PYTHON_ARROWS[module]


def test_the_reference_imports_nothing_of_the_product() -> None:
    for path in (ROOT / "tests" / "reference").glob("*.py"):
        assert "compactwire" not in re.findall(
            r"^\s*(?:from|import) (\w+)", path.read_text("utf-8"), re.M
        )
