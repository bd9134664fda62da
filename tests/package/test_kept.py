"""What earlier versions wrote is still read: wires, pickles, states of sessions, stores."""

from __future__ import annotations

import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire.turns import Sender, SQLiteSessionStore
from tests.package import kept
from tests.vectors import load

FILES = sorted(kept.FOLDER.glob("*.json"))
CURRENT = load(kept.FOLDER / "0.1.0.json")

every_version = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def test_the_file_of_this_version_has_every_case() -> None:
    assert CURRENT["wires"].keys() == kept.wires().keys()
    assert CURRENT["pickles"].keys() == kept.values().keys()
    assert cw.__version__ == "0.1.0", (
        "a released version needs a file: python -m tests.package.kept"
    )


@every_version
def test_a_kept_wire_is_read(path: Path) -> None:
    formats = kept.wires()
    for name, entry in load(path)["wires"].items():
        assert formats[name].read(kept.restored(entry)) == formats[name].value, name


@every_version
def test_a_kept_pickle_is_read(path: Path) -> None:
    values = kept.values()
    for name, entry in load(path)["pickles"].items():
        found = pickle.loads(kept.restored(entry))
        assert (type(found), found) == (type(values[name]), values[name]), name


@every_version
@pytest.mark.parametrize("pack", [False, True, "bytes"])
def test_a_kept_session_goes_on(path: Path, pack: Any) -> None:
    entries = load(path)["exchange"]
    data = {name: kept.restored(entry) for name, entry in entries.items()}
    senders = [pickle.loads(data["sender"]).session, cw.Session.from_bytes(data["sender state"])]
    receivers = [pickle.loads(data["receiver"]), cw.Session.from_bytes(data["receiver state"])]
    for sender, receiver in zip(senders, receivers, strict=True):
        sent: Any = sender.encode_request(**kept.turn(4), pack=pack)
        assert pack or len(sent) == 1
        request = receiver.decode_request(sent)
        assert (request.messages, request.tool) == (kept.CHAT[:4], kept.TOOL)


@every_version
def test_a_kept_store_goes_on(path: Path, tmp_path: Path) -> None:
    entries = load(path)["exchange"]
    data = {name: kept.restored(entry) for name, entry in entries.items()}
    sender: Sender = pickle.loads(data["sender"])
    last = pickle.loads(data["last turn"])
    file = tmp_path / "store.db"
    file.write_bytes(zlib.decompress(data["store"]))
    seen: list[Any] = []

    def respond(request: cw.Request) -> str:
        seen.append(request.messages)
        return "new"

    with SQLiteSessionStore(file, idle_s=1e12) as store:
        assert store.answer("one", last, respond) == "3"
        assert seen == []
        answer = sender.send(lambda turn: store.answer("one", turn, respond), **kept.turn(4))
    assert (answer, seen) == ("new", [kept.CHAT[:4]])
