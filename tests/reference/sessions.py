"""Sessions: v2 part 2 "Request Encoding", v4 section 11, and `docs/sessions.md` for our extensions.

    TOOL|def|{"name":"search"}              a tool, remembered as t_6fe51985
    SYS|full|You are helpful.               a prompt, remembered as s_…
    TOOL|ref|t_6fe51985                     the peer has this one; SYS|ref| likewise
    REQ|1|t_6fe51985,t_…|s_…|{"q":1}|D|=|c_…|D|+|text

The request is the last frame. It holds the ids of tools, the id of a prompt, the arguments as JSON
and the deltas of the context. Before the deltas there may be a check of the content: `c_` and the
first 8 digits of the SHA-256 of the SHA-256 of each tool, of the prompt and of the context, and, if
the deltas replace a whole context, of the first four bytes of the SHA-256 of that one. A request
without tools, prompt and context has no check. A request that replaces a context of which its
sender knows nothing is refused. Ids are the first hexadecimal digits of the content's
SHA-256, eight of them unless another content has that id; then 16, 24, and so on.

A definition gets the id that its request uses: the longest of the request's ids (of 8 digits or
more) that is a prefix of its own hash. If the request does not name it, it keeps its id, or gets
the shortest free one. Another content with that id is forgotten.

Tools and prompts are ordered by their last use: a definition, a reference, or a request that names
them (tools from left to right). In a full table a new definition replaces the least recently used
one.

    >>> ours, theirs = Session(), Session()
    >>> frames = ours.encode_request(tool={"name": "search"}, args=[1], context="User: Hi")
    >>> frames
    ['TOOL|def|{"name":"search"}', 'REQ|1|t_6fe51985||[1]|D|=|c_a8963d04|D|F|User: Hi']
    >>> theirs.decode_request(frames).context
    'User: Hi'
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, field
from typing import Any

import msgpack  # type: ignore[import-untyped]
import zstandard

from .base85 import decode_base85, encode_base85
from .compression import compress_zlib, compress_zstd, decompress_zstd, zstd_header
from .deltas import change, encode_plain_delta, read_delta
from .dsl import number_from
from .errors import (
    DecompressionFailed,
    EncodeError,
    InvalidFormat,
    OutputTooLarge,
    UnknownReference,
)
from .json_strict import read_json, read_whole_json, write_json
from .msgpack_layouts import read_texts
from .values import DEFAULT_MAX_SIZE, WHITESPACE, check_text, require_unicode

MAX_TOOLS, MAX_PROMPTS = 256, 64
DIGITS = 64
# A packed text is compressed against the end of the packed requests before it; if it edits the
# context, also against the end of that. Sizes in bytes.
RECENT, CONTEXT = 2**16, 2**20
KINDS = (b"\1", b"\2")
# These bytes of a frame are not sent: a magic number, and a header that states a window of 4 MiB
# and no content size.
START = b"\x28\xb5\x2f\xfd\0\x60"


@dataclass(frozen=True)
class Request:
    """`tools` and `args` as JSON, in their original spelling."""

    tools: tuple[str, ...]
    system: str | None
    args: str
    context: str | None


def full_id(letter: str, content: str) -> str:
    return f"{letter}_{hashlib.sha256(content.encode()).hexdigest()}"


def meaning(*texts: str | None, base: bytes = b"") -> str | None:
    """The check of a request: its tools, prompt and context, and the id of the context that it
    replaces; None if it has none of the first three."""
    hashes = [hashlib.sha256(text.encode()).digest() for text in texts if text is not None]
    return "c_" + hashlib.sha256(b"".join([*hashes, base])).hexdigest()[:8] if hashes else None


def base_of(context: str) -> bytes:
    """The id of a context, empty for none."""
    return hashlib.sha256(context.encode()).digest()[:4] if context else b""


@dataclass
class Table:
    """The definitions of one kind that the receiver of one direction has."""

    letter: str
    limit: int
    entries: list[tuple[str, str]] = field(default_factory=list)
    """Ids and contents, the least recently used first."""

    def content_of(self, id: str) -> str | None:
        return dict(self.entries).get(id)

    def id_of(self, content: str) -> str | None:
        return {content: id for id, content in self.entries}.get(content)

    def size(self) -> int:
        return sum(len(content.encode()) for _, content in self.entries)

    def use(self, id: str) -> bool:
        """Mark an id as the last used; whether it is known."""
        used = [entry for entry in self.entries if entry[0] == id]
        self.entries = [entry for entry in self.entries if entry[0] != id] + used
        return bool(used)

    def define(self, content: str, named: list[str]) -> str:
        id = self._name(content, named)
        if self.id_of(content) is not None:
            self.entries = [entry for entry in self.entries if entry[1] != content]
        elif len(self.entries) == self.limit:
            del self.entries[0]
        self.entries = [entry for entry in self.entries if entry[0] != id]
        self.entries.append((id, content))
        return id

    def _name(self, content: str, named: list[str]) -> str:
        full = full_id(self.letter, content)
        own = [id for id in named if len(id) >= 10 and full.startswith(id)]
        if own:
            return max(own, key=len)
        known = self.id_of(content)
        if known is not None:
            return known
        lengths = range(10, 2 + DIGITS + 1, 8)
        return next(full[:n] for n in lengths if self.content_of(full[:n]) is None)


@dataclass
class Direction:
    """The memory of the receiver of one direction."""

    tools: Table = field(default_factory=lambda: Table("t", MAX_TOOLS))
    prompts: Table = field(default_factory=lambda: Table("s", MAX_PROMPTS))
    context: str = ""
    recent: bytes = b""
    """The end of the packed requests."""
    digest: bytes = bytes(32)
    """The hash of the previous digest and the last packed request."""
    reported: bytes = b""
    """The id of the context that the receiver reported as its own."""

    def history(self, kind: bytes) -> bytes:
        """The history for a packed request."""
        return (self.context.encode()[-CONTEXT:] if kind == b"\2" else b"") + self.recent

    def history_id(self) -> bytes:
        context = hashlib.sha256(self.context.encode()).digest()
        return hashlib.sha256(self.digest + context).digest()[:3]

    def add_packed(self, message: bytes, continues: bool) -> None:
        """Add a packed request to the history, or begin one with it."""
        if not continues:
            self.recent, self.digest = b"", bytes(32)
        self.recent = (self.recent + message)[-RECENT:]
        self.digest = hashlib.sha256(self.digest + message).digest()


class Session:
    def __init__(self, *, max_size: int = DEFAULT_MAX_SIZE, checked: bool = True) -> None:
        self.max_size = max_size
        self.checked = checked
        self.sent = Direction()
        self.received = Direction()

    def forget(self, *ids: str) -> None:
        for id in ids:
            for table in (self.sent.tools, self.sent.prompts):
                table.entries = [entry for entry in table.entries if entry[0] != id]
            if id.startswith("c_"):
                self.sent.context, self.sent.reported = "", b""
                self.sent.recent, self.sent.digest = b"", bytes(32)
            if id.startswith("b_"):
                self.sent.reported = bytes.fromhex(id[2:])

    def reset(self) -> None:
        self.sent = Direction()
        self.received = Direction()

    # Writing

    def encode_request(
        self,
        *,
        tool: Any = None,
        system: str | None = None,
        args: Any = None,
        context: str | None = None,
        pack: bool = False,
        references: bool = False,
    ) -> Any:
        """The frames, or one packed text; an error leaves the session unchanged."""
        after = copy.deepcopy(self.sent)
        listed = [] if tool is None else [tool] if isinstance(tool, dict) else list(tool)
        tools = [write_json(one) for one in listed]
        prompts = [] if system is None else [system]
        for text in (*prompts, *([] if context is None else [context])):
            check_text(text, "a text of the request")

        frames = name_all(after.tools, tools, "TOOL|def|", "TOOL|ref|", references)
        frames += name_all(after.prompts, prompts, "SYS|full|", "SYS|ref|", references)
        tool_ids = ",".join(str(after.tools.id_of(content)) for content in tools)
        system_id = "" if system is None else str(after.prompts.id_of(system))
        request = f"REQ|1|{tool_ids}|{system_id}|{write_json(args)}"
        delta, is_whole = ("", False) if context is None else delta_for(after.context, context)
        base = (base_of(after.context) or after.reported) if is_whole else b""
        check = meaning(*tools, system, context, base=base)
        continues = pack and self.checked and bool(after.recent)
        if self.checked and check is not None and not continues:
            request += f"|D|=|{check}"
        if context is not None:
            request += "|" + delta
            after.context, after.reported = context, b""
        self._check_size(after, EncodeError("larger than max_size"))
        frames = [*frames, request]
        if not pack:
            self.sent = after
            return frames
        message = (
            b"\xff".join(one.encode() for one in frames) if continues else msgpack.packb(frames)
        )
        if len(message) > self.max_size:
            raise EncodeError("packed, it is larger than max_size, which the peer would not unpack")
        data = compress_zstd(message)
        if continues:
            kind = (
                b"\2"
                if context is not None and not context.startswith(self.sent.context)
                else b"\1"
            )
            number = bytes.fromhex(check[2:]) if check else bytes(4)
            data = (
                kind
                + self.sent.history_id()
                + number
                + compress_after(message, self.sent.history(kind))
            )
        after.add_packed(message, continues)
        self.sent = after
        return "S" + encode_base85(data)

    # Reading

    def decode_request(self, frames: list[str] | str, *, resync: bool = False) -> Request:
        """Decode all frames; an error leaves the session unchanged."""
        try:
            if isinstance(frames, str) and is_packed(frames):
                return self._decode_packed(frames, resync)
            return self._decode([frames] if isinstance(frames, str) else frames, resync)
        except UnknownReference as error:
            if self.received.context:
                error.ids = (*error.ids, "b_" + base_of(self.received.context).hex())
            raise

    def _decode(self, frames: list[str], resync: bool, unseen: str | None = None) -> Request:
        if not frames:
            raise InvalidFormat("there are no frames")
        for frame in frames:
            require_unicode(frame)
        tool_ids, system_id, args, check, edits = read_request(frames[-1], self.max_size)
        if tool_ids or system_id or edits:
            check = unseen or check

        after = copy.deepcopy(self.received)
        unknown: list[str] = []
        defined: list[str] = []
        for frame in frames[:-1]:
            kind, how, content = split_frame(frame)
            table = after.tools if kind == "TOOL" else after.prompts
            if how == "ref":
                if not table.use(content) and content not in unknown:
                    unknown.append(content)
                continue
            defined.append(table.define(content, tool_ids if kind == "TOOL" else system_id))
            if table.size() > self.max_size:
                raise OutputTooLarge(self.max_size)

        for table, ids in ((after.tools, tool_ids), (after.prompts, system_id)):
            for id in ids:
                if not table.use(id) and id not in unknown:
                    unknown.append(id)
        context = self._context(after, edits, check, unknown)
        if check is not None and not unknown:
            tools = [after.tools.content_of(id) for id in tool_ids]
            prompts = [after.prompts.content_of(id) for id in system_id]
            base = base_of(self.received.context) if replaces(edits) else b""
            if meaning(*tools, *prompts, context, base=base) != check:
                # This is the check of a sender that knows of no context to replace.
                starts_over = meaning(*tools, *prompts, context) == check
                same = starts_over and context == self.received.context
                if not same and not (starts_over and resync):
                    unknown.append(check)
                if not starts_over:
                    defined += tool_ids + system_id
        if unknown:
            undone = defined + ([check or "c_00000000"] if edits else [])
            undone = [id for id in undone if id not in unknown]
            raise UnknownReference(unknown, list(dict.fromkeys(undone)))
        self.received = after
        return Request(
            tuple(str(after.tools.content_of(id)) for id in tool_ids),
            after.prompts.content_of(system_id[0]) if system_id else None,
            args,
            context,
        )

    def _decode_packed(self, text: str, resync: bool) -> Request:
        """Like `_decode`; an error that names no check also names the receiver's history."""
        message, check = unpack(text, self.max_size, self.received)
        frames = frames_of(message, check)
        try:
            request = self._decode(frames, resync, check)
        except UnknownReference as error:
            if not any(id.startswith("c_") for id in error.ids):
                error.ids = (*error.ids, history_name(self.received.history_id()))
            raise
        self.received.add_packed(message, check is not None)
        return request

    def _context(
        self,
        after: Direction,
        edits: list[tuple[str, str]],
        check: str | None,
        unknown: list[str],
    ) -> str | None:
        """The new context; None if the request has none, or it is unknown."""
        if not edits:
            return None
        context = after.context
        try:
            for op, data in edits:
                context = change(context, op, data)
        except InvalidFormat:
            if check is None:
                raise
            # A position beyond the end: these deltas are for another context.
            if check not in unknown:
                unknown.append(check)
            return None
        if len(context.encode()) > self.max_size:
            raise OutputTooLarge(self.max_size)
        after.context = context
        return context

    def _check_size(self, direction: Direction, error: Exception) -> None:
        sizes = direction.tools.size(), direction.prompts.size(), len(direction.context.encode())
        if max(sizes) > self.max_size:
            raise error


def name_all(
    table: Table, contents: list[str], definition: str, reference: str, references: bool
) -> list[str]:
    """The frames that make all contents known to the peer, each by its id, with as few definitions
    as possible."""
    if len(contents) > table.limit:
        raise EncodeError(f"more than {table.limit} at once")
    start = table.entries
    lacking = {content for content in contents if table.id_of(content) is None}
    firsts = {contents.index(content) for content in lacking}
    while True:
        table.entries, frames = list(start), []
        for place, content in enumerate(contents):
            if place in firsts:
                table.define(content, [])
                frames.append(definition + content)
            elif references and table.id_of(content) is not None:
                table.use(str(table.id_of(content)))
                frames.append(reference + str(table.id_of(content)))
        # A definition may have replaced another one that is needed: that one is defined, too.
        gone = {place for place, content in enumerate(contents) if table.id_of(content) is None}
        if not gone:
            break
        firsts |= gone
    for content in contents:
        table.use(str(table.id_of(content)))
    return frames


def delta_for(old: str, new: str) -> tuple[str, bool]:
    """The delta of the context: F without an old one, + for an addition, else the shortest; and
    whether it replaces all. It is compressed if the text contains the separator of requests."""
    if old == "":
        return undivided("D|F|" + new), True
    if new.startswith(old):
        return undivided("D|+|" + new[len(old) :]), False
    shortest = min(encode_plain_delta(old, new), key=lambda delta: len(delta.encode()))
    return undivided(shortest), shortest.startswith("D|F|")


def replaces(edits: list[tuple[str, str]]) -> bool:
    return any(op == "F" for op, _ in edits)


def undivided(delta: str) -> str:
    return packed_delta(delta) if "|D|" in delta else delta


def packed_delta(delta: str) -> str:
    return "D|Z|" + encode_base85(compress_zlib(delta.encode()))


def is_packed(text: str) -> bool:
    text = text.lstrip(WHITESPACE)
    return text.startswith("S") and not text.startswith("SYS|")


def compress_after(message: bytes, history: bytes) -> bytes:
    """A zstd frame against a history, without its first bytes."""
    raw = zstandard.ZstdCompressionDict(history, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    data = zstandard.ZstdCompressor(dict_data=raw, write_content_size=False).compress(message)
    assert data.startswith(START[:-1])
    return data[len(START) :]


def unpack(text: str, max_size: int, against: Direction) -> tuple[bytes, str | None]:
    """The content of a packed request, and the check that its frames lack.

    The Base85 text after `S` is a zstd frame; or 1 or 2 for the history that it is compressed
    against, three bytes of a hash of that, the number of the check, and the frame.
    """
    require_unicode(text)
    data = decode_base85(text.strip(WHITESPACE)[1:])
    kind = data[:1]
    if kind not in KINDS:
        dictionary, _ = zstd_header(data)
        if dictionary:
            raise InvalidFormat("a message that was written with a dictionary")
        return decompress_zstd(data, max_size), None
    if len(data) < 8:
        raise DecompressionFailed("the text ends before its zstd frame")
    if not against.recent or data[1:4] != against.history_id():
        raise UnknownReference([history_name(data[1:4])], [])
    history = against.history(kind)
    return decompress_zstd(START + data[8:], max_size, history), "c_" + data[4:8].hex()


def frames_of(message: bytes, check: str | None) -> list[str]:
    """The frames in the content of a packed request."""
    if check is None:
        if message[:1] in (b"\xde", b"\xdf") or b"\x80" <= message[:1] < b"\x90":
            raise InvalidFormat("a map is a message")
        return read_texts(message)
    try:
        return [frame.decode() for frame in message.split(b"\xff")]
    except UnicodeDecodeError:
        raise DecompressionFailed("a frame is not UTF-8") from None


def history_name(id: bytes) -> str:
    return "c_" + id.hex()


def split_frame(frame: str) -> tuple[str, str, str]:
    """A frame before a request: kind, `def` or `ref`, content or id."""
    for kind, how, start in (
        ("TOOL", "def", "TOOL|def|"),
        ("TOOL", "ref", "TOOL|ref|"),
        ("SYS", "def", "SYS|full|"),
        ("SYS", "ref", "SYS|ref|"),
    ):
        if frame.startswith(start):
            content = frame[len(start) :]
            if how == "ref":
                check_id(content)
            elif kind == "TOOL" and not isinstance(read_whole_json(content), dict):
                raise InvalidFormat("a tool is a JSON object")
            return kind, how, content
    raise InvalidFormat("neither a tool nor a prompt")


def check_id(id: str) -> str:
    if not id or len(id.encode()) > 2 + DIGITS or "|" in id:
        raise InvalidFormat("not an id")
    return id


def read_request(
    frame: str, max_size: int
) -> tuple[list[str], list[str], str, str | None, list[tuple[str, str]]]:
    """Ids of tools, of the prompt (one or none), arguments, id of the context, edits."""
    parts = frame.split("|", 4)
    if len(parts) < 5 or parts[0] != "REQ" or parts[1] != "1":
        raise InvalidFormat("not a request")
    tools = [check_id(id) for id in parts[2].split(",")] if parts[2] else []
    if len(tools) > MAX_TOOLS:
        raise InvalidFormat("too many tools")
    system = [check_id(parts[3])] if parts[3] else []
    _, end = read_json(parts[4])
    args, rest = parts[4][:end], parts[4][end:]
    if rest and not rest.startswith("|"):
        raise InvalidFormat("unexpected characters after the arguments")
    check = None
    if rest.startswith("|D|=|"):
        check, bar, rest_of_deltas = rest[5:].partition("|")
        digits = check[2:]
        if not check.startswith("c_") or len(digits) != 8 or digits.strip("0123456789abcdefABCDEF"):
            raise InvalidFormat("not the id of a context")
        rest = bar + rest_of_deltas
    return tools, system, args, check, read_edits(rest[1:], max_size)


def read_edits(text: str, max_size: int) -> list[tuple[str, str]]:
    """The unpacked deltas. Their total size is bounded, not counting `D|R|`, a position of 20
    digits and `|`."""
    edits = []
    left = max_size + 25
    parts = text.split("|D|") if text else []
    for place, part in enumerate(parts):
        try:
            op, data = read_delta(part if place == 0 else "D|" + part, left)
        except OutputTooLarge:
            raise OutputTooLarge(max_size) from None
        written = data
        if op == "R":
            digits, bar, written = data.partition("|")
            if not bar or number_from(digits, 2**64 - 1) is None:
                raise InvalidFormat("a replacing delta needs a position and a text")
        left = max(0, left - len(written.encode()))
        edits.append((op, data))
    return edits
