"""Arguments and results of the CAD functions: types, options, numbers, threads."""

from __future__ import annotations

import copy
import gc
import io
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

from compactwire import cad
from tests.strategies.documents import BRACKET


def test_the_bracket_example_has_the_operations_of_its_comments() -> None:
    document = cad.from_compact(BRACKET)
    ops = [node["op"]["type"] for node in document["nodes"].values()]
    assert ops == [
        "Cube", "Cylinder", "Translate", "Translate", "Difference", "Difference", "Sketch2D",
        "Extrude", "Translate", "Union",
    ]  # fmt: skip
    assert document["roots"] == [{"root": 9, "material": "default"}]
    bare = [line.split("#")[0].rstrip() for line in BRACKET.split("\n")]
    assert cad.to_compact(document) == "\n".join(line for line in bare if line)


def test_whole_numbers_are_int_and_minus_zero_is_float() -> None:
    document = cad.from_compact("C 50 0.5 -0")
    size = document["nodes"]["0"]["op"]["size"]
    assert [type(size[key]) for key in "xyz"] == [int, float, float]
    assert str(size["z"]) == "-0.0"


@pytest.mark.parametrize("before", ["\ufeff", "\u00a0 ", "\ufeff\u2003\n"])
def test_json_may_follow_a_byte_order_mark_and_white_space(before: str) -> None:
    document = cad.from_compact(BRACKET)
    for text in (before + cad.dumps(document), (before + cad.dumps(document)).encode()):
        assert cad.canonical(text) == cad.loads(text) == document
        assert cad.to_binary(text) == cad.to_binary(document)
        assert cad.to_compact(text, "0.2", unknown="keep") == cad.to_compact(document, "0.2")
    assert cad.from_hybrid(before + json.dumps(cad.to_hybrid(document))) == document


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**64 + 1, 10**40])
def test_an_integer_beyond_double_precision_is_refused(number: int) -> None:
    document = {"nodes": {"0": {"op": {"type": "Sphere", "radius": number, "segments": 0}}}}
    for form in (document, json.dumps(document)):
        with pytest.raises(cad.DocumentError, match=r"^node 0\.radius: expected a number that a d"):
            cad.to_binary(form)
        # A kept value is exact.
        kept = cad.from_compact(cad.to_compact(form, "0.2", unknown="keep"))
        assert kept["nodes"]["0"]["op"]["radius"] == number


@pytest.mark.parametrize("number", [2**53 + 2, -(2**63), 2**64, 10**22, 2.0**60, 2.0**69, 1.5e20])
def test_an_integer_that_is_a_double_is_read_in_any_spelling(number: float) -> None:
    document = {"nodes": {"0": {"op": {"type": "Sphere", "radius": number, "segments": 0}}}}
    for form in (document, json.dumps(document), cad.dumps(document)):
        assert cad.canonical(form)["nodes"]["0"]["op"]["radius"] == number


def test_load_detects_the_form_by_content() -> None:
    document = cad.from_compact(BRACKET)
    hybrid = json.dumps(cad.to_hybrid(document))
    for source in (
        BRACKET,
        "\ufeff" + BRACKET,
        cad.dumps(document),
        " \n" + hybrid,
        "\ufeff" + hybrid,
        cad.to_binary(document),
        cad.to_compact(document, "0.2"),
    ):
        data = source if isinstance(source, bytes) else source.encode()
        for form in (data, bytearray(data), memoryview(data)):
            assert cad.loads(form)["nodes"].keys() == document["nodes"].keys()


def test_load_reads_a_path_or_an_open_file(tmp_path: Path) -> None:
    document = cad.from_compact(BRACKET)
    path = tmp_path / "part"
    for content in (BRACKET.encode(), cad.dumps(document).encode(), cad.to_binary(document)):
        path.write_bytes(content)
        with path.open("rb") as file:
            assert cad.load(file) == document
        for form in (path, str(path), io.BytesIO(content)):
            assert cad.load(form) == document
    assert cad.load(io.StringIO(BRACKET)) == document
    path.write_text('{"nodes":{},"units":"mm"}', encoding="utf-8")
    assert cad.load(path, unknown="keep")["units"] == "mm"


@pytest.mark.parametrize(
    "content", [BRACKET, "S 1", '{"nodes":{}}', "S 1 #" + "x" * 5000, "S 1 #\0"]
)
def test_load_of_content_names_loads(content: str) -> None:
    with pytest.raises(ValueError, match="`loads`"):
        cad.load(content)
    with pytest.raises(TypeError, match="`loads`"):
        cad.load(content.encode())  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["", "missing.vcad", "C 1 1", "missing/part 1.vcad"])
def test_load_of_a_missing_file_is_an_os_error(path: str) -> None:
    with pytest.raises(FileNotFoundError):
        cad.load(path)


@pytest.mark.parametrize("name", ["0.3", "", "AUTO", "auto "])
def test_an_unknown_option_value_is_a_value_error(name: Any) -> None:
    for call in (
        lambda: cad.from_compact("", name),
        lambda: cad.check("", dialect=name),
        lambda: cad.iter_compact([], name),
        lambda: cad.to_compact({"nodes": {}}, name),
        lambda: cad.losses({"nodes": {}}, name),
        lambda: cad.to_compact({"nodes": {}}, unknown=name),
        lambda: cad.create_cad_compact("", format=name),
    ):
        with pytest.raises(ValueError, match="must be"):
            call()


@pytest.mark.parametrize("wrong", [None, 5, [], object()])
def test_an_argument_of_another_type_is_a_type_error(wrong: Any) -> None:
    for call in (cad.from_compact, cad.from_binary, cad.load, cad.loads, cad.check):
        with pytest.raises(TypeError):
            call(wrong)
    with pytest.raises(TypeError):
        cad.from_binary("text")  # type: ignore[arg-type]
    with pytest.raises(cad.DocumentError, match="document: expected an object"):
        cad.canonical(wrong)


def test_losses_lists_what_a_dialect_drops() -> None:
    document = cad.from_compact("S 1\nT 0 1 0 0")
    assert cad.losses(document, "0.1") == []
    everything = copy.deepcopy(document)
    everything["nodes"]["5"] = {"name": "n", "op": {"type": "Empty"}}
    everything |= {
        "version": "2", "materials": {"a": {"name": "a", "color": [0, 0, 0], "metallic": 0,
                                            "roughness": 0}},
        "part_materials": {"p": "a"}, "roots": [{"root": 0, "material": "a", "visible": True}],
        "instances": [], "scene": {}, "extra": 1,
    }  # fmt: skip
    assert cad.losses(everything, "0.1") == [
        "assembly", "ids", "materials", "names", "ops", "part_materials", "root_material", "roots",
        "scene", "unknown", "version", "visibility",
    ]  # fmt: skip
    assert cad.losses(everything, "0.2") == ["unknown"]


def test_threads_read_one_dict_and_one_stream() -> None:
    document = cad.from_compact("S 1\n" + "\n".join(f"T {i} 0 0 1" for i in range(2000)))
    text = cad.to_compact(document)
    stream = cad.iter_compact([text[i : i + 100] for i in range(0, len(text), 100)])
    found: list[Any] = []
    wrong: list[Any] = []

    def work() -> None:
        while True:
            try:
                kind, item = next(stream)
            except StopIteration:
                break
            except ValueError as error:
                # As with a generator: a garbage collection may let other threads run.
                if str(error) != "CompactIterator is already executing":
                    wrong.append(error)
                continue
            found.append(item["id"] if kind == "node" else "end")
        if cad.to_compact(document) != text:
            wrong.append("text")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(found) == 2002
    assert {item for item in found if item != "end"} == set(range(2001))


def test_reading_a_dict_runs_no_python_code() -> None:
    class Number(int):
        def change(self, *_: object) -> Any:
            document["nodes"].clear()
            return 7

        __float__ = __index__ = __int__ = __eq__ = __str__ = __repr__ = change
        __hash__ = int.__hash__

    sphere = {"type": "Sphere", "radius": Number(10**22), "segments": 0}
    document: dict[str, Any] = {"nodes": {"0": {"op": sphere}, "1": {"op": {"type": "Empty"}}}}
    read = cad.canonical(document)
    assert list(document["nodes"]) == list(read["nodes"]) == ["0", "1"]
    assert read["nodes"]["0"]["op"]["radius"] == 10**22


@pytest.mark.parametrize("on", [True, False])
def test_the_garbage_collector_setting_is_unchanged(on: bool) -> None:
    text = "S 1\n" * 2000
    try:
        (gc.enable if on else gc.disable)()
        document = cad.from_compact(text)
        assert gc.isenabled() == on
        assert cad.from_binary(cad.to_binary(document)) == document
        with pytest.raises(cad.CompactParseError):
            cad.from_compact(text + "Q")
        assert gc.isenabled() == on
    finally:
        gc.enable()


def test_documents_share_no_mutable_object() -> None:
    text = "C 1 2 3\nT 0 4 5 6"
    first = cad.from_compact(text)
    first["nodes"]["0"]["op"]["size"] |= {"x": 9, "more": 9}
    del first["nodes"]["1"]["op"]["child"]
    first["nodes"]["1"].clear()
    second = cad.from_compact(text)
    assert second["nodes"]["0"]["op"] == {"type": "Cube", "size": {"x": 1, "y": 2, "z": 3}}
    assert cad.to_compact(second) == text
    assert list(second["nodes"]["0"]["op"]["size"]) == ["x", "y", "z"]


def test_errors_pickle_with_their_place() -> None:
    with pytest.raises(cad.CompactParseError) as caught:
        cad.from_compact("q")
    again = pickle.loads(pickle.dumps(caught.value))
    assert vars(again) == vars(caught.value)
    assert str(again) == "line 1, column 1: unknown opcode q"
