"""A value that JSON does not have raises the same error in every function that takes a value."""

from __future__ import annotations

import ast
import io
import itertools
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import claims, gcf
from tests.strategies.claims import BUILD, SEED
from tests.strategies.twins import Twin

STUBS = Path(cw.__file__).parent / "_core"
FOLDER = Path(tempfile.gettempdir()) / "no such folder"
KEY = claims.SigningKey.from_seed(SEED)

Write = Callable[..., object]


def nested(value: Any) -> Any:
    """The value within lists and dicts: at `.rows[1].when`."""
    return {"rows": [{"when": None}, {"when": value}]}


def stream(write: Callable[[gcf.StreamEncoder], None]) -> None:
    write(gcf.StreamEncoder(io.StringIO()))


def row(encoder: gcf.StreamEncoder, value: Any) -> None:
    encoder.begin_array("rows", ["a", "b"])
    encoder.row([1, value])


def keyed_delta(**rows: Any) -> gcf.KeyedDelta:
    return gcf.KeyedDelta(key="id", base_root="", new_root="", fields=["id", "when"], **rows)


def out_of_order(change: Callable[[dict[str, int]], None]) -> OrderedDict[str, int]:
    """An `OrderedDict` that a method of `dict` has changed."""
    ordered = OrderedDict(a=1, b=2)
    change(ordered)
    return ordered


# By the name of the function and a parameter: a call, and the path of the value.
WRITERS: dict[str, tuple[Write, str]] = {
    "shrink value": (lambda v, **o: cw.shrink(nested(v), **o), "$.rows[1].when"),
    "dumps obj": (lambda v, **o: gcf.dumps(nested(v), **o), "$.rows[1].when"),
    "dumps_bytes obj": (lambda v, **o: gcf.dumps_bytes(nested(v), **o), "$.rows[1].when"),
    "dump obj": (lambda v, **o: gcf.dump(nested(v), io.StringIO(), **o), "$.rows[1].when"),
    "dumps_grouped rows": (
        lambda v, **o: gcf.dumps_grouped([{"id": 1, "of": v}], "id", "of", **o),
        "$[0].of",
    ),
    "encode_tool_call arguments": (
        lambda v, **o: cw.encode_tool_call("f", nested(v), **o),
        "arguments.rows[1].when",
    ),
    "encode_tool_call_bytes arguments": (
        lambda v, **o: cw.encode_tool_call_bytes("f", nested(v), **o),
        "arguments.rows[1].when",
    ),
    "Session.encode_request messages": (
        lambda v, **o: cw.Session().encode_request(messages=[{}, nested(v)], **o),
        "messages[1].rows[1].when",
    ),
    "Session.encode_request args": (
        lambda v, **o: cw.Session().encode_request(args=nested(v), **o),
        "args.rows[1].when",
    ),
    "Session.encode_request tool": (
        lambda v, **o: cw.Session().encode_request(tool=[{}, nested(v)], **o),
        "tool[1].rows[1].when",
    ),
    "ToolCall.__new__ arguments": (
        lambda v: cw.ToolCall("f", nested(v)),
        "arguments.rows[1].when",
    ),
    "Request.__new__ args": (lambda v: cw.Request(args=nested(v)), "args.rows[1].when"),
    "Request.__new__ tool": (lambda v: cw.Request(tool=nested(v)), "tool.rows[1].when"),
    "KeyedSet.__new__ rows": (
        lambda v: gcf.KeyedSet([{"id": 1, "when": 1}, {"id": 2, "when": v}], key="id"),
        "$[1].when",
    ),
    "KeyedDelta.__new__ added": (
        lambda v: keyed_delta(added=[{"id": 1, "when": v}]),
        "added[0].when",
    ),
    "KeyedDelta.__new__ changed": (
        lambda v: keyed_delta(changed=[{"id": 1, "when": v}]),
        "changed[0].when",
    ),
    "KeyedDelta.__new__ removed": (lambda v: keyed_delta(removed=[1, v]), "removed[1]"),
    "StreamEncoder.kv value": (lambda v: stream(lambda s: s.kv("when", v)), "$.when"),
    "StreamEncoder.list values": (lambda v: stream(lambda s: s.list("a b", [v])), '$["a b"][0]'),
    "StreamEncoder.row values": (lambda v: stream(lambda s: row(s, v)), "values[1]"),
    "make_receipt manifest": (
        lambda v: claims.make_receipt(nested(v)),
        "manifest.rows[1].when",
    ),
    "make_receipt parent": (
        lambda v: claims.make_receipt({}, nested(v)),
        "parent.rows[1].when",
    ),
    "sign_receipt receipt": (
        lambda v: claims.sign_receipt(nested(v), KEY, "v", BUILD),
        "receipt.rows[1].when",
    ),
    "write_receipt receipt": (
        lambda v: claims.write_receipt(FOLDER, nested(v)),
        "receipt.rows[1].when",
    ),
    "merkle_attestation chain": (
        lambda v: claims.merkle_attestation([nested(v)], KEY, "v", BUILD),
        "chain[0].rows[1].when",
    ),
    "verify_merkle_signature attestation": (
        lambda v: claims.verify_merkle_signature(nested(v)),
        "attestation.rows[1].when",
    ),
    "make_claim manifest": (
        lambda v: claims.make_claim(nested(v), FOLDER),
        "manifest.rows[1].when",
    ),
    "make_trust_policy entries": (
        lambda v: claims.make_trust_policy([nested(v)]),
        "entries[0].rows[1].when",
    ),
    "write_json value": (
        lambda v: claims.write_json(FOLDER / "x", nested(v)),
        "value.rows[1].when",
    ),
    "canonical_json value": (lambda v: claims.canonical_json(nested(v)), "value.rows[1].when"),
}
# They have `types=` and `default=`.
CONVERTERS = [
    "shrink value",
    "dumps obj",
    "dumps_bytes obj",
    "dump obj",
    "dumps_grouped rows",
    "encode_tool_call arguments",
    "encode_tool_call_bytes arguments",
    "Session.encode_request args",
    "Session.encode_request messages",
    "Session.encode_request tool",
]
# They have `max_depth=`.
DEEPER = ["shrink value", "dumps obj", "dumps_bytes obj", "dump obj"]
# They take scalars only.
SCALARS = ["Keyed", "StreamEncoder"]
# They take the fields of a response, each with its own type.
RESPONSES = {"encode response", "encode_bytes response", "Dictionary.train samples"}

VALUES: dict[str, tuple[Any, str]] = {
    "date": (date(2026, 1, 1), "unsupported_type"),
    "set": ({1}, "unsupported_type"),
    "object": (object(), "unsupported_type"),
    "bytes": (b"x", "unsupported_type"),
    "timedelta": (timedelta(1), "unsupported_type"),
    "Decimal NaN": (Decimal("NaN"), "unsupported_type"),
    "Decimal sNaN": (Decimal("sNaN"), "unsupported_type"),
    "OrderedDict without a key of its order": (
        out_of_order(lambda made: dict.__delitem__(made, "a")),
        "unsupported_type",
    ),
    "OrderedDict with a key beside its order": (
        out_of_order(lambda made: dict.__setitem__(made, "c", 3)),
        "unsupported_type",
    ),
    "NaN": (float("nan"), "not_finite"),
    "infinity": (float("-inf"), "not_finite"),
    "key": ({1: 2}, "unsupported_type"),
    "two keys of one text": ({Twin("a"): 1, Twin("a"): 2}, "duplicate_key"),
    "large int": (10**5000, "out_of_range"),
    "surrogate": ("\ud800", "invalid_surrogate"),
    "surrogate in a key": ({"\ud800": 1}, "invalid_surrogate"),
}


def parameters() -> set[str]:
    """The parameters in the stubs that take any value."""
    found = set()
    for stub in STUBS.glob("*.pyi"):
        if stub.stem == "graph":
            continue  # The elements of a graph have fields with types.
        body = ast.parse(stub.read_text(encoding="utf-8")).body
        classes = [one for one in body if isinstance(one, ast.ClassDef)]
        functions = [("", one) for one in body if isinstance(one, ast.FunctionDef)]
        functions += [
            (f"{one.name}.", method)
            for one in classes
            for method in one.body
            if isinstance(method, ast.FunctionDef)
        ]
        for owner, function in functions:
            name = owner + function.name
            if name.startswith("_") or ("__" in name and function.name != "__new__"):
                continue
            arguments = function.args
            for one in itertools.chain(arguments.posonlyargs, arguments.args, arguments.kwonlyargs):
                kind = ast.unparse(one.annotation) if one.annotation else ""
                takes = {"Any", "object", "_Scalar", "_Tools"} & set(
                    kind.replace("[", " ").replace("]", " ").replace(",", " ").split()
                )
                if takes and "Callable" not in kind:
                    found.add(f"{name} {one.arg}")
    return found


def test_every_parameter_for_values_is_tested() -> None:
    assert parameters() == set(WRITERS) | RESPONSES


def raised(name: str, value: Any, **options: Any) -> cw.UnsupportedValue:
    write, path = WRITERS[name]
    with pytest.raises(cw.CompactWireError) as caught:
        write(value, **options)
    error = caught.value
    assert type(error) is cw.UnsupportedValue
    assert isinstance(error, cw.EncodeError)
    assert isinstance(error, cw.GcfError)
    assert error.path == error.field == path
    assert path in str(error)
    return error


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("name", WRITERS)
def test_an_unsupported_value_is_one_class_with_its_path(name: str, kind: str) -> None:
    value, code = VALUES[kind]
    if isinstance(value, dict) and name.startswith(tuple(SCALARS)):
        code = "unsupported_type"
    options = {"types": "json"} if name in CONVERTERS else {}
    assert raised(name, value, **options).code == code


@pytest.mark.parametrize("name", [name for name in WRITERS if name not in CONVERTERS])
def test_no_option_is_named_where_there_is_none(name: str) -> None:
    text = str(raised(name, date(2026, 1, 1)))
    assert "types=" not in text
    assert "default=" not in text


@pytest.mark.parametrize("name", CONVERTERS)
def test_the_options_that_help_are_named(name: str) -> None:
    day = date(2026, 1, 1)
    both = 'convert it with types="common" or default='
    refuse = {"default": lambda _: NotImplemented}
    assert both in str(raised(name, day, types="json"))
    text = str(raised(name, day, types="json", **refuse))
    assert 'convert it with types="common"' in text
    assert "default=" not in text
    for options in ({"types": "json"}, {"types": "common"}):
        text = str(raised(name, timedelta(1), **options))
        assert "convert it with default=" in text
        assert "types=" not in text
    text = str(raised(name, timedelta(1), types="common", **refuse))
    assert "timedelta is not a JSON type" in text
    assert "convert it" not in text


def levels(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("name", [name for name in WRITERS if not name.startswith(tuple(SCALARS))])
def test_a_deep_value_has_its_path_and_the_option_that_allows_it(name: str) -> None:
    write, path = WRITERS[name]
    with pytest.raises(cw.UnsupportedValue, match="nested more than") as caught:
        write(levels(300))
    error = caught.value
    assert error.code == "limit_exceeded"
    steps = error.path.removeprefix(path)
    assert steps == "[0]" * (len(steps) // 3) != ""
    begin, _, end = str(error).partition("…")
    assert path + "[0]" in begin
    assert end.startswith("[0]")
    assert len(str(error)) < 250
    assert ("max_depth allows up to 256" in str(error)) == (name in DEEPER)


@pytest.mark.parametrize("name", DEEPER)
def test_max_depth_is_not_named_where_it_is_at_its_limit(name: str) -> None:
    write, _ = WRITERS[name]
    write(levels(200), max_depth=256)
    with pytest.raises(cw.UnsupportedValue, match="nested more than 256 levels deep") as caught:
        write(levels(300), max_depth=256)
    assert "max_depth" not in str(caught.value)


@pytest.mark.parametrize("name", CONVERTERS)
def test_default_that_makes_no_json_is_the_same_error(name: str) -> None:
    error = raised(name, object(), types="json", default=lambda _: object())
    assert error.code == "limit_exceeded"
    assert "default=" in str(error)


@pytest.mark.parametrize("name", CONVERTERS)
def test_an_exception_of_default_is_raised(name: str) -> None:
    def default(_: object) -> object:
        raise LookupError("mine")

    write, _ = WRITERS[name]
    with pytest.raises(LookupError, match="mine"):
        write(object(), default=default)


class Broken:
    """Looks like a model, and fails."""

    model_fields = ()

    def model_dump(self) -> object:
        raise RuntimeError("broken")


def test_an_object_that_fails_is_named_without_its_option() -> None:
    assert "types=" not in str(raised("dumps obj", Broken()))
    with pytest.raises(RuntimeError, match="broken"):
        gcf.dumps(Broken(), types="common")


@pytest.mark.parametrize("format", ["binary", "base85", "zlib", "zstd", "dictionary"])
def test_an_int_beyond_msgpack_has_its_path(format: Any) -> None:
    with pytest.raises(cw.UnsupportedValue) as caught:
        cw.encode_tool_call("f", {"a b": [0, 2**64]}, format=format)
    assert caught.value.path == 'arguments["a b"][1]'
    assert caught.value.code == "out_of_range"


@pytest.mark.parametrize("name", [name for name in WRITERS if name.startswith(tuple(SCALARS))])
def test_an_int_beyond_gcf_has_its_path(name: str) -> None:
    assert raised(name, 2**63).code == "out_of_range"


def test_gcf_of_json_has_the_path_of_a_large_int() -> None:
    with pytest.raises(cw.UnsupportedValue) as caught:
        gcf.from_json('{"a": [18446744073709551616]}')
    assert caught.value.path == "$.a[0]"


def test_a_row_that_is_no_dict_is_unsupported() -> None:
    for rows in ([1], [{"id": 1}, 1]):
        with pytest.raises(cw.UnsupportedValue, match="a row must be a dict, not int") as caught:
            gcf.KeyedSet(rows, key="id")  # type: ignore[list-item]
        assert caught.value.path == f"$[{len(rows) - 1}]"
    for key, code in ((1, "unsupported_type"), ("\ud800", "invalid_surrogate")):
        for plain in ([], [{"id": 1}]):
            with pytest.raises(cw.UnsupportedValue) as caught:
                gcf.KeyedSet([*plain, {"id": 2, key: 2}], key="id")  # type: ignore[dict-item]
            assert (caught.value.code, caught.value.path) == (code, f"$[{len(plain)}]")


@pytest.mark.parametrize(
    "call",
    [
        lambda: cw.Response("\ud800"),
        lambda: cw.encode("\ud800"),
        lambda: cw.encode_delta("", "\ud800"),
        lambda: gcf.Symbol("\ud800", "type"),
        lambda: cw.Session().encode_request(context="\ud800"),
        lambda: cw.encode_tool_call("\ud800", {}),
    ],
)
def test_a_lone_surrogate_in_a_field_is_the_same_class(call: Callable[[], object]) -> None:
    with pytest.raises(cw.UnsupportedValue, match="lone surrogate at position 0") as caught:
        call()
    assert caught.value.code == "invalid_surrogate"


@pytest.mark.parametrize(
    "call",
    [
        lambda: cw.Response("", tokens=2**63),
        lambda: gcf.Payload(tokens_used=2**63),
        lambda: gcf.Symbol("a", "type", distance=-(2**64)),
        lambda: gcf.Symbol("a", "type", score=10**400),
        lambda: gcf.Symbol("a", "type", score=Fraction(10**400)),  # type: ignore[arg-type]
        lambda: claims.estimate_tokens(2**63),
    ],
)
def test_a_large_number_in_a_field_is_the_same_class(call: Callable[[], object]) -> None:
    with pytest.raises(cw.UnsupportedValue) as caught:
        call()
    assert caught.value.code == "out_of_range"
