"""Prepares data of pandas and DuckDB for Arrow, and finds values that Arrow would change.

A column of Python objects has no type, so pandas and pyarrow choose one for all values: beside a
`Timestamp`, the number 1.5 becomes a date; dicts get the keys of all others. A typed column keeps
its values, apart from periods, which become numbers, and times in a zone that are categories, of
which older versions of pyarrow drop the zone. A column of objects is left to Arrow if each value is
one that Arrow keeps as it is; otherwise, its values are what `types="common"` writes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time
from itertools import chain
from typing import Any, NamedTuple

from ._types import common, levels_of, values_of, with_whole_numbers
from .errors import UnsupportedValue

# Values that are null in a column of any type.
_NULLS = {"NoneType", "NAType", "NaTType"}

# Types whose objects Arrow keeps as they are. An object of a subclass may not be: Arrow drops the
# nanoseconds of a Timestamp, and gives a Counter the keys of all others. GCF has no bytes, but a
# column of messages may.
_KEPT = {type(None), bool, int, float, str, bytes, bytearray, memoryview, date}

# Types whose objects Arrow keeps if they have no zone: it drops that of a time.
_WITHOUT_ZONE = {datetime, time}

_ARROW = _KEPT | _WITHOUT_ZONE | {list, tuple, dict}

# How to read a value of a subclass as `gcf.dumps` does, without the methods of the subclass.
_SCALARS: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    bool: bool,
    int: int.__int__,
    float: float.__float__,
}

# Arrow has one type for both, and refuses integers that it would round.
_NUMBERS = {int, float}

_ADVICE = (
    "give its values one type, or pass Python values: data.astype(object).where(data.notna(), "
    "None), then to_dict('records') of a DataFrame, or tolist() of a Series"
)


_INDEX_ADVICE = (
    "give its values one type, such as texts with data.index.astype(str), or leave it out with "
    "data.reset_index(drop=True)"
)

_CONTAINERS = "lists or dicts, which a level of several cannot have"

_DUCKDB = {"duckdb", "_duckdb"}
_NESTED_IN_DUCKDB = {"list", "array", "struct", "tuple", "map", "union"}

# Types of DuckDB that its Arrow columns do not have, with what becomes of their values.
_CHANGED_BY_DUCKDB = {
    "uhugeint": "which DuckDB passes to Arrow as negative numbers if large; cast it to VARCHAR",
    "time with time zone": "whose zones DuckDB does not pass to Arrow; cast it to VARCHAR",
}

# Types of DuckDB of which Arrow has the largest and smallest time in place of infinite ones. In the
# other types of times, these are beyond the years that are written.
_NANOSECONDS_OF_DUCKDB = {"timestamp_ns", "timestamptz_ns"}


class Problem(NamedTuple):
    """Why data cannot be read as Arrow."""

    code: str
    """The code of the error."""
    column: str | None
    """The name of the column; None for a Series."""
    message: str
    """What is wrong, and what to do."""

    def error(self) -> UnsupportedValue:
        """The error for data that is not part of a value."""
        path = "$[*]" if self.column is None else f"$[*].{self.column}"
        return UnsupportedValue(
            f"{path}: {self.message}", field=path, code=self.code, path=path, line=None, column=None
        )


def is_of_pandas(data: Any, /) -> bool:
    """Whether the class of data, or one that it is derived from, is of pandas."""
    return "pandas" in _libraries(data)


def _is_frame(data: Any) -> bool:
    """Whether data of pandas is a frame: a Series may have `columns` too, as one of its labels."""
    return hasattr(type(data), "columns")


def _libraries(data: Any) -> set[str]:
    """The packages of the class of data and of those that it is derived from."""
    return {str(cls.__module__).partition(".")[0] for cls in type(data).__mro__}


def readable(data: Any, /) -> tuple[Any, Problem | None]:
    """Return data as Arrow reads it without changing its values or names.

    Returns
    -------
    tuple
        The data: of DuckDB with a query that fails at an infinite time of nanoseconds, for which
        Arrow has another; of pandas with what `types="common"` writes in columns and indexes of
        objects, also as categories, that Arrow may change; and the problem, if there is one: two
        columns of one name, a name with U+0000, a column of values of several types, of a type that
        neither knows, of dicts that differ in their keys or the order of these, of periods, or of
        sparse values; and a column of a type whose values DuckDB or Polars changes for Arrow. Data
        of Narwhals is that of the library below it.
    """
    if "narwhals" in _libraries(data) and hasattr(data, "to_native"):
        return _readable_of_narwhals(data)
    if (name := _cut_name(data)) is not None:
        message = f"Arrow would end the name {name!r} before its U+0000; rename it"
        return data, Problem("unsupported_type", None, message)
    libraries = _libraries(data)
    if libraries & _DUCKDB:
        return _readable_of_duckdb(data)
    if "pandas" not in libraries:
        return data, _objects_of_polars(data) if "polars" in libraries else None
    is_frame = _is_frame(data)
    # Another thread may add or drop columns meanwhile. A derived class may refuse to be copied.
    if type(data) is getattr(sys.modules.get("pandas"), "DataFrame", None):
        data = data.copy(deep=False)
    columns = list(data.items()) if is_frame else [(data.name, data)]
    if is_frame and (duplicate := _duplicate(str(name) for name, _ in columns)) is not None:
        message = f"two columns have the name {duplicate!r}; rename one"
        return data, Problem("duplicate_key", duplicate, message)
    if is_frame and any(map(callable, data.columns)):
        data = _with_texts_as_names(data)
    replaced: dict[int, Any] = {}
    for at, (name, column) in enumerate(columns):
        values, problem = _checked(column)
        if problem is not None:
            label = "the column" if name is None else f"the column {name!r}"
            path = str(name) if is_frame else None
            as_common = values is not None
            return data, _problem_of(label, path, problem, _ADVICE, as_common=as_common)
        if values is not None:
            replaced[at] = values
    if replaced:
        data = _with_values(data, columns, replaced, is_frame=is_frame)
    return _with_readable_index(data) if is_frame else (data, None)


def _readable_of_narwhals(data: Any) -> tuple[Any, Problem | None]:
    native, problem = readable(data.to_native())
    if hasattr(native, "__arrow_c_stream__"):
        return native, problem
    # A Series of pandas before 3 is no column of Arrow, but Narwhals makes one of it.
    narwhals: Any = sys.modules["narwhals"]
    return narwhals.from_native(native, allow_series=True), problem


# Where the data, schemas, fields and types of pyarrow and Polars have their names and parts.
_PARTS = (
    "name", "names", "schema", "type", "types", "dtype", "fields", "inner", "value_type",
    "storage_type",
)  # fmt: skip


def _cut_name(data: Any) -> str | None:
    """A name in data of pandas, pyarrow, Polars or DuckDB that contains U+0000.

    The texts of Arrow's interface end there: Polars would end the process, the others would cut the
    name.
    """
    libraries = _libraries(data)
    parts: list[Any] = []
    if "pandas" in libraries:
        parts = _parts_of_pandas(data)
    elif libraries & _DUCKDB:
        # A type of DuckDB has its names in its text.
        parts = [*data.columns, *map(str, data.types)]
    elif libraries & {"polars", "pyarrow"}:
        parts = [data]
    while parts:
        part = parts.pop()
        if isinstance(part, str):
            if "\0" in part:
                return part
        elif isinstance(part, list | tuple):
            parts += part
        elif isinstance(part, dict):  # A schema of Polars.
            parts += chain(part.keys(), part.values())
        elif fields := getattr(part, "num_fields", None):
            parts += [part.field(at) for at in range(fields)]
        elif part is not None:
            parts += [getattr(part, name, None) for name in _PARTS]
    return None


def _objects_of_polars(data: Any) -> Problem | None:
    """The problem of a column of objects of Python, whose addresses Polars passes to Arrow."""
    schema = getattr(data, "schema", None)
    columns = {None: getattr(data, "dtype", None)} if schema is None else schema
    for name, dtype in columns.items():
        if str(dtype) == "Object":
            message = (
                "Polars passes objects of Python to Arrow as their addresses; make a column of "
                "another type of them, for example with map_elements(str, pl.String)"
            )
            return Problem("unsupported_type", name, message)
    return None


def _changed_by_duckdb(relation: Any) -> Problem | None:
    """The problem of a column of a relation with values that DuckDB passes to Arrow as others."""
    for name, column in zip(relation.columns, relation.types, strict=True):
        parts = [column]
        while parts:
            part = parts.pop()
            kind = str(getattr(part, "id", ""))
            if (change := _CHANGED_BY_DUCKDB.get(kind)) is not None:
                message = f"the column {name!r} has values of the type {part}, {change}"
                return Problem("unsupported_type", name, message)
            if kind in _NESTED_IN_DUCKDB:
                parts += [child for _, child in part.children]
    return None


def _readable_of_duckdb(relation: Any) -> tuple[Any, Problem | None]:
    problem = _changed_by_duckdb(relation)
    return (_with_finite_times(relation) if problem is None else relation), problem


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
    if kind in _NANOSECONDS_OF_DUCKDB:
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


def _parts_of_pandas(data: Any) -> list[Any]:
    """The names of a frame, and the types of Arrow of a frame and its index, or of a Series."""
    labels: list[Any] = []
    if _is_frame(data):
        types = list(data.dtypes)
        labels = list(data.columns)
        if not _is_default(data.index):
            labels += list(data.index.names)
            types += [level.dtype for level in getattr(data.index, "levels", [data.index])]
    else:
        types = [data.dtype]
    types = [getattr(getattr(dtype, "categories", None), "dtype", dtype) for dtype in types]
    # pyarrow reads a label of bytes as UTF-8.
    names = (str(one, "utf-8", "replace") if isinstance(one, bytes) else str(one) for one in labels)
    return [*names, *(getattr(dtype, "pyarrow_dtype", None) for dtype in types)]


def _checked(column: Any) -> tuple[Any, str | None]:
    """The values to read instead of those of a column or index; what Arrow would change in them.

    The values are None for those of the column itself, a list of objects, or an array of pandas.
    """
    categories = getattr(column.dtype, "categories", column)
    if categories is not column and hasattr(categories.dtype, "tz"):
        # Before version 25, pyarrow drops the zone of times that are categories.
        return column.astype(categories.dtype).array, None
    kind = str(categories.dtype)
    if kind.startswith("period"):
        return None, "periods, which Arrow would write as numbers"
    if kind.startswith("Sparse"):
        return None, "sparse values, which Arrow cannot have; sparse.to_dense() makes others"
    if kind != "object":
        return None, None
    try:
        values = column.tolist()
        if _are_kept(values):
            return None, _problem(values)
        values = [_plain(one) for one in values]
        return values, _problem(values)
    except RecursionError:
        return None, "values that are nested too deep"


def _problem_of(
    label: str, path: str | None, problem: str, advice: str, *, as_common: bool
) -> Problem:
    written = ', as types="common" writes it,' if as_common else ""
    return Problem("unsupported_type", path, f"{label}{written} has {problem}; {advice}")


def _with_readable_index(data: Any) -> tuple[Any, Problem | None]:
    """A frame whose index is as `readable` has it: columns, unless it is a range without a name."""
    index = data.index
    if _is_default(index):
        return data, None
    if type(index).__name__ == "RangeIndex":
        # pyarrow leaves out any range.
        pandas: Any = sys.modules["pandas"]
        return data.set_axis(pandas.Index(index.to_numpy(), name=_index_names(index)[0])), None
    levels, names = levels_of(index), _index_names(index)
    found = [_checked(level) for level in levels]
    for at, (values, problem) in enumerate(found):
        advice = _INDEX_ADVICE
        if problem is None and index.nlevels > 1 and _have_containers(values):
            problem, advice = _CONTAINERS, "make columns of the index with data.reset_index()"
        if problem is not None:
            name = names[at]
            is_free = name is not None and str(name) not in map(str, data.columns)
            path = str(name) if is_free else f"__index_level_{at}__"
            label = "the index" if name is None else f"the index {name!r}"
            as_common = values is not None
            return data, _problem_of(label, path, problem, advice, as_common=as_common)
    if all(values is None for values, _ in found) and names == list(index.names):
        whole = with_whole_numbers(index)
        return (data if whole is index else data.set_axis(whole)), None
    pandas = sys.modules["pandas"]
    arrays = [
        level if values is None else pandas.Index(values, dtype=_type_of(values))
        for level, (values, _) in zip(levels, found, strict=True)
    ]
    is_plain = index.nlevels == 1
    new = arrays[0] if is_plain else with_whole_numbers(pandas.MultiIndex.from_arrays(arrays))
    return data.set_axis(new.set_names(names)), None


def _is_default(index: Any) -> bool:
    """Whether an index is a range without a name, as in a frame that was not filtered.

    pandas 3 makes a range of any evenly spaced integers. One with a name is content: the keys of
    rows.
    """
    return type(index).__name__ == "RangeIndex" and index.name is None


def _type_of(values: Any) -> Any:
    """The type of an array; that of objects for a list."""
    return getattr(values, "dtype", object)


def _have_containers(values: Any) -> bool:
    return isinstance(values, list) and any(isinstance(value, list | dict) for value in values)


def _index_names(index: Any) -> list[Any]:
    """The names of the levels; as texts where pyarrow would read them as numbers of levels."""
    numbers = set(range(index.nlevels))
    return [str(name) if name in numbers else name for name in index.names]


def refused(data: Any, /) -> str | None:
    """Return the name of the column for which a DataFrame finds no Arrow type, if it is found."""
    for name, column in data.items() if _is_frame(data) else []:
        try:
            column.__arrow_c_stream__()
        except Exception:  # It has none, or an older pandas cannot tell.
            return str(name) if hasattr(column, "__arrow_c_stream__") else None
    return None


def _duplicate(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _with_texts_as_names(data: Any) -> Any:
    """A frame whose names are not functions or classes, which pyarrow would have pandas call."""
    pandas: Any = sys.modules["pandas"]
    names = [str(name) if callable(name) else name for name in data.columns]
    return data.set_axis(pandas.Index(names, dtype=object, tupleize_cols=False), axis="columns")


def _with_values(
    data: Any, columns: list[tuple[Any, Any]], replaced: dict[int, Any], *, is_frame: bool
) -> Any:
    """Data with other values in some of its columns, by their places."""
    # A class that is derived from one of pandas may have other arguments, or refuse the values.
    pandas: Any = sys.modules["pandas"]
    new = dict(enumerate(column for _, column in columns))
    for at, values in replaced.items():
        name = columns[at][0]
        new[at] = pandas.Series(values, index=data.index, name=name, dtype=_type_of(values))
    if not is_frame:
        return new[0]
    # A new frame, because a frame takes time of all its columns to change one of them.
    frame = pandas.DataFrame(new, index=data.index, copy=False)
    frame.columns = data.columns
    return frame


def _are_kept(values: Iterable[Any]) -> bool:
    """Whether Arrow keeps each of the values as it is, if all have one type."""
    found = list(values)
    return set(map(type, found)) <= _KEPT or all(map(_is_kept, found))


def _is_kept(value: Any) -> bool:
    kind = type(value)
    if kind in (list, tuple):
        return _are_kept(value)
    if kind is dict:
        return all(type(key) is str for key in value) and _are_kept(value.values())
    if kind in _WITHOUT_ZONE:
        return value.tzinfo is None
    return kind in _KEPT or kind.__name__ in _NULLS


def _plain(value: Any) -> Any:
    """A value as `types="common"` writes it, or itself if it does not."""
    if isinstance(value, dict):
        return _plain_dict(value)
    if isinstance(value, list | tuple):
        base: Any = list if isinstance(value, list) else tuple
        return [_plain(one) for one in base.__iter__(value)]
    for kind, read in _SCALARS.items():
        if isinstance(value, kind):
            return read(value)
    written = common(value)
    if written is NotImplemented:
        return value
    if hasattr(written, "__arrow_c_stream__"):
        values = values_of(written)
        return value if values is None else values
    return _plain(written)


def _plain_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    """The members of a dict; the dict itself if two of its keys have one text."""
    members = {
        str.__str__(key) if isinstance(key, str) else key: _plain(one)
        for key, one in dict.items(value)
    }
    return members if len(members) == dict.__len__(value) else value


def lost_index(data: Any, /) -> str | None:
    """Say what to do about the index of a Series of pandas that an array of its values would lose.

    The index of a DataFrame becomes a column. A range without a name is lost in both, as in Arrow.
    """
    if _is_frame(data) or _is_default(data.index):
        return None
    return (
        f"an array of this {type(data).__name__} would lose its index; pass reset_index() for rows "
        "with it, to_dict() for an object with its keys, or tolist() for the values alone"
    )


def _problem(values: Iterable[Any]) -> str | None:
    """Say what Arrow would change in the values of a column."""
    found = list(values)
    types = {one for one in set(map(type, found)) if one.__name__ not in _NULLS}
    if float in types and len(types) > 1 and all(one != one for one in found if type(one) is float):
        types.remove(float)  # Each NaN is a null.
    if len(types) > 1 and types != _NUMBERS:
        names = ", ".join(sorted(one.__name__ for one in types))
        return f"values of several types ({names}), of which Arrow would change some"
    if unknown := types - _ARROW:
        return f"values of the type {unknown.pop().__name__}, which a column cannot have"
    if dict in types:
        return _problem_of_dicts([one for one in found if type(one) is dict])
    if types & {list, tuple}:
        return _problem(chain.from_iterable(one for one in found if type(one) in (list, tuple)))
    return None


def _problem_of_dicts(dicts: list[dict[Any, Any]]) -> str | None:
    keys = list(dicts[0])
    if any(type(key) is not str or "\0" in key for one in dicts for key in one):
        return "dicts with keys that Arrow would change: those that are not str, or contain \\0"
    if any(list(one) != keys for one in dicts):
        return "dicts with different keys, or in another order, which Arrow would make alike"
    members: Iterator[Iterable[Any]] = ([one[key] for one in dicts] for key in keys)
    return next(filter(None, map(_problem, members)), None)
