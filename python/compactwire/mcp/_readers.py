"""What a server says of the readers of a result: the model, the user, a user interface.

Source: `Annotations` of the Model Context Protocol; its extension MCP Apps (`_meta.ui`, before
`_meta["ui/resourceUri"]`), `openai/outputTemplate` of the Apps SDK of OpenAI, and the names by
which programs call the tools of a `FastMCPApp` of FastMCP 4.
"""

from __future__ import annotations

import re

__all__ = [
    "EVERYBODY",
    "MODEL",
    "VERBATIM_META",
    "has_interface",
    "is_of_program",
    "is_verbatim",
    "roles",
]

MODEL = "assistant"
EVERYBODY = frozenset({MODEL, "user"})

_OF_PROGRAM = re.compile("__[0-9a-f]{12}_")

_VERBATIM = "compactwire/verbatim"
VERBATIM_META = {_VERBATIM: True}
"""The `_meta` of a result whose texts must stay as they are."""


def has_interface(meta: object) -> bool:
    """Whether the `_meta` of a tool or result names a user interface, which reads the result."""
    return isinstance(meta, dict) and any(
        isinstance(key, str) and (key in ("ui", "openai/outputTemplate") or key.startswith("ui/"))
        for key in meta
    )


def is_of_program(tool: str) -> bool:
    """Whether a call names a tool as only the program of a user interface does."""
    return _OF_PROGRAM.match(tool) is not None


def is_verbatim(meta: object) -> bool:
    """Whether the `_meta` of a result says that its texts must stay as they are."""
    return isinstance(meta, dict) and meta.get(_VERBATIM) is True


def roles(annotations: object) -> frozenset[str]:
    """The roles that a block with these annotations is meant for: all unless they name some."""
    audience = annotations.get("audience") if isinstance(annotations, dict) else None
    if audience is None:
        return EVERYBODY
    found = audience if isinstance(audience, list) else ()
    return frozenset(role for role in found if isinstance(role, str))
