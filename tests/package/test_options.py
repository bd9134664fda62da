"""A value that an option does not allow is a `CompactWireError` in every function."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import analysis, arrow, cad, claims, gcf, wire
from tests.columns.producer import Column

PACKAGE = Path(cw.__file__).parent

SOURCES = [
    *sorted((PACKAGE / "_core").glob("*.pyi")),
    *(PACKAGE / name for name in ("_bridge.py", "_cad_preview.py", "_cad_tool.py", "_chat.py")),
    *sorted((PACKAGE / "analysis").glob("*.py")),
]

# Not options: fields of wire data, which are checked when they are used, or have no range.
FREE = re.compile(
    r"^(Components\.|(Delta)?Payload\.|Symbol\.|Unchanged\.|GraphStreamEncoder\.\w+ token"
    r"|Response\.__new__ returncode|Session\.encode_request pack|KeyedProducer\.__new__ fixed_n"
    r"|verify_claim progress|.* count_tokens)"
)

Call = Callable[[Any], object]

TEXT = "GCF profile=generic\n## [2]{a,b}\n1|2\n3|4\n"
PAYLOAD = gcf.Payload(
    symbols=[gcf.Symbol(name, "function", 0.5, "lsp") for name in "ab"],
    edges=[gcf.Edge("a", "b", "calls")],
)
BASE, NEW = gcf.snapshot(PAYLOAD), gcf.snapshot(gcf.Payload(symbols=PAYLOAD.symbols[:1]))
DELTA = gcf.diff(BASE, NEW)
SET, NEXT = gcf.KeyedSet([{"id": 1}], key="id"), gcf.KeyedSet([{"id": 2}], key="id")
PART = cad.from_compact("C 1 1 1 # n")
BINARY = cad.to_binary(PART)
WIRE = cw.encode(cw.Response("a" * 1000), format="zstd")
COMPACT = "C 1 1 1"


def stats(name: str) -> Call:
    return lambda value: cw.SessionStats(**{name: value})


def shrunk(**options: Any) -> cw.Shrunk:
    return cw.Shrunk("a", **{"format": "text", "tokens_before": 1, "tokens_after": 1, **options})


COLUMNS = [getattr(arrow, name) for name in arrow.__all__ if name not in ("Column", "gcf_loads")]


def of_columns(option: str, *functions: Callable[..., object]) -> dict[str, Call]:
    """A call of each function of a column with a value of the option."""

    def call(function: Callable[..., object]) -> Call:
        return lambda value: function(Column(), **{option: value})

    return {f"arrow.{one.__name__} {option}": call(one) for one in functions or COLUMNS}


# By function and option: a call with a value of the option.
WORDS: dict[str, Call] = {
    **of_columns("errors"),
    **of_columns("format", arrow.encode),
    **of_columns("msgpack_version", arrow.encode),
    **of_columns("output", arrow.encode),
    **of_columns("dialect", arrow.cad_from_compact, arrow.cad_to_compact),
    **of_columns("target", arrow.cad_to_compact),
    **of_columns("unknown", arrow.cad_to_compact),
    "arrow.cad_to_compact lossy": lambda v: arrow.cad_to_compact(
        Column(), target="vcad", lossy=[v]
    ),
    "DeltaStream.__new__ replace": lambda v: cw.DeltaStream("a", replace=v),
    "Response.__new__ status": lambda v: cw.Response("", status=v),
    "Session.encode_graph dangling": lambda v: cw.Session().encode_graph(PAYLOAD, dangling=v),
    "Session.encode_request types": lambda v: cw.Session().encode_request(types=v),
    "Shrunk.__new__ format": lambda v: shrunk(format=v),
    "Shrunk.__new__ reason": lambda v: shrunk(reason=v),
    "apply_delta replace": lambda v: cw.apply_delta("", "D|F|", replace=v),
    "encode format": lambda v: cw.encode("x", format=v),
    "encode msgpack_version": lambda v: cw.encode("x", msgpack_version=v),
    "encode_bytes format": lambda v: cw.encode_bytes("x", format=v),
    "encode_bytes msgpack_version": lambda v: cw.encode_bytes("x", msgpack_version=v),
    "encode_tool_call_bytes format": lambda v: cw.encode_tool_call_bytes("f", 1, format=v),
    "encode_tool_call_bytes types": lambda v: cw.encode_tool_call_bytes("f", 1, types=v),
    "encode_tool_call format": lambda v: cw.encode_tool_call("f", 1, format=v),
    "encode_tool_call types": lambda v: cw.encode_tool_call("f", 1, types=v),
    "shrink formats": lambda v: cw.shrink("[]", formats=[v]),
    "shrink types": lambda v: cw.shrink([], types=v),
    "shrink_messages formats": lambda v: cw.shrink_messages([], formats=[v]),
    "from_context_block on_store_error": lambda v: gcf.from_context_block(
        None, "t", on_store_error=v
    ),
    "preview kind": lambda v: cad.preview(PART, kind=v),
    "create_cad_compact dialect": lambda v: cad.create_cad_compact(COMPACT, dialect=v),
    "create_cad_compact format": lambda v: cad.create_cad_compact(COMPACT, format=v),
    "check dialect": lambda v: cad.check(COMPACT, dialect=v),
    "from_compact dialect": lambda v: cad.from_compact(COMPACT, dialect=v),
    "iter_compact dialect": lambda v: list(cad.iter_compact([COMPACT], dialect=v)),
    "load unknown": lambda v: cad.load(io.StringIO(COMPACT), unknown=v),
    "loads unknown": lambda v: cad.loads(COMPACT, unknown=v),
    "losses dialect": lambda v: cad.losses(PART, dialect=v),
    "losses target": lambda v: cad.losses(PART, target=v),
    "to_compact dialect": lambda v: cad.to_compact(PART, dialect=v),
    "to_compact lossy": lambda v: cad.to_compact(PART, target="vcad", lossy=[v]),
    "to_compact target": lambda v: cad.to_compact(PART, target=v),
    "to_compact unknown": lambda v: cad.to_compact(PART, unknown=v),
    "sign_receipt scope": lambda v: claims.sign_receipt(
        {}, claims.generate_key(), "v", "b" * 64, scope=v
    ),
    "dump types": lambda v: gcf.dump(1, io.StringIO(), types=v),
    "dumps types": lambda v: gcf.dumps(1, types=v),
    "dumps_bytes types": lambda v: gcf.dumps_bytes(1, types=v),
    "dumps_grouped types": lambda v: gcf.dumps_grouped([{"a": 1}], "a", "a", types=v),
    "GraphStreamEncoder.__new__ dangling": lambda v: gcf.GraphStreamEncoder(print, dangling=v),
    "encode dangling": lambda v: gcf.encode(PAYLOAD, dangling=v),
    "respond dangling": lambda v: gcf.respond(PAYLOAD, dangling=v),
    "encode_gcb lossy": lambda v: wire.encode_gcb(PAYLOAD, lossy={v}),
    "batches kind": lambda v: analysis.batches([], kind=v),
    "measure kind": lambda v: analysis.measure([], kind=v),
    "recommend purpose": lambda v: analysis.recommend([1], purpose=v),
    "plot against": lambda v: analysis.plot(None, against=v),  # type: ignore[arg-type]
}
# Numbers below the smallest that is allowed.
NUMBERS: dict[str, Call] = {
    **of_columns("threads"),
    **of_columns("protocol", arrow.encode),
    **of_columns("max_size", arrow.decode, arrow.inspect),
    **of_columns("max_depth", arrow.gcf_from_json, arrow.gcf_to_json),
    **of_columns(
        "max_expansion",
        *(arrow.encode, arrow.decode, arrow.gcf_from_json, arrow.gcf_to_json),
        *(arrow.cad_from_compact, arrow.cad_to_compact, arrow.cad_from_binary),
        arrow.cad_to_binary,
    ),
    "arrow.gcf_loads max_depth": lambda n: arrow.gcf_loads(TEXT, max_depth=n),
    "arrow.gcf_loads max_expansion": lambda n: arrow.gcf_loads(TEXT, max_expansion=n),
    "DeltaStream.__new__ max_size": lambda n: cw.DeltaStream("a", max_size=n),
    "Dictionary.train size": lambda n: cw.Dictionary.train(["a" * 99] * 20, size=n),
    "Dictionary.train time": lambda n: cw.Dictionary.train(["a" * 99] * 20, time=n),
    "Response.__new__ tokens": lambda n: cw.Response("", tokens=n),
    "Session.__new__ max_size": lambda n: cw.Session(max_size=n),
    "SessionStats.__new__ bytes_in": stats("bytes_in"),
    "SessionStats.__new__ bytes_out": stats("bytes_out"),
    "SessionStats.__new__ messages": stats("messages"),
    "SessionStats.__new__ plain_bytes": stats("plain_bytes"),
    "Shrunk.__new__ tokens_after": lambda n: shrunk(tokens_after=n),
    "Shrunk.__new__ tokens_before": lambda n: shrunk(tokens_before=n),
    "apply_delta max_size": lambda n: cw.apply_delta("", "D|F|", max_size=n),
    "decode max_size": lambda n: cw.decode(WIRE, max_size=n),
    "decode_tool_call max_size": lambda n: cw.decode_tool_call(WIRE, max_size=n),
    "encode protocol": lambda n: cw.encode("x", protocol=n),
    "encode_bytes protocol": lambda n: cw.encode_bytes("x", protocol=n),
    "encode_tool_call_bytes protocol": lambda n: cw.encode_tool_call_bytes("f", 1, protocol=n),
    "encode_tool_call protocol": lambda n: cw.encode_tool_call("f", 1, protocol=n),
    "inspect max_size": lambda n: cw.inspect(WIRE, max_size=n),
    "shrink max_depth": lambda n: cw.shrink("[]", max_depth=n),
    "shrink max_size": lambda n: cw.shrink("[]", max_size=n),
    "shrink min_saving": lambda n: cw.shrink("[]", min_saving=n),
    "shrink min_tokens": lambda n: cw.shrink("[]", min_tokens=n),
    "shrink tokenizer": lambda n: cw.shrink("[1, 2]", tokenizer=lambda _: n),
    "shrink_messages max_depth": lambda n: cw.shrink_messages([], max_depth=n),
    "shrink_messages max_size": lambda n: cw.shrink_messages([], max_size=n),
    "shrink_messages min_saving": lambda n: cw.shrink_messages([], min_saving=n),
    "shrink_messages min_tokens": lambda n: cw.shrink_messages([], min_tokens=n),
    "shrink_messages tokenizer": lambda n: cw.shrink_messages([], tokenizer=lambda _: n),
    "preview height": lambda n: cad.preview(PART, height=n),
    "preview width": lambda n: cad.preview(PART, width=n),
    "preview azimuth": lambda n: cad.preview(PART, azimuth=n * 1e300),
    "preview elevation": lambda n: cad.preview(PART, elevation=n * 1e300),
    "check limit": lambda n: cad.check(COMPACT, limit=n),
    "from_binary max_expansion": lambda n: cad.from_binary(BINARY, max_expansion=n),
    "iter_compact max_line": lambda n: list(cad.iter_compact([COMPACT], max_line=n)),
    "load max_expansion": lambda n: (
        cad.load(io.BytesIO(BINARY), max_expansion=n),
        gcf.load(io.StringIO(TEXT), max_expansion=n),
    ),
    "loads max_expansion": lambda n: gcf.loads(TEXT, max_expansion=n),
    "estimate_tokens size": claims.estimate_tokens,
    "verify_claim limits": lambda n: cw.verify_claim("a", None, "b", limits={"max_depth": n}),
    "verify_claim receipt_quorum": lambda n: cw.verify_claim("a", None, "b", receipt_quorum=n),
    "KeyedDelta.encode sizes": lambda n: SET.delta(NEXT).encode(sizes=(n, 1)),  # type: ignore[union-attr]
    "KeyedSnapshots.__new__ limit": lambda n: gcf.KeyedSnapshots(limit=n),
    "dump max_depth": lambda n: gcf.dump(1, io.StringIO(), max_depth=n),
    "dumps max_depth": lambda n: gcf.dumps(1, max_depth=n),
    "dumps_bytes max_depth": lambda n: gcf.dumps_bytes(1, max_depth=n),
    "from_json max_depth": lambda n: gcf.from_json("1", max_depth=n),
    "iter_rows max_depth": lambda n: gcf.iter_rows(io.StringIO(TEXT), max_depth=n),
    "iter_rows max_expansion": lambda n: gcf.iter_rows(io.StringIO(TEXT), max_expansion=n),
    "iter_rows max_row_size": lambda n: gcf.iter_rows(io.StringIO(TEXT), max_row_size=n),
    "load max_depth": lambda n: gcf.load(io.StringIO(TEXT), max_depth=n),
    "loads max_depth": lambda n: gcf.loads(TEXT, max_depth=n),
    "to_json max_depth": lambda n: gcf.to_json(TEXT, max_depth=n),
    "to_json max_expansion": lambda n: gcf.to_json(TEXT, max_expansion=n),
    "Location.__new__ column": lambda n: gcf.Location("f", 1, n),
    "Location.__new__ end_column": lambda n: gcf.Location("f", 1, 1, 1, n),
    "Location.__new__ end_line": lambda n: gcf.Location("f", 1, 1, n, 1),
    "Location.__new__ line": lambda n: gcf.Location("f", n, 1),
    "apply_delta max_expansion": lambda n: gcf.apply_delta(BASE, DELTA, max_expansion=n),
    "diff max_expansion": lambda n: gcf.diff(BASE, NEW, max_expansion=n),
    "encode_delta max_expansion": lambda n: gcf.encode_delta(DELTA, max_expansion=n),
    "pack_root max_expansion": lambda n: gcf.pack_root(PAYLOAD, max_expansion=n),
    "respond max_expansion": lambda n: gcf.respond(PAYLOAD, max_expansion=n),
    "snapshot max_expansion": lambda n: gcf.snapshot(PAYLOAD, max_expansion=n),
    "encode_json max_expansion": lambda n: wire.encode_json(PAYLOAD, max_expansion=n),
    "batches max_row": lambda n: analysis.batches([], max_row=n),
    "batches rows": lambda n: analysis.batches([], rows=n),
    "compare price": lambda n: analysis.compare([1], price=n),
    "measure token_fraction": lambda n: analysis.measure([], token_fraction=n),
    "merge_samples k": lambda n: analysis.merge_samples([], n),
    "merge_samples max_bytes": lambda n: analysis.merge_samples([], 1, max_bytes=n),
    "report price": lambda n: analysis.report(analysis.merge([]), price=n),
    "sample k": lambda n: analysis.sample([], n),
    "sample max_bytes": lambda n: analysis.sample([], 1, max_bytes=n),
    "sample seed": lambda n: analysis.sample([], 1, seed=n),
    "compare seconds": lambda n: analysis.compare([1], seconds=n),
    "recommend seconds": lambda n: analysis.recommend([1], purpose="latency", seconds=n),
    "read_corpus limit": lambda n: analysis.read_corpus(PACKAGE / "schemas", limit=n),
}
# Options that are fractions, and functions whose result is a number.
FRACTIONS = {
    *("compare price", "compare seconds", "recommend seconds", "report price"),
    *("measure token_fraction", "preview azimuth", "preview elevation", "shrink min_saving"),
    *("shrink_messages min_saving", "shrink tokenizer", "shrink_messages tokenizer"),
}
# Other input that is not allowed.
INPUT: dict[str, Callable[[], object]] = {
    "wire.get": lambda: wire.get("none"),
    "formats": lambda: analysis.compare([1], formats=["none"]),
    "no formats": lambda: analysis.compare([1], formats=[]),
    "a format twice": lambda: analysis.compare([1], formats=["gcf", "gcf"]),
    "empty corpus": lambda: analysis.compare(analysis.Corpus({})),
    "large int": lambda: analysis.compare([10**5000]),
    "no files": lambda: analysis.read_corpus(PACKAGE / "_core"),
    "no rows": lambda: next(analysis.batches(PACKAGE / "_core")),
    "no row format": lambda: analysis.measure([], formats=["none"]),
    "no measures": lambda: analysis.summarize(analysis.merge([])),
    "the name of a file": lambda: analysis.compare(__file__),
    "tokenizer of the analysis": lambda: analysis.count_tokens("a", "none"),
    "no turns": lambda: analysis.compare_sessions([]),
    "tokenizer": lambda: cw.shrink("[]", tokenizer="none"),
    "unknown limit": lambda: cw.verify_claim("a", None, "b", limits={"none": 1}),
    "strict": lambda: cw.verify_claim("a", None, "b", strict=True, bind_receipts=False),
    "seed": lambda: claims.SigningKey.from_seed(b"short"),
    "hexadecimal seed": lambda: claims.SigningKey.from_hex("xx"),
    "no hashes": lambda: claims.merkle_root([]),
    "no hash": lambda: claims.merkle_root(["x"]),
    "two intervals": lambda: gcf.KeyedProducer(SET, fixed_n=1, size_guard=True),
    "no rows, no fields": lambda: gcf.KeyedSet([], key="id"),
    "half an end": lambda: gcf.Location("f", 1, 1, 2),
    "content for load": lambda: gcf.load(TEXT),
    "CAD content for load": lambda: cad.load("C 1 2 3"),
    "count_tokens": lambda: gcf.respond(
        NEW, BASE.pack_root, snapshots={BASE.pack_root: BASE}, count_tokens=lambda _: -1
    ),
}


def options() -> set[str]:
    """The parameters of public functions with a closed set of words, or with numbers."""
    found = set()
    for path in SOURCES:
        body = ast.parse(path.read_text(encoding="utf-8")).body
        aliases = {
            name
            for one in body
            if isinstance(one, ast.Assign | ast.AnnAssign)
            if one.value is not None and "Literal" in ast.unparse(one.value)
            for name in re.findall(r"\w+", ast.unparse(one).partition("=")[0])[:1]
        }
        public = set(analysis.__all__) if path.parent.name == "analysis" else None
        functions = [("", one) for one in body if isinstance(one, ast.FunctionDef)]
        functions += [
            (f"{owner.name}.", one)
            for owner in body
            if isinstance(owner, ast.ClassDef) and public is None
            for one in owner.body
            if isinstance(one, ast.FunctionDef)
        ]
        for owner, function in functions:
            name = owner + function.name
            if path.stem == "arrow":  # Its functions have names of others.
                name = f"arrow.{name}"
            if name.startswith("_") or (public is not None and name not in public):
                continue
            if function.name.startswith("_") and function.name != "__new__":
                continue
            arguments = function.args
            for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
                kind = set(
                    re.findall(r"\w+", ast.unparse(one.annotation) if one.annotation else "")
                )
                if kind & (aliases | {"Literal", "int", "float"}):
                    found.add(f"{name} {one.arg}")
    return {option for option in found if not FREE.match(option)}


def test_every_option_is_tested() -> None:
    assert options() - set(WORDS) - set(NUMBERS) == set()


@pytest.mark.parametrize("option", WORDS)
def test_an_unknown_word_is_an_error_with_the_known_ones(option: str) -> None:
    with pytest.raises(cw.CompactWireError) as caught:
        WORDS[option]("no such value")
    name = option.split()[-1]
    assert isinstance(caught.value, cw.OptionError | cw.EncodeError)
    assert re.search(f"{name.removesuffix('s')}|expected|known", str(caught.value))
    with pytest.raises((TypeError, cw.CompactWireError)) as wrong:
        WORDS[option](object())
    # PyO3 names an argument in a note only, which is not part of the message.
    assert name.removesuffix("s") in str(wrong.value)


@pytest.mark.parametrize("option", NUMBERS)
def test_a_number_below_the_range_is_an_error(option: str) -> None:
    name = {"limits": "max_depth"}.get(option.split()[-1], option.split()[-1])
    for number in (-1, -(2**70)):
        with pytest.raises(cw.CompactWireError) as caught:
            NUMBERS[option](number)
        assert re.search(rf"\b{name}\b", str(caught.value)), str(caught.value)
        if name == "max_depth":
            assert "not 0" not in str(caught.value)
    with pytest.raises(TypeError):
        NUMBERS[option]("1")


@pytest.mark.parametrize("option", NUMBERS)
def test_a_bool_is_not_a_number(option: str) -> None:
    if option not in FRACTIONS:
        with pytest.raises((TypeError, cw.OptionError)) as caught:
            NUMBERS[option](True)
        name = {"limits": "max_depth"}.get(option.split()[-1], option.split()[-1])
        assert name in str(caught.value)


@pytest.mark.parametrize("name", INPUT)
def test_other_input_is_an_error_of_the_package(name: str) -> None:
    with pytest.raises(cw.CompactWireError):
        INPUT[name]()
