"""Times of INT96 in Parquet, which pyarrow reads as other times beyond the years 1677 to 2262.

A file that has such times is read twice, in nanoseconds and in microseconds. A time is that of the
first reading, with all digits, unless it is another time there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import CompactWireError
from .extra import need

# For the times of INT96, which older files of Spark and Hive have.
MICROSECONDS = {"coerce_int96_timestamp_unit": "us"}

_WRAPPED = 1 << 64


def has_int96(schema: Any) -> bool:
    """Whether a file of this schema of Parquet has times of INT96."""
    return any(schema.column(at).physical_type == "INT96" for at in range(len(schema)))


def with_exact_times(rows: Any, in_microseconds: Any, place: str) -> Any:
    """Of two readings of the same rows, the first, with columns of the second where it is wrong.

    pyarrow reads times of INT96 as nanoseconds in 64 bits, and makes times of the years 1677 to
    2262 of all others, such as the last day of the year 9999. The second reading has no digits
    below a microsecond, also in the other times of INT96 in such a column. `place` begins errors.
    """
    pa = need("pyarrow", "pyarrow")
    for at, (column, other) in enumerate(zip(rows.columns, in_microseconds.columns, strict=True)):
        if column.type != other.type:
            try:
                other.cast(column.type)
            except pa.ArrowInvalid:
                exact = _exact_times(column, other, f"{place}the column {rows.schema.names[at]!r}")
                rows = rows.set_column(at, rows.schema.field(at).with_type(exact.type), exact)
    return rows


def _exact_times(column: Any, other: Any, place: str) -> Any:
    """Of two readings of a column, the one whose times are right."""
    pa = need("pyarrow", "pyarrow")
    times = list(_times(column, other))
    differ = [_is_before_its_day(*both) for both in times if both[0] // 1000 != both[1]]
    if all(differ):
        return column
    if not any(differ):
        return other
    if not pa.types.is_timestamp(column.type):
        raise CompactWireError(
            f"{place} has nested times of INT96, of which some are before 1970 as older"
            " versions of pyarrow write them, and others after 2262; write the file again with"
            " another type of times"
        )
    found = (fine // 1000 if _is_before_its_day(fine, coarse) else coarse for fine, coarse in times)
    return pa.array(
        [next(found) if has else None for has in other.is_valid().to_pylist()], other.type
    )


def _times(column: Any, other: Any) -> Iterator[tuple[int, int]]:
    """The times of INT96 in two readings, in nanoseconds and in microseconds, but no nulls."""
    pa = need("pyarrow", "pyarrow")
    kind = column.type
    if kind == other.type:
        return
    if pa.types.is_timestamp(kind):
        both = (one.cast(pa.int64()).to_pylist() for one in (column, other))
        yield from ((fine, coarse) for fine, coarse in zip(*both, strict=True) if fine is not None)
    elif isinstance(column, pa.ChunkedArray):
        for pair in zip(column.chunks, other.chunks, strict=True):
            yield from _times(*pair)
    elif pa.types.is_struct(kind):
        for at in range(kind.num_fields):
            yield from _times(column.field(at), other.field(at))
    elif pa.types.is_map(kind):
        yield from _times(column.keys, other.keys)
        yield from _times(column.items, other.items)
    else:
        yield from _times(column.values, other.values)


def _is_before_its_day(fine: int, coarse: int) -> bool:
    """Whether a time of INT96 has nanoseconds below zero, as older versions of pyarrow write them.

    In times before 1970, they are relative to the next day, and have no sign in the second reading,
    which is 584 years later, and the first is right. A time that is so late itself has the same
    first reading, but no digits below a microsecond, unless its writer had them.
    """
    late = coarse - fine // 1000 in (_WRAPPED // 1000, _WRAPPED // 1000 + 1)
    return late and fine < 0 and (fine - coarse * 1000) % _WRAPPED != 0
