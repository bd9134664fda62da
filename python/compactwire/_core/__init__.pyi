"""The compiled core of compactwire; import `compactwire` instead."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Final, Literal, Self, final, overload

from .._format import Format
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
    "ToolCall",
    "_Frozen",
    "_Record",
    "__version__",
    "_restore_response",
    "_restore_session",
    "_restore_session_stats",
    "_restore_tool_call",
    "apply_delta",
    "cad",
    "claims",
    "decode",
    "decode_base85",
    "decode_tool_call",
    "detect",
    "encode",
    "encode_base85",
    "encode_delta",
    "encode_tool_call",
    "gcf",
    "graph",
    "inspect",
    "wire",
]

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
    """An answer of a language model, or the result of a tool.

    Immutable; equal when all fields but `format` and `version` are, where a `model_name` that is
    the `model` counts as none.

    Parameters
    ----------
    result : str
        The answer.
    model : str
        The model's code (v2: G3 C4 X5 OL AD SE, v4: C4 C45 CS CH G3 G4 G5 O4), or any other text.
    status : {"OK", "ERR", "PART", "STREAM"}
        Whether the answer is whole and well; "PARTIAL" is another spelling of "PART". Without it, a
        returncode that is not 0 means "ERR".
    tokens : int
        How many tokens the answer cost, 0 to 2^63 - 1.
    model_name, returncode, reasoning_effort, ultrathink : optional
        Members of a verbose message; the other formats have no place for them.

    Raises
    ------
    EncodeError
        A status that does not exist, a number out of range, text with a lone surrogate.

    Source: Compact Protocol v2 part 1, v4 sections 3 and 4.
    """

    __match_args__: Final = ("result", "model", "status", "tokens")

    def __new__(
        cls,
        result: str,
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
        """The answer."""
    @property
    def model(self) -> str:
        """The model's code, or any other text."""
    @property
    def status(self) -> _Status:
        """Whether the answer is whole and well: "OK", "ERR", "PART" or "STREAM"."""
    @property
    def tokens(self) -> int:
        """How many tokens the answer cost."""
    @property
    def model_name(self) -> str | None:
        """The model's name in a verbose message, where it is not the code itself."""
    @property
    def returncode(self) -> int | None:
        """The return code of a verbose message, where it is not what the status says."""
    @property
    def reasoning_effort(self) -> str | None:
        """How hard the model was asked to think: "low", "medium", "high"."""
    @property
    def ultrathink(self) -> bool | None:
        """Whether extended thinking was on."""
    @property
    def format(self) -> Format | None:
        """How a decoded response travelled; None for one that was not decoded."""
    @property
    def version(self) -> _Layout | None:
        """The MessagePack layout of a decoded response: 1, 2, 3 or "map"; None without one."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def _restore_response(
    fields: tuple[Any, ...], format: str | None, version: _Layout | None
) -> Response: ...
def encode(
    response: Response | Mapping[str, object],
    /,
    *,
    format: _FormatName | Format = "auto",
    protocol: Literal[2, 4] = 4,
    msgpack_version: _Layout | None = None,
    dictionary: Dictionary | None = None,
) -> str:
    """Write a response as one text.

    Parameters
    ----------
    response : Response or Mapping
        The response, or a mapping with the fields of one ("result", "model", ...) or with the
        members of a verbose message ("response", "model", "returncode", ...) and no others.
    format : str
        "verbose", "dsl", "binary", "base85", "zlib", "zstd" or "dictionary"; "auto" goes by the
        size of the result, "smallest" takes the shortest text of all.
    protocol : {4, 2}
        The dialect. `decode` reads both.
    msgpack_version : 1, 2, 3 or "map", optional
        The MessagePack layout, for the formats that have one. Default: 3 in protocol 2, "map" in
        protocol 4 and in "zstd" and "dictionary". A model without an integer turns 2 and 3 into 1.
    dictionary : Dictionary, optional
        What "dictionary" compresses with (default: the built-in one); "auto" in protocol 4 takes it
        where the text becomes shorter, "smallest" tries it. The other formats have no use for it.

    Returns
    -------
    str
        The message. All but "verbose" and "dsl" are ASCII.

    Raises
    ------
    EncodeError
        The format cannot carry a field; the attribute `field` names it.

    Notes
    -----
    `model_name`, `returncode`, `reasoning_effort` and `ultrathink` travel in "verbose" only: the
    specifications give the other formats no place for them. A free text as `model` comes back from
    "verbose" as `model_name`, because there the member holds a name.

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
    """Read a response in any format of either protocol.

    Parameters
    ----------
    wire : str, bytes, bytearray or memoryview
        The message; bytes are UTF-8. White space and a byte order mark before it are skipped;
        so is white space behind it, but the result of the DSL is kept to the last character.
    max_size : int
        The largest decompressed size in bytes, 64 MiB by default; checked before memory is taken.
        The `str` that Python makes of it takes up to four bytes for each character on top.
    dictionary, dictionaries : Dictionary, iterable of Dictionary
        Where to look for the dictionary of a message, before the built-in one.
    fallback : bool
        Take a text that cannot be decoded as the result itself, with format "raw". Bytes that are
        not UTF-8 are no text: `InvalidFormat` all the same.

    Returns
    -------
    Response
        Its `format` and `version` tell how it travelled.

    Raises
    ------
    DecodeError
        One of its subclasses says what is wrong and where: `EmptyResponse`, `InvalidPrefix`,
        `InvalidFormat`, `MissingField`, `InvalidBase64`, `InvalidBase85Char`,
        `InvalidBase85Length`, `InvalidBase85Value`, `DecompressionFailed`, `OutputTooLarge`,
        `InvalidMsgpack`, `DictionaryNotFound`.

    Notes
    -----
    Keys and members that a response does not have are passed over: at most 1024, nested at most 128
    levels deep.

    Source: Compact Protocol v2 sections 1 to 5, v4 sections 1, 4 and 8.
    """

def detect(wire: _Wire, /) -> Format:
    """Say what a text is by its first characters, without decoding it.

    Parameters
    ----------
    wire : str, bytes, bytearray or memoryview
        The text; bytes are UTF-8.

    Returns
    -------
    Format
        A response's format, or DELTA, TOOL, SYSTEM, REQUEST, GCF for what other functions read.

    Raises
    ------
    EmptyResponse, InvalidPrefix, InvalidFormat
        It is nothing, or begins like none of them, or is not UTF-8.

    Source: Compact Protocol v2 "Format Detection", v4 section 1.
    """

def encode_base85(data: bytes | bytearray | memoryview, /) -> str:
    """Encode bytes as Base85 in the protocol's alphabet: five characters for four bytes.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        Any bytes. The last one to three become two to four characters.

    Returns
    -------
    str
        ASCII, a quarter longer than the data.

    Raises
    ------
    TypeError
        Text instead of bytes: which encoding it should have is the caller's to say.

    Source: Compact Protocol v2 section 4.
    """

def decode_base85(text: _Wire, /) -> bytes:
    """Decode Base85 in the protocol's alphabet.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        Digits only; white space is not skipped.

    Returns
    -------
    bytes
        Four bytes for five characters.

    Raises
    ------
    InvalidBase85Char, InvalidBase85Length, InvalidBase85Value
        A foreign character, one character too many, five that mean a number above 2^32 - 1.

    Source: Compact Protocol v2 section 4.
    """

@final
class Inspection:
    """What a message is and what it weighs, layer by layer."""

    @property
    def format(self) -> Format:
        """The format, a member of `Format`."""
    @property
    def version(self) -> _Layout | None:
        """The MessagePack layout: 1, 2, 3 or "map"; None for a text format."""
    @property
    def compression(self) -> Literal["zlib", "gzip", "zstd"] | None:
        """How it is compressed: "zlib", "gzip" or "zstd"; None where it is not."""
    @property
    def dictionary_id(self) -> int | None:
        """The id of the dictionary, where one was used."""
    @property
    def layers(self) -> list[tuple[str, int]]:
        """Size of each layer in UTF-8 bytes, from the wire inwards: pairs of name and size."""
    @property
    def verbose_size(self) -> int:
        """Size of the same response as a verbose message (compact JSON), in bytes."""
    @property
    def ratio(self) -> float:
        """Size on the wire over `verbose_size`."""
    @property
    def response(self) -> Response:
        """The response."""

def inspect(
    wire: _Wire,
    /,
    *,
    max_size: int = 67_108_864,
    dictionary: Dictionary | None = None,
    dictionaries: Iterable[Dictionary] = (),
) -> Inspection:
    """Say what a message is and what it weighs, layer by layer.

    Parameters
    ----------
    wire, max_size, dictionary, dictionaries
        As in `decode`.

    Returns
    -------
    Inspection
        Format, layout, compression, the size of every layer in bytes, and the ratio against the
        same response as a verbose message.

    Raises
    ------
    DecodeError
        As `decode`.

    Source: the layers are those of Compact Protocol v2 sections 1 to 5 and v4 section 4.
    """

@final
class Dictionary(_Frozen):
    """A zstd dictionary, trained on messages like those that it will compress.

    Immutable, and ready for any number of threads. Made by `train`, `load`, `from_bytes` or
    `default`. Messages name their dictionary by its `id`.

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
            Typical results or whole responses; bytes are taken as MessagePack that is ready. A
            hundred or more, together several times the size of the dictionary.
        size : int
            The largest size in bytes.
        content_type, model : str
            What the samples are and who wrote them; for the file's first line.
        time : int, optional
            Seconds since 1970 for the file's first line; now, unless given. The rest of the file
            depends on the samples alone.

        Raises
        ------
        EncodeError
            The samples are too few or too small; a text has what the first line cannot carry.

        Source: Compact Protocol v4 sections 1 and 2.
        """
    @staticmethod
    def default() -> Dictionary:
        """The dictionary inside the package, which every `decode` knows."""
    @staticmethod
    def load(path: str | PathLike[str], /, *, name: str | None = None) -> Dictionary:
        """Read a dictionary file, of version 1 or 2, or a bare zstd dictionary.

        Parameters
        ----------
        path : str or path-like
            The file.
        name : str, optional
            The name by which old containers ask for it; by default its content type.

        Raises
        ------
        InvalidFormat
            It is no dictionary.
        OSError
            It cannot be read.
        """
    @staticmethod
    def from_bytes(
        data: bytes | bytearray | memoryview, /, *, name: str | None = None
    ) -> Dictionary:
        """Read a dictionary from the bytes of its file; otherwise as `load`.

        Raises
        ------
        InvalidFormat
            They are no dictionary.
        """
    def save(self, path: str | PathLike[str], /) -> None:
        """Write the dictionary as a file of version 2.

        Parameters
        ----------
        path : str or path-like
            The file; one that is there is replaced.

        Raises
        ------
        OSError
            It cannot be written.
        """
    def to_bytes(self) -> bytes:
        """The bytes of its file."""
    @property
    def id(self) -> int:
        """The id that zstd gave it and frames carry; 0 for a dictionary without one."""
    @property
    def name(self) -> str:
        """The name that old containers use; its content type unless another was given."""
    @property
    def content_type(self) -> str:
        """What the samples were."""
    @property
    def model(self) -> str:
        """Which model wrote the samples; empty for any."""
    @property
    def samples(self) -> int:
        """How many samples it was trained on."""
    @property
    def time(self) -> str:
        """When it was trained, as its file says it: in ours, seconds since 1970."""
    @property
    def size(self) -> int:
        """Its size in bytes, without the line that describes it."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def encode_delta(old: str, new: str, /) -> str:
    """Write the shortest delta that turns one text into another.

    Parameters
    ----------
    old, new : str
        What the other end has, and what it should have.

    Returns
    -------
    str
        `D|F|`, `D|+|` or `D|R|` with text, or `D|Z|` with one of them compressed, whichever is
        shortest in UTF-8 bytes. A replacement is written only where every known reader understands
        it alike. Equal texts give `D|+|`.

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
        The text so far.
    delta : str, bytes, bytearray or memoryview
        `D|F|text` takes its place, `D|+|text` is added, `D|R|position|text` is written over it from
        that code point on, `D|Z|` holds a compressed delta.
    replace : {"overwrite", "truncate"}
        Whether a replacement leaves what lies behind it (the specification) or cuts it off (the
        clients of protocol 2).
    max_size : int
        The largest decompressed size of a delta in bytes, 64 MiB by default.

    Returns
    -------
    str
        The new text.

    Raises
    ------
    DecodeError
        `InvalidFormat` for a malformed delta, a position behind the end or a lone surrogate; for
        `D|Z|` also the errors of Base85, Base64 and decompression.

    Source: Compact Protocol v2 "Streaming Delta Protocol".
    """

@final
class DeltaStream:
    """A text that grows by deltas; both ends of a stream have one. Thread-safe.

    Parameters
    ----------
    content : str
        The text to start with.
    replace : {"overwrite", "truncate"}
        As in `apply_delta`.
    max_size : int
        The largest size of a decompressed delta, and of the text that `apply` makes, in bytes.

    Source: Compact Protocol v2 "Streaming Delta Protocol".
    """

    def __new__(
        cls, content: str = "", /, *, replace: _Replace = "overwrite", max_size: int = 67_108_864
    ) -> DeltaStream: ...
    def push(self, content: str, /) -> str:
        """Take over a new text and return the delta that tells the other end.

        Raises
        ------
        EncodeError
            The text has a lone surrogate.
        """
    def apply(self, delta: _Wire, /) -> str:
        """Apply a delta of the other end and return the text; on an error it stays as it was.

        Raises
        ------
        DecodeError
            As `apply_delta`; `OutputTooLarge` also when the text would grow above `max_size`.
        """
    @property
    def content(self) -> str:
        """The text so far."""

@final
class Request(_Record):
    """A request with everything resolved: what the sender's `encode_request` was given.

    Immutable; two are equal when their JSON is, so that the order of an object's members does not
    count, and 1 is not 1.0.

    Parameters
    ----------
    tool : dict or list of dict, optional
        The definition of a tool, or of several.
    system : str, optional
        The system prompt.
    args : optional
        The arguments: any value that `json.dumps` takes.
    context : str, optional
        The whole conversation.

    Raises
    ------
    EncodeError
        A value that JSON has not; `field` names it, as in "args.rows[3].total".

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
        """The definition of the tool; a list where there are several, None where there is none.

        Like `tools` and `args` a new object each time, for a request does not change.
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
        """The whole conversation; None where the request has none."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Session:
    """What one side of a connection remembers, so that a turn costs what is new in it. Thread-safe.

    Both sides have one. It holds both directions: what the peer has from this side, and what this
    side has from the peer; in each 256 tools, 64 prompts and one context. Of tools and prompts the
    least recently used go first, on both sides alike. A copy or a pickle goes on where the session
    stands.

    Parameters
    ----------
    max_size : int
        The largest context, the most that all tools or all prompts may have together, and the
        largest decompressed size, in bytes and in each direction; 64 MiB by default.
    checked : bool
        Say in a request what it means (`D|=|c_…`, a hash of its tools, prompt and context), so that
        a peer that is out of step raises `UnknownReference` instead of taking a wrong one; and
        compress what is packed against the context that the peer has. False for peers that are not
        this package, which know neither; what is read is checked where it says so.

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
        pack: Literal[False] = False,
        references: bool = False,
    ) -> list[str]:
        """Write a request: what the peer has is named, the rest is sent.

        Parameters
        ----------
        tool : dict or list of dict, optional
            The definition of a tool, or of all tools of the request; at most 256.
        system : str, optional
            The system prompt.
        args : optional
            The arguments: any value that `json.dumps` takes.
        context : str, optional
            The whole conversation so far. A request without one leaves the peer's as it is.
        pack : bool
            Make one text of the frames, compressed: for programs, not for models.
        references : bool
            Write `TOOL|ref|` and `SYS|ref|` frames for what the peer has.

        Returns
        -------
        list of str, or str
            Frames, to be delivered whole and in this order; with `pack`, one text of ASCII that
            begins with "S". The session takes them for delivered: where they were not, `forget`.

        Raises
        ------
        EncodeError
            A value that JSON has not, or too much of something; `field` names it, as in
            "args.rows[3].total". The session stays as it was.
        TypeError
            A value of a type that JSON has not.

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
        pack: Literal[True],
        references: bool = False,
    ) -> str: ...
    @overload
    def encode_request(
        self,
        *,
        tool: _Tools | None = None,
        system: str | None = None,
        args: Any = None,
        context: str | None = None,
        pack: bool,
        references: bool = False,
    ) -> list[str] | str: ...
    def decode_request(self, frames: Iterable[_Wire] | _Wire, /) -> Request:
        """Read a request of the peer.

        Parameters
        ----------
        frames : iterable of str, or str
            What the peer's `encode_request` gave: frames in their order, or the packed text. Each
            may also be UTF-8 bytes.

        Returns
        -------
        Request
            With everything resolved.

        Raises
        ------
        UnknownReference
            The request relies on something that this side does not have: something was lost, came
            twice or out of order, or one side started anew. `ids` names it, and what was
            refused with it; when the sender gives them to its `forget` and writes the request
            again, it holds what is missing.
        DecodeError
            `InvalidFormat` for what is no frame or no JSON; for a packed text and for compressed
            deltas also the errors of Base85, decompression and MessagePack.

        After an error the session is what it was.

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
        """Write a graph payload: a symbol is declared once, then named by its id.

        Parameters
        ----------
        payload : Payload
            The payload.
        dangling, allow_unicode, locations
            As in `gcf.encode`.

        Returns
        -------
        str
            The text. The session takes it for delivered: where it was not, `forget_graph`. After an
            hour without a graph, or a day, and beyond 65,536 symbols, it is a full text without
            `session=true`, and the symbols start over.

        Raises
        ------
        GcfError
            As `gcf.encode`; the session stays as it was.

        Source: GCF 3.6 section 11.
        """
    def decode_graph(
        self, text: str | bytes | bytearray | memoryview, /
    ) -> Payload | DeltaPayload | Unchanged:
        """Read a graph text of the peer, and resolve what it names.

        Parameters
        ----------
        text : str, bytes, bytearray or memoryview
            What the peer's `encode_graph` gave, or any other text of the graph profile.

        Returns
        -------
        Payload, DeltaPayload or Unchanged
            What the text says that it is. Only a payload with `session=true` changes what is known.

        Raises
        ------
        GcfError
            As `gcf.decode`; `unknown_session_reference` and `session_conflict` mean that the two
            sides are out of step: `reset` both. The session stays as it was.

        Source: GCF 3.6 section 11.
        """
    def forget_graph(self) -> None:
        """Take the last graph for lost: its symbols are declared again under their ids."""
    def encode_keyed(self, set: KeyedSet, /, *, tool: str = "") -> str:
        """Write a keyed set: whole once, then as what changed.

        Parameters
        ----------
        set : KeyedSet
            The set as it is now.
        tool : str
            Stands in the header unless it is empty.

        Returns
        -------
        str
            "Unchanged", a delta when it is smaller than 60 % of the whole set, or the whole set:
            since the last of the same name, fields and key. The session takes it for delivered:
            where it was not, `forget_keyed`. It keeps the last set of 16 names.

        Raises
        ------
        GcfError
            `invalid_header_value` for the tool; the session stays as it was.

        Source: GCF 3.6 section 10a.4.
        """

    def decode_keyed(self, text: str | bytes | bytearray | memoryview, /) -> KeyedSet:
        """Read what the peer's `encode_keyed` gave.

        Parameters
        ----------
        text : str, bytes, bytearray or memoryview
            The text.

        Returns
        -------
        KeyedSet
            The set that the peer has.

        Raises
        ------
        GcfError
            As `gcf.receive_keyed`; `base_mismatch` means that a text was lost: the peer's
            `forget_keyed` makes its next one whole. The session stays as it was.

        Source: GCF 3.6 sections 10a.4 and 10a.5.
        """

    def forget_keyed(self) -> None:
        """Take the keyed sets that were sent for lost: the next of each name goes whole."""

    def forget(self, *ids: str) -> int:
        """Forget that the peer has these, so that the next request carries them again.

        Parameters
        ----------
        ids : str
            The `ids` of an `UnknownReference`: tools `t_…`, prompts `s_…`, the context `c_…`.

        Returns
        -------
        int
            How many of them there were.
        """
    def reset(self) -> None:
        """Forget everything, in both directions; the counts of `stats` go on."""
    @property
    def stats(self) -> SessionStats:
        """What was exchanged so far, and what it saved."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class SessionStats(_Record):
    """Counts of a session, both directions; bytes are those of UTF-8 text."""

    def __new__(
        cls, *, messages: int = 0, bytes_out: int = 0, bytes_in: int = 0, plain_bytes: int = 0
    ) -> SessionStats: ...
    @property
    def messages(self) -> int:
        """Requests written and read."""
    @property
    def bytes_out(self) -> int:
        """Bytes of the frames written."""
    @property
    def bytes_in(self) -> int:
        """Bytes of the frames read."""
    @property
    def plain_bytes(self) -> int:
        """Bytes of the same requests as compact JSON, with tools, prompt and whole context."""
    @property
    def savings(self) -> float:
        """The part of `plain_bytes` that was not sent: 0.94 where 100 bytes took 6.

        0.0 before the first request, negative where plain re-sending had been shorter.
        """
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def _restore_session(state: bytes, checked: bool) -> Session: ...
def _restore_session_stats(
    messages: int, bytes_out: int, bytes_in: int, plain_bytes: int
) -> SessionStats: ...

@final
class ToolCall(_Record):
    """What a model asks a tool to do.

    Immutable as long as nobody changes its arguments; equal when name, context and the JSON of the
    arguments are, so that the order of an object's members does not count, and 1 is not 1.0.

    Parameters
    ----------
    name : str
        The tool's name.
    arguments : object
        What it is given: any value that `json.dumps` takes, usually a dict.
    context : str, optional
        Long text that goes with it.

    Raises
    ------
    EncodeError
        A value that JSON has not; `field` names it, as in "arguments.rows[3].total".

    Source: Compact Protocol v4 section 11.
    """

    __match_args__: Final = ("name", "arguments", "context")

    def __new__(cls, name: str, arguments: Any, context: str | None = None) -> ToolCall: ...
    @property
    def name(self) -> str:
        """The tool's name."""
    @property
    def arguments(self) -> Any:
        """What it is given."""
    @property
    def context(self) -> str | None:
        """Long text that goes with it."""
    @property
    def format(self) -> Format | None:
        """How a decoded call travelled; None for one that was not decoded."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def _restore_tool_call(fields: tuple[Any, ...], format: str | None) -> ToolCall: ...
def encode_tool_call(
    name: str,
    arguments: Any,
    context: str | None = None,
    *,
    format: _FormatName = "auto",
    protocol: Literal[4, 2] = 4,
    dictionary: Dictionary | None = None,
) -> str:
    """Write a call of a tool as one text.

    Parameters
    ----------
    name : str
        The tool's name.
    arguments : object
        What it is given: any value that `json.dumps` takes.
    context : str, optional
        Long text that goes with it.
    format : str
        "verbose", "binary", "base85", "zlib", "zstd" or "dictionary" (the DSL has no calls); "auto"
        goes by the size of the verbose text, which it takes below 50 bytes and where an integer of
        more than 64 bits fits nothing else; "smallest" takes the shortest text of all.
    protocol : {4, 2}
        Whether "zlib" writes gzip or zlib, and what "auto" chooses from.
    dictionary : Dictionary, optional
        As in `encode`.

    Returns
    -------
    str
        The call. All but "verbose" are ASCII.

    Raises
    ------
    EncodeError
        A value that JSON or the format has not; `field` names it, as in "arguments.rows[3].total".
    TypeError
        A value of a type that JSON has not.

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
    """Read a call of a tool in any format of either protocol.

    Parameters
    ----------
    wire, max_size, dictionary, dictionaries
        As in `decode`.

    Returns
    -------
    ToolCall
        Its `format` tells how it travelled.

    Raises
    ------
    DecodeError
        As `decode`; what JSON has not (binary, extensions, NaN) is `InvalidMsgpack`.

    Source: Compact Protocol v4 section 11.
    """
