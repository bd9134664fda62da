"""Requests over real transports: sent again after a failure, and answered once.

A `Sender` numbers the requests of one conversation and repeats what the receiver lacks. A store
holds the conversations of the receiver and answers each turn once: a turn that is delivered again
gets the stored answer.

    from compactwire.turns import Sender, SQLiteSessionStore, Turn

    sender = Sender()
    answer = sender.send(post, tool=search, args={"q": "Lem"}, context=talk)

    store = SQLiteSessionStore("conversations.db")
    answer = store.answer(conversation_id, Turn(number, frames), respond)

`post` and `respond` are functions of the caller: this module transports nothing. Numbers travel
beside the frames, for example in a header; the frames are those of `Session.encode_request`.
"""

from ._memory import MemorySessionStore
from ._sender import Sender, Turn
from ._sqlite import SQLiteSessionStore
from ._stores import SavedSession, SessionStore

__all__ = [
    "MemorySessionStore",
    "SQLiteSessionStore",
    "SavedSession",
    "Sender",
    "SessionStore",
    "Turn",
]
