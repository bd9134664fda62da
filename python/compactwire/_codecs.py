"""The registry of codecs, and the three built-in codecs.

Source: wire codecs, "Codec Registry".
"""

from __future__ import annotations

import reprlib

from ._core.graph import Payload, decode, encode
from ._core.wire import decode_gcb, decode_json, encode_gcb, encode_json
from ._texts import check_type, iterated
from .errors import DuplicateCodec, GcfError, UnknownCodec

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterable
    from typing import Any, Literal, Protocol

    class Codec(Protocol):
        """An object with a name that encodes and decodes payloads."""

        @property
        def name(self) -> str:
            """The name in the registry."""

        @property
        def description(self) -> str:
            """The purpose of the codec."""

        def encode(self, payload: Payload, /) -> str | bytes:
            """Encode a payload."""

        def decode(self, data: Any, /) -> Payload:
            """Decode a payload."""


class GcfCodec:
    """GCF, graph profile: text for language models.

    Parameters
    ----------
    name : str
        The name in the registry.
    dangling, allow_unicode, locations
        As in `gcf.encode`.

    Source: wire codecs, "Built-In Codecs".
    """

    description = "Graph Compact Format: text for language models"

    def __init__(
        self,
        name: str = "gcf",
        *,
        dangling: Literal["error", "drop"] = "error",
        allow_unicode: bool = False,
        locations: bool = True,
    ) -> None:
        check_type("name", name, str)
        self.name = name
        check_type("dangling", dangling, str)
        check_type("allow_unicode", allow_unicode, bool)
        check_type("locations", locations, bool)
        self._dangling = dangling
        self._allow_unicode = allow_unicode
        self._locations = locations

    def encode(self, payload: Payload, /) -> str:
        """Encode a payload with `gcf.encode`."""
        return encode(
            payload,
            dangling=self._dangling,
            allow_unicode=self._allow_unicode,
            locations=self._locations,
        )

    def decode(self, data: str | bytes, /) -> Payload:
        """Decode a payload; raise `malformed_delta` for a delta."""
        _check_data(data)
        decoded = decode(data)
        if not isinstance(decoded, Payload):
            message = f"malformed_delta: expected a payload, found {type(decoded).__name__}"
            raise GcfError(message, code="malformed_delta", line=1, column=1, path=None)
        return decoded


class GcbCodec:
    """GCB: bytes for processes and caches.

    Parameters
    ----------
    name : str
        The name in the registry.
    lossy : set of str
        The fields that may lose information, as in `wire.encode_gcb`.
    raw_float32 : bool
        As in `wire.decode_gcb`.

    Source: wire codecs, "Built-In Codecs".
    """

    description = "Graph Compact Binary: bytes for processes and caches"

    def __init__(
        self, name: str = "gcb", *, lossy: Iterable[str] = (), raw_float32: bool = False
    ) -> None:
        check_type("name", name, str)
        self.name = name
        self._lossy = frozenset(iterated("lossy", lossy, "str"))
        check_type("raw_float32", raw_float32, bool)
        self._raw_float32 = raw_float32

    def encode(self, payload: Payload, /) -> bytes:
        """Encode a payload with `wire.encode_gcb`."""
        return encode_gcb(payload, lossy=self._lossy)

    def decode(self, data: bytes, /) -> Payload:
        """Decode a payload with `wire.decode_gcb`; raise `TypeError` for a str."""
        return decode_gcb(data, lossy=self._lossy, raw_float32=self._raw_float32)


class JsonCodec:
    """JSON: text for people.

    Parameters
    ----------
    name : str
        The name in the registry.
    compact, html_escape : bool
        As in `wire.encode_json`.
    max_expansion : int
        As in `wire.encode_json`.

    Source: wire codecs, "Built-In Codecs".
    """

    description = "JSON: text for people"

    def __init__(
        self,
        name: str = "json",
        *,
        compact: bool = False,
        html_escape: bool = False,
        max_expansion: int = 256 << 20,
    ) -> None:
        check_type("name", name, str)
        self.name = name
        check_type("compact", compact, bool)
        check_type("html_escape", html_escape, bool)
        check_type("max_expansion", max_expansion, int)
        self._compact = compact
        self._html_escape = html_escape
        self._max_expansion = max_expansion

    def encode(self, payload: Payload, /) -> str:
        """Encode a payload with `wire.encode_json`."""
        return encode_json(
            payload,
            compact=self._compact,
            html_escape=self._html_escape,
            max_expansion=self._max_expansion,
        )

    def decode(self, data: str | bytes, /) -> Payload:
        """Decode a payload with `wire.decode_json`."""
        _check_data(data)
        return decode_json(data)


def _check_data(data: object) -> None:
    if not isinstance(data, str | bytes | bytearray | memoryview):
        raise TypeError(f"data must be a str or bytes, not {type(data).__name__}")


# Each entry is an object of its own, so that one method of the dict finds and adds it: it needs no
# lock, for which the child of a fork, or the handler of a signal, could wait for ever.
_codecs: dict[str, list[Codec]] = {
    codec.name: [codec] for codec in (GcfCodec(), GcbCodec(), JsonCodec())
}


def register(codec: Codec) -> None:
    """Add a codec.

    Parameters
    ----------
    codec : object
        Has `name`, `description`, `encode(payload)` and `decode(data)`.

    Raises
    ------
    DuplicateCodec
        Another codec has the name; the registry is unchanged.
    TypeError
        The object is not a codec.

    Source: wire codecs, "Codec Registry".
    """
    name = getattr(codec, "name", None)
    if not isinstance(name, str) or not all(
        hasattr(codec, member) for member in ("description", "encode", "decode")
    ):
        found = type(codec).__name__
        raise TypeError(
            f"codec must have name (a str), description, encode and decode; {found} has not"
        )
    entry = [codec]
    if _codecs.setdefault(name, entry) is not entry:
        raise DuplicateCodec(f"duplicate codec {reprlib.repr(name)}", name=name)


def get(name: str) -> Codec:
    """Return the codec of a name.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    Codec
        The codec.

    Raises
    ------
    UnknownCodec
        No codec has the name; `available` lists all names.
    TypeError
        `name` is not a str.

    Source: wire codecs, "Codec Registry".
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, not {type(name).__name__}")
    entry = _codecs.get(name)
    if entry is None:
        names = tuple(sorted(_codecs.copy()))
        message = f"unknown codec {reprlib.repr(name)}, available: {', '.join(names)}"
        raise UnknownCodec(message, name=name, available=names)
    return entry[0]


def encode_with(name: str, payload: Payload) -> str | bytes:
    """Encode a payload with the codec of a name.

    Parameters
    ----------
    name : str
        The name.
    payload : Payload
        The payload.

    Returns
    -------
    str or bytes
        The encoded payload.

    Raises
    ------
    UnknownCodec
        No codec has the name. Errors of the codec are propagated.

    Source: wire codecs, "Codec Registry".
    """
    return get(name).encode(payload)


def decode_with(name: str, data: str | bytes) -> Payload:
    """Decode a payload with the codec of a name.

    Parameters
    ----------
    name : str
        The name.
    data : str or bytes
        The encoded payload.

    Returns
    -------
    Payload
        The payload.

    Raises
    ------
    UnknownCodec
        No codec has the name. Errors of the codec are propagated.

    Source: wire codecs, "Codec Registry".
    """
    return get(name).decode(data)


def list() -> builtins.list[Codec]:
    """Return all codecs, sorted by name.

    Returns
    -------
    list of Codec
        All codecs.

    Source: wire codecs, "Codec Registry".
    """
    return [entry[0] for _, entry in sorted(_codecs.copy().items())]


def list_names() -> str:
    """Return all names, sorted and joined by ", ".

    Returns
    -------
    str
        The names.

    Source: wire codecs, "Codec Registry".
    """
    return ", ".join(sorted(_codecs.copy()))
