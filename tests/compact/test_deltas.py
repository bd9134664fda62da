"""Deltas: the effect of each operation, the choice of the shortest, and streams."""

from __future__ import annotations

import gzip
import random
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from tests.strategies import messages
from tests.strategies.packing import base64_text
from tests.strategies.profiles import examples


def packed(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return cw.encode_base85(zlib.compress(data))


# Applying


@pytest.mark.parametrize(
    ("content", "delta", "result"),
    [
        ("", "D|F|Hello", "Hello"),
        ("Hello", "D|+|, world!", "Hello, world!"),
        ("Hello, world!", "D|R|7|World", "Hello, World!"),
        ("old", "D|F|", ""),
        ("same", "D|+|", "same"),
        ("", "D|+|D|F|literal", "D|F|literal"),
        ("a|b", "D|R|1|!|c", "a!|c"),
        ("abc", "D|R|3|d", "abcd"),
        ("abc", "D|R|0|", "abc"),
        ("abc", "D|R|1|xyz", "axyz"),
        ("abc", "D|R|001|x", "axc"),
        ("한국어", "D|R|1|글", "한글어"),
        ("🚀é", "D|R|1|e", "🚀e"),
        ("x", "D|F| \t\n", " \t\n"),
    ],
)
def test_each_operation_follows_the_specification(content: str, delta: str, result: str) -> None:
    for form in (delta, delta.encode(), bytearray(delta.encode()), "D|Z|" + packed(delta)):
        assert cw.apply_delta(content, form) == result
        assert cw.DeltaStream(content).apply(form) == result


def test_white_space_before_a_delta_is_skipped() -> None:
    assert cw.detect(" \n\ufeff\tD|+| x ") == "delta"
    assert cw.apply_delta("old", " \n\ufeff\tD|+| x ") == "old x "


@pytest.mark.parametrize(
    ("content", "delta", "result"),
    [
        ("Hello, world!", "D|R|7|World", "Hello, World"),
        ("abcdef", "D|R|1|x", "ax"),
        ("abcdef", "D|R|0|", ""),
        ("abc", "D|R|3|d", "abcd"),
        ("한국어", "D|R|1|글", "한글"),
        ("abcdef", "D|ZR|" + packed("1|x"), "ax"),
        ("abc", "D|+|d", "abcd"),
        ("abc", "D|F|d", "d"),
    ],
)
def test_replace_truncate_cuts_off_the_rest(content: str, delta: str, result: str) -> None:
    assert cw.apply_delta(content, delta, replace="truncate") == result
    assert cw.DeltaStream(content, replace="truncate").apply(delta) == result


@pytest.mark.parametrize(
    ("delta", "result"),
    [
        ("D|ZF|" + packed("new|text"), "new|text"),
        ("D|Z+|" + packed("er"), "older"),
        ("D|ZR|" + packed("1|D|F"), "oD|F"),
        ("D|Z|" + base64_text(gzip.compress(b"D|+|er", mtime=0)), "older"),
        ("D|Z|" + base64_text(gzip.compress(b"D|R|0|O", mtime=0)), "Old"),
        ("D|Z|" + cw.encode_base85(gzip.compress(b"D|F|new", mtime=0)), "new"),
        ("D|ZF|" + cw.encode_base85(gzip.compress(b"new", mtime=0)), "new"),
        ("D|ZF|" + packed(""), ""),
    ],
)
def test_delta_forms_of_clients_and_servers_are_read(delta: str, result: str) -> None:
    assert cw.apply_delta("old", delta) == result


@pytest.mark.parametrize(
    ("content", "position"),
    [("", 1), ("abc", 4), ("한국어", 4), ("한국어", 9), ("🚀", 2), ("abc", 10**30)],
)
def test_a_position_after_the_end_is_an_error(content: str, position: int) -> None:
    stream = cw.DeltaStream(content)
    for replace in ("overwrite", "truncate"):
        with pytest.raises(cw.InvalidFormat):
            cw.apply_delta(content, f"D|R|{position}|x", replace=replace)
    with pytest.raises(cw.InvalidFormat):
        stream.apply(f"D|R|{position}|x")
    assert stream.content == content


@pytest.mark.parametrize(
    ("delta", "error"),
    [
        ("", cw.InvalidFormat),
        ("D", cw.InvalidFormat),
        ("D|", cw.InvalidFormat),
        ("D|F", cw.InvalidFormat),
        ("F|x", cw.InvalidFormat),
        ("D|f|x", cw.InvalidFormat),
        ("D||x", cw.InvalidFormat),
        ("D|Q|x", cw.InvalidFormat),
        ("D|ZZ|x", cw.InvalidFormat),
        ("D|R|1", cw.InvalidFormat),
        ("D|R||x", cw.InvalidFormat),
        ("D|R|-1|x", cw.InvalidFormat),
        ("D|R|+1|x", cw.InvalidFormat),
        ("D|R| 1|x", cw.InvalidFormat),
        ("D|R|1_0|x", cw.InvalidFormat),
        ("D|R|٣|x", cw.InvalidFormat),
        ("D|Z|" + packed("D|Z|" + packed("D|F|x")), cw.InvalidFormat),
        ("D|Z|" + packed("D|ZF|" + packed("x")), cw.InvalidFormat),
        ("D|Z|" + packed("no delta"), cw.InvalidFormat),
        ("D|Z|" + packed(b"D|F|\xff"), cw.InvalidFormat),
        ("D|ZF|" + packed(b"\xff"), cw.InvalidFormat),
        ("D|ZR|" + packed("x"), cw.InvalidFormat),
        (b"D|F|\xff", cw.InvalidFormat),
        ("D|F|\ud800", cw.InvalidFormat),
        ("D|Z|", cw.DecompressionFailed),
        ("D|Z|" + cw.encode_base85(zlib.compress(b"D|F|x")[:-1]), cw.DecompressionFailed),
        ("D|Z|00~00", cw.InvalidBase85Char),
        ("D|Z|000000", cw.InvalidBase85Length),
        ("D|Z|#####", cw.InvalidBase85Value),
        ("D|Z|H4sI~", cw.InvalidBase64),
        ("RES|OK||0|x", cw.InvalidFormat),
    ],
)
def test_an_invalid_delta_is_an_error_and_changes_nothing(delta: Any, error: Any) -> None:
    stream = cw.DeltaStream("old")
    with pytest.raises(error) as caught:
        cw.apply_delta("old", delta)
    assert type(caught.value) is error
    with pytest.raises(error):
        stream.apply(delta)
    assert stream.content == "old"


def test_options_and_arguments_are_checked() -> None:
    wrong: Any
    for wrong in ("cut", "", "Overwrite"):
        with pytest.raises(ValueError, match="replace"):
            cw.apply_delta("", "D|F|", replace=wrong)
        with pytest.raises(ValueError, match="replace"):
            cw.DeltaStream(replace=wrong)
    for wrong in (None, 7, b"bytes"):
        with pytest.raises(TypeError):
            cw.encode_delta("", wrong)
        with pytest.raises(TypeError):
            cw.apply_delta(wrong, "D|F|")
    with pytest.raises(cw.EncodeError) as caught:
        cw.encode_delta("", "\ud800")
    assert caught.value.field == "new"
    with pytest.raises(cw.CompactWireError):
        cw.apply_delta("\ud800", "D|F|")


# Writing


@pytest.mark.parametrize(
    ("old", "new", "delta"),
    [
        ("", "", "D|+|"),
        ("same", "same", "D|+|"),
        ("", "new", "D|F|new"),
        ("old", "", "D|F|"),
        ("Hello", "Hello, world!", "D|+|, world!"),
        ("Hello, world!", "Hello, World!", "D|R|7|World!"),
        # Non-ASCII text before the position: readers count it differently.
        ("한국어 text", "한국어 TEXT", "D|F|한국어 TEXT"),
        # Shorter than the text it replaces: readers that do not truncate would keep the rest.
        ("Hello, world", "Hello, you", "D|F|Hello, you"),
        # Equal in code points, but not in bytes or UTF-16 units.
        ("Hello, welcome é", "Hello, welcome e", "D|F|Hello, welcome e"),
        ("Hello, welcome 🚀", "Hello, welcome é", "D|F|Hello, welcome é"),
        ("Hello, welcome e", "Hello, welcome é", "D|R|15|é"),
    ],
)
def test_the_shortest_portable_delta_is_written(old: str, new: str, delta: str) -> None:
    assert cw.encode_delta(old, new) == delta


def written_over(content: str, position: int, text: str, encoding: str, unit: int) -> str:
    """The result of an R delta for a reader that counts units of `encoding` and overwrites."""
    data, new = bytearray(content.encode(encoding)), text.encode(encoding)
    data[position * unit : position * unit + len(new)] = new
    return data.decode(encoding)


@examples(1)
@given(messages.TEXT_PAIRS)
def test_every_reader_gets_the_new_text_from_a_delta(pair: tuple[str, str]) -> None:
    old, new = pair
    delta = cw.encode_delta(old, new)
    assert cw.apply_delta(old, delta) == new
    assert cw.apply_delta(old, delta, replace="truncate") == new
    if delta.startswith("D|R|"):
        _, _, position, text = delta.split("|", 3)
        assert old[: int(position)].isascii()
        for encoding, unit in (("utf-8", 1), ("utf-16-le", 2), ("utf-32-le", 4)):
            assert written_over(old, int(position), text, encoding, unit) == new


@examples(1)
@given(messages.TEXT_PAIRS)
def test_no_plain_delta_is_shorter(pair: tuple[str, str]) -> None:
    old, new = pair
    length = len(cw.encode_delta(old, new).encode())
    assert length <= len(f"D|F|{new}".encode())
    if new.startswith(old):
        assert length <= len(f"D|+|{new[len(old) :]}".encode())


def test_repetitive_text_is_compressed() -> None:
    new = "so it goes. " * 100
    for old in ("", "so it goes. ", "another text"):
        delta = cw.encode_delta(old, new)
        assert delta.startswith("D|Z|")
        assert len(delta) < 100
        assert cw.apply_delta(old, delta) == new


# Streams


def test_both_ends_of_a_stream_agree_after_random_edits() -> None:
    generator = random.Random(7)
    sender, receiver, client = (
        cw.DeltaStream(),
        cw.DeltaStream(),
        cw.DeltaStream(replace="truncate"),
    )
    text = ""
    for _ in range(3000):
        start = generator.randint(0, len(text))
        gone = generator.choice((0, 0, 1, 5, 300))
        new = "".join(generator.choices("ab |한🚀é\n", k=generator.choice((0, 1, 3, 40))))
        text = text[:start] + new + text[start + gone :]
        if generator.random() < 0.3:
            text += "and then "
        delta = sender.push(text)
        assert receiver.apply(delta) == client.apply(delta) == text
        assert sender.content == receiver.content == client.content == text


@examples(0.2)
@given(st.text(max_size=5), st.lists(messages.TEXTS, max_size=8))
def test_a_stream_reaches_each_text(start: str, texts: list[str]) -> None:
    sender, receiver = cw.DeltaStream(start), cw.DeltaStream(start)
    for text in texts:
        assert receiver.apply(sender.push(text)) == text


def test_a_stream_starts_empty_and_has_a_repr() -> None:
    stream = cw.DeltaStream()
    assert stream.content == ""
    assert stream.push("한") == "D|F|한"
    assert "DeltaStream" in repr(stream)
    assert "3 bytes" in repr(stream)
    with pytest.raises(AttributeError):
        stream.content = "x"  # type: ignore[misc]
    with pytest.raises(cw.EncodeError):
        stream.push("\ud800")
    assert stream.content == "한"
