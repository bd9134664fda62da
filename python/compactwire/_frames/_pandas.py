"""Frames and Series of pandas, and their indexes, as Arrow reads them without changing values.

A typed column keeps its values, apart from periods, which become numbers, and times in a zone that
are categories, of which older versions of pyarrow drop the zone. A column of objects is left to
Arrow if each value is one that Arrow keeps as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from .._types import levels_of, with_whole_numbers
from ._problem import Problem
from ._values import are_kept, changed_by_arrow, plain

_ADVICE = (
    "give its values one type, or pass Python values: data.astype(object).where(data.notna(), "
    "None), then to_dict('records') of a DataFrame, or tolist() of a Series"
)

_INDEX_ADVICE = (
    "give its values one type, such as texts with data.index.astype(str), or leave it out with "
    "data.reset_index(drop=True)"
)

_CONTAINERS = "lists or dicts, which a level of several cannot have"


def readable(data: Any, /) -> tuple[Any, Problem | None]:
    """Return a frame or Series as Arrow reads it, and the problem if there is one."""
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


def _is_frame(data: Any) -> bool:
    """Whether data of pandas is a frame: a Series may have `columns` too, as one of its labels."""
    return hasattr(type(data), "columns")


def names_and_types(data: Any) -> list[Any]:
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
        if are_kept(values):
            return None, changed_by_arrow(values)
        values = [plain(one) for one in values]
        return values, changed_by_arrow(values)
    except RecursionError:
        return None, "values that are nested too deep"


def _problem_of(
    label: str, path: str | None, problem: str, advice: str, *, as_common: bool
) -> Problem:
    written = ', as types="common" writes it,' if as_common else ""
    return Problem("unsupported_type", path, f"{label}{written} has {problem}; {advice}")


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


def _type_of(values: Any) -> Any:
    """The type of an array; that of objects for a list."""
    return getattr(values, "dtype", object)


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


def _index_names(index: Any) -> list[Any]:
    """The names of the levels; as texts where pyarrow would read them as numbers of levels."""
    numbers = set(range(index.nlevels))
    return [str(name) if name in numbers else name for name in index.names]


def _have_containers(values: Any) -> bool:
    return isinstance(values, list) and any(isinstance(value, list | dict) for value in values)


def refused(data: Any, /) -> str | None:
    """Return the name of the column for which a DataFrame finds no Arrow type, if it is found."""
    for name, column in data.items() if _is_frame(data) else []:
        try:
            column.__arrow_c_stream__()
        except Exception:  # It has none, or an older pandas cannot tell.
            return str(name) if hasattr(column, "__arrow_c_stream__") else None
    return None


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
