"""The header `Compactwire`, by which client and server agree on a session.

    client   offer
             [offer; ]session=ID[; size=65536]; lane=0; seq=7[; got=6][; new][; coded]
    server   session=ID; lanes=4; size=16777216[; kept]
             seq=7[; coded][; new]
             refused=WORD

`coded` says that the body of this message is a packed request of a `Session`, and `new` that it
continues nothing, so that its receiver begins anew. `seq` numbers the requests of a lane, and `got`
is the number of the last coded answer that the client could read. `size` is the largest body in
bytes: a client names its own if that is smaller. `kept` says that lane 0 begins with the body of
this request, although that body was plain. `offer` beside a session asks whether it is read at this
path too: the server then answers with `seq` in any case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

NAME = "compactwire"
"""The name of the header, in lower case."""

CODING = "x-compactwire"
"""The content coding of a body that a session wrote."""

REFUSAL = "text/plain; charset=utf-8; compactwire=refused"
"""The type of the answer to a request that is refused, for where our header is removed."""

_MAX_LENGTH = 256
_FLAGS = ("offer", "coded", "new", "kept")
_NUMBERS = ("lanes", "size", "lane", "seq", "got")
_WORDS = {"session": "[A-Za-z0-9_-]{22}", "refused": "[a-z]{1,16}"}
_FORMS = {
    **dict.fromkeys(_FLAGS, ""),
    **dict.fromkeys(_NUMBERS, "=[0-9]{1,15}"),
    **{name: f"={form}" for name, form in _WORDS.items()},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What one header says; a member that it lacks has its default."""

    offer: bool = False
    session: str = ""
    lanes: int = 0
    size: int = 0
    lane: int = 0
    seq: int = 0
    got: int = 0
    coded: bool = False
    new: bool = False
    kept: bool = False
    refused: str = ""

    def __str__(self) -> str:
        parts = []
        for name in self.__slots__:
            value = getattr(self, name)
            # A lane is named even if it is 0.
            if value or (name == "lane" and self.session and self.seq):
                parts.append(name if value is True else f"{name}={value}")
        return "; ".join(parts)


def read(values: list[str]) -> Header | None:
    """The header with these values, one for each line; None if it is missing or invalid.

    Members that are not known are left out, so that later versions can add some.
    """
    if len(values) != 1 or len(values[0]) > _MAX_LENGTH:
        return None
    # The name decides the type: `_FORMS` was matched.
    found: dict[str, Any] = {}
    for part in values[0].split(";"):
        name, _, value = part.strip(" \t").partition("=")
        if name not in _FORMS:
            continue
        written = f"={value}" if "=" in part else ""
        if name in found or not re.fullmatch(_FORMS[name], written):
            return None
        found[name] = True if name in _FLAGS else int(value) if name in _NUMBERS else value
    return Header(**found)
