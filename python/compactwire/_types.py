"""Converts common Python objects to values that JSON has: `types="common"`.

`common` is a function for `default=`: it returns what to write in place of an object, or
`NotImplemented`. The table is in `docs/shrink.md`; a column of the same type is written alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, tzinfo
from functools import partial
from importlib import import_module
from operator import attrgetter, methodcaller
from typing import Any, TypeAlias

# What converts the objects of a class. It returns `NotImplemented` for one that it cannot convert.
_Convert: TypeAlias = Callable[[Any], Any]

# The classes that were found last, because the search takes longer than most conversions.
_found: dict[type, _Convert] = {}
_MAX_FOUND = 256


class UnsetField:
    """What is written in place of a field of a dataclass that has no value: it is an error."""

    __slots__ = ("_message",)

    def __init__(self, obj: object, name: str) -> None:
        self._message = f"the field {name!r} of {type(obj).__name__} has no value; set it"

    def __str__(self) -> str:
        """The message of the error."""
        return self._message


def common(obj: Any) -> Any:
    """Return what to write in place of an object, or `NotImplemented`."""
    convert = _found.get(type(obj)) or _search(obj)
    return convert(obj) if convert else NotImplemented


def _search(obj: Any) -> _Convert | None:
    cls = type(obj)
    convert = _of_class(cls)
    if convert:
        if len(_found) >= _MAX_FOUND:
            _found.clear()
        _found[cls] = convert
    elif obj.__class__ is not cls:
        # A proxy, which says that it has the class of another object.
        convert = _of_class(obj.__class__)
    return convert


def _of_class(cls: type) -> _Convert | None:
    if issubclass(cls, datetime | time):
        return _moment
    if issubclass(cls, date):
        return methodcaller("isoformat")
    # Modules that are slow to import or may not be installed are not imported: an object of their
    # classes can only exist if they are.
    loaded = ((sys.modules.get(module), of) for module, of in _CONVERTERS.items())
    found = (of(cls, module) for module, of in loaded if module)
    convert = next(filter(None, found), None)
    if convert is None and hasattr(cls, "model_dump") and hasattr(cls, "model_fields"):
        return methodcaller("model_dump")
    return convert


def common_or(default: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that calls `common`, then `default` for objects that remain."""
    return partial(_common_or, default)


def _common_or(default: Callable[[Any], Any], obj: Any) -> Any:
    found = common(obj)
    # `default=str` would write the message of an unset field as its value.
    is_unknown = found is NotImplemented and not isinstance(obj, UnsetField)
    return default(obj) if is_unknown else found


def options_for(obj: Any, used: Callable[[Any], Any] | None) -> str:
    """Return the options that would convert an object, besides those that made `used`."""
    with_common = used is common or (isinstance(used, partial) and used.func is _common_or)
    decimal = sys.modules.get("decimal")
    if with_common and decimal and isinstance(obj, decimal.Decimal):
        if not obj.is_finite():
            return f"default=, as {obj} is not a finite number"
        return f'default=, as types="common" writes at most {_MAX_ZEROS:,} zeros for an exponent'
    numpy = sys.modules.get("numpy")
    if with_common and numpy and isinstance(obj, numpy.ndarray):
        return f'default=, as types="common" writes no array of the type {obj.dtype}'
    options = ["default="] if used is None or used is common else []
    if not with_common and _is_common(obj):
        options.insert(0, 'types="common"')
    return " or ".join(options)


def _is_common(obj: Any) -> bool:
    try:
        return common(obj) is not NotImplemented
    except Exception:  # A method of the object has failed: the option does not help.
        return False


def _moment(moment: datetime | time) -> str | None:
    """ISO 8601, without zeros at the end of the fraction; UTC is `Z`."""
    if isinstance(moment, datetime) and moment.tzinfo and not MINYEAR <= moment.year <= MAXYEAR:
        # A Timestamp of pandas, whose zone does not know the offset in a year that Python lacks.
        moment = moment.astimezone(UTC)
    text = moment.isoformat()
    if "." in text:
        text = _without_zeros(text)
    if text.endswith("+00:00"):
        return text[:-6] + "Z"
    return None if text == "NaT" else text


def _without_zeros(text: str) -> str:
    """Drop the zeros at the end of the fraction of a time, before its offset."""
    head, _, rest = text.partition(".")
    digits = len(rest) - len(rest.lstrip("0123456789"))
    fraction = rest[:digits].rstrip("0")
    return head + ("." + fraction if fraction else "") + rest[digits:]


def _shrunk(cls: type, core: Any) -> _Convert | None:
    return attrgetter("text") if issubclass(cls, core.Shrunk) else None


def _uuid(cls: type, uuid: Any) -> _Convert | None:
    return str if issubclass(cls, uuid.UUID) else None


def _decimal(cls: type, decimal: Any) -> _Convert | None:
    return _digits if issubclass(cls, decimal.Decimal) else None


def _digits(number: Any) -> Any:
    """All digits, without an exponent."""
    if number.is_finite() and _zeros(number) <= _MAX_ZEROS:
        return format(number, "f")
    return NotImplemented


def _zeros(number: Any) -> int:
    """How many zeros are written in place of the exponent of a Decimal."""
    zeros: int = max(number.as_tuple().exponent, -number.adjusted())
    return zeros


def _enum(cls: type, enum: Any) -> _Convert | None:
    return attrgetter("value") if issubclass(cls, enum.Enum) else None


def _dataclass(cls: type, dataclasses: Any) -> _Convert | None:
    if not dataclasses.is_dataclass(cls):
        return None
    names = [field.name for field in dataclasses.fields(cls)]
    # A name that begins with an underscore is private; orjson omits it too.
    return partial(_record, [name for name in names if not name.startswith("_")])


def _record(names: list[str], obj: Any) -> dict[str, Any]:
    try:
        return {name: getattr(obj, name) for name in names}
    except AttributeError:
        return {name: _field(obj, name) for name in names}


def _field(obj: Any, name: str) -> Any:
    """The value of a field, which may have none after `field(init=False)`."""
    try:
        return getattr(obj, name)
    except AttributeError:
        return UnsetField(obj, name)


def _numpy(cls: type, numpy: Any) -> _Convert | None:
    if not issubclass(cls, numpy.ndarray | numpy.generic):
        return None
    read = _masked_values if issubclass(cls, numpy.ma.MaskedArray) else _numpy_values
    return partial(read, numpy)


def _masked_values(numpy: Any, obj: Any) -> Any:
    """The values of an array with hidden elements, in whose place is null."""
    # numpy fails to list those of a matrix, and writes a hidden time that is not in a list.
    mask = numpy.asarray(numpy.ma.getmaskarray(obj))
    plain = numpy.ma.MaskedArray(numpy.asarray(obj.data), mask)
    if plain.dtype.kind == "M":
        plain = plain.filled(numpy.datetime64("NaT"))
    return _numpy_values(numpy, plain)


def _numpy_values(numpy: Any, obj: Any) -> Any:
    kind = obj.dtype.kind
    if obj.dtype.char == "g":
        return NotImplemented  # Python has no number with the digits of a longdouble.
    if kind == "f" and obj.dtype.itemsize < 8:
        if numpy.get_printoptions()["legacy"] == "1.13":
            # A program may have numpy write texts as that version, with 6 digits of a float32.
            with numpy.printoptions(legacy=False):
                return _of_fewest_digits(obj)
        return _of_fewest_digits(obj)
    if kind in "biufUOT":
        return obj.tolist()
    if kind == "M":
        # numpy writes times of the other byte order as other times.
        times = obj.astype(obj.dtype.newbyteorder("="))
        return _numpy_times(numpy.datetime_as_string(times).tolist())
    return NotImplemented


def _of_fewest_digits(obj: Any) -> Any:
    """Floats with the fewest digits that are read as the same float32: 0.1, not 0.1000000015."""
    return obj.astype("float32").astype("U").astype("float64").tolist()


def _numpy_times(text: Any) -> Any:
    if isinstance(text, list):
        return [_numpy_times(one) for one in text]
    if text == "NaT":
        return None
    head, point, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return head + point + fraction if fraction else head


def _pandas(cls: type, pandas: Any) -> _Convert | None:
    """A missing value, or an index or array, as a Series of the same values writes them."""
    if issubclass(cls, type(pandas.NA)):
        return _null
    if issubclass(cls, pandas.MultiIndex):
        return partial(_rows_of_index, pandas)
    if issubclass(cls, pandas.Index | pandas.api.extensions.ExtensionArray):
        return partial(_pandas_array, pandas)
    return None


def _null(_: Any) -> None:
    return None


def _pandas_array(pandas: Any, obj: Any) -> Any:
    """An index or array of Arrow's types as a Series, which becomes a column; otherwise its values.

    Objects of Python cannot have all values of those types, such as nanoseconds.
    """
    if _is_for_columns(pandas, obj.dtype):
        return _column_of(pandas, obj)
    return _pandas_values(pandas, obj)


def _column_of(pandas: Any, obj: Any) -> Any:
    """An index or array as a column of Arrow, or as a Series if it cannot be one."""
    series = pandas.Series(obj, dtype=obj.dtype)
    if hasattr(series, "__arrow_c_stream__"):
        return series
    # Before version 3, only frames of pandas are columns of Arrow.
    try:
        table = import_module("pyarrow").Table
        return table.from_pandas(series.to_frame("values"), preserve_index=False)["values"]
    # Errors of pyarrow are derived from these; intervals do not need it.
    except (ImportError, TypeError, ValueError, NotImplementedError):
        return series


def _is_for_columns(pandas: Any, dtype: Any) -> bool:
    """Whether only a column has all values of a type, which categories may have too."""
    dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    return isinstance(dtype, pandas.ArrowDtype | pandas.IntervalDtype)


def values_of(column: Any) -> list[Any] | None:
    """The values of a column of Arrow or a Series; None if one cannot be written."""
    # Imported here because few values need it.
    from ._core.gcf import dumps, loads
    from .errors import UnsupportedValue

    try:
        values: list[Any] = loads(dumps(column))
    except UnsupportedValue:
        return None
    return values


def levels_of(index: Any) -> list[Any]:
    """The levels of an index of pandas, without their names."""
    # `get_level_values` looks for a level of this name first, which may be the number of another.
    unnamed = with_whole_numbers(index).set_names([None] * index.nlevels)
    return [unnamed.get_level_values(at) for at in range(index.nlevels)]


def with_whole_numbers(index: Any) -> Any:
    """An index of pandas with integers that `get_level_values` leaves as they are.

    It makes floats of the integers of a level beside missing ones: other numbers beyond 2^53. Of a
    level that is a range, it may make a range, which pyarrow leaves out.
    """
    new: dict[int, Any] = {}
    for at, level in enumerate(getattr(index, "levels", [])):
        if level.dtype.kind in "iu" and -1 in index.codes[at]:
            new[at] = level.astype("UInt64" if level.dtype.kind == "u" else "Int64")
        elif type(level).__name__ == "RangeIndex":
            pandas: Any = sys.modules["pandas"]
            new[at] = pandas.Index(level.to_numpy())
    if not new:
        return index
    names = index.names
    index = index.set_names([None] * index.nlevels)  # `set_levels` looks for a name first, too.
    for at, level in new.items():
        index = index.set_levels(level, level=at)
    return index.set_names(names)


def _rows_of_index(pandas: Any, index: Any) -> list[Any]:
    values = (_values_of_level(pandas, level) for level in levels_of(index))
    return list(zip(*values, strict=True))


def _values_of_level(pandas: Any, level: Any) -> list[Any]:
    values = None
    if _is_for_columns(pandas, level.dtype):
        values = values_of(_column_of(pandas, level))
    # The error about an object has the path of the object, and `default=` may convert it.
    return _pandas_values(pandas, level) if values is None else values


def _pandas_values(pandas: Any, obj: Any) -> list[Any]:
    """The values of an index or array; of a type with a named zone in UTC, as a column has them."""
    column = pandas.Series(obj, dtype=obj.dtype)  # Otherwise the type of objects is inferred.
    dtype = getattr(getattr(column.dtype, "categories", None), "dtype", column.dtype)
    arrow = getattr(dtype, "pyarrow_dtype", None)
    zone = getattr(dtype if arrow is None else arrow, "tz", None)
    if zone is not None and (arrow is not None or not _is_fixed(zone)):
        # Not later: pandas 2 ends the process if it makes an object of a time in a year below 1, as
        # `astype` does of categories that are times of Arrow.
        if dtype is not column.dtype:
            categories = column.cat.categories.array
            column = pandas.Series(categories.take(column.cat.codes.to_numpy(), allow_fill=True))
        column = column.dt.tz_convert("UTC")
    values = column.astype(object)
    values = values.where(values.notna(), None)
    return list(values.tolist())


def _is_fixed(zone: tzinfo) -> bool:
    """Whether a zone is only an offset; `Etc/GMT+5` always has the same, and is a name in Arrow."""
    # The attributes with the name in zoneinfo and pytz.
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    return name is None and zone.utcoffset(None) is not None


# A number of a few bytes can have an exponent that would become gigabytes of zeros. The largest
# exponent of the formats of IEEE 754 is 6144.
_MAX_ZEROS = 10_000

_CONVERTERS: dict[str, Callable[[type, Any], _Convert | None]] = {
    "compactwire._core": _shrunk,
    "uuid": _uuid,
    "decimal": _decimal,
    "enum": _enum,
    "dataclasses": _dataclass,
    "numpy": _numpy,
    "pandas": _pandas,
}
