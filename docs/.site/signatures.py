"""Griffe reads the stubs in their common form only; this extension adapts ours to it.

Classes of the compiled module take their arguments in ``__new__``; Griffe looks for ``__init__``.
Docstrings end with a line ``Source: ...``, but in the NumPy style a section has no end, so that the
line would count as one more parameter or return value. It becomes the section "Notes" instead. The
page about a compiled module says where its names are public. A private name of a type, which no
page explains, is shown as the type. The default of a parameter is that of the signature: Griffe
shows that of the first name for each of ``width, height : int``, and of choices the first.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import griffe

# The docstring of a compiled module, which only this package imports.
COMPILED = re.compile(r".*; import (`compactwire\S*`) instead\.")
SOURCE = re.compile(r"\n\nSource: (.*)\Z", re.DOTALL)


class Signatures(griffe.Extension):
    """Adapts the classes and docstrings that Griffe has loaded."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Adapt a docstring: the line ``Source: ...``, and the first line of a compiled module."""
        if obj.docstring is not None:
            text = COMPILED.sub(r"Import these names from \1.", obj.docstring.value.rstrip())
            obj.docstring.value = SOURCE.sub(r"\n\nNotes\n-----\nSource: \1", text)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Show the parameters of ``__new__`` as those of the class, once stubs are merged."""
        pending: list[griffe.Object] = [pkg]
        documented: list[griffe.Function | griffe.Class] = []
        while pending:
            for member in pending.pop().members.values():
                if isinstance(member, griffe.Alias):
                    continue
                if isinstance(member, griffe.Module | griffe.Class):
                    pending.append(member)
                if isinstance(member, griffe.Function | griffe.Class):
                    documented.append(member)
                if isinstance(member, griffe.Function):
                    member.returns = _spelled(member.returns, member)
                    for parameter in member.parameters:
                        parameter.annotation = _spelled(parameter.annotation, member)
                if isinstance(member, griffe.Attribute):
                    member.annotation = _spelled(member.annotation, member)
                if isinstance(member, griffe.Class):
                    new = member.members.get("__new__")
                    if isinstance(new, griffe.Function) and "__init__" not in member.members:
                        member.set_member("__init__", new)
                        new.name = "__init__"
        for member in documented:
            _take_defaults(member)


def _take_defaults(documented: griffe.Function | griffe.Class) -> None:
    """Show the default of each parameter that the docstring explains."""
    # A dataclass gets its parameters later; its docstring must not be parsed before.
    if documented.docstring is None or not documented.parameters:
        return
    defaults = {each.name: each.default for each in documented.parameters}
    for section in documented.docstring.parsed:
        if isinstance(section, griffe.DocstringSectionParameters):
            for shown in section.value:
                shown.value = defaults.get(shown.name, shown.value)


def _spelled(annotation: Any, used: griffe.Object) -> Any:
    """Return an annotation with the types that private names of the module stand for."""
    if isinstance(annotation, griffe.ExprName) and annotation.name.startswith("_"):
        named = used.module.members.get(annotation.name)
        if isinstance(named, griffe.Attribute) and not isinstance(named.value, griffe.ExprCall):
            return _spelled(named.value, used)
    if isinstance(annotation, list):
        return [_spelled(one, used) for one in annotation]
    if isinstance(annotation, griffe.Expr):
        names = [field.name for field in dataclasses.fields(annotation) if field.name != "parent"]
        spelled = {name: _spelled(getattr(annotation, name), used) for name in names}
        return _flat(dataclasses.replace(annotation, **spelled))
    return annotation


def _flat(union: Any) -> Any:
    """Return ``a | (b | c)`` as ``a | b | c``."""
    if not (_is_union(union) and _is_union(union.right)):
        return union
    left = _flat(dataclasses.replace(union, right=union.right.left))
    return dataclasses.replace(union, left=left, right=union.right.right)


def _is_union(expression: Any) -> bool:
    return isinstance(expression, griffe.ExprBinOp) and expression.operator == "|"
