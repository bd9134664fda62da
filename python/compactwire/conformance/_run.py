"""Reads a folder of vectors, and runs each case by the check for its members."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._texts import check_path, check_positive, one_line, short_line
from ..errors import CompactWireError
from . import _cad, _claims, _compact, _gcf, _graph
from ._compare import DiffersError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

Case = dict[str, Any]

# The members that a case of each kind has, the more special kinds first.
_KINDS: list[tuple[set[str], str, Callable[[Case], None]]] = [
    ({"base_full", "new_full"}, "gcf", _gcf.two_sets),
    ({"base", "new", "base_root", "expected"}, "graph", _graph.two_graphs),
    ({"gcb_hex", "payload"}, "graph", _graph.gcb),
    ({"gcb_hex", "expected_error"}, "graph", _graph.gcb_malformed),
    ({"reference_hex", "payload"}, "graph", _graph.gcb_lossy),
    ({"wire", "response"}, "compact", _compact.response),
    ({"wire", "error"}, "compact", _compact.bad_response),
    ({"content", "delta", "result"}, "compact", _compact.delta),
    ({"content", "delta"}, "compact", _compact.bad_delta),
    ({"bytes", "text"}, "compact", _compact.base85),
    ({"document", "compact", "target"}, "cad", _cad.target),
    ({"document", "compact", "lossy"}, "cad", _cad.write),
    ({"document", "compact", "dialect"}, "cad", _cad.read),
    ({"document", "hybrid"}, "cad", _cad.hybrid),
    ({"document", "hex"}, "cad", _cad.binary),
    ({"bits", "text"}, "cad", _cad.number),
    ({"files", "inputs", "expected"}, "claims", _claims.verified),
    ({"input", "output"}, "claims", _claims.produced),
    ({"in"}, "claims", _claims.canonical),
    ({"in_hex"}, "claims", _claims.canonical),
    ({"leaves", "root"}, "claims", _claims.merkle),
    ({"bytes", "tokens"}, "claims", _claims.tokens),
]


@dataclass(frozen=True)
class Outcome:
    """What became of one vector.

    Attributes
    ----------
    vector : str
        The path of its file in the folder, and after `#` its number in the file, from 0, where a
        file holds several; then its name, if it has one.
    system : str
        `"compact"`, `"gcf"`, `"graph"`, `"cad"` or `"claims"`.
    difference : str
        What was expected and what was found; empty if the vector holds.
    """

    vector: str
    system: str
    difference: str = ""

    @property
    def ok(self) -> bool:
        """Whether the vector holds."""
        return not self.difference


@dataclass
class Report:
    """The outcomes of all vectors of a folder.

    Attributes
    ----------
    outcomes : list of Outcome
        One for each vector, in the order of the files.
    unread : list of str
        Files that hold no vector of a known form, and single cases of an unknown form.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[Outcome]:
        """The vectors that do not hold."""
        return [outcome for outcome in self.outcomes if not outcome.ok]

    @property
    def ok(self) -> bool:
        """Whether at least one vector was run and all hold."""
        return bool(self.outcomes) and not self.failed

    def systems(self) -> Iterator[tuple[str, int, int]]:
        """Yield the name of each system, how many vectors it has, and how many of them failed."""
        for system in sorted({outcome.system for outcome in self.outcomes}):
            own = [outcome for outcome in self.outcomes if outcome.system == system]
            yield system, len(own), sum(not outcome.ok for outcome in own)


def run(folder: str | PathLike[str], /, *, max_input: int = 1 << 30) -> Report:
    """Run the vectors in a folder and its folders against this version.

    Parameters
    ----------
    folder : str or path-like
        The folder, such as ``tests/vectors``. Files ``.json`` hold one vector or a list of them,
        ``.jsonl`` one per line; a folder with a ``case.json`` is one vector of claims.
    max_input : int
        The largest file to read, in bytes.

    Returns
    -------
    Report
        The outcome of each vector, and what was not read.

    Raises
    ------
    NotADirectoryError
        The folder does not exist.
    CompactWireError
        A file is too large, or its content is not JSON; the message names the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "one.json").write_text('{"bytes": "00", "text": "01"}')
    ...     report = run(folder)
    >>> report.failed[0].difference
    "the text: expected '1', found '0' from character 1 on"

    Source: an extension of this package.
    """
    check_path(folder, "folder")
    check_positive("max_input", max_input)
    root = Path(os.fsdecode(folder))
    if not root.is_dir():
        raise NotADirectoryError(f"no folder {str(root)!r}")
    report = Report()
    folders = {path.parent for path in root.rglob("case.json")}
    for path in sorted(root.rglob("*")):
        inside = path.name != "case.json" and not folders.isdisjoint(path.parents)
        if path.is_file() and not inside and not _is_other(path):
            _run_file(path, path.relative_to(root).as_posix(), report, max_input)
    return report


def _is_other(path: Path) -> bool:
    """Whether a file is about the vectors: a page, a program, a hidden file."""
    return path.suffix.lower() in (".md", ".py", ".pyc") or path.name.startswith(".")


def _run_file(path: Path, name: str, report: Report, max_input: int) -> None:
    if path.suffix not in (".json", ".jsonl"):
        report.unread.append(name)
        return
    if path.stat().st_size > max_input:
        raise CompactWireError(f"{one_line(str(path))}: larger than {max_input:,} bytes")
    several, cases = _cases(path)
    for number, case in enumerate(cases):
        label = f"{name}#{number}" if several else name
        found = _check_for(case, path)
        if found is None:
            report.unread.append(label)
            continue
        title = f" {case['name']}" if several and "name" in case else ""
        report.outcomes.append(Outcome(label + title, found[0], _difference(found[1], case)))


def _cases(path: Path) -> tuple[bool, list[Any]]:
    """Whether a file holds a list of cases, and its cases."""
    data = path.read_bytes()
    if path.suffix == ".jsonl":
        lines = enumerate(data.splitlines(), 1)
        return True, [_parsed(line, f"{path}, line {n}") for n, line in lines if line.strip()]
    content = _parsed(data, str(path))
    return (True, content) if isinstance(content, list) else (False, [content])


def _parsed(data: bytes, place: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CompactWireError(f"{one_line(place)}: not JSON: {error}") from None


def _check_for(case: Any, path: Path) -> tuple[str, Callable[[Case], None]] | None:
    """The system of a case, and its check."""
    if not isinstance(case, dict):
        return None
    if path.name == "case.json" and {"inputs", "expected"} <= case.keys():
        return "claims", partial(_claims.verified, folder=path.parent)
    for members, system, check in _KINDS:
        if members <= case.keys():
            return system, check
    operation = case.get("operation")
    if not isinstance(operation, str):
        return None
    if _is_graph(case, path) and operation in _graph.CHECKS:
        return "graph", _graph.CHECKS[operation]
    return ("gcf", _gcf.CHECKS[operation]) if operation in _gcf.CHECKS else None


def _is_graph(case: Case, path: Path) -> bool:
    texts = (case.get("input"), case.get("expected"))
    return (
        case["operation"] not in _gcf.CHECKS
        or path.parent.name.startswith("graph-")
        or any(isinstance(text, str) and "profile=graph" in text for text in texts)
    )


def _difference(check: Callable[[Case], None], case: Case) -> str:
    try:
        check(case)
    except DiffersError as error:
        return str(error)
    except MemoryError:
        raise
    except Exception as error:  # Any exception of a function is an outcome to report.
        return f"raised {type(error).__name__}: {short_line(str(error), 200)}"
    return ""
