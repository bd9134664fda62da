"""Databases that are damaged, locked or missing."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import gcf
from compactwire.turns import SavedSession, Sender, SQLiteSessionStore, Turn
from tests.strategies.turns import HELLO, MORE, Server


def test_an_error_of_sqlite_names_the_database(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database" * 100)
    for path in (tmp_path / "text.db", str(tmp_path), os.fsencode(tmp_path / "none" / "store.db")):
        with pytest.raises(sqlite3.Error) as caught:
            SQLiteSessionStore(path)  # type: ignore[arg-type]
        assert str(caught.value).startswith(f"{os.fsdecode(path)}: ")
        # No message causes it.
        assert not isinstance(caught.value, cw.CompactWireError)
    assert "sqlite3.Error\n" in (SQLiteSessionStore.__doc__ or "")
    with SQLiteSessionStore(tmp_path / "store.db") as store:
        pass
    store.close()
    with pytest.raises(sqlite3.ProgrammingError, match=r"store.db: .*closed"):
        store.load("one")


def test_a_damaged_state_is_an_error_until_it_is_forgotten(tmp_path: Path) -> None:
    sender = Sender()
    with SQLiteSessionStore(tmp_path / "store.db") as store:
        server = Server(store)
        sender.send(server.deliver, **HELLO)
        database = sqlite3.connect(tmp_path / "store.db")
        database.execute("UPDATE compactwire_sessions_1 SET session = x'00'")
        database.commit()
        database.close()
        with pytest.raises(cw.InvalidFormat, match="invalid session state"):
            sender.send(server.deliver, **MORE)
        store.forget("one")
        sender.send(server.deliver, **MORE)


@pytest.mark.parametrize(
    "change", ["number = 'x'", "number = 1.5", "number = -1", "session = 'x'", "answer = 5"]
)
def test_a_row_that_no_store_writes_is_an_error_of_the_database(
    tmp_path: Path, change: str
) -> None:
    turn = Turn(1, cw.Session().encode_request(context="a"))
    path = tmp_path / "store.db"
    with SQLiteSessionStore(path) as store:
        store.answer("one", turn, lambda request: "x")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute(f"UPDATE compactwire_sessions_1 SET {change}")
        for _ in range(2):
            with pytest.raises(sqlite3.DatabaseError, match=r"store\.db: a conversation has a row"):
                store.answer("one", turn, lambda request: "x")
        store.forget("one")
        assert store.answer("one", turn, lambda request: "y") == "y"


def test_a_store_without_its_count_of_bytes_is_an_error_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for number, change in enumerate(["DELETE FROM", "DROP TABLE"], start=1):
        turn = Turn(number, cw.Session().encode_request(context="a"))
        with SQLiteSessionStore(path) as store:
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
                database.execute(f"{change} compactwire_memory_1")
            with pytest.raises(sqlite3.DatabaseError, match="compactwire_memory_1"):
                store.answer("one", turn, lambda request: "x")
    with SQLiteSessionStore(path) as store:
        assert store.answer("one", turn, lambda request: "y") == "y"


def test_a_file_whose_schema_is_not_utf8_is_an_error_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    SQLiteSessionStore(path).close()
    name = b"TABLE compactwire_leases_1"
    assert b"CREATE " + name in path.read_bytes()
    content = path.read_bytes().replace(
        b"tablecompactwire_leases_1", b"tablecompactwire_\xffeases_1"
    )
    path.write_bytes(content.replace(b"CREATE " + name, b"CREATX " + name))
    with pytest.raises(sqlite3.DatabaseError, match=r"store\.db: the database is damaged"):
        SQLiteSessionStore(path)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Another connection holds the file, as another process does."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


@pytest.mark.skipif(sys.platform == "win32", reason="a thread cannot send SIGINT")
def test_ctrl_c_ends_the_wait_for_a_locked_database(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    turn = Turn(1, cw.Session().encode_request(context="a"))
    ctrl_c = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with SQLiteSessionStore(tmp_path / "store.db") as store:
            ctrl_c.start()
            with locked(tmp_path / "store.db"), pytest.raises(KeyboardInterrupt):
                store.answer("one", turn, lambda request: "x")
            assert store.answer("one", turn, lambda request: "x") == "x"
    finally:
        ctrl_c.join()
        signal.signal(signal.SIGINT, before)


def test_a_database_is_waited_for_as_long_as_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    saved = SavedSession(1, b"", "answer", b"")
    with SQLiteSessionStore(path) as store, ThreadPoolExecutor(1) as pool:
        with locked(path):
            call = pool.submit(store.save, "one", saved, after=0)
            time.sleep(0.5)  # Longer than SQLite itself waits.
            assert not call.done()
        assert call.result()
        monkeypatch.setattr("compactwire.turns._sqlite._BUSY_S", 0.1)
        message = r"store.db: database is locked; another .* for 0.1 seconds"
        with locked(path), pytest.raises(sqlite3.OperationalError, match=message):
            store.forget("one")
        assert store.load("one") == saved


@pytest.mark.skipif(sys.platform == "win32", reason="a name cannot have a colon there")
@pytest.mark.parametrize("store", [SQLiteSessionStore, gcf.SQLiteStore])
def test_a_name_that_looks_like_a_uri_is_the_name_of_the_file(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "file:store.db?mode=memory"
    with store(name):
        pass
    assert (tmp_path / name).stat().st_size > 0
