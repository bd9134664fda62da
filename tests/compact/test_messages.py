"""The public functions and types: arguments, results and refused values."""

from __future__ import annotations

import array
import copy
import inspect
import pickle
import sys
from collections import UserDict
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import compactwire as cw
from tests.strategies.packing import SMALL

FULL = cw.Response(
    "text", "C4", "PART", 7,
    model_name="claude", returncode=3, reasoning_effort="low", ultrathink=False,
)  # fmt: skip


class Index:
    """An integer that is not an `int`, as in numpy."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class Fields(Mapping[str, object]):
    """A mapping that is not a `dict`."""

    def __init__(self, **fields: object) -> None:
        self.fields = fields

    def __getitem__(self, name: str) -> object:
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


# The module


def test_every_public_name_resolves() -> None:
    assert sorted(cw.__all__, key=str.lower) == sorted(set(cw.__all__), key=str.lower)
    for name in cw.__all__:
        assert getattr(cw, name) is not None


def test_defaults_equal_the_documented_ones() -> None:
    def defaults(function: Any) -> dict[str, object]:
        parameters = inspect.signature(function).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}

    where: dict[str, object] = {"max_size": 64 * 2**20, "dictionary": None, "dictionaries": ()}
    assert defaults(cw.decode) == {**where, "fallback": False}
    assert defaults(cw.inspect) == where
    assert defaults(cw.encode) == {
        "format": "auto",
        "protocol": 4,
        "msgpack_version": None,
        "dictionary": None,
    }
    delta = {"replace": "overwrite", "max_size": 64 * 2**20}
    assert defaults(cw.apply_delta) == delta
    assert defaults(cw.DeltaStream) == {"content": "", **delta}
    assert defaults(cw.Response) == {
        "model": "",
        "status": "OK",
        "tokens": 0,
        "model_name": None,
        "returncode": None,
        "reasoning_effort": None,
        "ultrathink": None,
    }


def test_data_is_positional_and_options_are_named() -> None:
    functions: list[Any] = [cw.decode, cw.encode, cw.detect, cw.inspect, cw.apply_delta]
    functions += [cw.encode_delta, cw.encode_base85, cw.decode_base85]
    for function in functions:
        kinds = {p.kind for p in inspect.signature(function).parameters.values()}
        assert kinds <= {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY}


def test_defaults_of_the_signature_are_the_effective_ones() -> None:
    response = cw.Response("x" * 300, "C4")
    assert cw.Response("x") == cw.Response("x", "", "OK", 0)
    assert cw.encode(response) == cw.encode(response, format="auto", protocol=4)
    assert cw.decode("RES|OK||0|x", dictionaries=()) == cw.Response("x")


def test_formats_are_strings() -> None:
    assert [str(member) for member in cw.Format] == [
        "verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary",
        "delta", "tool", "system", "request", "gcf", "raw",
    ]  # fmt: skip
    assert cw.Format("dsl") == "dsl" == f"{cw.Format.DSL}"
    assert isinstance(cw.detect("RES|"), cw.Format)
    assert cw.encode(cw.Response("x"), format=cw.Format.VERBOSE).startswith("{")


# Response


def test_repr_evaluates_to_an_equal_value() -> None:
    for response in (FULL, cw.Response("x"), cw.Response("\"'\n", tokens=2**63 - 1, status="ERR")):
        assert eval(repr(response), {"Response": cw.Response}) == response
    assert repr(cw.Response("x", "C4")) == "Response('x', model='C4')"


def test_equality_of_responses_depends_only_on_fields() -> None:
    decoded = [cw.decode(cw.encode(cw.Response("x", "C4"), format=f)) for f in ("dsl", "binary")]
    assert decoded[0] == decoded[1] == cw.Response("x", "C4")
    assert decoded[0].format != decoded[1].format
    assert len({*decoded, cw.Response("x", "C4")}) == 1
    assert cw.Response("x") != "x"
    for name, value in {
        "result": "other", "model": "G3", "status": "OK", "tokens": 8, "model_name": "Claude 4",
        "returncode": 4, "reasoning_effort": None, "ultrathink": True,
    }.items():  # fmt: skip
        assert FULL.__replace__(**{name: value}) != FULL


def test_responses_have_no_order() -> None:
    with pytest.raises(TypeError):
        _ = cw.Response("a") < cw.Response("b")  # type: ignore[operator]


TRAVELLED = [
    cw.encode(FULL, format=format, protocol=protocol)
    for format in ("verbose", "dsl", "binary", "zstd")
    for protocol in (2, 4)
]


@pytest.mark.parametrize("wire", [*TRAVELLED, "raw text"])
def test_a_decoded_response_pickles_with_format_and_version(wire: str) -> None:
    response = cw.decode(wire, fallback=True)
    copies = [copy.copy(response), copy.deepcopy(response)]
    copies += [pickle.loads(pickle.dumps(response, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)]
    for again in copies:
        assert (again, again.format, again.version) == (response, response.format, response.version)


def test_replace_changes_the_given_fields() -> None:
    assert FULL.__replace__(tokens=8).tokens == 8
    assert FULL.__replace__() == FULL
    with pytest.raises(TypeError):
        FULL.__replace__(unknown=1)
    with pytest.raises(cw.EncodeError):
        FULL.__replace__(tokens=-1)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="copy.replace is new in Python 3.13")
def test_copy_replace_works() -> None:
    replace: Any = vars(copy)["replace"]
    assert replace(FULL, result="new") == FULL.__replace__(result="new")


def test_responses_match_patterns() -> None:
    match cw.Response("text", "C4", "ERR", 3):
        case cw.Response(result, "C4", "ERR", tokens=count):
            assert (result, count) == ("text", 3)
        case _:
            pytest.fail("no match")


def test_responses_are_immutable() -> None:
    for name in ("result", "model", "status", "tokens", "model_name", "format", "unknown"):
        with pytest.raises(AttributeError):
            setattr(FULL, name, "x")
    with pytest.raises(AttributeError):
        del FULL.result
    with pytest.raises(TypeError):
        type("Subclass", (cw.Response,), {})


def test_status_has_two_spellings_and_one_value() -> None:
    assert cw.Response("x", status="PARTIAL").status == "PART"
    assert cw.Response("x", status="PARTIAL") == cw.Response("x", status="PART")
    for status in ("ok", "", "FAIL", "OK "):
        with pytest.raises(cw.EncodeError) as caught:
            cw.Response("x", status=status)  # type: ignore[arg-type]
        assert caught.value.field == "status"


def test_a_returncode_implied_by_the_status_is_none() -> None:
    cases: Any = (
        ("OK", 0, None), ("OK", 7, 7), ("ERR", 1, None), ("ERR", 0, 0), ("ERR", -1, -1),
        ("PART", 0, None), ("STREAM", 0, None), ("PART", 1, 1),
    )  # fmt: skip
    for status, code, kept in cases:
        response = cw.Response("x", status=status, returncode=code)
        assert response.returncode == kept
        assert cw.decode(cw.encode(response, format="verbose")) == response


@pytest.mark.parametrize("field", ["tokens", "returncode"])
def test_numbers_are_integers_of_64_bits(field: str) -> None:
    def build(value: object) -> cw.Response:
        return cw.Response("x", **{field: value})  # type: ignore[arg-type]

    assert getattr(build(2**63 - 1), field) == 2**63 - 1
    assert getattr(build(Index(5)), field) == 5
    for wrong in (True, 1.0, "1", b"1"):
        with pytest.raises(TypeError, match=field):
            build(wrong)
    for huge in (2**63, 2**64, -(2**63) - 1, 10**30, Index(2**63)):
        with pytest.raises(cw.EncodeError) as caught:
            build(huge)
        assert caught.value.field == field


def test_tokens_are_not_negative() -> None:
    for tokens in (-1, -(2**63), Index(-1)):
        with pytest.raises(cw.EncodeError) as caught:
            cw.Response("x", tokens=tokens)  # type: ignore[arg-type]
        assert caught.value.field == "tokens"


@pytest.mark.parametrize("field", ["result", "model", "status", "model_name", "reasoning_effort"])
def test_text_must_be_valid_utf_8(field: str) -> None:
    fields: dict[str, Any] = {"result": "x", field: "a\udc80b"}
    with pytest.raises(cw.EncodeError) as caught:
        cw.Response(**fields)
    assert caught.value.field == field
    fields[field] = b"bytes"
    with pytest.raises(TypeError):
        cw.Response(**fields)


# Mappings


@pytest.mark.parametrize("kind", [dict, UserDict, Fields])
def test_encode_accepts_the_fields_of_a_response(kind: Any) -> None:
    fields = {"result": "text", "model": "C4", "status": "PARTIAL", "tokens": 7}
    assert cw.encode(kind(**fields)) == cw.encode(cw.Response("text", "C4", "PART", 7))
    assert cw.encode(kind(result="x")) == cw.encode(cw.Response("x"))


@pytest.mark.parametrize("kind", [dict, UserDict, Fields])
def test_encode_accepts_the_members_of_a_verbose_message(kind: Any) -> None:
    members = {"model": "Claude 4", "returncode": 1, "response": "failed", "ultrathink": None}
    expected = cw.Response("failed", "C4", "ERR", model_name="Claude 4")
    for format in ("verbose", "dsl"):
        assert cw.encode(kind(**members), format=format) == cw.encode(expected, format=format)


@pytest.mark.parametrize("mapping", [{"result": "x", "unknown": 1}, {"response": "x", "result": 1}])
def test_encode_names_an_unknown_key(mapping: dict[str, object]) -> None:
    with pytest.raises(cw.EncodeError) as caught:
        cw.encode(mapping)
    assert caught.value.field in ("unknown", "result")


def test_encode_names_a_missing_key() -> None:
    with pytest.raises(cw.EncodeError) as caught:
        cw.encode({"model": "C4"})
    assert caught.value.field == "result"
    for name in ("model", "returncode"):
        members = {"model": "x", "returncode": 0, "response": ""}
        del members[name]
        with pytest.raises(cw.CompactWireError) as missing:
            cw.encode(members)
        assert getattr(missing.value, "field", None) == name


def test_encode_accepts_the_result_of_a_response() -> None:
    for text in ("hello", "", "{}", "x" * 1000):
        assert cw.encode(text) == cw.encode(cw.Response(text))
        assert cw.decode(cw.encode(text, format="zstd")).result == text


def test_a_shrunk_is_the_result_of_a_response() -> None:
    shrunk = cw.shrink([{"id": n, "state": "open"} for n in range(20)])
    expected = cw.Response(shrunk.text, "C4")
    assert cw.Response(shrunk, "C4") == expected
    assert cw.encode(shrunk) == cw.encode({"result": shrunk}) == cw.encode(shrunk.text)
    with pytest.raises(cw.UnsupportedValue):
        cw.Response(cw.shrink("\ud800"))


NO_RESPONSES: list[Any] = [
    7,
    ["rows"],
    {"rows": []},
    {"result": [1, 2]},
    {"result": None},
    {"response": {"a": 1}},
    {"response": "x"},
    {"response": "x", "model": "m", "returncode": "0"},
    {"result": "x", "status": 200},
    {"result": "x", "status": "done"},
    {"result": "x", "tokens": {"input": 3}},
    {"result": "x", "tokens": -1},
]


@pytest.mark.parametrize("wrong", NO_RESPONSES)
def test_encode_names_what_writes_other_values(wrong: Any) -> None:
    with pytest.raises((TypeError, cw.EncodeError), match=r"shrink or gcf\.dumps"):
        cw.encode(wrong)


def test_only_errors_about_a_mapping_name_what_writes_other_values() -> None:
    with pytest.raises(cw.EncodeError) as caught:
        cw.encode({"result": "x", "tokens": -1})
    assert (caught.value.field, type(caught.value)) == ("tokens", cw.EncodeError)
    with pytest.raises(cw.UnsupportedValue) as unsupported:
        cw.encode({"result": "\ud800"})
    assert "shrink" not in str(unsupported.value)
    with pytest.raises(TypeError) as of_response:
        cw.Response([])  # type: ignore[arg-type]
    assert "shrink" not in str(of_response.value)


@pytest.mark.parametrize("wrong", [None, b"bytes", 7, ["result"], {"result": None}, {1: 2}])
def test_encode_refuses_other_types(wrong: Any) -> None:
    with pytest.raises((TypeError, cw.EncodeError)):
        cw.encode(wrong)


@pytest.mark.parametrize("member", [
    {"model": None}, {"model": 1}, {"returncode": "0"}, {"returncode": True}, {"returncode": 2**63},
    {"response": b"x"}, {"response": "\ud800"}, {"ultrathink": 1}, {"reasoning_effort": 1},
    {"status": "ok"}, {"tokens": -1}, {"tokens": True}, {"tokens": 2**63},
])  # fmt: skip
def test_encode_refuses_members_of_a_wrong_type_or_range(member: dict[str, object]) -> None:
    members = {"model": "x", "returncode": 0, "response": ""}
    assert cw.encode(members)
    with pytest.raises((TypeError, cw.CompactWireError)):
        cw.encode(members | member)


@pytest.mark.parametrize("options", [
    {"format": "gzip"}, {"format": "raw"}, {"format": ""}, {"protocol": 3}, {"protocol": 0},
    {"msgpack_version": 0}, {"msgpack_version": 4}, {"msgpack_version": "v3"},
])  # fmt: skip
def test_encode_refuses_unknown_options(options: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        cw.encode(cw.Response("x"), **options)


# Wires


@pytest.mark.parametrize("kind", [
    str.encode, lambda s: bytearray(s.encode()), lambda s: memoryview(s.encode()),
    lambda s: memoryview(s.encode() + b"....")[:-4], lambda s: array.array("B", s.encode()),
    lambda s: memoryview(bytes(b for c in s.encode() for b in (c, 0)))[::2],
])  # fmt: skip
def test_every_bytes_type_is_read_like_text(kind: Any) -> None:
    for wire in ("RES|OK|C4|1|한국어 🚀", cw.encode(FULL, format="verbose"), cw.encode(FULL)):
        assert cw.decode(kind(wire)) == cw.decode(wire)
        assert cw.detect(kind(wire)) == cw.detect(wire)
        assert cw.inspect(kind(wire)).layers == cw.inspect(wire).layers
    assert cw.decode_base85(kind("VPa.s")) == b"abcd"


def test_an_argument_that_is_neither_text_nor_bytes_is_a_type_error() -> None:
    wrong: Any
    for wrong in (None, 7, ["RES|"], object(), array.array("i", [1])):
        for function in (cw.decode, cw.detect, cw.inspect, cw.decode_base85):
            with pytest.raises(TypeError):
                function(wrong)
    with pytest.raises(TypeError):
        cw.encode_base85("text")  # type: ignore[arg-type]
    assert cw.encode_base85(memoryview(b"abcd")) == cw.encode_base85(bytearray(b"abcd")) == "VPa.s"


@pytest.mark.parametrize("character", ["é", "ÿ", "Ā", "語", "\uffff", "🎉", "\U0010ffff"])
def test_text_of_any_characters_and_length_is_read(character: str) -> None:
    for length in range(70):
        for text in (character * length, "a" * length + character, f"é{character}語" * length):
            result = cw.decode(cw.encode(text)).result
            assert result == text
            # A str with more room for each character than needed would not be found in a dict.
            assert sys.getsizeof(result) == sys.getsizeof("".join(list(text)))


def test_white_space_and_a_byte_order_mark_are_skipped() -> None:
    for format in ("verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary"):
        wire = cw.encode(FULL, format=format)
        before = " \t\r\n\f\ufeff\n" + wire
        assert cw.decode(before) == cw.decode(before.encode()) == cw.decode(wire)
        assert cw.detect(before) == format
        if format != "dsl":
            assert cw.decode(wire + " \t\r\n") == cw.decode(wire)
        if format not in ("dsl", "verbose"):  # a form feed is not white space in JSON
            assert cw.decode(wire + "\f") == cw.decode(wire)


def test_the_result_of_the_dsl_is_kept_to_the_last_character() -> None:
    assert cw.decode("RES|OK|G3|0| a|b\n \t").result == " a|b\n \t"


def test_the_prefixes_of_version_1_2_are_read() -> None:
    binary, base85 = (cw.encode(FULL, format=f) for f in ("binary", "base85"))
    assert cw.decode("MPK:" + binary[1:]) == cw.decode(binary)
    assert cw.decode("A85:" + base85[1:]) == cw.decode(base85)
    assert cw.detect("MPK:") == "binary"
    assert cw.detect("A85:") == "base85"


@pytest.mark.parametrize("wire", ["", "plain text", "A~", "RES|", "{", "D|F|x", b"bytes", "Zürich"])
def test_fallback_returns_the_text_itself(wire: Any) -> None:
    response = cw.decode(wire, fallback=True)
    text = wire.decode() if isinstance(wire, bytes) else wire
    assert (response, response.format, response.version) == (cw.Response(text), "raw", None)


def test_fallback_accepts_only_text() -> None:
    for wire in ("lone \ud800", b"\xff\xfe", b"RES|OK||0|\x80"):
        with pytest.raises(cw.InvalidFormat):
            cw.decode(wire, fallback=True)


def test_inspect_lists_every_layer() -> None:
    wire = cw.encode(FULL, format="dictionary", dictionary=SMALL)
    found = cw.inspect(wire, dictionaries=[SMALL])
    assert (found.format, found.version, found.compression) == ("dictionary", "map", "zstd")
    assert found.dictionary_id == SMALL.id
    sizes = dict(found.layers)
    assert [name for name, _ in found.layers] == ["wire", "zstd", "msgpack", "result"]
    assert (sizes["wire"], sizes["result"]) == (len(wire), len(FULL.result))
    assert sizes["zstd"] == len(cw.decode_base85(wire[1:]))
    verbose = len(cw.encode(found.response, format="verbose"))
    assert (found.verbose_size, found.ratio) == (verbose, len(wire) / verbose)
    text = cw.inspect(cw.encode(FULL, format="verbose"))
    assert (text.compression, text.version, text.dictionary_id) == (None, None, None)
