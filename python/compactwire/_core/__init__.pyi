"""The compiled core of compactwire; import `compactwire` instead."""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Final, Literal, Protocol, Self, final, overload, type_check_only

from .._format import Format
from . import arrow as arrow
from . import cad as cad
from . import claims as claims
from . import gcf as gcf
from . import graph as graph
from . import wire as wire
from .gcf import KeyedSet
from .graph import DeltaPayload, Payload, Unchanged

__version__: Final[str]

__all__ = [
    "DeltaStream",
    "Dictionary",
    "Inspection",
    "Request",
    "Response",
    "Session",
    "SessionStats",
    "Shrunk",
    "ToolCall",
    "_Frozen",
    "_Record",
    "__version__",
    "_build",
    "_restore_response",
    "_restore_session",
    "_restore_session_stats",
    "_restore_tool_call",
    "apply_delta",
    "arrow",
    "cad",
    "claims",
    "decode",
    "decode_base85",
    "decode_tool_call",
    "detect",
    "encode",
    "encode_base85",
    "encode_bytes",
    "encode_delta",
    "encode_tool_call",
    "encode_tool_call_bytes",
    "estimate_tokens",
    "expand",
    "gcf",
    "graph",
    "inspect",
    "shrink",
    "wire",
]

@type_check_only
class _SupportsReadBytes(Protocol):
    def read(self) -> bytes: ...

_Wire = str | bytes | bytearray | memoryview
_FormatName = Literal[
    "verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary", "auto", "smallest"
]
_Layout = Literal[1, 2, 3, "map"]
_Status = Literal["OK", "ERR", "PART", "STREAM"]
_Replace = Literal["overwrite", "truncate"]
_Tools = dict[str, Any] | list[dict[str, Any]] | tuple[dict[str, Any], ...]

class _Frozen:
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...

class _Record(_Frozen):
    def __replace__(self, **changes: Any) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Response(_Record):
    """The response of a language model or of a tool.

    Immutable. Two responses are equal if all fields but `format` and `version` are equal; a
    `model_name` that equals `model` counts as None.

    Parameters
    ----------
    result : str or Shrunk
        The text of the response.
    model : str
        The code of the model (v2: G3 C4 X5 OL AD SE, v4: C4 C45 CS CH G3 G4 G5 O4), or any other
        string.
    status : {"OK", "ERR", "PART", "STREAM"}
        The status; "PARTIAL" is an alias of "PART". The default is "ERR" if `returncode` is not 0.
    tokens : int
        The number of tokens used, 0 to 2^63 - 1.
    model_name, returncode, reasoning_effort, ultrathink : optional
        Members that only the verbose format has.

    Raises
    ------
    EncodeError
        The status is unknown, a number is out of range, or a string has a lone surrogate.

    Source: Compact Protocol v2 part 1, v4 sections 3 and 4.
    """

    __match_args__: Final = ("result", "model", "status", "tokens")

    def __new__(
        cls,
        result: str | Shrunk,
        model: str = "",
        status: Literal["OK", "ERR", "PART", "PARTIAL", "STREAM"] = "OK",
        tokens: int = 0,
        *,
        model_name: str | None = None,
        returncode: int | None = None,
        reasoning_effort: str | None = None,
        ultrathink: bool | None = None,
    ) -> Response: ...
    @property
    def result(self) -> str:
        """The text of the response."""
    @property
    def model(self) -> str:
        """The code of the model, or any other string."""
    @property
    def status(self) -> _Status:
        """The status: "OK", "ERR", "PART" or "STREAM"."""
    @property
    def tokens(self) -> int:
        """The number of tokens used."""
    @property
    def model_name(self) -> str | None:
        """The model's name in a verbose message; None if it is the code."""
    @property
    def returncode(self) -> int | None:
        """The return code of a verbose message; None if the status implies it."""
    @property
    def reasoning_effort(self) -> str | None:
        """The requested reasoning effort: "low", "medium", "high"."""
    @property
    def ultrathink(self) -> bool | None:
        """Whether extended thinking was enabled."""
    @property
    def format(self) -> Format | None:
        """The format of a decoded response; None if it was not decoded."""
    @property
    def version(self) -> _Layout | None:
        """The MessagePack layout of a decoded response: 1, 2, 3 or "map"; None for text formats."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def _restore_response(
    fields: tuple[Any, ...], format: str | None, version: _Layout | None
) -> Response: ...
def encode(
    response: Response | Shrunk | str | Mapping[str, object],
    /,
    *,
    format: _FormatName | Format = "auto",
    protocol: Literal[2, 4] = 4,
    msgpack_version: _Layout | None = None,
    dictionary: Dictionary | None = None,
) -> str:
    """Encode a response as a message.

    Parameters
    ----------
    response : Response, str, Shrunk or Mapping
        The response. A str or `Shrunk` is used as its result. A mapping has either the fields of a
        response ("result", "model", ...) or the members of a verbose message ("response", "model",
        "returncode", ...), and no others.
    format : str
        "verbose", "dsl", "binary", "base85", "zlib", "zstd" or "dictionary"; "auto" chooses by the
        size of the result, "smallest" tries all formats and returns the shortest message.
    protocol : {4, 2}
        The protocol version. `decode` reads both.
    msgpack_version : 1, 2, 3 or "map", optional
        The MessagePack layout, for the formats that use MessagePack. Default: 3 in protocol 2,
        "map" in protocol 4 and in "zstd" and "dictionary". If the model has no integer code, layout
        1 is used in place of 2 and 3.
    dictionary : Dictionary, optional
        The dictionary that "dictionary" compresses with (default: the built-in one). "auto" in
        protocol 4 uses it for results of 50 bytes or more if the message becomes shorter,
        "smallest" tries it. The other formats ignore it.

    Returns
    -------
    str
        The message. It is ASCII in all formats but "verbose" and "dsl".

    Raises
    ------
    EncodeError
        The format cannot carry a field; the attribute `field` names it.

    Notes
    -----
    `model_name`, `returncode`, `reasoning_effort` and `ultrathink` are written in "verbose" only:
    the specifications define no place for them in the other formats. A `model` that is not a model
    code is read back from "verbose" as `model_name`, because the member holds a name there.

    Source: Compact Protocol v2 sections 1 to 6, v4 sections 1 to 4.
    """

def decode(
    wire: _Wire,
    /,
    *,
    max_size: int = 67_108_864,
    dictionary: Dictionary | None = None,
    dictionaries: Iterable[Dictionary] = (),
    fallback: bool = False,
) -> Response:
    """Decode a message in any format of either protocol.

    Parameters
    ----------
    wire : str, bytes, bytearray or memoryview
        The message; bytes are those of `encode_bytes`, or the message in UTF-8. White space and a
        byte order mark before a text are skipped, and so is white space after it, except in the
        DSL, whose result is kept to the last character.
    max_size : int
        The largest decompressed size in bytes, 64 MiB by default; checked before memory is
        allocated. The resulting `str` takes up to four more bytes per character.
    dictionary, dictionaries : Dictionary, iterable of Dictionary
        Dictionaries to try before the built-in one.
    fallback : bool
        Whether a message that cannot be decoded is returned as the result itself, with format
        "raw". Bytes that are not UTF-8 still raise the error.

    Returns
    -------
    Response
        The response. `format` and `version` are those of the message.

    Raises
    ------
    DecodeError
        The message is invalid. Each error is a subclass, with the position as an attribute:
        `EmptyResponse`, `InvalidPrefix`, `InvalidFormat`, `MissingField`, `InvalidBase64`,
        `InvalidBase85Char`, `InvalidBase85Length`, `InvalidBase85Value`, `DecompressionFailed`,
        `OutputTooLarge`, `InvalidMsgpack`, `DictionaryNotFound`.

    Notes
    -----
    Unknown keys and members are ignored: at most 1024, nested at most 128 levels deep.

    Source: Compact Protocol v2 sections 1 to 5, v4 sections 1, 4 and 8.
    """

def detect(wire: _Wire, /) -> Format:
    """Detect the format of a message by its first characters, without decoding it.

    Parameters
    ----------
    wire : str, bytes, bytearray or memoryview
        The message, as in `decode`.

    Returns
    -------
    Format
        The format of a response, or DELTA, TOOL, SYSTEM, REQUEST, GCF for messages that other
        functions read.

    Raises
    ------
    EmptyResponse, InvalidPrefix, InvalidFormat
        The message is empty, begins with no known prefix, or is neither UTF-8 nor an output of
        `encode_bytes`.

    Notes
    -----
    The bytes of "binary" and "base85" are the same; the result is "binary".

    Source: Compact Protocol v2 "Format Detection", v4 section 1.
    """

def encode_base85(data: bytes | bytearray | memoryview, /) -> str:
    """Encode bytes as Base85 in the protocol's alphabet: five characters for four bytes.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        Any bytes. The last one to three bytes are encoded as two to four characters.

    Returns
    -------
    str
        ASCII characters, a quarter more than there are bytes.

    Raises
    ------
    TypeError
        `data` is a `str`: encode it first.

    Source: Compact Protocol v2 section 4.
    """

def decode_base85(text: _Wire, /) -> bytes:
    """Decode Base85 in the protocol's alphabet.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        Base85 digits only; white space is not skipped.

    Returns
    -------
    bytes
        The decoded bytes: four for every five characters.

    Raises
    ------
    InvalidBase85Char, InvalidBase85Length, InvalidBase85Value
        A character outside the alphabet, one character left over, or five characters that encode a
        number above 2^32 - 1.
    InvalidFormat
        The bytes are not UTF-8, or a str has a lone surrogate.

    Source: Compact Protocol v2 section 4.
    """

@final
class Inspection:
    """The format of a message and the size of each of its layers."""

    @property
    def format(self) -> Format:
        """The format, a member of `Format`."""
    @property
    def version(self) -> _Layout | None:
        """The MessagePack layout: 1, 2, 3 or "map"; None for a text format."""
    @property
    def compression(self) -> Literal["zlib", "gzip", "zstd"] | None:
        """The compression: "zlib", "gzip" or "zstd"; None without compression."""
    @property
    def dictionary_id(self) -> int | None:
        """The id of the dictionary; None without a dictionary."""
    @property
    def layers(self) -> list[tuple[str, int]]:
        """The size of each layer in bytes, from the message inwards, as pairs of name and size."""
    @property
    def verbose_size(self) -> int:
        """The size of the same response as a verbose message (compact JSON), in bytes."""
    @property
    def ratio(self) -> float:
        """The size of the message divided by `verbose_size`."""
    @property
    def response(self) -> Response:
        """The decoded response."""

def inspect(
    wire: _Wire,
    /,
    *,
    max_size: int = 67_108_864,
    dictionary: Dictionary | None = None,
    dictionaries: Iterable[Dictionary] = (),
) -> Inspection:
    """Decode a message and return the size of each of its layers.

    Parameters
    ----------
    wire, max_size, dictionary, dictionaries
        As in `decode`.

    Returns
    -------
    Inspection
        The format, layout and compression, the size of each layer in bytes, and the ratio to the
        size of the same response as a verbose message.

    Raises
    ------
    DecodeError
        As `decode`.

    Source: the layers are those of Compact Protocol v2 sections 1 to 5 and v4 section 4.
    """

@final
class Dictionary(_Frozen):
    """A zstd dictionary, trained on typical messages.

    Immutable and thread-safe. Created by `train`, `load`, `from_bytes` or `default`. A message
    refers to its dictionary by `id`.

    Source: Compact Protocol v4 sections 1 and 2.
    """

    @staticmethod
    def train(
        samples: Iterable[str | Response | Mapping[str, object] | bytes],
        /,
        *,
        size: int = 112_640,
        content_type: str = "mixed",
        model: str = "",
        time: int | None = None,
    ) -> Dictionary:
        """Train a dictionary on samples.

        Parameters
        ----------
        samples : iterable of str, Response, Mapping or bytes
            Typical results or whole responses; bytes are used as they are, as encoded MessagePack.
            A hundred or more, together several times the size of the dictionary.
        size : int
            The largest size of the dictionary in bytes.
        content_type, model : str
            The kind of content and the model that wrote it, for the first line of the file.
        time : int, optional
            Seconds since 1970 for the first line of the file; the current time by default. The rest
            of the file depends on the samples alone.

        Raises
        ------
        EncodeError
            The samples are too few or too small, or the first line cannot contain a character of
            `content_type` or `model`.

        Source: Compact Protocol v4 sections 1 and 2.
        """
    @staticmethod
    def default() -> Dictionary:
        """Return the dictionary built into the package, which `decode` always tries."""
    @staticmethod
    def load(
        file: str | PathLike[str] | _SupportsReadBytes, /, *, name: str | None = None
    ) -> Dictionary:
        """Read a dictionary file, or a bare zstd dictionary.

        Parameters
        ----------
        file : str, path-like, or a file open for reading
            A path, or an object whose `read()` returns bytes.
        name : str, optional
            The name by which old containers refer to the dictionary; by default its content type.

        Raises
        ------
        InvalidFormat
            The file is not a dictionary, or was cut or changed; this is noticed for dictionaries
            of `train`.
        OSError
            The file cannot be read.
        """
    @staticmethod
    def from_bytes(
        data: bytes | bytearray | memoryview, /, *, name: str | None = None
    ) -> Dictionary:
        """Read a dictionary from the bytes of a file; otherwise like `load`.

        Raises
        ------
        InvalidFormat
            The bytes are not a dictionary.
        """
    def save(self, path: str | PathLike[str], /) -> None:
        """Write the dictionary as a file of version 2.

        Parameters
        ----------
        path : str or path-like
            The file; an existing file is replaced once the new one is complete.

        Raises
        ------
        OSError
            The file cannot be written.
        """
    def to_bytes(self) -> bytes:
        """Return the bytes of the dictionary file."""
    @property
    def id(self) -> int:
        """The zstd dictionary id, which frames contain; 0 if the dictionary has none."""
    @property
    def name(self) -> str:
        """The name that old containers use; by default the content type."""
    @property
    def content_type(self) -> str:
        """The kind of content of the samples."""
    @property
    def model(self) -> str:
        """The model that wrote the samples; empty for any."""
    @property
    def samples(self) -> int:
        """The number of samples."""
    @property
    def time(self) -> str:
        """The time of the training, as in the file; this package writes seconds since 1970."""
    @property
    def size(self) -> int:
        """The size in bytes, without the first line of the file."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def encode_bytes(
    response: Response | Shrunk | str | Mapping[str, object],
    /,
    *,
    format: _FormatName | Format = "auto",
    protocol: Literal[2, 4] = 4,
    msgpack_version: _Layout | None = None,
    dictionary: Dictionary | None = None,
) -> bytes:
    """Encode a response as bytes, for transports that carry bytes: a fifth less than the text.

    Parameters
    ----------
    response, format, protocol, msgpack_version, dictionary
        As in `encode`.

    Returns
    -------
    bytes
        The bytes that `encode` writes in Base85 or Base64. For "verbose" and "dsl", the text in
        UTF-8. The bytes of "binary" and "base85" are the same. `decode` reads them.

    Raises
    ------
    EncodeError
        As `encode`.

    Source: an extension of this package. A peer without it can read the bytes of "base85", "zlib",
    "zstd" and "dictionary" if they are encoded as Base85 and prefixed with "A", "Z", "S" or "D".
    """

def encode_delta(old: str, new: str, /) -> str:
    """Encode the shortest delta that turns one text into another.

    Parameters
    ----------
    old, new : str
        The text that the peer has, and the text that it should have.

    Returns
    -------
    str
        `D|F|`, `D|+|` or `D|R|` with text, or `D|Z|` with one of them compressed, whichever is
        shortest in UTF-8 bytes. A replacement is written only if all known readers interpret it
        alike. For equal texts the delta is `D|+|`.

    Raises
    ------
    EncodeError
        A text has a lone surrogate.

    Source: Compact Protocol v2 "Streaming Delta Protocol".
    """

def apply_delta(
    old: str,
    delta: _Wire,
    /,
    *,
    replace: _Replace = "overwrite",
    max_size: int = 67_108_864,
) -> str:
    """Apply a delta to a text.

    Parameters
    ----------
    old : str
        The current text.
    delta : str, bytes, bytearray or memoryview
        `D|F|text` replaces the text, `D|+|text` appends to it, `D|R|position|text` overwrites it
        from that code point on, `D|Z|` contains a compressed delta.
    replace : {"overwrite", "truncate"}
        Whether a `D|R|` replacement keeps the text after it (the specification) or truncates the
        text there (the clients of protocol 2).
    max_size : int
        The largest decompressed size of a delta in bytes, 64 MiB by default.

    Returns
    -------
    str
        The new text.

    Raises
    ------
    DecodeError
        `InvalidFormat` for a malformed delta, a position after the end or a lone surrogate; for
        `D|Z|` also the errors of Base85, Base64 and decompression.

    Source: Compact Protocol v2 "Streaming Delta Protocol".
    """

@final
class DeltaStream:
    """One end of a text stream that is transferred as deltas. Thread-safe.

    Parameters
    ----------
    content : str
        The text to start with.
    replace : {"overwrite", "truncate"}
        As in `apply_delta`.
    max_size : int
        The largest size in bytes of a decompressed delta, and of the text that `apply` returns.

    Source: Compact Protocol v2 "Streaming Delta Protocol".
    """

    def __new__(
        cls, content: str = "", /, *, replace: _Replace = "overwrite", max_size: int = 67_108_864
    ) -> DeltaStream: ...
    def push(self, content: str, /) -> str:
        """Set a new text and return the delta to send to the peer.

        Raises
        ------
        EncodeError
            The text has a lone surrogate.
        """
    def apply(self, delta: _Wire, /) -> str:
        """Apply a delta of the peer and return the new text; an error leaves the text unchanged.

        Raises
        ------
        DecodeError
            As `apply_delta`; `OutputTooLarge` also if the text would become larger than `max_size`.
        """
    @property
    def content(self) -> str:
        """The current text."""

@final
class Request(_Record):
    """A request with all references resolved: the arguments of the sender's `encode_request`.

    Immutable. Two requests are equal if their JSON is equal: the order of an object's members does
    not matter, and 1 is not 1.0.

    Parameters
    ----------
    tool : dict or list of dict, optional
        The definition of one tool or of several.
    system : str, optional
        The system prompt.
    args : optional
        The arguments: any value that `json.dumps` accepts; keys are str.
    context : str, optional
        The whole conversation.

    Raises
    ------
    UnsupportedValue
        A value has no JSON form; `path` is its path, such as "args.rows[3].total".

    Source: Compact Protocol v2 "Compact Request Format".
    """

    __match_args__: Final = ("tool", "system", "args", "context")

    def __new__(
        cls,
        tool: _Tools | None = None,
        system: str | None = None,
        args: Any = None,
        context: str | None = None,
    ) -> Request: ...
    @property
    def tool(self) -> Any:
        """The definition of the tool; a list if there are several, None if there is none.

        A new object each time, like `tools` and `args`, so that the request cannot be mutated.
        """
    @property
    def tools(self) -> tuple[dict[str, Any], ...]:
        """The definitions of all tools."""
    @property
    def system(self) -> str | None:
        """The system prompt."""
    @property
    def args(self) -> Any:
        """The arguments."""
    @property
    def context(self) -> str | None:
        """The whole conversation; None if the request has no context."""
    @property
    def messages(self) -> list[dict[str, Any]] | None:
        """The chat messages that the sender passed; None if the request has no context.

        New objects each time. `InvalidFormat` if the context is not one of chat messages.
        """
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Session:
    """The state of one side of a connection, so that each turn sends only what is new. Thread-safe.

    Each side has a session. It covers both directions: what this side has sent to the peer, and
    what it has received from the peer. Each direction holds 256 tools, 64 prompts and one context;
    the least recently used tools and prompts are evicted first, on both sides alike. A copy or
    pickle continues from the current state.

    Parameters
    ----------
    max_size : int
        The largest size in bytes, in each direction, of the context, of all tools together, of all
        prompts together, and of decompressed data; 64 MiB by default.
    checked : bool
        Whether a request contains a hash of its tools, prompt and context (`D|=|c_…`), so that a
        peer that is out of step raises `UnknownReference` instead of resolving to wrong content;
        and whether packed requests are compressed against the context that the peer has. Use False
        for peers other than this package, which support neither: a request that is lost, repeated
        or late can then give wrong content without an error. A received hash is always checked.

    Source: Compact Protocol v2 part 2.
    """

    def __new__(cls, *, max_size: int = 67108864, checked: bool = True) -> Session: ...
    @overload
    def encode_request(
        self,
        *,
        tool: _Tools | None = None,
        system: str | None = None,
        args: Any = None,
        context: str | None = None,
        messages: Iterable[Any] | None = None,
        pack: Literal[False] = False,
        references: bool = False,
        types: Literal["json", "common"] = "json",
        default: Callable[[Any], Any] | None = None,
    ) -> list[str]:
        """Encode a request: references for what the peer has, and the content of everything else.

        Parameters
        ----------
        tool : dict or list of dict, optional
            The definition of the tool, or of all tools of the request; at most 256.
        system : str, optional
            The system prompt.
        args : optional
            The arguments: any value that `json.dumps` takes; keys are str.
        context : str, optional
            The whole conversation so far. A request without a context leaves the peer's context
            unchanged.
        messages : iterable of dict, optional
            The whole conversation so far as chat messages, in place of `context`: any dicts, such
            as those of the APIs of OpenAI and Anthropic. `Request.messages` returns them. If the
            conversation has only grown, only the new messages are sent.
        pack : bool or "bytes"
            Whether to join and compress the frames into one string, which a program can read but a
            model cannot; "bytes" is for transports that carry bytes, and a fifth shorter.
        references : bool
            Whether to write `TOOL|ref|` and `SYS|ref|` frames for tools and prompts that the peer
            has.
        types : {"json", "common"}
            Which objects `tool`, `args` and `messages` may contain: "json" only those that
            `Request` returns; "common" also dates, UUIDs, enums, dataclasses, pydantic models and
            others, which are written as `shrink` writes them.
        default : callable, optional
            Converts other objects, as in `json.dumps`.

        Returns
        -------
        list of str, str or bytes
            Frames, to be delivered completely and in this order; with `pack`, one ASCII string that
            begins with "S", or the bytes that it encodes in Base85. The session assumes that they
            are delivered: if not, call `forget`.

        Raises
        ------
        UnsupportedValue
            A value has no JSON form; `path` is its path, such as "args.rows[3].total". The session
            stays unchanged.
        EncodeError
            A limit is exceeded. The session stays unchanged.

        Source: Compact Protocol v2 "Compact Request Format", v4 section 11.
        """
    @overload
    def encode_request(
        self,
        *,
        tool: _Tools | None = None,
        system: str | None = None,
        args: Any = None,
        context: str | None = None,
        messages: Iterable[Any] | None = None,
        pack: Literal[True],
        references: bool = False,
        types: Literal["json", "common"] = "json",
        default: Callable[[Any], Any] | None = None,
    ) -> str: ...
    @overload
    def encode_request(
        self,
        *,
        tool: _Tools | None = None,
        system: str | None = None,
        args: Any = None,
        context: str | None = None,
        messages: Iterable[Any] | None = None,
        pack: Literal["bytes"],
        references: bool = False,
        types: Literal["json", "common"] = "json",
        default: Callable[[Any], Any] | None = None,
    ) -> bytes: ...
    @overload
    def encode_request(
        self,
        *,
        tool: _Tools | None = None,
        system: str | None = None,
        args: Any = None,
        context: str | None = None,
        messages: Iterable[Any] | None = None,
        pack: bool,
        references: bool = False,
        types: Literal["json", "common"] = "json",
        default: Callable[[Any], Any] | None = None,
    ) -> list[str] | str: ...
    def decode_request(
        self, frames: Iterable[_Wire] | _Wire, /, *, resync: bool = False, lost: bool = False
    ) -> Request:
        """Decode a request of the peer.

        Parameters
        ----------
        frames : iterable of str, str or bytes
            The output of the peer's `encode_request`: frames in order, or the packed request. Each
            frame may also be UTF-8 bytes.
        resync : bool
            Whether a request may replace this side's conversation although its sender does not know
            that conversation. By default such a request is rejected once, because it is usually a
            first request that was delivered again; a sender that was restarted calls `forget` and
            sends it again.
        lost : bool
            Whether this side has lost the conversation that the sender continues. A request without
            a hash, of a session with `checked=False`, is then rejected unless it contains the
            conversation in full; otherwise, an addition would be read as the whole conversation.

        Returns
        -------
        Request
            The request with all references resolved.

        Raises
        ------
        UnknownReference
            The request refers to content that this side does not have: a request was lost,
            duplicated or reordered, or one side was restarted. `ids` holds the missing references,
            those that the rejected frames define, and the conversation that this side has. The
            sender passes them to `forget` and encodes the request again, which then contains the
            missing content.
        DecodeError
            `InvalidFormat` for an invalid frame or invalid JSON; for packed strings and compressed
            deltas also the errors of Base85, decompression and MessagePack.

        An error leaves the session unchanged.

        Source: Compact Protocol v2 part 2, v4 section 11.
        """
    def encode_graph(
        self,
        payload: Payload,
        /,
        *,
        dangling: Literal["error", "drop"] = "error",
        allow_unicode: bool = False,
        locations: bool = True,
    ) -> str:
        """Encode a graph payload: each symbol is declared once and referred to by id afterwards.

        Parameters
        ----------
        payload : Payload
            The payload.
        dangling, allow_unicode, locations
            As in `gcf.encode`.

        Returns
        -------
        str
            The text. The session assumes that it is delivered: if not, call `forget_graph`. After
            an hour without a graph, after a day, and beyond 65,536 symbols, the text is complete,
            without `session=true`, and the ids start over.

        Raises
        ------
        GcfError
            As `gcf.encode`; the session stays unchanged.

        Source: GCF 3.6 section 11.
        """
    def decode_graph(
        self, text: str | bytes | bytearray | memoryview, /
    ) -> Payload | DeltaPayload | Unchanged:
        """Decode a graph text of the peer and resolve its references.

        Parameters
        ----------
        text : str, bytes, bytearray or memoryview
            The output of the peer's `encode_graph`, or any other text of the graph profile.

        Returns
        -------
        Payload, DeltaPayload or Unchanged
            The content, of the type that the header names. Only a payload with `session=true`
            changes the session.

        Raises
        ------
        GcfError
            As `gcf.decode`; `unknown_session_reference` and `session_conflict` mean that the two
            sides are out of step: `reset` both. The session stays unchanged.

        Source: GCF 3.6 section 11.
        """
    def forget_graph(self) -> None:
        """Treat the last graph as lost: its symbols will be declared again under their ids."""
    def encode_keyed(self, set: KeyedSet, /, *, tool: str = "") -> str:
        """Encode a keyed set: completely the first time, then as deltas.

        Parameters
        ----------
        set : KeyedSet
            The current set.
        tool : str
            The tool for the header; empty for none.

        Returns
        -------
        str
            "Unchanged", a delta if it is smaller than 60 % of the full set, or the full set,
            relative to the last set with the same name, fields and key. The session assumes that it
            is delivered: if not, call `forget_keyed`. The session keeps the last set of each of 16
            names.

        Raises
        ------
        GcfError
            `invalid_header_value` for an invalid tool; the session stays unchanged.

        Source: GCF 3.6 section 10a.4.
        """

    def decode_keyed(self, text: str | bytes | bytearray | memoryview, /) -> KeyedSet:
        """Decode the output of the peer's `encode_keyed`.

        Parameters
        ----------
        text : str, bytes, bytearray or memoryview
            The text.

        Returns
        -------
        KeyedSet
            The set that the peer encoded.

        Raises
        ------
        GcfError
            As `gcf.receive_keyed`; `base_mismatch` means that a text was lost: after
            `forget_keyed`, the peer sends a full set. The session stays unchanged.

        Source: GCF 3.6 sections 10a.4 and 10a.5.
        """

    def forget_keyed(self) -> None:
        """Treat the sent keyed sets as lost: the next set of each name is sent in full."""

    def forget(self, *ids: str) -> int:
        """Forget that the peer has these references, so that the next request has their content.

        Parameters
        ----------
        ids : str
            The `ids` of an `UnknownReference`, in their order: tools `t_…`, prompts `s_…`, the
            context `c_…`, and `b_…`, the context that the peer has instead.

        Returns
        -------
        int
            The number of references that were known; `b_…` is not counted.
        """
    def rollback(self) -> bool:
        """Undo the last `encode_request`, because its output was not delivered.

        The session is then as before that call, so that the next request does not refer to
        anything that the peer never got. If the peer got it after all, it raises
        `UnknownReference` for the next request, as after any fault.

        Returns
        -------
        bool
            Whether there was a request to undo: False if it was undone before, and after `forget`,
            `reset`, a copy or a pickle.
        """
    def to_bytes(self) -> bytes:
        """Write the state of the session, for `from_bytes` of the same version of this package.

        Returns
        -------
        bytes
            The state of both directions and `max_size`, without `checked`.
        """
    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview, /, *, checked: bool = True) -> Session:
        """Restore a session from the output of `to_bytes`.

        Unlike a pickle, the bytes need not be trusted.

        Parameters
        ----------
        data : bytes, bytearray or memoryview
            The output of `to_bytes`.
        checked : bool
            As for `Session`.

        Returns
        -------
        Session
            A session that continues from that state.

        Raises
        ------
        InvalidFormat
            The bytes are not a state of this version, or contradict themselves.
        """
    def reset(self) -> None:
        """Forget everything in both directions; the counts of `stats` continue."""
    @property
    def checked(self) -> bool:
        """Whether requests contain a hash, as given to `Session`."""
    @property
    def stats(self) -> SessionStats:
        """Counts of the messages exchanged so far and the bytes saved."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class SessionStats(_Record):
    """Counts of a session in both directions, in UTF-8 bytes."""

    def __new__(
        cls, *, messages: int = 0, bytes_out: int = 0, bytes_in: int = 0, plain_bytes: int = 0
    ) -> SessionStats: ...
    @property
    def messages(self) -> int:
        """The number of requests encoded and decoded."""
    @property
    def bytes_out(self) -> int:
        """Bytes of the frames encoded."""
    @property
    def bytes_in(self) -> int:
        """Bytes of the frames decoded."""
    @property
    def plain_bytes(self) -> int:
        """Bytes of the same requests as compact JSON, with tools, prompt and the whole context."""
    @property
    def savings(self) -> float:
        """The fraction of `plain_bytes` that was saved: 0.94 if 6 bytes were sent for 100.

        0.0 before the first request, negative if more bytes were sent than plain JSON needs.
        """
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Shrunk(_Record):
    """The result of `shrink`: the text to send to a language model, and the tokens that it saves.

    Immutable.

    Source: an extension of this package.
    """

    def __new__(
        cls,
        text: str,
        *,
        format: Literal["text", "json", "gcf"],
        tokens_before: int,
        tokens_after: int,
        exact: bool = False,
        reason: Literal["", "size", "not-json", "depth", "number", "verify", "no-gain"] = "",
    ) -> Shrunk: ...
    @property
    def text(self) -> str:
        """The text to send."""
    @property
    def format(self) -> Literal["text", "json", "gcf"]:
        """The form of `text`: "text" if it is the text that was passed, "json", or "gcf"."""
    @property
    def tokens_before(self) -> int:
        """The tokens of the text that was passed, or of a value as compact JSON."""
    @property
    def tokens_after(self) -> int:
        """The tokens of `text`, at most `tokens_before`."""
    @property
    def exact(self) -> bool:
        """Whether a tokenizer counted the tokens; otherwise they are estimated."""
    @property
    def reason(self) -> Literal["", "size", "not-json", "depth", "number", "verify", "no-gain"]:
        """Why nothing was saved, or "".

        "size", "not-json", "depth", "number", "verify" or "no-gain".
        """
    @property
    def saved(self) -> int:
        """The number of tokens saved, 0 or more."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def encode_tool_call_bytes(
    name: str,
    arguments: Any,
    context: str | None = None,
    *,
    format: _FormatName = "auto",
    protocol: Literal[4, 2] = 4,
    dictionary: Dictionary | None = None,
    types: Literal["json", "common"] = "json",
    default: Callable[[Any], Any] | None = None,
) -> bytes:
    """Encode a tool call as bytes, for transports that carry bytes: a fifth less than the text.

    Parameters
    ----------
    name, arguments, context, format, protocol, dictionary, types, default
        As in `encode_tool_call`.

    Returns
    -------
    bytes
        The bytes that `encode_tool_call` writes in Base85 or Base64. For "verbose", the text in
        UTF-8. `decode_tool_call` reads them.

    Raises
    ------
    UnsupportedValue, EncodeError
        As `encode_tool_call`.

    Source: an extension of this package, as `encode_bytes`.
    """

def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a language model counts for a text, without a tokenizer.

    The estimate follows the tokenizer o200k_base. The same text gives the same number on every
    machine. `claims.estimate_tokens` is another estimate: a quarter of the bytes.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    int
        The number of tokens.

    Source: an extension of this package.
    """

def expand(text: Shrunk | _Wire) -> Any:
    """Return the value of a text that `shrink` returned.

    Parameters
    ----------
    text : Shrunk or str
        A result of `shrink`; or a text in GCF or JSON, which is detected.

    Returns
    -------
    object
        The value, equal to the value of the text that was passed to `shrink`: 1.0 may come back as
        1, and the keys of an object in another order. A `Shrunk` with the format "text" gives the
        text itself.

    Raises
    ------
    GcfError
        The text begins as GCF, but is invalid.
    InvalidFormat
        The text is neither GCF nor JSON.

    Source: an extension of this package.
    """

def shrink(
    value: object,
    /,
    *,
    formats: Iterable[Literal["json", "gcf"]] = ("json", "gcf"),
    tokenizer: str | Callable[[str], int] = "estimate",
    extensions: bool = True,
    min_saving: float = 0.1,
    min_tokens: int = 16,
    max_size: int = 4_194_304,
    max_depth: int = 128,
    types: Literal["common", "json"] = "common",
    default: Callable[[Any], Any] | None = None,
) -> Shrunk:
    r"""Write a tool result, or any value, in the form that costs a model the fewest tokens.

    Nothing is lost, and the result never has more tokens by the count of `tokenizer`: a text that
    is not JSON, or cannot be made shorter, is returned as it is. The same arguments give the same
    result on every machine.

    Parameters
    ----------
    value : str or object
        A text, which may be JSON; or a value as for `json.dumps`, whose text is compact JSON; keys
        are str. A `Shrunk` is returned as it is.
    formats : iterable of {"json", "gcf"}
        The forms to choose from: JSON without white space, and GCF.
    tokenizer : str or callable
        Counts tokens. "estimate" needs no tokenizer; "o200k_base" or another encoding of bpe-openai
        needs the extra `tokens`; a function takes a str and returns an int.
    extensions : bool
        Whether GCF may have list columns and matrices, two extensions that only this package reads.
        Without them the text is read by every reader of GCF that knows constant columns and groups.
    min_saving : float
        GCF is chosen only if it saves at least this fraction of the tokens of JSON, from 0 to 1.
    min_tokens : int
        GCF is chosen only if it saves at least this many tokens.
    max_size : int
        A longer text, in bytes of UTF-8, is returned as it is; 4 MiB by default.
    max_depth : int
        A text that is nested deeper is returned as it is; at most 256.
    types : {"common", "json"}
        Which objects a value may contain: "common" also writes dates, UUIDs, enums, dataclasses and
        other objects as the table in the documentation says; "json" only what JSON has.
    default : callable, optional
        Converts other objects, as in `json.dumps`.

    Returns
    -------
    Shrunk
        The text, its form, and the tokens before and after.

    Raises
    ------
    UnsupportedValue
        A value cannot be written as JSON; `path` is its path. A text of any content is accepted.
    OptionError
        An option has a value that is not allowed, or no tokenizer has this name.
    ImportError
        A tokenizer has a name, and the extra `tokens` is not installed.
    EncodeError, TypeError
        The function `tokenizer` returns a number below 0 or above 2^63 - 1, or no int. Its own
        exceptions pass through.

    Examples
    --------
    >>> import compactwire as cw
    >>> rows = [{"id": i, "state": "open", "kind": "task"} for i in range(20)]
    >>> cw.shrink(rows).text[:60]
    'GCF profile=generic\n## [20]{id,state=open,kind=task}\n0\n1\n2\n3'

    Source: an extension of this package. GCF is that of GCF 3.6 sections 2 to 7, JSON that of
    RFC 8259.
    """

def _restore_session(state: bytes, checked: bool) -> Session: ...
def _restore_session_stats(
    messages: int, bytes_out: int, bytes_in: int, plain_bytes: int
) -> SessionStats: ...

@final
class ToolCall(_Record):
    """A call of a tool by a model.

    Immutable unless its arguments are mutated. Two calls are equal if name, context and the JSON of
    the arguments are equal: the order of an object's members does not matter, and 1 is not 1.0. A
    call whose arguments were mutated so that they have no JSON is equal to itself only, and has no
    hash.

    Parameters
    ----------
    name : str
        The tool's name.
    arguments : object
        The arguments: any value that `json.dumps` accepts, usually a dict; keys are str.
    context : str, optional
        Additional long text.

    Raises
    ------
    UnsupportedValue
        A value has no JSON form; `path` is its path, such as "arguments.rows[3].total".

    Source: Compact Protocol v4 section 11.
    """

    __match_args__: Final = ("name", "arguments", "context")

    def __new__(cls, name: str, arguments: Any, context: str | None = None) -> ToolCall: ...
    @property
    def name(self) -> str:
        """The tool's name."""
    @property
    def arguments(self) -> Any:
        """The arguments."""
    @property
    def context(self) -> str | None:
        """Additional long text."""
    @property
    def format(self) -> Format | None:
        """The format of a decoded call; None if it was not decoded."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __deepcopy__(self, memo: Any) -> ToolCall: ...

def _restore_tool_call(fields: tuple[Any, ...], format: str | None) -> ToolCall: ...
def _build() -> list[tuple[str, str]]: ...
def encode_tool_call(
    name: str,
    arguments: Any,
    context: str | None = None,
    *,
    format: _FormatName = "auto",
    protocol: Literal[4, 2] = 4,
    dictionary: Dictionary | None = None,
    types: Literal["json", "common"] = "json",
    default: Callable[[Any], Any] | None = None,
) -> str:
    """Encode a tool call as a message.

    Parameters
    ----------
    name : str
        The tool's name.
    arguments : object
        The arguments: any value that `json.dumps` accepts; keys are str. A str is a value too: pass
        `json.loads` of the JSON text that the API of OpenAI has for them.
    context : str, optional
        Additional long text.
    format : str
        "verbose", "binary", "base85", "zlib", "zstd" or "dictionary" (the DSL has no calls); "auto"
        chooses by the size of the verbose message, and returns that message if it is shorter than
        50 bytes or an integer needs more than 64 bits; "smallest" tries all formats and returns the
        shortest message.
    protocol : {4, 2}
        The protocol version: it decides whether "zlib" writes gzip or zlib, and which formats
        "auto" chooses from.
    dictionary : Dictionary, optional
        As in `encode`.
    types : {"json", "common"}
        Which objects the arguments may contain: "json" only those that `decode_tool_call` returns;
        "common" also dates, UUIDs, enums, dataclasses and others, which are written as `shrink`
        writes them.
    default : callable, optional
        Converts other objects, as in `json.dumps`.

    Returns
    -------
    str
        The message. It is ASCII in all formats but "verbose".

    Raises
    ------
    UnsupportedValue
        A value has no JSON form; `path` is its path, such as "arguments.rows[3].total".
    EncodeError
        The format cannot represent the call.

    Source: Compact Protocol v4 section 11.
    """

def decode_tool_call(
    wire: _Wire,
    /,
    *,
    max_size: int = 67108864,
    dictionary: Dictionary | None = None,
    dictionaries: Iterable[Dictionary] = (),
) -> ToolCall:
    """Decode a tool call in any format of either protocol.

    Parameters
    ----------
    wire, max_size, dictionary, dictionaries
        As in `decode`. A compressed call may have one value for every two compressed bytes, and one
        more for every 128 bytes of `max_size`.

    Returns
    -------
    ToolCall
        The call. `format` is that of the message.

    Raises
    ------
    DecodeError
        As `decode`. MessagePack values without a JSON form (binary, extensions, NaN) raise
        `InvalidMsgpack`.

    Source: Compact Protocol v4 section 11.
    """
