"""Dictionaries: training, files, lookup by id or name, and the gain in size."""

from __future__ import annotations

import copy
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from tests.strategies.packing import SMALL, SMALL_BYTES, SMALL_ID, container, zstd

RESPONSE = cw.Response("word1 word22 word333 word44 word5 word66 " * 3, "C4", "OK", 9)
MESSAGE = cw.decode_base85(cw.encode(RESPONSE, format="base85")[1:])


def samples(seed: int = 1, count: int = 300) -> list[str]:
    generator = random.Random(seed)
    words = [f"{generator.randbytes(3).hex()}" for _ in range(300)]
    return [" ".join(generator.choices(words, k=50)) for _ in range(count)]


def train(seed: int = 1, **options: Any) -> cw.Dictionary:
    return cw.Dictionary.train(samples(seed), size=4096, **{"time": 1_700_000_000, **options})


def old_wire(name: bytes, frame: bytes, size: int = len(MESSAGE)) -> str:
    return "D" + cw.encode_base85(container(name, size, frame))


BY_ID = zstd(MESSAGE, dictionary=SMALL_BYTES)
BY_NAME = zstd(MESSAGE, dictionary=SMALL_BYTES, dictionary_id=False)


# Training


def test_a_trained_dictionary_describes_itself() -> None:
    dictionary = train(content_type="code", model="claude")
    assert (dictionary.content_type, dictionary.model, dictionary.name) == (
        "code",
        "claude",
        "code",
    )
    assert (dictionary.samples, dictionary.time) == (300, "1700000000")
    assert 0 < dictionary.size <= 4096
    # Ids below are reserved (RFC 8878, section 5).
    assert 32_768 <= dictionary.id < 2**31
    assert repr(dictionary) == f'<Dictionary "code", id {dictionary.id}, {dictionary.size} bytes>'


def test_training_is_deterministic() -> None:
    assert train().to_bytes() == train().to_bytes()
    assert train(1).id != train(2).id
    body, later = (train(time=time).to_bytes().split(b"\n", 1) for time in (1, 2))
    assert body[1] == later[1]
    assert body[0] != later[0]


def test_samples_may_be_text_responses_mappings_or_bytes() -> None:
    texts = samples()
    packed = [cw.decode_base85(cw.encode(cw.Response(text), format="base85")[1:]) for text in texts]
    forms: list[list[Any]] = [
        texts,
        [cw.Response(text) for text in texts],
        [{"result": text} for text in texts],
        packed,
    ]
    trained = {cw.Dictionary.train(iter(form), size=4096, time=0).to_bytes() for form in forms}
    assert len(trained) == 1


def test_a_trained_dictionary_shortens_similar_messages() -> None:
    dictionary = train()
    for text in samples(1, 350)[300:]:
        response = cw.Response(text)
        wire = cw.encode(response, format="dictionary", dictionary=dictionary)
        assert len(wire) < 0.8 * len(cw.encode(response, format="zstd"))
        assert cw.decode(wire, dictionary=dictionary) == response


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"content_type": "a|b"}, "content_type"),
        ({"content_type": "a\nb"}, "content_type"),
        ({"model": "a|b"}, "model"),
        ({"size": 0}, "size"),
    ],
)
def test_a_description_that_a_file_cannot_hold_is_refused(options: Any, field: str) -> None:
    with pytest.raises(cw.EncodeError) as caught:
        cw.Dictionary.train(samples(), **{"size": 4096, **options})
    assert caught.value.field == field


def test_too_few_or_invalid_samples_are_refused() -> None:
    few: Any
    for few in ([], ["one"], ["x"] * 3, [b""] * 300):
        with pytest.raises(cw.EncodeError) as caught:
            cw.Dictionary.train(few, size=4096)
        assert caught.value.field == "samples"
    wrong: Any
    for wrong in ("text", b"bytes", 7, [7], [None]):
        with pytest.raises(TypeError):
            cw.Dictionary.train(wrong)
    with pytest.raises(cw.EncodeError):
        cw.Dictionary.train(["\ud800"] * 300)


# Files


@pytest.mark.parametrize("as_text", [True, False])
def test_a_saved_dictionary_loads_unchanged(tmp_path: Path, as_text: bool) -> None:
    dictionary, path = train(model="claude"), tmp_path / "한국어.zdct"
    dictionary.save(str(path) if as_text else path)
    loaded = cw.Dictionary.load(str(path) if as_text else path)
    assert loaded == dictionary
    assert hash(loaded) == hash(dictionary)
    assert path.read_bytes() == dictionary.to_bytes() == loaded.to_bytes()
    wire = cw.encode(RESPONSE, format="dictionary", dictionary=dictionary)
    assert cw.encode(RESPONSE, format="dictionary", dictionary=loaded) == wire
    assert cw.decode(wire, dictionary=loaded) == RESPONSE


@pytest.mark.parametrize(
    ("header", "description"),
    [
        (b"ZDCT|v1|code|12|1736640000\n", ("code", "", 12, "1736640000")),
        (b"ZDCT|v2|code|claude|12|1736640000\n", ("code", "claude", 12, "1736640000")),
        (b"ZDCT|v2|mixed||0|2026-01-12T00:00:00Z\n", ("mixed", "", 0, "2026-01-12T00:00:00Z")),
        (b"", ("", "", 0, "")),
    ],
)
def test_files_of_both_versions_and_bare_dictionaries_load(
    header: bytes, description: tuple[str, str, int, str]
) -> None:
    for data in (header + SMALL_BYTES, bytearray(header + SMALL_BYTES)):
        loaded = cw.Dictionary.from_bytes(data)
        assert (loaded.content_type, loaded.model, loaded.samples, loaded.time) == description
        assert (loaded.id, loaded.size, loaded.name) == (SMALL_ID, len(SMALL_BYTES), description[0])
        assert cw.decode("D" + cw.encode_base85(BY_ID), dictionary=loaded) == RESPONSE
        rest = description[0], description[1], str(description[2]), description[3]
        first_line = "|".join(("ZDCT", "v2", *rest)).encode()
        assert loaded.to_bytes() == first_line + b"\n" + SMALL_BYTES


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"no dictionary",
        b"ZDCT|v3|code|claude|12|0\n" + SMALL_BYTES,
        b"ZDCT|v1|code|claude|12|0\n" + SMALL_BYTES,
        b"ZDCT|v2|code|12|0\n" + SMALL_BYTES,
        b"ZDCT|v2|code|claude|twelve|0\n" + SMALL_BYTES,
        b"ZDCT|v2|code|claude|-1|0\n" + SMALL_BYTES,
        b"ZDCT|v2|\xff|claude|1|0\n" + SMALL_BYTES,
        b"ZDCT|v2|code|claude|1|0",
        b"ZDCT|v2|" + b"x" * 100_000,
        SMALL_BYTES[:100],
        SMALL_BYTES[:8] + b"\xff" * 200 + SMALL_BYTES[208:],
    ],
)
def test_an_invalid_dictionary_file_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(cw.InvalidFormat):
        cw.Dictionary.from_bytes(data)
    path = tmp_path / "wrong.zdct"
    path.write_bytes(data)
    with pytest.raises(cw.InvalidFormat):
        cw.Dictionary.load(path)


def test_a_dictionary_is_loaded_from_an_open_file(tmp_path: Path) -> None:
    path = tmp_path / "small.zdct"
    SMALL.save(path)
    with path.open("rb") as file:
        assert cw.Dictionary.load(file) == cw.Dictionary.load(path)
    with path.open(encoding="latin-1") as text, pytest.raises(TypeError, match="not str"):
        cw.Dictionary.load(text)
    with pytest.raises(TypeError, match="use `from_bytes` for content"):
        cw.Dictionary.load(SMALL.to_bytes())  # type: ignore[arg-type]


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        cw.Dictionary.load(tmp_path / "absent")
    with pytest.raises(OSError, match=r".+"):
        SMALL.save(tmp_path / "absent" / "too")


def test_a_truncated_file_is_an_error_or_another_dictionary() -> None:
    data = SMALL.to_bytes()
    for end in (*range(300), *range(300, len(data), 97)):
        try:
            cut = cw.Dictionary.from_bytes(data[:end])
        except cw.InvalidFormat:
            continue
        assert cut.size == end - len(data) + SMALL.size


@pytest.mark.parametrize(
    "damage", ["cut", "without its first line", "changed", "continued", "other id"]
)
def test_a_damaged_file_of_a_trained_dictionary_is_refused(damage: str) -> None:
    data = train().to_bytes()
    assert data.startswith(b"ZDCT|v2|")
    begin, mark = data.index(b"\n") + 1, data.index(b"ZDCT-CRC")
    damaged = {
        "cut": [data[:end] for end in range(begin + 200, len(data), 97)],
        "without its first line": [data[begin:end] for end in range(begin + 200, len(data), 97)],
        "changed": [
            data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
            for at in (*range(begin, len(data), 97), *range(mark, mark + 8))
        ],
        "continued": [data + b"\0"],
        "other id": [data[: begin + 4] + b"\1\2\3\4" + data[begin + 8 :]],
    }
    for file in damaged[damage]:
        with pytest.raises(cw.InvalidFormat, match=r"cut or changed|invalid zstd dictionary"):
            cw.Dictionary.from_bytes(file)


def test_two_dictionaries_of_one_id_are_not_guessed() -> None:
    cut = cw.Dictionary.from_bytes(SMALL_BYTES[:-1000], name="small")
    for wire in ("D" + cw.encode_base85(BY_ID), old_wire(b"small", BY_NAME)):
        with pytest.raises(cw.InvalidFormat, match="two of the dictionaries have the"):
            cw.decode(wire, dictionaries=[SMALL, cut])
        assert cw.decode(wire, dictionaries=[SMALL, SMALL, train()]) == RESPONSE


def test_dictionaries_are_values() -> None:
    other = train(2)
    assert {SMALL, copy.copy(SMALL), copy.deepcopy(SMALL), other} == {SMALL, other}
    assert cw.Dictionary.from_bytes(SMALL_BYTES, name="x") != SMALL
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(SMALL, protocol))
        assert (again, again.name) == (SMALL, "small")
    with pytest.raises(AttributeError):
        SMALL.name = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        cw.Dictionary()


def test_the_built_in_dictionary_is_pickled_by_its_id() -> None:
    data = pickle.dumps(cw.Dictionary.default())
    assert len(data) < 200
    assert pickle.loads(data) == cw.Dictionary.default()
    id = cw.Dictionary.default().id
    with pytest.raises(cw.DictionaryNotFound) as caught:
        cw.Dictionary._restore_built_in(id + 1, "mixed")
    assert caught.value.id == id + 1


# Lookup


def test_the_right_one_is_found_among_many_by_its_id() -> None:
    many = [train(seed, content_type=str(seed)) for seed in (1, 2, 3)]
    for dictionary in many:
        wire = cw.encode(RESPONSE, format="dictionary", dictionary=dictionary)
        assert cw.decode(wire, dictionaries=many) == RESPONSE
        assert cw.decode(wire, dictionaries=iter(many)) == RESPONSE
        assert cw.decode(wire, dictionary=dictionary, dictionaries=many[:1]) == RESPONSE
        others = [other for other in many if other != dictionary]
        with pytest.raises(cw.DictionaryNotFound) as caught:
            cw.decode(wire, dictionaries=others)
        assert caught.value.id == dictionary.id
    wrong: Any
    for wrong in (7, [7], [b"bytes"], [None]):
        with pytest.raises(TypeError):
            cw.decode("RES|OK||0|", dictionaries=wrong)


def test_an_old_container_finds_its_dictionary_by_id_whatever_its_name() -> None:
    wire = old_wire(b"any name", BY_ID)
    assert cw.decode(wire, dictionary=SMALL) == RESPONSE
    assert cw.inspect(wire, dictionary=SMALL).dictionary_id == SMALL_ID
    with pytest.raises(cw.DictionaryNotFound) as caught:
        cw.decode(wire)
    assert caught.value.id == SMALL_ID


def test_an_old_container_without_an_id_finds_its_dictionary_by_name() -> None:
    wire = old_wire(b"small", BY_NAME)
    named = [cw.Dictionary.from_bytes(SMALL_BYTES, name=name) for name in ("other", "small")]
    assert cw.decode(wire, dictionaries=named) == RESPONSE
    for unknown in ([], named[:1]):
        with pytest.raises(cw.DictionaryNotFound) as caught:
            cw.decode(wire, dictionaries=unknown)
        assert caught.value.id == "small"
    v1 = cw.Dictionary.from_bytes(b"ZDCT|v1|small|1|0\n" + SMALL_BYTES)
    assert cw.decode(wire, dictionary=v1) == RESPONSE


def test_a_bare_frame_without_an_id_finds_nothing() -> None:
    for known in ([], [SMALL], [cw.Dictionary.from_bytes(SMALL_BYTES)]):
        with pytest.raises(cw.DictionaryNotFound) as caught:
            cw.decode("D" + cw.encode_base85(BY_NAME), dictionaries=known)
        assert caught.value.id == 0


def test_a_dictionary_without_an_id_reads_by_name_and_does_not_write() -> None:
    nameless = SMALL_BYTES[:4] + bytes(4) + SMALL_BYTES[8:]
    dictionary = cw.Dictionary.from_bytes(b"ZDCT|v2|old||1|0\n" + nameless)
    assert (dictionary.id, dictionary.name) == (0, "old")
    assert cw.decode(old_wire(b"old", zstd(MESSAGE, dictionary=nameless)), dictionary=dictionary)
    with pytest.raises(cw.EncodeError) as caught:
        cw.encode(RESPONSE, format="dictionary", dictionary=dictionary)
    assert caught.value.field == "dictionary"


# The default


def test_decode_always_knows_the_default_dictionary() -> None:
    default = cw.Dictionary.default()
    assert default.id >= 32_768
    wire = cw.encode(RESPONSE, format="dictionary")
    assert wire == cw.encode(RESPONSE, format="dictionary", dictionary=default)
    assert cw.decode(wire) == cw.decode(wire, dictionary=SMALL) == RESPONSE
    assert cw.inspect(wire).dictionary_id == default.id
    assert cw.Dictionary.from_bytes(default.to_bytes()) == default


TEXTS = {
    "review": """The change looks right to me, with two remarks.

1. `load_config` now opens the file twice: once to check that it exists and once to read it. \
Between the two calls somebody may remove it. Catch `FileNotFoundError` instead of asking first.
2. The new test sleeps for a second to wait for the worker. An event would make it faster and \
would not fail on a busy machine.

```python
def load_config(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
```

Everything else is fine. Thank you for the clear description of the pull request!""",
    "answer": """Yes, you can do this with a single query. The idea is to number the rows of each \
customer by date and to keep only the first:

```sql
SELECT customer_id, order_id, created_at
FROM (
    SELECT o.*, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY created_at DESC) AS n
    FROM orders o
) AS numbered
WHERE n = 1;
```

**Why this works:** the window function runs before the outer `WHERE`, so every row has its number \
when the filter is applied. If two orders can have the same date, add `order_id` to the `ORDER BY` \
to make the result stable. An index on `(customer_id, created_at)` will make it fast.""",
    "plan": """Here is what I found and what I suggest to do next:

- The build fails because the lock file and the manifest disagree about the version of the parser.
- Two tests are skipped on Windows without a reason; I could not reproduce the failure they mention.
- The documentation still describes the old command line options.

Next steps: update the lock file, run the whole test suite again, and then remove the two skips \
one after the other. I will report back as soon as the first run is finished. Please let me know \
if you would rather keep the old version of the parser.""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_default_dictionary_beats_zstd_on_unseen_texts(name: str) -> None:
    assert 500 <= len(TEXTS[name].encode()) <= 2048
    response = cw.Response(TEXTS[name], "C45", tokens=300)
    plain = cw.encode(response, format="zstd")
    with_default = cw.encode(response, format="dictionary")
    assert len(with_default) < 0.9 * len(plain)
    assert cw.decode(with_default) == response


# In `auto`


@pytest.mark.parametrize("length", [49, 50, 255, 256, 2000])
def test_auto_uses_the_dictionary_if_it_is_shorter(length: int) -> None:
    generator = random.Random(3)
    repetitive = (RESPONSE.result * 20)[:length]
    noise = "".join(chr(generator.randrange(0x4E00, 0x9FFF)) for _ in range(length // 3))
    for text in (repetitive, noise + "x" * (length % 3)):
        assert len(text.encode()) == length
        response = cw.Response(text, "C4")
        forms = {f: cw.encode(response, format=f, dictionary=SMALL) for f in ("base85", "zstd")}
        plain = forms["base85"] if length < 256 else forms["zstd"]
        packed = cw.encode(response, format="dictionary", dictionary=SMALL)
        expected = packed if len(packed) < len(plain) else plain
        found = cw.encode(response, dictionary=SMALL)
        assert found == (expected if length >= 50 else f"RES|OK|C4|0|{text}")
        # Without a dictionary, and in protocol 2, nothing changes.
        assert cw.encode(response)[0] != "D"
        v2 = cw.encode(response, protocol=2, dictionary=SMALL)
        assert v2 == cw.encode(response, protocol=2)


@pytest.mark.parametrize("char", ["x", "é", "한", "🚀"])
@pytest.mark.parametrize(
    ("size", "protocol_2", "protocol_4"),
    [
        (0, "dsl", "dsl"),
        (49, "dsl", "dsl"),
        (50, "base85", "base85"),
        (255, "base85", "base85"),
        (256, "base85", "zstd"),
        (500, "base85", "zstd"),
        (501, "zlib", "zstd"),
    ],
)
def test_auto_depends_on_the_bytes_of_the_result(
    char: str, size: int, protocol_2: str, protocol_4: str
) -> None:
    width = len(char.encode())
    text = char * (size // width) + "x" * (size % width)
    assert len(text.encode()) == size
    for model in ("C4", "a model with a long name that does not count" * 20):
        response = cw.Response(text, model)
        assert cw.detect(cw.encode(response, protocol=2)) == protocol_2
        assert cw.detect(cw.encode(response, protocol=4)) == protocol_4


@pytest.mark.parametrize("model", ["a|b", "a\nb"])
def test_auto_uses_base85_if_the_dsl_cannot_carry_the_model(model: str) -> None:
    response = cw.Response("short", model)
    for protocol in (2, 4):
        wire = cw.encode(response, protocol=protocol)
        assert cw.detect(wire) == "base85"
        assert cw.decode(wire) == response
