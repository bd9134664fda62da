"""Definitions of tools without what a model does not need, for `definitions="slim"`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The keywords of JSON Schema whose members are schemas under names of the author.
_NAMED = ("properties", "$defs", "definitions", "patternProperties")
# The keywords that hold one schema, or a list of them.
_NESTED = ("items", "additionalProperties", "anyOf", "oneOf", "allOf", "not", "prefixItems")


def slim(schema: Any) -> Any:
    """The schema without `$schema`, and without a `title` that only repeats the property's name.

    Values such as `default`, `enum`, `const` and `examples` are left as they are. Members keep
    their order.
    """
    if not isinstance(schema, dict):
        return schema
    return _schema({key: value for key, value in schema.items() if key != "$schema"}, None)


def _schema(schema: Any, name: str | None) -> Any:
    if isinstance(schema, list):
        return [_schema(one, None) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {}
    for key, value in schema.items():
        if key == "title" and name is not None and _repeats(value, name):
            continue
        if key in _NAMED and isinstance(value, dict):
            value = {inner: _schema(one, inner) for inner, one in value.items()}
        elif key in _NESTED:
            value = _schema(value, None)
        found[key] = value
    return found


def _repeats(title: object, name: str) -> bool:
    return isinstance(title, str) and _letters(title) == _letters(name)


def _letters(text: str) -> str:
    """The text without what a title adds to a name: case, spaces and underscores."""
    return text.replace("_", "").replace(" ", "").lower()
