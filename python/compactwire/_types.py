"""Converts common Python objects to values that JSON has: `types="common"`.

`common` is a function for `default=`: it returns what to write in place of an object, or
`NotImplemented`. The table is in `docs/shrink.md`; a column of the same type is written alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

# Modules that are slow to import or may not be installed are looked up in `sys.modules`: an object
# of their types can only exist if they are imported.


def common(obj: Any) -> Any:
    """Return what to write in place of an object, or `NotImplemented`."""
    if isinstance(obj, datetime | time):
        return _moment(obj)
    if isinstance(obj, date):
        return obj.isoformat()
    for module, convert in _CONVERTERS.items():
        if module in sys.modules:
            found = convert(obj, sys.modules[module])
            if found is not NotImplemented:
                return found
    if hasattr(type(obj), "model_dump") and hasattr(type(obj), "model_fields"):
        return obj.model_dump()
    return NotImplemented


def common_or(default: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that calls `common`, then `default` for objects that remain."""

    def convert(obj: Any) -> Any:
        found = common(obj)
        return default(obj) if found is NotImplemented else found

    return convert


def _moment(moment: datetime | time) -> str | None:
    """ISO 8601, without zeros at the end of the fraction; UTC is `Z`."""
    text = moment.isoformat()
    if text == "NaT":
        return None
    head, point, rest = text.partition(".")
    if point:
        digits = len(rest) - len(rest.lstrip("0123456789"))
        fraction = rest[:digits].rstrip("0")
        text = head + ("." + fraction if fraction else "") + rest[digits:]
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def _uuid(obj: Any, uuid: Any) -> Any:
    return str(obj) if isinstance(obj, uuid.UUID) else NotImplemented


def _decimal(obj: Any, decimal: Any) -> Any:
    """All digits, without an exponent."""
    if isinstance(obj, decimal.Decimal) and obj.is_finite():
        return format(obj, "f")
    return NotImplemented


def _enum(obj: Any, enum: Any) -> Any:
    return obj.value if isinstance(obj, enum.Enum) else NotImplemented


def _dataclass(obj: Any, dataclasses: Any) -> Any:
    if isinstance(obj, type) or not dataclasses.is_dataclass(obj):
        return NotImplemented
    return {field.name: getattr(obj, field.name) for field in dataclasses.fields(obj)}


def _numpy(obj: Any, numpy: Any) -> Any:
    if not isinstance(obj, numpy.ndarray | numpy.generic):
        return NotImplemented
    kind = obj.dtype.kind
    if kind in "biufUO":
        return obj.tolist()
    if kind == "M":
        return _numpy_times(numpy.datetime_as_string(obj).tolist())
    return NotImplemented


def _numpy_times(text: Any) -> Any:
    if isinstance(text, list):
        return [_numpy_times(one) for one in text]
    if text == "NaT":
        return None
    head, point, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return head + point + fraction if fraction else head


_CONVERTERS: dict[str, Callable[[Any, Any], Any]] = {
    "uuid": _uuid,
    "decimal": _decimal,
    "enum": _enum,
    "dataclasses": _dataclass,
    "numpy": _numpy,
}
