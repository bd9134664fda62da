"""The headers of requests to an MCP server: the user's, and those that the protocol asks for.

The values of the user's headers are secrets: no error shows one.

Source: the Streamable HTTP transport of the Model Context Protocol, versions 2025-11-25 and
2026-07-28.
"""

from __future__ import annotations

import base64
import re
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["ProtocolHeaders", "user_headers"]

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VARIABLE = re.compile(r"\$\{([^}]*)\}?")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VISIBLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_ENCODED = re.compile(r"=\?base64\?.*\?=")

# Headers that describe the connection or the message.
_OURS = {
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}

_Path = tuple["_Path | None", str]

_VERSION = "io.modelcontextprotocol/protocolVersion"
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_MARKED_TYPES = ("string", "integer", "boolean")

# Arguments of a tool that stand in headers, and characters that are kept of those of all tools: a
# server may list any number, and servers of HTTP take about a hundred headers.
_MAX_MARKED, _MAX_KEPT = 100, 1 << 20


def user_headers(texts: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Read headers such as "Authorization: Bearer ${TOKEN}".

    Parameters
    ----------
    texts
        A name, a colon and a value each. `${NAME}` in a value stands for a variable.
    environment
        The variables.

    Raises
    ------
    ValueError
        If a text is no header, a variable is not set or empty, a name occurs twice, or the relay
        itself sets a header of this name. The message shows no value.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        name = name.strip()
        if not colon or not _TOKEN.fullmatch(name):
            # The text may be a secret whose name was forgotten.
            raise ValueError("--header: expected 'Name: value', such as 'X-Key: ${KEY}'")
        if name.lower() in _OURS or name.lower().startswith("mcp-"):
            raise ValueError(f"--header {name}: the relay sets this header itself")
        if name.lower() in map(str.lower, found):
            raise ValueError(f"--header {name}: the header occurs twice")
        found[name] = _value(name, value, environment)
    return found


def _value(name: str, text: str, environment: Mapping[str, str]) -> str:
    def filled(found: re.Match[str]) -> str:
        variable = found[1]
        if not found[0].endswith("}") or not _VARIABLE_NAME.fullmatch(variable):
            raise ValueError(f"--header {name}: expected ${{NAME}} for a variable")
        if not environment.get(variable):
            raise ValueError(f"--header {name}: the variable {variable} is not set, or empty")
        return environment[variable]

    value = _VARIABLE.sub(filled, text).strip()
    if not _VISIBLE.fullmatch(value):
        raise ValueError(
            f"--header {name}: the value is empty, or has a line break or another character "
            "that is not printable ASCII"
        )
    return value


class ProtocolHeaders:
    """The headers that repeat parts of messages, learned from the messages.

    The headers of 2025-11-25 tell the session and the negotiated version. Those of 2026-07-28,
    where each request names its version, repeat the method, the name and marked arguments.
    """

    def __init__(self) -> None:
        self.session: str | None = None
        self._version: str | None = None
        self._latest: str | None = None
        self._marked: dict[str, dict[tuple[str, ...], str]] = {}
        self._kept = 0
        self._lock = threading.Lock()

    def of(self, message: object) -> dict[str, str]:
        """The headers for a message, or without one those for a stream of the session."""
        named = version_of(message)
        self._latest = named or self._latest
        method = message.get("method") if isinstance(message, dict) else None
        if method == "initialize" and named is None:
            return {}
        if named is None and self.is_session:
            found = {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self._version}
        else:
            found = {"MCP-Protocol-Version": named or self._latest}
            if isinstance(message, dict) and isinstance(method, str):
                found |= self._repeated(method, message.get("params"))
        return {name: value for name, value in found.items() if value is not None}

    @property
    def is_session(self) -> bool:
        """Whether there was a handshake: versions before 2026-07-28 begin with one."""
        # The server names the session first, and may ask for something before it tells the version.
        return self._version is not None or self.session is not None

    def _repeated(self, method: str, params: object) -> Iterator[tuple[str, str | None]]:
        yield "Mcp-Method", _encoded(method)
        name = params.get(_NAMES.get(method)) if isinstance(params, dict) else None
        if isinstance(params, dict) and isinstance(name, str):
            yield "Mcp-Name", _encoded(name)
            if method == "tools/call":
                with self._lock:
                    marked = self._marked.get(name, {})
                for path, header in marked.items():
                    value = _scalar(params.get("arguments"), path)
                    if value is not None:
                        yield f"Mcp-Param-{header}", _encoded(value)

    def note_session(self, session: str | None) -> None:
        """Use the session of an answer to `initialize`; without one there is none."""
        self.session = session if session and _VISIBLE.fullmatch(session) else None

    def note_result(self, method: object, result: object) -> None:
        """Learn from the result of a request: the version, or which arguments are marked."""
        if not isinstance(result, dict):
            return
        if method == "initialize":
            version = result.get("protocolVersion")
            if isinstance(version, str) and _VISIBLE.fullmatch(version):
                self._version = version
        elif method == "tools/list" and isinstance(result.get("tools"), list):
            for tool in result["tools"]:
                if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                    self._note_tool(tool["name"], marked_arguments(tool.get("inputSchema")))

    def _note_tool(self, name: str, marked: dict[tuple[str, ...], str]) -> None:
        with self._lock:
            if name in self._marked:
                self._kept -= _size(name, self._marked.pop(name))
            size = _size(name, marked)
            if marked and self._kept + size <= _MAX_KEPT:
                self._marked[name] = marked
                self._kept += size


def version_of(message: object) -> str | None:
    """The version that a request of 2026-07-28 or later names."""
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_VERSION) if isinstance(meta, dict) else None
    return version if isinstance(version, str) and _VISIBLE.fullmatch(version) else None


def marked_arguments(schema: object) -> dict[tuple[str, ...], str]:
    """The paths of arguments that a schema marks with `x-mcp-header`, and the header of each.

    Empty if a mark is invalid, because a client does not offer such a tool, or if there are more
    than any server takes.
    """
    found: dict[tuple[str, ...], str] = {}
    taken: set[str] = set()
    # Each with the path of its parent: whole paths of all would take memory without bound.
    left: list[tuple[_Path | None, object]] = [(None, schema)]
    while left:
        path, one = left.pop()
        if not isinstance(one, dict):
            continue
        header = one.get("x-mcp-header")
        if header is not None:
            if not (path is not None and isinstance(header, str) and _TOKEN.fullmatch(header)):
                return {}
            if one.get("type") not in _MARKED_TYPES or header.lower() in taken:
                return {}
            taken.add(header.lower())
            found[_names(path)] = header
            if len(found) > _MAX_MARKED:
                return {}
        properties = one.get("properties")
        if isinstance(properties, dict):
            left += [((path, name), sub) for name, sub in properties.items()]
    return found


def _names(path: _Path | None) -> tuple[str, ...]:
    names: list[str] = []
    while path is not None:
        path, name = path
        names.append(name)
    return tuple(reversed(names))


def _size(name: str, marked: dict[tuple[str, ...], str]) -> int:
    """The characters of a tool's marks, and eight for each step of a path."""
    steps = (len(step) + 8 for path in marked for step in path)
    return len(name) + sum(steps) + sum(map(len, marked.values()))


def _scalar(value: object, path: tuple[str, ...]) -> str | None:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _encoded(value: str) -> str | None:
    """The value of a header; in base64 where it would not arrive as it is.

    None for a lone surrogate, which UTF-8 does not have: any value would differ from the message.
    """
    if (_VISIBLE.fullmatch(value) or not value) and not _ENCODED.fullmatch(value):
        return value
    try:
        return f"=?base64?{base64.b64encode(value.encode()).decode()}?="
    except UnicodeEncodeError:
        return None
