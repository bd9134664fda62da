"""The files that tools of `compactwire mcp serve` may use: below the roots, and nothing else."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compactwire.mcp import _folder
from compactwire.mcp._roots import MAX_FILE, PathError, Roots

POSIX = pytest.mark.skipif(os.name != "posix", reason="NOT RUN: needs FIFOs, links and /proc")
MADE = (".compactwire-",)


class Place:
    """A root with a file, and a secret outside of it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.outside = folder / "outside"
        (self.root / "inner").mkdir(parents=True)
        self.outside.mkdir()
        (self.root / "a.json").write_bytes(b"[1]")
        (self.root / "inner" / "b.json").write_bytes(b"[2]")
        for name in ("a.json", "b.json"):
            (self.outside / name).write_bytes(b"secret")
        self.roots = Roots([str(self.root)])

    def left(self) -> list[str]:
        """The names of temporary files that were left behind."""
        return [path.name for path in self.root.rglob("*") if path.name.startswith(MADE)]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    one = Place(tmp_path)
    yield one
    one.roots.close()


@pytest.fixture
def openat(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether entries are opened from the descriptor of their folder; Windows cannot."""
    if request.param and not _folder._OPENAT:
        pytest.skip("NOT RUN: the system has no openat")
    monkeypatch.setattr(_folder, "_OPENAT", request.param)
    return bool(request.param)


either = pytest.mark.parametrize("openat", [True, False], indirect=True)


def refused(call: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(PathError) as caught:
        call(*arguments)
    return str(caught.value)


@either
def test_files_below_a_root_are_read(openat: bool, place: Place) -> None:
    for path in ("a.json", "./inner/../a.json", str(place.root / "a.json")):
        assert place.roots.read(path) == b"[1]"
    assert place.roots.read("inner/b.json") == b"[2]"
    both = Roots([str(place.root / "inner"), str(place.root)])
    assert both.read("b.json") == b"[2]"
    assert both.read(str(place.root / "a.json")) == b"[1]"


@either
def test_paths_outside_are_refused_whether_they_exist_or_not(openat: bool, place: Place) -> None:
    outside = place.outside
    for path in (
        "../outside/a.json",
        str(outside / "a.json"),
        "../outside/none",
        "/",
        "inner/../..",
    ):
        said = refused(place.roots.read, path)
        assert "is not below a root; the roots are" in said
        assert "is not below a root" in refused(place.roots.write, path, b"x")
    # A folder whose name begins like that of the root is outside.
    (place.root.parent / "root2").mkdir()
    assert "is not below" in refused(place.roots.read, "../root2/a.json")
    assert sorted(path.name for path in outside.iterdir()) == ["a.json", "b.json"]


@POSIX
@either
def test_links_are_followed_below_the_root_only(openat: bool, place: Place) -> None:
    root = place.root
    (root / "to_a").symlink_to("a.json")
    (root / "to_inner").symlink_to(root / "inner", target_is_directory=True)
    (root / "out").symlink_to(place.outside / "a.json")
    (root / "out_folder").symlink_to("../outside")
    (root / "circle").symlink_to("circle")
    assert place.roots.read("to_a") == b"[1]"
    assert place.roots.read("to_inner/b.json") == b"[2]"
    for path in ("out", "out_folder/a.json", "out_folder/none"):
        assert "is not below a root" in refused(place.roots.read, path)
        assert "is not below a root" in refused(place.roots.write, path, b"x")
    assert "path: circle is a link in a circle" in refused(place.roots.read, "circle")
    assert "in a circle" in refused(place.roots.read, "circle/a.json")
    for number in range(1500):
        (root / f"link{number}").symlink_to(f"link{number + 1}")
    assert "is a link in a circle" in refused(place.roots.read, "link0")
    place.roots.write("to_inner/c.json", b"[3]")
    assert (root / "inner" / "c.json").read_bytes() == b"[3]"


@POSIX
@either
def test_what_a_link_leads_to_must_exist_and_have_the_suffix(openat: bool, place: Place) -> None:
    root = place.root
    (root / "run.sh").write_bytes(b"echo")
    for name, target in (
        ("script.json", "run.sh"),
        ("none.json", "new.json"),
        ("none.txt", "conftest.py"),
        ("chain.json", "none.json"),
        ("good.json", "inner/b.json"),
    ):
        (root / name).symlink_to(target)
    write = Roots([str(root)], overwrite=True).write
    for name in ("script.json", "none.txt"):
        with pytest.raises(PathError, match=r"is a link to a file that does not end in \.json$"):
            write(name, b"x", suffix=".json")
    for name in ("none.json", "chain.json"):
        with pytest.raises(PathError, match=r"is a link to a file that does not exist$"):
            write(name, b"x", suffix=".json")
    write("good.json", b"[3]", suffix=".json")
    assert (root / "inner" / "b.json").read_bytes() == b"[3]"
    assert (root / "run.sh").read_bytes() == b"echo"
    assert not (root / "new.json").exists()
    assert not (root / "conftest.py").exists()


def swapped(monkeypatch: pytest.MonkeyPatch, swap: Callable[[], object]) -> None:
    """Swap once, between the moment a path is resolved and the moment it is opened."""
    resolve = os.path.realpath
    done = []

    def then(path: Any, *, strict: bool = False) -> Any:
        found = resolve(path, strict=strict)
        if not done:
            done.append(swap())
        return found

    monkeypatch.setattr(os.path, "realpath", then)


@POSIX
@either
@pytest.mark.parametrize("use", ["read", "write"])
def test_a_folder_that_becomes_a_link_leads_nowhere(
    openat: bool, use: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (place.root / "inner").rename(place.root / "moved")
        (place.root / "inner").symlink_to(place.outside)

    roots = Roots([str(place.root)])
    swapped(monkeypatch, swap)
    if use == "read":
        assert "inner/b.json" in refused(roots.read, "inner/b.json")
    else:
        assert "inner/new.json" in refused(roots.write, "inner/new.json", b"x")
    assert sorted(path.name for path in place.outside.iterdir()) == ["a.json", "b.json"]


@POSIX
@either
def test_a_file_that_becomes_a_link_leads_nowhere(
    openat: bool, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (place.root / "a.json").unlink()
        (place.root / "a.json").symlink_to(place.outside / "a.json")

    roots = Roots([str(place.root)])
    swapped(monkeypatch, swap)
    assert "a.json" in refused(roots.read, "a.json")


@POSIX
def test_a_root_that_is_moved_away_is_not_replaced_by_another(place: Place) -> None:
    if not _folder._OPENAT:
        pytest.skip("NOT RUN: the system has no openat")
    restart = f"Since the server started, {place.root} was deleted, moved or made again"
    assert restart not in refused(place.roots.read, "none")
    assert restart not in refused(place.roots.read, "/")
    place.root.rename(place.root.parent / "moved")
    assert restart in refused(place.roots.read, "none")
    place.outside.rename(place.root)
    assert restart in refused(place.roots.read, "a.json")
    assert restart in refused(place.roots.read, str(place.root / "a.json"))
    assert restart in refused(place.roots.write, "new.json", b"x")
    assert restart in refused(place.roots.read, "/")
    assert not list(place.root.parent.glob("*/new.json"))


@POSIX
def test_only_regular_files_are_read(place: Place) -> None:
    os.mkfifo(place.root / "fifo")
    assert "fifo is not a regular file" in refused(place.roots.read, "fifo")
    assert "inner is a folder" in refused(place.roots.read, "inner")
    assert ". is a folder" in refused(place.roots.read, ".")
    assert "/ is a folder" in refused(Roots(["/"]).read, "/")
    assert "no such file" in refused(place.roots.read, "none")
    assert "a part of the path is not a folder" in refused(place.roots.read, "a.json/b")
    devices = Roots(["/dev"])
    assert "null is not a regular file" in refused(devices.read, "null")
    assert "fifo is not a regular file" in refused(
        Roots([str(place.root)], overwrite=True).write, "fifo", b"x"
    )


@POSIX
def test_a_file_that_becomes_a_fifo_does_not_block(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    regular = (place.root / "a.json").stat()
    (place.root / "a.json").unlink()
    os.mkfifo(place.root / "a.json")
    # What was a file when it was looked at is a FIFO when it is opened.
    monkeypatch.setattr(_folder.Folder, "stat", lambda self, name: regular)
    assert "is not a regular file" in refused(place.roots.read, "a.json")


@POSIX
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="NOT RUN: needs /proc")
def test_files_of_proc_give_nothing() -> None:
    roots = Roots(["/proc"])
    assert roots.read("self/environ") == b""
    assert "is not below a root" in refused(roots.read, "self/root/etc/passwd")


def test_a_file_has_at_most_the_limit(place: Place) -> None:
    with (place.root / "large").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    assert "has 16,777,217 bytes; the limit is 16,777,216" in refused(place.roots.read, "large")
    assert place.roots.read("a.json", limit=3) == b"[1]"
    with pytest.raises(PathError, match="the limit is 2"):
        place.roots.read("a.json", limit=2)


def test_a_file_that_grows_or_shrinks_meanwhile_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fstat
    for size in (2, 4):

        def other(descriptor: int, size: int = size) -> os.stat_result:
            values = list(real(descriptor))
            values[6] = size
            return os.stat_result(values)

        monkeypatch.setattr(os, "fstat", other)
        assert "changed while it was read" in refused(place.roots.read, "a.json")


@either
def test_a_file_is_written_once(openat: bool, place: Place) -> None:
    place.roots.write("new.json", b"[4]")
    place.roots.write(str(place.root / "inner" / "new.json"), b"[5]")
    assert (place.root / "new.json").read_bytes() == b"[4]"
    said = refused(place.roots.write, "new.json", b"x")
    assert said.startswith("to: new.json: exists already; name another file")
    assert (place.root / "new.json").read_bytes() == b"[4]"
    assert "no such file or folder" in refused(place.roots.write, "none/new.json", b"x")
    assert place.left() == []


@either
def test_a_name_that_is_taken_meanwhile_is_not_overwritten(
    openat: bool, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Roots, "_replaced", lambda *_: None)
    assert "exists already" in refused(place.roots.write, "a.json", b"x")
    assert (place.root / "a.json").read_bytes() == b"[1]"
    assert place.left() == []


def test_a_file_is_written_where_links_are_not_supported(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(number: int) -> Any:
        def call(*_: Any, **__: Any) -> None:
            raise OSError(number, "not here")

        return call

    for name, number in (("new.json", errno.EPERM), ("other.json", errno.EINVAL)):
        monkeypatch.setattr(os, "link", fails(number))
        place.roots.write(name, b"[4]")
        assert (place.root / name).read_bytes() == b"[4]"
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails(errno.EIO))
        assert "not here" in refused(place.roots.write, "third.json", b"[4]")
    assert not (place.root / "third.json").exists()
    monkeypatch.setattr(Roots, "_replaced", lambda *_: None)
    assert "exists already" in refused(place.roots.write, "a.json", b"x")
    assert place.left() == []


@either
def test_overwrite_replaces_a_file_and_keeps_its_mode(openat: bool, place: Place) -> None:
    roots = Roots([str(place.root)], overwrite=True)
    (place.root / "a.json").chmod(0o640)
    before = (place.root / "a.json").stat()
    roots.write("a.json", b"[6]")
    after = (place.root / "a.json").stat()
    assert (place.root / "a.json").read_bytes() == b"[6]"
    assert after.st_ino != before.st_ino
    assert after.st_mode == before.st_mode
    assert "inner is a folder" in refused(roots.write, "inner", b"x")
    assert place.left() == []


@POSIX
def test_a_private_file_is_private_while_it_is_replaced(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    fchmod, modes = os.fchmod, []

    def spy(descriptor: int, mode: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        fchmod(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", spy)
    (place.root / "a.json").chmod(0o644)
    Roots([str(place.root)], overwrite=True).write("a.json", b"[6]")
    assert modes == [0o600]
    assert stat.S_IMODE((place.root / "a.json").stat().st_mode) == 0o644


def test_a_failed_write_leaves_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = Roots([str(place.root)], overwrite=True)

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_folder.Folder, "rename", full)
    assert refused(roots.write, "a.json", b"x") == "to: a.json: no space left on device"
    assert (place.root / "a.json").read_bytes() == b"[1]"
    assert place.left() == []


def test_a_write_that_is_given_up_leaves_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, left = _folder.Folder.rename, []

    def late(*arguments: Any, **options: Any) -> None:
        left.extend(place.left())
        with _folder.nothing_unfinished():
            left.extend(place.left())
        rename(*arguments, **options)

    monkeypatch.setattr(_folder.Folder, "rename", late)
    for number, roots in enumerate((place.roots, Roots([str(place.root)], overwrite=True)), 1):
        refused(roots.write, "new.json" if number == 1 else "a.json", b"x")
        assert len(left) == number
    assert not (place.root / "new.json").exists()
    assert (place.root / "a.json").read_bytes() == b"[1]"


@pytest.mark.parametrize(
    "name", [".bashrc", ".git/hooks.json", "inner/.x.json", "a\nb.json", "\x1b[2J"]
)
def test_hidden_files_and_control_characters_are_not_written(name: str, place: Place) -> None:
    (place.root / ".git").mkdir()
    said = refused(place.roots.write, name, b"x")
    assert said.isprintable()
    assert "is hidden" in said or "which new names must not have" in said


def test_names_may_have_spaces_of_any_language(place: Place) -> None:
    for name in ("a b.json", "a\u3000b.json", "a\u00a0b.json"):
        place.roots.write(name, b"[7]")
        assert place.roots.read(name) == b"[7]"
    said = refused(place.roots.write, "a\u2028b.json", b"x")
    assert said.endswith(" has the character '\\u2028', which new names must not have")


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 4097, "x/" * 4096])
def test_a_path_that_cannot_be_one_is_refused(path: str, place: Place) -> None:
    for call in (place.roots.read, lambda path: place.roots.write(path, b"x")):
        said = refused(call, path)
        assert "is not a path of 1 to 4,096 characters" in said
        assert said.isprintable()
        assert len(said) < 400


def test_messages_quote_names_in_one_line(place: Place) -> None:
    for path in ("a\nb", "\x1b[31m", "\udcff", "../\u2028x"):
        said = refused(place.roots.read, path)
        assert said.isprintable()
        said.encode()


def test_without_a_root_the_message_says_how_to_get_one() -> None:
    said = refused(Roots().read, "a.json")
    assert said.startswith("path: no file can be used, because the server runs without --root; ask")
    assert "--root" in refused(Roots().write, "a.json", b"x")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.json", "a root must be a folder"),
        ("none", "no such file or directory"),
        ("", "a root must be a folder"),
    ],
)
def test_a_root_must_be_a_folder(name: str, message: str, place: Place) -> None:
    path = str(place.root / name) if name else ""
    with pytest.raises(OSError, match=f"^--root '.*{name}': {message}$"):
        Roots([str(place.root), path])


def test_a_root_that_is_named_twice_is_one(place: Place) -> None:
    root = str(place.root)
    assert Roots([root, f"{root}/.", root]).paths == (root,)


@POSIX
def test_a_held_folder_stays_the_one_that_was_opened(place: Place) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("NOT RUN: needs /proc")
    with place.roots.held("inner", "bundle", folder=True) as path:
        (place.root / "inner").rename(place.root / "moved")
        (place.root / "inner").symlink_to(place.outside)
        assert (Path(path) / "b.json").read_bytes() == b"[2]"
    with place.roots.held("a.json", "claim") as path:
        (place.root / "a.json").unlink()
        (place.root / "a.json").symlink_to(place.outside / "a.json")
        assert Path(path).read_bytes() == b"[1]"


@POSIX
def test_descriptors_are_closed(place: Place) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("NOT RUN: needs /proc")
    count = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        place.roots.read("inner/b.json")
        place.roots.write(f"inner/{os.urandom(4).hex()}.json", b"x")
        refused(place.roots.read, "inner")
        refused(place.roots.read, "inner/none/none")
        refused(place.roots.write, "a.json", b"x")
        with place.roots.held("inner", "bundle", folder=True):
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == count


def test_a_link_that_vanishes_while_it_is_resolved_is_an_error(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(path: Any, *, strict: bool = False) -> Any:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)

    monkeypatch.setattr(os.path, "realpath", gone)
    assert "path: a.json: no such file or folder" in refused(place.roots.read, "a.json")


@POSIX
def test_a_link_that_flips_all_the_time_never_leads_out(place: Place) -> None:
    """Whatever the moment: the real folder, or an error."""
    flip, stop = place.root / "flip", threading.Event()
    (place.root / "link").symlink_to(place.outside)

    def swap() -> None:
        while not stop.is_set():
            (place.root / "inner").rename(flip)
            (place.root / "link").rename(place.root / "inner")
            (place.root / "inner").rename(place.root / "link")
            flip.rename(place.root / "inner")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        found = set()
        for _ in range(1_000):
            try:
                found.add(place.roots.read("inner/b.json"))
            except PathError:
                found.add(b"")
    finally:
        stop.set()
        swapper.join()
    assert b"secret" not in found
