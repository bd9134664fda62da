"""Prepares data of pandas, Polars, DuckDB and Narwhals for Arrow.

A value that Arrow would change is read as `types="common"` writes it, or the data is refused with a
problem that says which column has it and what to do.
"""

from __future__ import annotations

import sys
from itertools import chain
from typing import Any

from . import _duckdb, _pandas
from ._pandas import lost_index, refused
from ._problem import Problem

__all__ = ["is_of_pandas", "lost_index", "readable", "refused"]

_DUCKDB = {"duckdb", "_duckdb"}

# Where the data, schemas, fields and types of pyarrow and Polars have their names and parts.
_PARTS = (
    "name", "names", "schema", "type", "types", "dtype", "fields", "inner", "value_type",
    "storage_type",
)  # fmt: skip


def is_of_pandas(data: Any, /) -> bool:
    """Whether the class of data, or one that it is derived from, is of pandas."""
    return "pandas" in _libraries(data)


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
        return _duckdb.readable(data)
    if "pandas" in libraries:
        return _pandas.readable(data)
    return data, _objects_of_polars(data) if "polars" in libraries else None


def _readable_of_narwhals(data: Any) -> tuple[Any, Problem | None]:
    native, problem = readable(data.to_native())
    if hasattr(native, "__arrow_c_stream__"):
        return native, problem
    # A Series of pandas before 3 is no column of Arrow, but Narwhals makes one of it.
    narwhals: Any = sys.modules["narwhals"]
    return narwhals.from_native(native, allow_series=True), problem


def _cut_name(data: Any) -> str | None:
    """A name in data of pandas, pyarrow, Polars or DuckDB that contains U+0000.

    The texts of Arrow's interface end there: Polars would end the process, the others would cut the
    name.
    """
    libraries = _libraries(data)
    parts: list[Any] = []
    if "pandas" in libraries:
        parts = _pandas.names_and_types(data)
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
