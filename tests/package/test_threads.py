"""Eight threads at once give the same results as one thread."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import compactwire as cw
from tests.strategies.packing import SMALL_BYTES
from tests.strategies.threads import THREADS, in_threads

MESSAGES = 100_000
TEXTS = ("", "short", "한국어 🚀", "word1 word2 " * 12, "so it goes. " * 60)


def cases(dictionary: cw.Dictionary) -> list[tuple[cw.Response, dict[str, Any], str]]:
    formats = ("verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary", "auto")
    listed = []
    for text, format, protocol in itertools.product(TEXTS, formats, (2, 4)):
        response = cw.Response(text, "C4", "PART", len(text))
        options: dict[str, Any] = {"format": format, "protocol": protocol, "dictionary": dictionary}
        listed.append((response, options, cw.encode(response, **options)))
    return listed


def test_threads_agree_with_one_thread_on_every_message() -> None:
    dictionary = cw.Dictionary.from_bytes(SMALL_BYTES)
    expected = cases(dictionary)

    def work(number: int) -> int:
        right = 0
        turn = itertools.islice(itertools.cycle(expected), number, None)
        for response, options, wire in itertools.islice(turn, MESSAGES // THREADS):
            right += (
                cw.encode(response, **options) == wire
                and cw.decode(wire, dictionary=dictionary) == response
            )
        return right

    assert in_threads(work) == [MESSAGES // THREADS] * THREADS


def test_threads_get_the_same_errors() -> None:
    wires = ["", "X", "A#####", "Z0000", "MAAA", "RES|", "{", "S" + cw.encode_base85(bytes(50))]

    def failures(_: int = 0) -> list[str]:
        found = []
        for wire in wires * 500:
            with pytest.raises(cw.DecodeError) as caught:
                cw.decode(wire)
            found.append(repr(caught.value))
        return found

    assert in_threads(failures) == [failures()] * THREADS


def test_one_new_dictionary_is_shared_by_all_threads() -> None:
    # The compressor is created at its first use: here by eight threads at once.
    response = cw.Response("word1 word2 word3 " * 9, "C4")
    for _ in range(20):
        dictionary = cw.Dictionary.from_bytes(SMALL_BYTES)

        def work(_: int, dictionary: cw.Dictionary = dictionary) -> tuple[str, cw.Response]:
            wire = cw.encode(response, format="dictionary", dictionary=dictionary)
            return wire, cw.decode(wire, dictionaries=[dictionary])

        assert set(in_threads(work)) == {
            (cw.encode(response, format="dictionary", dictionary=dictionary), response)
        }


def test_large_messages_are_processed_in_parallel() -> None:
    # Long enough for the interpreter lock to be released during the call.
    responses = [cw.Response(f"{number} " * 200_000, "C4") for number in range(THREADS)]

    def work(number: int) -> bool:
        wires = [
            cw.encode(responses[number], format=format) for format in ("zlib", "zstd", "binary")
        ]
        return all(cw.decode(wire) == responses[number] for wire in wires)

    assert in_threads(work) == [True] * THREADS


def test_one_stream_loses_no_delta_of_any_thread() -> None:
    stream = cw.DeltaStream()
    turns = 500

    def work(number: int) -> list[int]:
        return [len(stream.apply(f"D|+|{number}")) for _ in range(turns)]

    lengths = sorted(itertools.chain.from_iterable(in_threads(work)))
    # Every call saw a state that no other call saw.
    assert lengths == list(range(1, THREADS * turns + 1))
    assert [stream.content.count(str(number)) for number in range(THREADS)] == [turns] * THREADS


def test_each_push_of_a_shared_stream_continues_the_previous_one() -> None:
    stream = cw.DeltaStream()
    grown = "0123456789" * 10
    texts = [grown[:end] for end in range(len(grown) + 1)]

    def work(number: int) -> list[tuple[str, str]]:
        return [(text, stream.push(text)) for text in texts[number::THREADS]]

    for text, delta in itertools.chain.from_iterable(in_threads(work)):
        # Which text came before is not known, but it was one of these.
        assert any(cw.apply_delta(before, delta) == text for before in texts)
    assert stream.content in texts


def test_one_stream_is_read_and_written_concurrently() -> None:
    stream = cw.DeltaStream("a" * 100)

    def work(number: int) -> set[str]:
        if number % 2:
            return {stream.content for _ in range(2000)}
        for _ in range(2000):
            stream.apply(f"D|F|{'ab'[number // 2 % 2] * 100}")
        return set()

    seen = set().union(*in_threads(work))
    assert seen <= {"a" * 100, "b" * 100}
