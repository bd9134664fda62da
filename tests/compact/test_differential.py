"""The product against the independent reference in `tests/reference`, in both directions.

For every input both return the same value or raise an error of the same class.
`ALLOWED_DIFFERENCES` lists all exceptions.
"""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import hypothesis.strategies as st
import pytest
import zstandard
from hypothesis import example, given

import compactwire as cw
from tests import reference as ref
from tests.reference.compression import zstd_header
from tests.reference.values import model_code
from tests.strategies import messages
from tests.strategies.packing import SMALL, SMALL_BYTES, SMALL_ID
from tests.strategies.profiles import examples

FIELDS = [*cw.Response.__match_args__, "model_name", "returncode", "reasoning_effort", "ultrathink"]
KNOWN = [("small", SMALL_BYTES)]


def fields(response: cw.Response | ref.Response) -> dict[str, Any]:
    return {name: getattr(response, name) for name in FIELDS}


def to_reference(response: cw.Response) -> ref.Response:
    return ref.Response(**fields(response))


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    """The outcome of a call: its kind, and the value or the name of the error's class."""
    try:
        value = call()
    except cw.CompactWireError as error:
        return "error", type(error).__name__
    except ref.ReferenceError_ as error:
        return "error", error.kind
    except BaseException as error:
        # A panic is not an Exception, and Hypothesis shrinks examples only for exceptions.
        if type(error).__name__ == "PanicException":
            raise AssertionError("panic") from error
        raise
    if isinstance(value, (cw.Response, ref.Response)):
        return "response", {**fields(value), "format": value.format, "version": value.version}
    return "value", value


def decode(wire: str) -> tuple[str, Any]:
    return outcome(lambda: cw.decode(wire, dictionaries=[SMALL]))


def ref_decode(wire: str) -> tuple[str, Any]:
    return outcome(lambda: ref.decode(wire, dictionaries=KNOWN))


# Allowed differences


def compressed(wire: str) -> bool:
    return wire.strip().startswith(("Z", "S", "D"))


def frame_of(wire: str) -> tuple[bytes, bytes]:
    """The name in an old dictionary container, and the zstd frame from its first byte on."""
    payload = ref.decode_base85(wire.strip()[1:]) if compressed(wire) else b""
    head, magic, rest = payload.partition(b"\x28\xb5\x2f\xfd")
    return head[9:], magic + rest


def wants_a_huge_window(wire: str) -> bool:
    """Whether the window is larger than the reference accepts. RFC 8878 leaves the limit to the
    decoder: the product accepts any window that zstd allows, because it needs none; the reference
    accepts 128 MiB, as zstd's own streaming decoder does."""
    frame = frame_of(wire)[1]
    return len(frame) > 5 and not frame[4] & 0x20 and frame[5] > (27 - 10) << 3


def names_two_dictionaries(wire: str) -> bool:
    """Whether the frame of an old container has an unknown id while its name is that of another
    dictionary: the product finds no dictionary, the reference tries the named one."""
    name, frame = frame_of(wire)
    return name == b"small" and zstd_header(frame)[0] not in (0, SMALL_ID)


# Pairs of errors that the product and the reference may return. Of two errors in one message
# either may be reported: no specification defines an order.
ALLOWED_DIFFERENCES: list[tuple[str, str, Callable[[str], bool]]] = [
    # A verbose message lacks a member, and another member is wrong.
    ("MissingField", "InvalidFormat", lambda wire: "{" in wire),
    # The message is too large and also broken, or its dictionary is unknown.
    ("OutputTooLarge", "DecompressionFailed", compressed),
    ("DecompressionFailed", "OutputTooLarge", compressed),
    ("OutputTooLarge", "DictionaryNotFound", compressed),
    ("DictionaryNotFound", "OutputTooLarge", names_two_dictionaries),
    ("DictionaryNotFound", "DecompressionFailed", names_two_dictionaries),
    ("DecompressionFailed", "DictionaryNotFound", wants_a_huge_window),
    ("InvalidMsgpack", "DecompressionFailed", wants_a_huge_window),
    ("response", "DecompressionFailed", wants_a_huge_window),
]


def agree(wire: str, product: tuple[str, Any], reference: tuple[str, Any]) -> bool:
    names = tuple(value if kind == "error" else kind for kind, value in (product, reference))
    excuses = [applies for *classes, applies in ALLOWED_DIFFERENCES if names == tuple(classes)]
    return product == reference or any(applies(wire) for applies in excuses)


# Good input


@examples(1)
@given(messages.RESPONSES, messages.OPTIONS)
def test_the_reference_reads_what_the_product_writes(
    response: cw.Response, options: dict[str, Any]
) -> None:
    found = outcome(lambda: cw.encode(response, **options))
    if found[0] == "error":
        assert found[1] == "EncodeError"
        return
    assert ref_decode(found[1]) == decode(found[1])
    assert ref_decode(found[1])[0] == "response"


@examples(1)
@given(messages.RESPONSES, messages.OPTIONS.filter(lambda options: options["format"] != "smallest"))
def test_the_product_reads_what_the_reference_writes(
    response: cw.Response, options: dict[str, Any]
) -> None:
    written = outcome(lambda: cw.encode(response, **options))
    options = {**options, "dictionary": SMALL_BYTES}
    found = outcome(lambda: ref.encode(to_reference(response), **options))
    if "error" in (written[0], found[0]):
        assert written == found
        return
    assert decode(found[1]) == ref_decode(found[1])
    assert decode(found[1])[0] == "response"


@examples(1)
@given(
    messages.RESPONSES,
    st.sampled_from(("verbose", "dsl", "binary", "base85", "auto")),
    st.sampled_from(messages.PROTOCOLS),
    st.sampled_from(messages.LAYOUTS),
)
def test_uncompressed_formats_equal_the_reference_byte_for_byte(
    response: cw.Response, format: str, protocol: Any, layout: Any
) -> None:
    options: Any = {"format": format, "protocol": protocol, "msgpack_version": layout}
    found = outcome(lambda: cw.encode(response, **options))
    expected = outcome(lambda: ref.encode(to_reference(response), **options))
    if found[0] == expected[0] == "value" and found[1][0] in "ZSD":
        assert found[1][0] == expected[1][0]
    else:
        assert found == expected


# Round trips


def expected_layout(model: str, format: str, protocol: int, layout: object) -> object:
    """The layout of a message: layouts 2 and 3 cannot hold a model without an integer."""
    if format in ("verbose", "dsl"):
        return None
    by_array = protocol == 2 and format in ("binary", "base85", "zlib")
    asked = layout or (3 if by_array else "map")
    return 1 if asked in (2, 3) and model not in ("G3", "C4", "X5", "OL", "AD", "SE") else asked


@pytest.mark.parametrize("format", messages.FORMATS)
@pytest.mark.parametrize("protocol", messages.PROTOCOLS)
def test_every_model_code_round_trips_in_every_layout(format: Any, protocol: Any) -> None:
    cases = itertools.product(
        ("", "free text", *messages.CODES), messages.STATUSES, (0, 7), messages.LAYOUTS
    )
    model: Any
    status: Any
    for model, status, tokens, layout in cases:
        response = cw.Response("text", model, status, tokens)
        options: Any = {"format": format, "protocol": protocol, "msgpack_version": layout}
        decoded = cw.decode(cw.encode(response, **options))
        assert fields(decoded) == as_carried(response, format)
        assert decoded.version == expected_layout(model, format, protocol, layout)


def as_carried(response: cw.Response, format: object) -> dict[str, Any]:
    """The response after a round trip in this format."""
    carried = fields(response)
    if format != "verbose":
        return carried | dict.fromkeys(FIELDS[4:])
    # The verbose member is a name: one that is not a code is kept, and gives the code.
    name = response.model if response.model_name is None else response.model_name
    carried["model"] = model_code(name)
    carried["model_name"] = None if name in ("", *messages.CODES) else name
    return carried


@examples(1)
@given(messages.RESPONSES, messages.OPTIONS)
def test_responses_round_trip(response: cw.Response, options: dict[str, Any]) -> None:
    found = outcome(lambda: cw.encode(response, **options))
    if found[0] == "error":
        assert found[1] == "EncodeError"
        return
    decoded = cw.decode(found[1], dictionary=SMALL)
    assert fields(decoded) == as_carried(response, decoded.format)
    if options["format"] not in ("auto", "smallest"):
        assert decoded.format == options["format"]


@examples(0.5)
@given(
    messages.PLAIN_RESPONSES, st.sampled_from(messages.PROTOCOLS), st.sampled_from(messages.LAYOUTS)
)
@example(cw.Response("kqzvxwjyfbghdcpmutl", "G3"), 2, None)  # as short in the DSL as in Base85
@example(
    cw.Response("01234567891011121314", "gpt|4o"), 4, None
)  # the verbose format makes it a name
def test_smallest_is_the_minimum_of_all_formats_that_keep_the_response(
    response: cw.Response, protocol: Any, layout: Any
) -> None:
    options: Any = {"protocol": protocol, "msgpack_version": layout, "dictionary": SMALL}
    wires = []
    format: Any
    for format in messages.FORMATS:
        found = outcome(partial(cw.encode, response, format=format, **options))
        if found[0] == "value" and cw.decode(found[1], dictionary=SMALL) == response:
            wires.append(found[1])
    least = min(len(wire.encode()) for wire in wires)
    shortest = [wire for wire in wires if len(wire.encode()) == least]
    readable = [wire for wire in shortest if wire.startswith(("RES|", "{"))]
    assert cw.encode(response, format="smallest", **options) in (readable or shortest)


NAMED = {
    "G3": ("gemini-2.5-pro", "Claude via Gemini"),
    "C4": ("CLAUDE-OPUS",),
    "X5": ("gpt-5-codex", "ChatGPT", "Codex"),
    "OL": ("Ollama",),
    "AD": ("adam",),
    "SE": ("SEELE 01",),
    "c4": ("c4",),
    "qwen": ("qwen",),
}


@pytest.mark.parametrize(
    ("name", "code"), [(name, code) for code, names in NAMED.items() for name in names]
)
def test_a_verbose_model_name_gives_the_model_code(name: str, code: str) -> None:
    wire = cw.encode(cw.Response("x", name), format="verbose")
    decoded = cw.decode(wire)
    assert (decoded.model, decoded.model_name) == (code, name)
    assert cw.encode(decoded, format="verbose") == wire
    assert ref_decode(wire) == decode(wire)


@pytest.mark.parametrize("protocol", messages.PROTOCOLS)
def test_compressed_payloads_have_the_specified_layout(protocol: Any) -> None:
    def payload(format: Any) -> bytes:
        wire = cw.encode(response, format=format, protocol=protocol, dictionary=SMALL)
        return cw.decode_base85(wire[1:])

    response = cw.Response("so it goes. " * 50, "C4")
    plain = payload("base85")
    deflated = payload("zlib")
    if protocol == 2:
        assert deflated[0] == 0x78
        assert zlib.decompress(deflated) == plain
    else:
        # The gzip header has no name, no time, and the same system byte everywhere.
        assert deflated[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\x03"
        assert gzip.decompress(deflated) == plain
    for format, dictionary_id in (("zstd", 0), ("dictionary", SMALL_ID)):
        frame = zstandard.get_frame_parameters(payload(format))
        assert (frame.has_checksum, frame.dict_id) == (False, dictionary_id)
        assert frame.content_size == len(cw.decode_base85(cw.encode(response, format="base85")[1:]))


# Hostile input


@examples(1)
@given(messages.HOSTILE_WIRES)
def test_any_wire_has_the_same_outcome(wire: str) -> None:
    assert agree(wire, decode(wire), ref_decode(wire))


@examples(1)
@given(messages.WHOLE_ENVELOPES)
def test_any_messagepack_has_the_same_outcome(wire: str) -> None:
    assert agree(wire, decode(wire), ref_decode(wire))


@examples(1)
@given(messages.BROKEN_ENVELOPES)
def test_any_compressed_stream_has_the_same_outcome(wire: str) -> None:
    assert agree(wire, decode(wire), ref_decode(wire))


@examples(1)
@given(messages.JSON_OBJECTS)
def test_any_verbose_message_has_the_same_outcome(wire: str) -> None:
    assert agree(wire, decode(wire), ref_decode(wire))


@examples(1)
@given(messages.PREFIXED_NOISE | messages.TEXTS)
@example("")
@example("\ufeff \n")
def test_detect_equals_the_reference(wire: str) -> None:
    assert outcome(lambda: cw.detect(wire)) == outcome(lambda: ref.detect(wire))
    assert agree(wire, decode(wire), ref_decode(wire))


@examples(0.5)
@given(messages.HOSTILE_WIRES)
def test_fallback_never_fails_and_changes_nothing_that_decodes(wire: str) -> None:
    found = outcome(lambda: cw.decode(wire, fallback=True, dictionary=SMALL))
    without = decode(wire)
    raw = {**fields(cw.Response(wire)), "format": "raw", "version": None}
    assert found == (without if without[0] == "response" else ("response", raw))


@examples(0.5)
@given(messages.WHOLE_ENVELOPES, st.sampled_from((0, 1, 20, 60, 1000)))
def test_max_size_refuses_the_same_messages_as_the_reference(wire: str, max_size: int) -> None:
    found = outcome(lambda: cw.decode(wire, max_size=max_size, dictionary=SMALL))
    expected = outcome(lambda: ref.decode(wire, max_size=max_size, dictionaries=KNOWN))
    assert agree(wire, found, expected)


@examples(0.5)
@given(messages.HOSTILE_WIRES)
def test_inspect_accepts_what_decode_accepts(wire: str) -> None:
    assert outcome(lambda: cw.inspect(wire, dictionary=SMALL).response) == decode(wire)


# Base85 and deltas


@examples(1)
@given(st.binary(max_size=300))
def test_base85_equals_the_reference(data: bytes) -> None:
    text = cw.encode_base85(data)
    assert text == ref.encode_base85(data)
    assert cw.decode_base85(text) == ref.decode_base85(text) == data


@examples(1)
@given(
    st.text(messages.ALPHABET, max_size=200)
    | st.builds(messages.edited, st.binary(max_size=200).map(cw.encode_base85), messages.TEXT_EDITS)
)
@example("#####")
@example("éAAAA")
def test_any_base85_text_has_the_same_outcome_and_position(text: str) -> None:
    def place(call: Callable[[str], bytes]) -> object:
        try:
            return call(text)
        except (cw.DecodeError, ref.DecodeError) as error:
            facts = [getattr(error, name, None) for name in ("char", "position", "length")]
            return type(error).__name__, facts

    assert place(cw.decode_base85) == place(ref.decode_base85)


def test_spare_bits_of_the_last_group_are_ignored() -> None:
    assert cw.encode_base85(b"a") == "VE"
    assert cw.decode_base85("VE") == cw.decode_base85("VF") == cw.decode_base85("VG") == b"a"


@examples(1)
@given(messages.TEXT_PAIRS)
def test_product_and_reference_apply_each_others_deltas(pair: tuple[str, str]) -> None:
    old, new = pair
    assert ref.apply_delta(old, cw.encode_delta(old, new)) == new
    assert cw.apply_delta(old, ref.encode_delta(old, new)) == new


@examples(1)
@given(messages.TEXT_PAIRS)
def test_uncompressed_deltas_equal_the_reference(pair: tuple[str, str]) -> None:
    found, expected = cw.encode_delta(*pair), ref.encode_delta(*pair)
    # Of two compressors one may be a byte better.
    if not (found.startswith("D|Z|") or expected.startswith("D|Z|")):
        assert found == expected


@examples(1)
@given(messages.TEXTS, messages.DELTAS, st.sampled_from(("overwrite", "truncate")))
def test_any_delta_has_the_same_outcome(content: str, delta: str, replace: Any) -> None:
    found = outcome(lambda: cw.apply_delta(content, delta, replace=replace))
    expected = outcome(lambda: ref.apply_delta(content, delta, replace=replace))
    assert found == expected
