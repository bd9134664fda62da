"""Comparisons for the tests of CAD documents, and documents that several tests use."""

from __future__ import annotations

from typing import Any

from tests.reference import cad as reference

BRACKET = """\
# Bracket with mounting holes
C 100 50 10                    # 0: base plate
Y 5 15                         # 1: hole template
T 1 20 25 0                    # 2: position hole 1
T 1 80 25 0                    # 3: position hole 2
D 0 2                          # 4: cut first hole
D 4 3                          # 5: cut second hole

# Add stiffener rib
SK 0 0 0 1 0 0 0 1 0           # 6: sketch on XY plane
L 0 0 100 0
L 100 0 100 20
L 100 20 0 20
L 0 20 0 0
END
E 6 0 0 5                      # 7: extrude 5mm
T 7 0 -10 10                   # 8: position rib
U 5 8                          # 9: union rib to bracket
"""


def exact(value: Any) -> str:
    """A text that is equal for equal documents.

    -0.0 differs from 0.0 and 1 from True; 50 equals 50.0, and the order of members is ignored.
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{key!r}:{exact(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(exact, value)) + "]"
    if isinstance(value, int) and not isinstance(value, bool) and int(float(value)) == value:
        return repr(float(value))
    return repr(value)


def same(left: Any, right: Any) -> bool:
    """Whether two documents are equal in the sense of `exact`."""
    return exact(left) == exact(right)


def assembled(items: Any) -> Any:
    nodes = {}
    extras = []
    for kind, item in items:
        if kind == "end":
            whole: Any = {**item, "nodes": nodes}
            for extra in extras:
                whole = reference.put(whole, extra["pointer"], extra["value"])
            return whole
        if kind == "extra":
            extras.append(item)
            continue
        nodes[str(item["id"])] = item
    raise AssertionError("no end")


DEFAULTS: dict[str, Any] = {
    "version": "0.1", "materials": {}, "part_materials": {}, "roots": [], "name": None,
    "parentInstanceId": None, "alignment": "left",
}  # fmt: skip


def survives(before: Any, after: Any, key: str = "") -> bool:
    """Whether nothing is lost: null may become absent, and defaults may be added."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        if isinstance(before, list) and isinstance(after, list):
            return len(before) == len(after) and all(map(survives, before, after))
        return exact(before) == exact(after)
    new = {name: after[name] for name in after.keys() - before.keys()}
    gone = [before[name] for name in before.keys() - after.keys()]
    null = {name for name in before.keys() & after.keys() if before[name] is None}
    new |= {name: after[name] for name in null if after[name] is not None}
    spelled = set(new)
    if "op" in before and str(new.get("id")) == key:
        del new["id"]
    return (
        all(value is None for value in gone)
        and all(name in DEFAULTS and DEFAULTS[name] == value for name, value in new.items())
        and all(
            survives(before[name], after[name], name)
            for name in (before.keys() & after.keys()) - spelled
        )
    )


SKETCH = "SK 0 0 0 1 0 0 0 1 0\n"
