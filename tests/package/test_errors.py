"""The exceptions: each can be raised, has its attributes, and pickles."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
import compactwire.errors
from compactwire import cad, gcf, wire
from compactwire.turns import MemorySessionStore, SQLiteSessionStore, Turn
from tests.strategies.packing import PACKERS, SMALL, SMALL_ID, base64_text, container, zstd

ROOT = Path(__file__).parents[2]
BINDING = ROOT / "crates" / "compactwire-python" / "src" / "errors.rs"
# Base classes, which are not raised themselves.
BASES = {"CompactWireError", "DecodeError"}
# Raised by the registry and by stores of sessions, which are written in Python.
PYTHON = {"DuplicateCodec", "NestedTurn", "TurnConflict", "TurnInProgress", "UnknownCodec"}

MESSAGE = b"\x94\x03\x00\x00\xa5hello"
MAP = b"\x85\xa1v\x01\xa1s\xa2OK\xa1m\xa2C4\xa1t\x07\xa1r\xa5hello"


def binary(data: bytes) -> str:
    return "M" + base64_text(data)


def base85(data: bytes, prefix: str = "A") -> str:
    return prefix + cw.encode_base85(data)


def dictionary_wire(data: bytes) -> str:
    return base85(data, "D")


Reason = tuple[Callable[[], object], type[cw.CompactWireError], dict[str, object]]


def decoding(wire: str | bytes, error: type[cw.CompactWireError], **facts: object) -> Reason:
    return lambda: cw.decode(wire), error, facts


def requesting(frames: object, error: type[cw.CompactWireError], **facts: object) -> Reason:
    return lambda: cw.Session().decode_request(frames), error, facts  # type: ignore[arg-type]


def unsupported(code: str, path: str) -> dict[str, object]:
    return {"code": code, "path": path, "field": path, "line": None, "column": None}


def late_turn() -> None:
    store = MemorySessionStore()
    for number in (2, 1):
        store.answer("", Turn(number, cw.Session().encode_request()), lambda request: "")


def turn_in_progress() -> None:
    with SQLiteSessionStore(":memory:", wait_s=0.01) as store:
        store.lease("one", "another process")
        store.answer("one", Turn(1, cw.Session().encode_request(context="a")), lambda request: "")


def nested_turn() -> None:
    store = MemorySessionStore()

    def respond(request: cw.Request) -> str | bytes:
        return store.answer("one", turn, respond)

    turn = Turn(1, cw.Session().encode_request())
    store.answer("one", turn, respond)


REASONS: dict[str, Reason] = {
    "no frames": requesting([], cw.InvalidFormat),
    "unknown ids": requesting(
        ["REQ|1|t_00000000,t_00000001|s_00000000|{}|D|=|c_00000000|D|+|x"],
        cw.UnknownReference,
        id="t_00000000",
        ids=("t_00000000", "t_00000001", "s_00000000", "c_00000000"),
    ),
    "packed and cut": requesting("S" + cw.encode_base85(b"(\xb5/\xfd"), cw.DecompressionFailed),
    "delta in a request": requesting(
        ["REQ|1|||{}|D|Z|VPa.|"], cw.InvalidBase85Char, char="|", position=4
    ),
    "argument": (
        lambda: cw.Session().encode_request(args={"a": [0, float("nan")]}),
        cw.UnsupportedValue,
        unsupported("not_finite", "args.a[1]"),
    ),
    "nothing": decoding("", cw.EmptyResponse),
    "white space": decoding(" \t\r\n\f\ufeff\n", cw.EmptyResponse),
    "unknown prefix": decoding(" hello", cw.InvalidPrefix, char="h"),
    "prefix beyond ASCII": decoding("é", cw.InvalidPrefix, char="é"),
    "prefix beyond the BMP": decoding("🚀x", cw.InvalidPrefix, char="🚀"),
    "second byte order mark": decoding("\ufeff\ufeff{", cw.InvalidPrefix, char="\ufeff"),
    "vertical tab": decoding("\v{", cw.InvalidPrefix, char="\v"),
    "DSL without tokens": decoding("RES|OK|G3", cw.InvalidFormat),
    "bytes that are no UTF-8": decoding(b"RES|\xff", cw.InvalidFormat),
    "lone surrogate": decoding("RES|OK||0|\ud800", cw.InvalidFormat),
    "no JSON": decoding("{", cw.InvalidFormat),
    "delta": decoding("D|F|x", cw.InvalidFormat),
    "no model": decoding('{"returncode":0,"response":""}', cw.MissingField, field="model"),
    "no returncode": decoding('{"model":"","response":""}', cw.MissingField, field="returncode"),
    "no response": decoding('{"returncode":0,"model":""}', cw.MissingField, field="response"),
    "Base64 with a foreign character": decoding("MAAAA~AAA", cw.InvalidBase64, position=4),
    "Base64 after white space": decoding(" \nMAA AA", cw.InvalidBase64, position=2),
    "Base64 after the old prefix": decoding("MPK:AA_A", cw.InvalidBase64, position=2),
    "Base64 beyond ASCII": decoding("MAé==", cw.InvalidBase64, position=1),
    "Base64 without padding": decoding("MAAAAAA", cw.InvalidBase64, position=6),
    "Base64 with one character over": decoding("MAAAAA", cw.InvalidBase64, position=5),
    "Base64 of the v2 document": decoding("MgqAAKRoZWxsbw==", cw.InvalidBase64, position=13),
    "Base85 with a foreign character": decoding(
        "A00000~0000", cw.InvalidBase85Char, char="~", position=5
    ),
    "Base85 after the old prefix": decoding(
        "A85:000,0", cw.InvalidBase85Char, char=",", position=3
    ),
    "Base85 with white space inside": decoding(
        "Z00 00", cw.InvalidBase85Char, char=" ", position=2
    ),
    "Base85 beyond ASCII": decoding("A00000é🚀00", cw.InvalidBase85Char, char="é", position=5),
    "Base85 after characters beyond ASCII": (
        lambda: cw.decode_base85("00000000🚀"),
        cw.InvalidBase85Char,
        {"char": "🚀", "position": 8},
    ),
    "Base85 with one character over": decoding("A000000", cw.InvalidBase85Length, length=6),
    "Base85 of one character": decoding("A0", cw.InvalidBase85Length, length=1),
    "Base85 above 2^32 - 1": decoding("A#####", cw.InvalidBase85Value, position=0),
    "Base85 just above": decoding("A00000%nSc1", cw.InvalidBase85Value, position=5),
    "Base85 above in the tail": decoding("A00000%nSd", cw.InvalidBase85Value, position=5),
    "zlib cut off": decoding(base85(zlib.compress(MAP)[:-1], "Z"), cw.DecompressionFailed),
    "empty zstd": decoding("S", cw.DecompressionFailed),
    "dictionary frame that is none": decoding("D", cw.DecompressionFailed),
    "dictionary frame of noise": decoding(dictionary_wire(b"noise" * 9), cw.DecompressionFailed),
    "container cut off": decoding(dictionary_wire(b"ZDCT\0\0"), cw.DecompressionFailed),
    "zlib too large": (
        lambda: cw.decode(base85(PACKERS["zlib"](MAP), "Z"), max_size=len(MAP) - 1),
        cw.OutputTooLarge,
        {"limit": len(MAP) - 1},
    ),
    "no MessagePack": decoding("A", cw.InvalidMsgpack, offset=0),
    "MessagePack that is no array": decoding(base85(b"\xc0"), cw.InvalidMsgpack, offset=0),
    "unknown layout": decoding(binary(b"\x94\x04\0\0\xa0"), cw.InvalidMsgpack, offset=1),
    "unknown status": decoding(binary(b"\x94\x03\x04\0\xa0"), cw.InvalidMsgpack, offset=2),
    "unknown model": decoding(binary(b"\x94\x03\0\x09\xa0"), cw.InvalidMsgpack, offset=3),
    "boolean for text": decoding(binary(b"\x94\x03\0\0\xc3"), cw.InvalidMsgpack, offset=4),
    "negative tokens": decoding(binary(b"\x95\x03\0\0\xff\xa0"), cw.InvalidMsgpack, offset=4),
    "key twice": decoding(
        binary(b"\x86" + MAP[1:] + b"\xa1r\xa0"), cw.InvalidMsgpack, offset=len(MAP)
    ),
    "byte after the end": decoding(base85(MESSAGE + b"\0"), cw.InvalidMsgpack, offset=len(MESSAGE)),
    "offset after decompression": decoding(
        base85(zstd(MESSAGE + b"\0"), "S"), cw.InvalidMsgpack, offset=len(MESSAGE)
    ),
    "unknown dictionary": decoding(
        dictionary_wire(PACKERS["dictionary"](MAP)), cw.DictionaryNotFound, id=SMALL_ID
    ),
    "unknown dictionary in a container": decoding(
        dictionary_wire(PACKERS["container by id"](MAP)), cw.DictionaryNotFound, id=SMALL_ID
    ),
    "unknown name of a dictionary": decoding(
        dictionary_wire(PACKERS["container by name"](MAP)), cw.DictionaryNotFound, id="small"
    ),
    "frame without the id of a dictionary": decoding(
        dictionary_wire(zstd(MAP)), cw.DictionaryNotFound, id=0
    ),
    "compact CAD text": (
        lambda: cad.from_compact("C 1 2 3\n cube 1 2"),
        cw.CompactParseError,
        {"line": 2, "column": 2, "message": "unknown opcode cube", "suggestion": "C"},
    ),
    "CAD document": (
        lambda: cad.dumps({"nodes": {}, "holes": []}),
        cw.DocumentError,
        {"path": "document", "message": 'unknown field "holes"'},
    ),
    "binary CAD document": (
        lambda: cad.from_binary(b"\x89VCB\x02"),
        cw.BinaryError,
        {"offset": 4, "message": "unknown layout 2, expected 1"},
    ),
    "no GCB": (
        lambda: wire.decode_gcb(b"GCB2\x01"),
        cw.WireError,
        {"code": "gcb_bad_magic", "line": None, "column": None, "path": None, "offset": 0},
    ),
    "a codec that is there": (
        lambda: wire.register(wire.JsonCodec()),
        cw.DuplicateCodec,
        {"name": "json"},
    ),
    "no codec": (
        lambda: wire.get("yaml"),
        cw.UnknownCodec,
        {"name": "yaml", "available": ("gcb", "gcf", "json")},
    ),
    "a turn that is too late": (
        late_turn,
        cw.TurnConflict,
        {"number": 1, "last": 2},
    ),
    "a turn of another process": (
        turn_in_progress,
        cw.TurnInProgress,
        {"conversation": "one", "number": 1},
    ),
    "a turn in itself": (nested_turn, cw.NestedTurn, {"conversation": "one"}),
    "GCF text": (
        lambda: gcf.loads("GCF profile=generic\na=~"),
        cw.GcfError,
        {"code": "invalid_missing", "line": 2, "column": 3, "path": None},
    ),
    "GCF value": (
        lambda: gcf.dumps({"a": [2**63]}),
        cw.UnsupportedValue,
        unsupported("out_of_range", "$.a[0]"),
    ),
    "model in the DSL": (
        lambda: cw.encode(cw.Response("x", "a|b"), format="dsl"),
        cw.EncodeError,
        {"field": "model"},
    ),
    "claim about nothing": (
        lambda: cw.verify_claim("nowhere", None, "nowhere").raise_for_error(),
        cw.ClaimRejected,
        {
            "code": "BUNDLE_NOT_FOUND",
            "phase": "Input",
            "check": "5.1.1",
            "path": "bundle.json",
            "exit_code": 2,
        },
    ),
    "unknown format": (
        lambda: cw.encode(cw.Response("x"), format="gzip"),  # type: ignore[call-overload]
        cw.OptionError,
        {"option": "format"},
    ),
    "negative number of tokens": (
        lambda: cw.Response("x", tokens=-1),
        cw.EncodeError,
        {"field": "tokens"},
    ),
}


def caught(name: str) -> cw.CompactWireError:
    call, error, _ = REASONS[name]
    with pytest.raises(error) as info:
        call()
    return info.value


@pytest.mark.parametrize("name", REASONS)
def test_an_error_has_its_class_and_attributes(name: str) -> None:
    _, error, facts = REASONS[name]
    raised = caught(name)
    assert type(raised) is error
    assert vars(raised) == {"message": str(raised), **facts}
    assert facts.get("message", "") in str(raised)
    assert raised.args == (str(raised),)
    assert str(raised)


def test_every_class_is_reached_with_every_attribute() -> None:
    reached = {error.__name__ for _, error, _ in REASONS.values()}
    assert reached == set(compactwire.errors.__all__) - BASES
    for _, error, facts in REASONS.values():
        assert set(facts) == set(inspect.get_annotations(error))


def test_the_binding_imports_exactly_these_classes() -> None:
    if not BINDING.exists():
        pytest.skip(f"{BINDING.name} is not here: this is no source tree")
    block = re.search(r"import! \{(.*?)\}", BINDING.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    imported = re.findall(r"\w+", block[1])
    abstract = BASES - {
        "CompactWireError"
    }  # The error of a producer of columns is of no other class.
    assert sorted(imported) == sorted(set(compactwire.errors.__all__) - abstract - PYTHON)


def test_all_classes_derive_from_value_error() -> None:
    classes = {name: getattr(cw, name) for name in compactwire.errors.__all__}
    assert cw.CompactWireError.__bases__ == (ValueError,)
    first = PYTHON | {
        "ClaimRejected",
        "DecodeError",
        "DocumentError",
        "EncodeError",
        "GcfError",
        "OptionError",
    }
    for name in first:
        assert classes[name].__bases__ == (cw.CompactWireError,)
    assert cw.WireError.__bases__ == (cw.GcfError,)
    assert cw.UnsupportedValue.__bases__ == (cw.EncodeError, cw.GcfError)
    for name in set(classes) - {"CompactWireError", "WireError", "UnsupportedValue"} - first:
        assert classes[name].__bases__ == (cw.DecodeError,)


OPTIONS: dict[str, list[Callable[[Any], object]]] = {
    "format": [lambda value: cw.encode(cw.Response("x"), format=value)],
    "protocol": [
        lambda _: cw.encode(cw.Response("x"), protocol=3),  # type: ignore[call-overload]
    ],
    "msgpack_version": [lambda value: cw.encode(cw.Response("x"), msgpack_version=value)],
    "max_size": [
        lambda _: cw.decode("x", max_size=-1),
        lambda _: cw.inspect("x", max_size=-1),
        lambda _: cw.shrink("x", max_size=-1),
    ],
    "max_expansion": [lambda _: cw.gcf.loads("x", max_expansion=-1)],
    "max_depth": [
        lambda _: cw.gcf.dumps(1, max_depth=0),
        lambda _: cw.gcf.loads("x", max_depth=257),
        lambda _: cw.shrink("x", max_depth=257),
    ],
    "replace": [lambda value: cw.DeltaStream("a", replace=value)],
    "dialect": [lambda value: cw.cad.to_compact({}, dialect=value)],
    "target": [lambda value: cw.cad.to_compact({}, target=value)],
    "lossy": [lambda value: cw.cad.to_compact({}, lossy=[value])],
    "unknown": [lambda value: cw.cad.to_compact({}, unknown=value)],
    "limits": [lambda value: cw.verify_claim("b", None, "c", limits={value: 1})],
    "receipt_quorum": [lambda _: cw.verify_claim("b", None, "c", receipt_quorum=0)],
    "tokenizer": [lambda value: cw.shrink("x", tokenizer=value)],
}


@pytest.mark.parametrize(
    ("option", "call"), [(option, call) for option, calls in OPTIONS.items() for call in calls]
)
def test_an_option_with_a_value_that_is_not_allowed_is_one_error(
    option: str, call: Callable[[Any], object]
) -> None:
    with pytest.raises(cw.OptionError) as raised:
        call("other")
    assert option in raised.value.option


@pytest.mark.parametrize("name", REASONS)
def test_errors_pickle(name: str) -> None:
    raised = caught(name)
    copies = [copy.copy(raised), copy.deepcopy(raised)]
    copies += [
        pickle.loads(pickle.dumps(raised, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ]
    for again in copies:
        assert type(again) is type(raised)
        assert vars(again) == vars(raised)
        assert str(again) == str(raised)


@pytest.mark.parametrize(
    ("wire", "reader"),
    [
        ("D|F|text", "apply_delta"),
        ("TOOL|def|{}", "session"),
        ("SYS|full|text", "session"),
        ("REQ|1|||{}|", "session"),
        ("GCF profile=generic", "GCF"),
    ],
)
def test_an_error_for_another_message_names_its_reader(wire: str, reader: str) -> None:
    with pytest.raises(cw.InvalidFormat, match=reader):
        cw.decode(wire)


# The excerpt of the input in an error

LONG = "ß" * 1000
LOUD: dict[str, Callable[[], object]] = {
    "DSL status": lambda: cw.decode(f"RES|{LONG}||0|"),
    "DSL tokens": lambda: cw.decode(f"RES|OK||{LONG}|"),
    "DSL": lambda: cw.decode(f"RES|{LONG}"),
    "JSON": lambda: cw.decode("{" + LONG),
    "JSON type": lambda: cw.decode(f'{{"model":"x","returncode":"{LONG}","response":""}}'),
    "JSON boolean": lambda: cw.decode(f'{{"ultrathink":"{LONG}"}}'),
    "JSON key": lambda: cw.decode(f'{{"{LONG}":0,"{LONG}":0}}'),
    "JSON status": lambda: cw.decode(
        f'{{"model":"","returncode":0,"response":"","status":"{LONG}"}}'
    ),
    "MessagePack status": lambda: cw.decode(
        base85(b"\x95\x01\xda\x07\xd0" + LONG.encode() + b"\xa0\x00\xa0")
    ),
    "MessagePack key": lambda: cw.decode(
        base85(b"\x82" + 2 * (b"\xda\x07\xd0" + LONG.encode() + b"\x00"))
    ),
    "name in a container": lambda: cw.decode(
        dictionary_wire(container("ß".encode() * 127, len(MAP), zstd(MAP)))
    ),
    "delta": lambda: cw.apply_delta("", LONG),
    "delta operation": lambda: cw.apply_delta("", f"D|{LONG}|"),
    "delta position": lambda: cw.apply_delta("", f"D|R|{LONG}|"),
    "delta without position": lambda: cw.apply_delta("", f"D|R|{LONG}"),
    "status": lambda: cw.Response("", status=LONG),  # type: ignore[arg-type]
    "model": lambda: cw.encode(cw.Response("", LONG + "|"), format="dsl"),
    "model name": lambda: cw.encode(cw.Response("", LONG, model_name=LONG + "x"), format="verbose"),
    "unknown field": lambda: cw.encode({"result": "", LONG: 0}),
    "a key of many digits": lambda: cw.encode({"result": "", 10**5000: 0}),
    "unknown member": lambda: cw.encode({"response": "", LONG: 0}),
    "dictionary file": lambda: cw.Dictionary.from_bytes(LONG.encode()),
    "dictionary line": lambda: cw.Dictionary.from_bytes(f"ZDCT|v2|a|b|{LONG}|c\n".encode()),
    "CAD opcode": lambda: cad.from_compact(LONG),
    "CAD number": lambda: cad.from_compact(f"S {LONG}"),
    "CAD name": lambda: cad.from_compact(f"$a = S 1\n${LONG} = S 1"),
    "CAD version": lambda: cad.from_compact(f"# vcad 0{LONG}"),
    "CAD material": lambda: cad.from_compact(f"@MAT {LONG} 0 0 0 0 1\n" * 2),
    "CAD field": lambda: cad.dumps({LONG: 1, "nodes": {}}),
    "CAD key": lambda: cad.dumps({"nodes": {}, "materials": {LONG: 1}}),
    "CAD JSON": lambda: cad.dumps(LONG),
    "CAD JSON key": lambda: cad.dumps(f'{{"{LONG}":1,"{LONG}":1}}'),
    "content type": lambda: cw.Dictionary.train(["x"], content_type=LONG + "|"),
    "frame": lambda: cw.Session().decode_request([LONG, "REQ|1|||{}"]),
    "request": lambda: cw.Session().decode_request([LONG]),
    "request version": lambda: cw.Session().decode_request([f"REQ|{LONG}|"]),
    "tool": lambda: cw.Session().decode_request([f"TOOL|def|{LONG}", "REQ|1|||{}"]),
    "tool that is text": lambda: cw.Session().decode_request([f'TOOL|def|"{LONG}"', "REQ|1|||{}"]),
    "id": lambda: cw.Session().decode_request([f"REQ|1|{LONG}||{{}}"]),
    "id of a prompt": lambda: cw.Session().decode_request([f"SYS|ref|{LONG[:60]}", "REQ|1|||{}"]),
    "arguments": lambda: cw.Session().decode_request([f'REQ|1|||{{"{LONG}":0,"{LONG}":0}}']),
    "after arguments": lambda: cw.Session().decode_request([f"REQ|1|||{{}}{LONG}"]),
    "check": lambda: cw.Session().decode_request([f"REQ|1|||{{}}|D|=|{LONG}|D|+|"]),
    "delta of a request": lambda: cw.Session().decode_request([f"REQ|1|||{{}}|D|{LONG}|"]),
    "msgpack_version": lambda: cw.encode("x", msgpack_version=LONG),  # type: ignore[arg-type]
    "codec": lambda: wire.encode_with(LONG, wire.Payload("t")),
    "store error": lambda: gcf.from_context_block(None, "t", on_store_error=LONG),  # type: ignore[arg-type]
    "format of a tool": lambda: cad.create_cad_compact("C 1 2 3", format=LONG),
    "kind of a preview": lambda: cad.preview("C 1 2 3", kind=LONG),  # type: ignore[arg-type]
    "key of an argument": lambda: cw.Session().encode_request(args={LONG: float("inf")}),
}


@pytest.mark.parametrize("name", LOUD)
def test_a_message_shows_at_most_40_characters_of_the_input(name: str) -> None:
    with pytest.raises(cw.CompactWireError) as info:
        LOUD[name]()
    runs: list[Any] = re.findall("ß+", str(info.value)) or [""]
    assert max(map(len, runs)) <= 40


def test_a_given_dictionary_decodes() -> None:
    wire = dictionary_wire(PACKERS["dictionary"](MAP))
    assert cw.decode(wire, dictionary=SMALL) == cw.Response("hello", "C4", tokens=7)
