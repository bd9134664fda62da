"""Functions that write a file at a path: the new content is complete, or the old one is kept."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactwire import Dictionary, cad, gcf

ROOT = Path(__file__).parents[2]

unix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs limits of file sizes, and links")

# Functions that replace a file. Those of claims have tests of their own; keys are never replaced.
WRITERS = {
    "dictionary": lambda path: Dictionary.default().save(path),
    "gcf": lambda path: gcf.dump(list(range(1000)), path),
    "preview": lambda path: cad.Preview(bytes(1000), "png", []).save(path),
}

# Writes at most 100 bytes of a file, as on a full disk.
LIMITED = """
import resource, sys
from pathlib import Path
from tests.package.test_files import WRITERS
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    WRITERS[sys.argv[1]](Path(sys.argv[2]))
except OSError as error:
    print(error.filename)
"""


@unix
@pytest.mark.parametrize("writer", WRITERS)
def test_the_content_is_written_after_the_permissions(
    writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.touch(mode=0o600)
    sizes = []
    chmod = Path.chmod

    def measured(path: Path, mode: int) -> None:
        sizes.append(path.stat().st_size)
        chmod(path, mode)

    monkeypatch.setattr(Path, "chmod", measured)
    WRITERS[writer](out)
    assert sizes == [0]
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


@unix
@pytest.mark.parametrize("writer", WRITERS)
def test_a_failed_write_keeps_the_old_file(writer: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", LIMITED, writer, str(out)]
    for old in (None, b"old"):
        if old:
            out.write_bytes(old)
        before = list(tmp_path.iterdir())
        failed = subprocess.run(
            command, cwd=ROOT, capture_output=True, check=True, encoding="utf-8"
        )
        # The error names the file, not the temporary one.
        assert failed.stdout == f"{out}\n"
        assert list(tmp_path.iterdir()) == before
        assert old is None or out.read_bytes() == old


@unix
@pytest.mark.parametrize("writer", WRITERS)
def test_a_replaced_file_keeps_its_permissions_and_links(writer: str, tmp_path: Path) -> None:
    out, link = tmp_path / "out", tmp_path / "link"
    out.write_bytes(b"old")
    out.chmod(0o604)
    link.symlink_to("out")
    WRITERS[writer](link)
    assert link.is_symlink()
    assert out.read_bytes() != b"old"
    assert stat.S_IMODE(out.stat().st_mode) == 0o604
    assert sorted(tmp_path.iterdir()) == [link, out]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_path_that_cannot_be_written_is_an_os_error(writer: str, tmp_path: Path) -> None:
    missing = tmp_path / "none" / "out"
    with pytest.raises(FileNotFoundError) as caught:
        WRITERS[writer](missing)
    assert caught.value.filename == str(missing)
    assert str(caught.value).endswith(repr(str(missing)))
    for path in (tmp_path, f"{tmp_path}\0"):
        with pytest.raises(OSError, match=r".+"):
            WRITERS[writer](path)
    assert list(tmp_path.iterdir()) == []


# Where the encoding is not UTF-8, the str of a file is not that of its bytes as UTF-8.
NAMED = """
import os, sys
from compactwire import gcf
path = os.path.join(sys.argv[1], os.fsdecode(b"\\xc3\\xa4"))
gcf.dump(["written"], path)
print(os.listdir(os.fsencode(sys.argv[1])), gcf.load(path), list(gcf.iter_rows(path)))
try:
    gcf.load(path + "b")
except FileNotFoundError as error:
    print(error.filename == path + "b")
"""


@unix
def test_a_path_is_that_of_the_file_system(tmp_path: Path) -> None:
    other = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    found = subprocess.run(
        [sys.executable, "-c", NAMED, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, **other},
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert found.stdout == "[b'\\xc3\\xa4'] ['written'] ['written']\nTrue\n"


def test_what_a_path_raises_reaches_the_caller() -> None:
    class Far:
        def __init__(self, error: BaseException) -> None:
            self.error = error

        def __fspath__(self) -> str:
            raise self.error

    calls: list[Callable[[Any], object]] = [
        *(gcf.load, gcf.iter_rows, cad.load, cad.iter_compact, Dictionary.load),
        lambda path: gcf.dump([1], path),
        lambda path: Dictionary.default().save(path),
    ]
    for error in (KeyboardInterrupt(), MemoryError(), FileNotFoundError(2, "x"), TypeError("x")):
        for call in calls:
            with pytest.raises(type(error)) as caught:
                call(Far(error))
            assert caught.value is error
    for call in calls:
        with pytest.raises(TypeError, match=r"must be a (path|str)"):
            call(5)
