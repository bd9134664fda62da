"""A writer of the GCF generic profile: slow, simple, written from the specification.

With `DEVIATIONS` it writes what the package `gcf-python` writes. They define exactly where that
package departs from the specification.

Source: GCF 3.6 sections 2 to 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

# Objects of a column are flattened although their keys are in another order, which is lost.
REORDERS = "reorders"
# Objects are not flattened if a null member has the field's name and another is an object.
OWN_NAME = "own name"
# Objects of a column are written inline although a later row has null.
INLINE_NULL = "inline null"
# Arrays share a schema although a name in it has a `>`; the text cannot be read.
SHARED_PATHS = "shared paths"
# Doubles from 1e-6 to 1e-4 have at most 20 decimals: the last digits are lost.
ROUNDS = "rounds"
# Rows with mostly different keys are a table, as in GCF 3.6; its text grows with their square.
SPARSE_TABLES = "sparse tables"
DEVIATIONS = frozenset({REORDERS, OWN_NAME, INLINE_NULL, SHARED_PATHS, ROUNDS, SPARSE_TABLES})

# A table is sparse if it has more cells than this, and more than this for each that is present.
SMALL_TABLE, SPARSENESS = 4096, 8
# The limit of a text's expansion in bytes, and how much is added to it for each byte of the text.
EXPANSION, FREE_EXPANSION = 256 << 20, 16
VALUE_SIZE, OBJECT_SIZE = 16, 128

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
LIKE_A_NUMBER = re.compile(r"[+-]\.?[0-9]|\.[0-9]|0[0-9]")
SPECIAL = re.compile(
    r'["\\|,\x00-\x1f\x80-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]'
)
LIST_LIKE = re.compile(r"\[[^\]]*\] *:")
ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
ABSENT = object()


def quoted(text: str) -> str:
    found = (ESCAPES.get(char) or (f"\\u{ord(char):04x}" if char < " " else char) for char in text)
    return '"' + "".join(found) + '"'


def value(text: str) -> str:
    """A string as a value, quoted if it could be read as something else."""
    needs_quotes = (
        text in ("", "-", "~", "^", "true", "false")
        or (text.startswith("^{") and text.endswith("}"))
        or NUMBER.fullmatch(text)
        or LIKE_A_NUMBER.match(text)
        or text[0] in " #@."
        or text[-1] == " "
        or SPECIAL.search(text)
        or LIST_LIKE.search(text)
    )
    return quoted(text) if needs_quotes else text


def key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else quoted(name)


def number(found: float) -> str:
    if found == 0:
        return "0"
    if isinstance(found, int):
        return str(found)
    sign, digits, exponent = parts(found)
    if not 1e-6 <= abs(found) < 2**53:
        point = "." if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{point}{digits[1:]}e{exponent:+d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole


def parts(found: float) -> tuple[str, str, int]:
    """Sign, shortest digits, and the exponent of the first digit."""
    shortest = repr(abs(found))
    mantissa, _, exponent = shortest.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    first = len(whole) - leading - 1 + int(exponent or 0)
    return "-" if found < 0 else "", digits.rstrip("0"), first


def scalar(found: Any) -> str:
    if found is ABSENT:
        return "~"
    if found is None:
        return "-"
    if isinstance(found, bool):
        return "true" if found else "false"
    return value(found) if isinstance(found, str) else number(found)


def is_scalar(found: Any) -> bool:
    return not isinstance(found, list | dict)


def union(rows: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def has_columns(rows: list[Any]) -> bool:
    return all(isinstance(row, dict) for row in rows) and any(
        ">" not in name for name in union(rows)
    )


def is_sparse(cells: int, present: int) -> bool:
    return cells > SMALL_TABLE and cells > SPARSENESS * present


def has_sparse_rows(rows: list[dict[str, Any]]) -> bool:
    names = [name for name in union(rows) if ">" not in name]
    present = sum(name in row for row in rows for name in names)
    return is_sparse(len(rows) * len(names), present)


def leaves(found: dict[str, Any], form: dict[str, Any]) -> list[Any]:
    """The leaves of an object, in the order of another object."""
    return [
        leaf
        for name, inner in form.items()
        for leaf in (leaves(found[name], inner) if isinstance(inner, dict) else [found[name]])
    ]


def paths(name: str, form: dict[str, Any]) -> list[str]:
    return [
        path
        for inner, kind in form.items()
        for path in (
            paths(f"{name}>{inner}", kind) if isinstance(kind, dict) else [f"{name}>{inner}"]
        )
    ]


def leaf_names(form: dict[str, Any]) -> list[str]:
    return [
        leaf
        for name, inner in form.items()
        for leaf in (leaf_names(inner) if isinstance(inner, dict) else [name])
    ]


def keys_size(form: dict[str, Any]) -> int:
    return sum(
        size(name) + (keys_size(inner) if isinstance(inner, dict) else 0)
        for name, inner in form.items()
    )


def objects_size(name: str, form: dict[str, Any]) -> int:
    return (
        OBJECT_SIZE
        + VALUE_SIZE
        + size(name)
        + sum(
            objects_size(inner_name, inner)
            for inner_name, inner in form.items()
            if isinstance(inner, dict)
        )
    )


def rounded(found: Any) -> Any:
    if isinstance(found, list):
        return list(map(rounded, found))
    if isinstance(found, dict):
        return {name: rounded(member) for name, member in found.items()}
    if isinstance(found, float) and 1e-6 <= abs(found) < 1e-4:
        return float(f"{found:.20f}")
    return found


def dumps(
    found: Any,
    *,
    flatten: bool = True,
    constant_columns: bool = False,
    group_values: bool = False,
    list_columns: bool = False,
    matrices: bool = False,
    deviations: frozenset[str] = frozenset(),
) -> str:
    found = rounded(found) if ROUNDS in deviations else found
    for options in ((flatten, constant_columns, True), (False, False, True), (False, False, False)):
        writer = _Writer(*options, list_columns, matrices, deviations)
        writer.root(found)
        text = "".join(line + "\n" for line in ["GCF profile=generic", *writer.lines])
        if writer.expansion <= EXPANSION + FREE_EXPANSION * size(text) or deviations:
            break
    return min([text, *grouped_texts(found)], key=size) if group_values else text


def size(text: str) -> int:
    return len(text.encode())


def grouped_texts(found: Any) -> list[str]:
    """The texts among which `group_values` chooses, in the order of their columns."""
    if not isinstance(found, list) or len(found) < 2 or not has_columns(found):
        return []
    if has_sparse_rows(found):
        return []
    cells = [cell for row in found for cell in row.values()]
    names = [name for name in union(found) if all(name in row for row in found)]
    if any(">" in name for name in union(found)) or not all(map(is_scalar, cells)):
        return []
    identities = (
        name
        for name in names
        if all(row[name] is not None for row in found)
        and len({scalar(row[name]) for row in found}) == len(found)
    )
    identity = next(identities, None)
    if identity is None:
        return []
    texts = [
        dumps_grouped(found, identity, name)
        for name in names
        if name != identity and len({scalar(row[name]) for row in found}) >= 2
    ]
    return [text for text in texts if text is not None]


def dumps_grouped(
    rows: list[dict[str, Any]], identity: str, group: str, *, reorder: bool = False
) -> str | None:
    """Rows of scalars in groups; `None` if rows of a group are apart and may not be moved."""
    groups: dict[str, list[dict[str, Any]]] = {}
    order = []
    for row in rows:
        groups.setdefault(scalar(row[group]), []).append(row)
        order.append(scalar(row[group]))
    together = [text for text, members in groups.items() for _ in members]
    if together != order and not reorder:
        return None
    names = union(rows)
    constants = {
        name
        for name in names
        if name not in (identity, group)
        and len(rows) > 1
        and all(name in row for row in rows)
        and len({scalar(row[name]) for row in rows}) == 1
    }
    declared = [
        ("@" if name == identity else "")
        + key(name)
        + (f"={constant_value(rows[0][name])}" if name in constants else "")
        for name in names
    ]
    lines = [f"## [{len(rows)}]{{{','.join(declared)}}} group={key(group)}"]
    cells = [name for name in names if name != group and name not in constants]
    for text, members in groups.items():
        lines.append(f"{key(group)}={text} [{len(members)}]")
        lines += ["|".join(scalar(row.get(name, ABSENT)) for name in cells) for row in members]
    return "".join(line + "\n" for line in ["GCF profile=generic", *lines])


def constant_value(found: Any) -> str:
    return quoted(found) if isinstance(found, str) and "}" in found else scalar(found)


class _Writer:
    def __init__(
        self,
        flatten: bool,
        constants: bool,
        tables: bool,
        list_columns: bool,
        matrices: bool,
        deviations: frozenset[str],
    ) -> None:
        self.flatten, self.constants, self.deviations = flatten, constants, deviations
        self.tables, self.list_columns, self.matrices = tables, list_columns, matrices
        self.lines: list[str] = []
        self.expansion = 0

    def is_table(self, rows: list[Any]) -> bool:
        sparse = (
            SPARSE_TABLES not in self.deviations and has_columns(rows) and has_sparse_rows(rows)
        )
        return self.tables and has_columns(rows) and not sparse

    def is_keyed(self, found: dict[str, Any]) -> bool:
        return len(found) >= 2 and self.is_table(list(found.values()))

    def root(self, found: Any) -> None:
        if is_scalar(found):
            self.lines.append("=" + scalar(found))
        elif isinstance(found, list) or self.is_keyed(found):
            self.form("## ", found, 0)
        else:
            self.members(found, 0)

    def members(self, found: dict[str, Any], depth: int) -> None:
        for name, member in found.items():
            lead = " " * depth
            if is_scalar(member):
                self.lines.append(f"{lead}{key(name)}={scalar(member)}")
            elif isinstance(member, list) and member and all(map(is_scalar, member)):
                self.form(lead + key(name), member, depth)
            elif isinstance(member, list) or self.is_keyed(member):
                self.form(f"{lead}## {key(name)} ", member, depth)
            else:
                self.lines.append(f"{lead}## {key(name)}")
                self.members(member, depth + 2)

    def form(self, lead: str, found: Any, body: int) -> None:
        """Write a value after its introduction; its body is indented to `body`."""
        if is_scalar(found):
            self.lines.append(f"{lead}={scalar(found)}")
        elif isinstance(found, dict) and self.is_keyed(found):
            self.table(f"{lead}[{len(found)}:]", list(found.values()), body, list(found))
        elif isinstance(found, dict):
            self.lines.append(lead + "{}")
            self.members(found, body)
        elif not found:
            self.lines.append(lead + "[0]")
        elif all(map(is_scalar, found)):
            self.lines.append(f"{lead}[{len(found)}]: {','.join(map(scalar, found))}")
        elif self.is_table(found):
            self.table(f"{lead}[{len(found)}]", found, body)
        elif self.matrices and self.is_matrix(found):
            self.lines.append(f"{lead}[{len(found)}]{{[{len(found[0])}]}}")
            self.lines += [" " * body + "|".join(map(scalar, row)) for row in found]
        else:
            self.lines.append(f"{lead}[{len(found)}]")
            for index, item in enumerate(found):
                self.form(f"{' ' * body}@{index} ", item, body + 2)

    def is_matrix(self, found: list[Any]) -> bool:
        """Whether these are at least two lists of scalars of one length, which is not 0."""
        return (
            len(found) >= 2
            and all(isinstance(row, list) and row and all(map(is_scalar, row)) for row in found)
            and len({len(row) for row in found}) == 1
        )

    def table(
        self, lead: str, rows: list[dict[str, Any]], body: int, keys: list[str] | None = None
    ) -> None:
        names = union(rows)
        forms = {name: form for name in names if (form := self.flat_form(name, rows))}
        inline = {
            name
            for name in names
            if name not in forms and ">" not in name and self.is_inline(name, rows)
        }
        columns = [name for name in names if ">" not in name]
        constant = self.constant(lead, rows, columns) if keys is None else set()
        lists = {
            name
            for name in columns
            if name not in forms and name not in inline and self.is_list(name, rows)
        }
        width = sum(
            len(leaf_names(forms[name])) if name in forms else 1
            for name in columns
            if name not in constant
        )
        if width == 1 and keys is None:
            # An empty list would make a blank line.
            lists = {name for name in lists if all(row.get(name) != [] for row in rows)}
        declared = []
        if keys is not None:
            label = "key"
            while label in names:
                label = "_" + label
            declared.append(label)
        for name in columns:
            if name in forms:
                declared += map(quoted, paths(name, forms[name]))
            elif name in constant:
                declared.append(f"{key(name)}={constant_value(rows[0][name])}")
            else:
                declared.append(key(name) + ("[]" if name in lists else ""))
        self.lines.append(f"{lead}{{{','.join(declared)}}}")
        shared = {name for name in names if name not in forms and self.is_shared(name, rows)}
        for name in columns:
            if name in forms:
                self.expansion += len(rows) * sum(map(size, leaf_names(forms[name])))
                objects = sum(isinstance(row.get(name), dict) for row in rows)
                self.expansion += objects * objects_size(name, forms[name])
            else:
                self.expansion += len(rows) * size(name)
            if name in constant:
                text = rows[0][name] if isinstance(rows[0][name], str) else ""
                self.expansion += len(rows) * (VALUE_SIZE + size(text))
        columns = [name for name in columns if name not in constant]
        for index, row in enumerate(rows):
            cells = [] if keys is None else [value(keys[index])]
            blocks = [
                name
                for name in columns
                if name not in forms and name not in lists and not is_scalar(row.get(name))
            ]
            blocks += [name for name in names if ">" in name and name in row]
            for name in columns:
                if name in lists and isinstance(row.get(name), list):
                    cells.append(",".join(map(scalar, row[name])))
                    continue
                cells += self.cells(row.get(name, ABSENT), forms.get(name), name in inline, index)
            lead = " " * body
            self.lines.append(lead + (f"@{index} " if blocks else "") + "|".join(cells))
            for name in blocks:
                if name in inline and isinstance(row[name], dict):
                    self.lines.append(lead + "|".join(map(scalar, row[name].values())))
                    self.expansion += sum(map(size, row[name]))
                elif name in shared and index > 0 and row[name] is not None:
                    self.shared_rows(f"{lead}.{key(name)} ", row[name], body + 4)
                else:
                    self.form(f"{lead}.{key(name)} ", row[name], body + 4)

    def cells(self, cell: Any, form: dict[str, Any] | None, inline: bool, index: int) -> list[str]:
        if form:
            if isinstance(cell, dict):
                return list(map(scalar, leaves(cell, form)))
            return [scalar(cell)] * len(leaves(form, form))
        if is_scalar(cell):
            return [scalar(cell)]
        if inline and index == 0:
            return [f"^{{{','.join(map(key, cell))}}}"]
        return ["^"]

    def shared_rows(self, lead: str, rows: list[dict[str, Any]], body: int) -> None:
        self.lines.append(f"{lead}[{len(rows)}]")
        self.expansion += len(rows) * sum(map(size, union(rows)))
        for row in rows:
            cells = (scalar(row.get(name, ABSENT)) for name in union(rows))
            self.lines.append(" " * body + "|".join(cells))

    # Classes of fields ----------------------------------------------------------------------------

    def flat_form(self, name: str, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The object whose shape all objects of a field have, if the field becomes columns."""
        cells = [row[name] for row in rows if row.get(name) is not None]
        if not self.flatten or not name or ">" in name or not cells:
            return None
        if not all(isinstance(cell, dict) for cell in cells):
            return None
        if not all(self.same_form(cell, cells[0]) for cell in cells):
            return None
        if any(all(leaf is None for leaf in leaves(cell, cells[0])) for cell in cells):
            return None
        form: dict[str, Any] = cells[0]
        if SPARSE_TABLES not in self.deviations and self.has_sparse_columns(name, rows, form):
            return None
        if OWN_NAME in self.deviations and any(self.has_own_name(name, cell) for cell in cells):
            return None
        return form

    def has_sparse_columns(
        self, name: str, rows: list[dict[str, Any]], form: dict[str, Any]
    ) -> bool:
        """Whether most cells, or most parts of the names, of the columns would be superfluous."""
        width = len(leaf_names(form))
        present = sum(row.get(name) is not None for row in rows)
        declared = sum(map(size, paths(name, form)))
        return is_sparse(len(rows) * width, present * width) or is_sparse(
            declared, size(name) + keys_size(form)
        )

    def has_own_name(self, name: str, cell: dict[str, Any]) -> bool:
        return cell.get(name, 0) is None and any(isinstance(inner, dict) for inner in cell.values())

    def same_form(self, found: dict[str, Any], form: dict[str, Any]) -> bool:
        alike = found.keys() == form.keys() if REORDERS in self.deviations else [*found] == [*form]
        return (
            bool(found)
            and alike
            and all(
                name
                and ">" not in name
                and not isinstance(inner, list)
                and isinstance(inner, dict) == isinstance(form[name], dict)
                and (is_scalar(inner) or self.same_form(inner, form[name]))
                for name, inner in found.items()
            )
        )

    def is_inline(self, name: str, rows: list[dict[str, Any]]) -> bool:
        first = rows[0].get(name)
        cells = [row[name] for row in rows if name in row]
        if INLINE_NULL in self.deviations:
            cells = [cell for cell in cells if cell is not None]
        return (
            isinstance(first, dict)
            and len(first) >= 3
            and all(
                isinstance(cell, dict)
                and [*cell] == [*first]
                and all(map(is_scalar, cell.values()))
                for cell in cells
            )
        )

    def is_list(self, name: str, rows: list[dict[str, Any]]) -> bool:
        """Whether all values of a field can be cells with the elements of a list."""
        cells = [row[name] for row in rows if row.get(name) is not None]
        return (
            self.list_columns
            and bool(cells)
            and all(
                isinstance(cell, list) and all(map(is_scalar, cell)) and cell != [None]
                for cell in cells
            )
        )

    def is_shared(self, name: str, rows: list[dict[str, Any]]) -> bool:
        cells = [row[name] for row in rows if row.get(name) is not None]
        if rows[0].get(name) is None:
            return False
        return all(isinstance(cell, list) and self.is_flat_table(cell) for cell in cells) and all(
            union(cell) == union(cells[0]) for cell in cells
        )

    def is_flat_table(self, rows: list[Any]) -> bool:
        names = union(row for row in rows if isinstance(row, dict))
        return (
            all(isinstance(row, dict) and all(map(is_scalar, row.values())) for row in rows)
            and bool(names)
            and not (SPARSE_TABLES not in self.deviations and has_sparse_rows(rows))
            and (SHARED_PATHS in self.deviations or not any(">" in name for name in names))
        )

    def constant(self, lead: str, rows: list[dict[str, Any]], columns: list[str]) -> set[str]:
        if not self.constants or not lead.lstrip(" ").startswith("## ") or len(rows) < 2:
            return set()
        found = [
            name
            for name in columns
            if all(is_scalar(row.get(name, [])) for row in rows)
            and len({scalar(row[name]) for row in rows}) == 1
        ]
        return set(found[:-1] if found == columns else found)
