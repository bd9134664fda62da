"""Relations of DuckDB: types and times that it would pass to Arrow as other values."""

from __future__ import annotations

from typing import Any

from ._problem import Problem

_NESTED = {"list", "array", "struct", "tuple", "map", "union"}

# Types of DuckDB that its Arrow columns do not have, with what becomes of their values.
_CHANGED = {
    "uhugeint": "which DuckDB passes to Arrow as negative numbers if large; cast it to VARCHAR",
    "time with time zone": "whose zones DuckDB does not pass to Arrow; cast it to VARCHAR",
}

# Types of DuckDB of which Arrow has the largest and smallest time in place of infinite ones. In the
# other types of times, these are beyond the years that are written.
_NANOSECONDS = {"timestamp_ns", "timestamptz_ns"}


def readable(relation: Any) -> tuple[Any, Problem | None]:
    """Return a relation as Arrow reads it, and the problem if there is one."""
    problem = _changed(relation)
    return (_with_finite_times(relation) if problem is None else relation), problem


def _changed(relation: Any) -> Problem | None:
    """The problem of a column of a relation with values that DuckDB passes to Arrow as others."""
    for name, column in zip(relation.columns, relation.types, strict=True):
        parts = [column]
        while parts:
            part = parts.pop()
            kind = str(getattr(part, "id", ""))
            if (change := _CHANGED.get(kind)) is not None:
                message = f"the column {name!r} has values of the type {part}, {change}"
                return Problem("unsupported_type", name, message)
            if kind in _NESTED:
                parts += [child for _, child in part.children]
    return None


def _with_finite_times(relation: Any) -> Any:
    """A relation of DuckDB, whose query fails where a time of nanoseconds is infinite."""
    checks = [_infinite(f"#{at}", part) for at, part in enumerate(relation.types, 1)]
    if not any(checks):
        return relation
    columns = []
    for at, (name, check) in enumerate(zip(relation.columns, checks, strict=True), 1):
        value = f"#{at}"
        if check is not None:
            message = _quoted(
                f"the column {name!r} has an infinite time of nanoseconds, which DuckDB passes to"
                " Arrow as another time; cast it to VARCHAR"
            )
            value = f"CASE WHEN {check} THEN error({message}) ELSE {value} END"
        columns.append(f'{value} AS "{name.replace(chr(34), chr(34) * 2)}"')
    return relation.project(", ".join(columns))


def _infinite(value: str, column: Any, depth: int = 0) -> str | None:
    """SQL for whether a value has an infinite time of nanoseconds; None if its type has none."""
    kind = str(column.id)
    if kind in _NANOSECONDS:
        return f"{value} IN ('infinity'::{column}, '-infinity'::{column})"
    if kind in {"struct", "tuple"}:
        parts = [
            # By the place: a name is also that of a field which differs in case, or is empty.
            _infinite(f"struct_extract(struct_values({value}), {at})", part, depth)
            for at, (_, part) in enumerate(column.children, 1)
        ]
        return " OR ".join(filter(None, parts)) or None
    if kind in {"list", "array", "map"}:
        # The keys of a map are texts. A union is not written.
        values = f"map_values({value})" if kind == "map" else value
        part = dict(column.children)["value" if kind == "map" else "child"]
        check = _infinite(f"x{depth}", part, depth + 1)
        transformed = f"list_transform({values}, lambda x{depth}: {check})"
        return check and f"list_bool_or({transformed})"
    return None


def _quoted(text: str) -> str:
    """A text as SQL."""
    return "'" + text.replace("'", "''") + "'"
