"""Commands with several files: errors name the file, the others are read, the end says which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compactwire import cad
from compactwire.cli import main

Captured = pytest.CaptureFixture[str]

PART = cad.loads("C 1 2 3")

# A command, the name and the content of a valid file, and the suffix of its output.
COMMANDS = [
    ("encode", "a.md", b"text", ".cw"),
    ("decode", "a.cw", b"RES|OK|C4|0|text", ".txt"),
    ("inspect", "a.cw", b"RES|OK|C4|0|text", ".txt"),
    ("shrink", "a.json", b'{"a":[1,2]}', ".txt"),
    ("expand", "a.txt", b"GCF profile=generic\na=1\n", ".json"),
    ("gcf encode", "a.json", b'{"a":[1,2]}', ".gcf"),
    ("gcf decode", "a.gcf", b"GCF profile=generic\na=1\n", ".json"),
    ("cad compact", "a.vcad", cad.dumps(PART).encode(), ".vcadc"),
    ("cad expand", "a.vcadc", b"C 1 2 3", ".vcad"),
    ("cad pack", "a.vcadc", b"C 1 2 3", ".vcadb"),
    ("cad unpack", "a.vcadb", cad.to_binary(PART), ".vcad"),
    ("cad hybrid", "a.vcadc", b"C 1 2 3", ".json"),
    ("cad preview", "a.vcadc", b"C 1 2 3", ".png"),
]
DAMAGED = b"\xff\xfe\xff"


def write_inputs(folder: Path, name: str, content: bytes) -> list[str]:
    """Two valid files, one that is damaged and one that is missing between them."""
    paths = [folder / f"{one}{Path(name).suffix}" for one in ("first", "damaged", "last")]
    for path, data in zip(paths, (content, DAMAGED, content), strict=True):
        path.write_bytes(data)
    paths.insert(2, folder / "missing")
    return list(map(str, paths))


@pytest.mark.parametrize(("command", "name", "content", "suffix"), COMMANDS)
def test_a_command_goes_on_after_a_file_that_fails(
    command: str, name: str, content: bytes, suffix: str, tmp_path: Path, capsys: Captured
) -> None:
    paths, folder = write_inputs(tmp_path, name, content), tmp_path / "out"
    folder.mkdir()
    assert main([*command.split(), *paths, "-o", str(folder)]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert sum("error: " in error for error in errors) == 2
    for path, error in zip(paths[1:3], errors, strict=False):
        assert error.startswith(f"compactwire: error: {path}: ")
    assert errors[-1] == f"compactwire: 2 of 4 inputs failed: {paths[1]}, {paths[2]}"
    alone = tmp_path / f"alone{suffix}"
    assert main([*command.split(), paths[0], "-o", str(alone)]) == 0
    for one in ("first", "last"):
        assert (folder / f"{one}{suffix}").read_bytes() == alone.read_bytes()
    assert len(list(folder.iterdir())) == 2


def test_a_command_goes_on_where_the_outputs_exist(tmp_path: Path, capsys: Captured) -> None:
    paths, folder = write_inputs(tmp_path, "a.json", b"[1,2]"), str(tmp_path / "out")
    assert main(["gcf", "encode", *paths, "-o", folder]) == 1
    first = capsys.readouterr().err
    Path(paths[0]).write_bytes(b"[1,3]")
    assert main(["gcf", "encode", *paths, "-o", folder]) == 1
    assert capsys.readouterr().err == first
    assert (tmp_path / "out" / "first.gcf").read_text(encoding="utf-8").endswith("1,3\n")


@pytest.mark.parametrize("name", [".", "..", "/"])
def test_a_path_that_is_a_folder_spoils_no_other_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_bytes(b"1")
    assert main(["gcf", "encode", "a.json", name, "-o", "out"]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert errors == [
        f"compactwire: error: {name}: a folder, expected a file",
        f"compactwire: 1 of 2 inputs failed: {name}",
    ]
    assert [path.name for path in Path("out").iterdir()] == ["a.gcf"]


@pytest.mark.parametrize("command", ["cad check", "cad stats", "stats"])
def test_a_command_without_outputs_names_the_files_that_failed(
    command: str, tmp_path: Path, capsys: Captured
) -> None:
    paths = write_inputs(tmp_path, "a.vcadc", b"C 1 2 3")
    assert main([*command.split(), *paths]) == 1
    end = f"compactwire: 2 of 4 inputs failed: {paths[1]}, {paths[2]}"
    assert end in capsys.readouterr().err.splitlines()


def test_texts_follow_each_other_on_standard_output(tmp_path: Path, capsys: Captured) -> None:
    paths = write_inputs(tmp_path, "a.gcf", b"GCF profile=generic\na=1\n")
    assert main(["gcf", "decode", *paths]) == 1
    assert capsys.readouterr().out == '{"a":1}\n{"a":1}\n'
    for path in (paths[0], paths[3]):
        Path(path).write_bytes(b"RES|OK|C4|0|text")
    assert main(["decode", "--json", *paths]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["result"] for line in lines] == ["text"] * 2


def test_outputs_that_cannot_follow_each_other_need_a_folder(
    tmp_path: Path, capsys: Captured
) -> None:
    paths = write_inputs(tmp_path, "a.vcadc", b"C 1 2 3")
    for command in ("encode", "cad compact", "cad pack", "cad preview"):
        needed, missing = "several inputs need -o with a folder", str(tmp_path / "none" / "none")
        for output, expected in (
            ([], needed),
            (["-o", paths[0]], needed),
            (["-o", missing], missing),
        ):
            assert main([*command.split(), *paths, *output]) == 1
            out, error = capsys.readouterr()
            assert out == ""
            assert expected in error
    assert not (tmp_path / "none").exists()


def test_the_folder_of_outputs_is_made(tmp_path: Path, capsys: Captured) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("1", encoding="utf-8")
    first, second, out = (str(tmp_path / name) for name in ("a.json", "b.json", "out"))
    assert main(["gcf", "encode", first, second, "-o", out]) == 0
    assert sorted(path.name for path in Path(out).iterdir()) == ["a.gcf", "b.gcf"]
    assert capsys.readouterr() == ("", "")


def test_an_output_replaces_no_input_and_no_other_output(tmp_path: Path, capsys: Captured) -> None:
    for name in ("a.txt", "a.md", "b.cw", "c.md"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("a.txt", "a.md", "b.cw", "c.md")]
    assert main(["encode", *paths, "-o", str(tmp_path)]) == 1
    first, second, third, end = capsys.readouterr().err.splitlines()
    for error in (first, second):
        assert f"another input would be written to {tmp_path / 'a.cw'}, too" in error
    assert "is one of the inputs" in third
    assert end.startswith("compactwire: 3 of 4 inputs failed")
    assert (tmp_path / "c.cw").read_text(encoding="utf-8") == "RES|OK||0|c.md"
    assert (tmp_path / "b.cw").read_text(encoding="utf-8") == "b.cw"


@pytest.mark.parametrize(
    "command",
    [
        "encode",
        "expand",
        "gcf encode",
        "stats",
        "cad check",
        "cad unpack",
        "analyze",
        "train -o x",
        "conformance",
        "claim new --run-id a -o x",
    ],
)
def test_an_empty_path_is_not_the_working_folder(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), ""])
    assert ended.value.code == 2
    assert "expected a path, not an empty text" in capsys.readouterr().err
