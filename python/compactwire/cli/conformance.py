"""The command ``compactwire conformance``: runs test vectors against the installed version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compactwire as cw

from ._shell import OK, add_command, add_max_input, input_path, json_line, one_line, tell, write

if TYPE_CHECKING:
    import argparse

    from ..conformance import Report
    from ._shell import Commands

_FAILED, _WRONG_USAGE = 1, 2

# The largest number of differences shown as text.
_SHOWN = 100


def add(commands: Commands) -> None:
    """Add the command."""
    about = "run test vectors against this version, and say what differs"
    example = "compactwire conformance tests/vectors"
    parser = add_command(commands, "conformance", _run, about, example)
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        type=input_path,
        help="a folder of vectors, such as tests/vectors",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--deviations",
        action="store_true",
        help="print, as JSON, where this package differs from a specification on purpose",
    )
    add_max_input(parser)


def _run(args: argparse.Namespace) -> int:
    from .. import conformance

    if args.deviations == (args.folder is not None):
        tell("compactwire conformance: error: give a folder of vectors, or --deviations")
        return _WRONG_USAGE
    if args.deviations:
        return write(json_line(conformance.deviations()), "-")
    report = conformance.run(args.folder, max_input=args.max_input)
    write(json_line(_as_json(report)) if args.json else _as_text(report), "-")
    if not report.outcomes:
        tell(f"compactwire: no vectors in {one_line(args.folder)}")
    return OK if report.ok else _FAILED


def _as_json(report: Report) -> dict[str, object]:
    return {
        "version": cw.__version__,
        "ok": report.ok,
        "passed": len(report.outcomes) - len(report.failed),
        "failed": [
            {"vector": each.vector, "system": each.system, "difference": each.difference}
            for each in report.failed
        ],
        "unread": report.unread,
        "systems": {
            name: {"vectors": count, "failed": failed} for name, count, failed in report.systems()
        },
    }


def _as_text(report: Report) -> str:
    failed_ones = report.failed
    lines = [
        f"{one_line(each.vector)}: {one_line(each.difference)}" for each in failed_ones[:_SHOWN]
    ]
    if len(failed_ones) > _SHOWN:
        lines.append(f"and {len(failed_ones) - _SHOWN:,} more; --json lists all")
    for name, count, failed in report.systems():
        lines.append(f"{name:<9} {count:>6,} vectors {failed:>6,} failed")
    if report.unread:
        named = ", ".join(map(one_line, report.unread[:3]))
        more = ", ..." if len(report.unread) > 3 else ""
        lines.append(f"not read: {len(report.unread):,} of no known form ({named}{more})")
    return "".join(line + "\n" for line in lines)
