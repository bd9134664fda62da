"""Tool results in chat messages: finds their texts and passes them to `shrink`."""

from __future__ import annotations

from collections.abc import Mapping

from ._core import Shrunk, shrink
from ._texts import iterated
from .errors import UnsupportedValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal

# The members that hold a tool result, each with the type of its content parts that are text.
_TEXT_PARTS = {"content": "text", "output": "input_text"}

# A message has parts, and one that is a tool result has parts of its own.
_LEVELS = 2


def shrink_messages(
    messages: Iterable[Any],
    /,
    *,
    formats: Iterable[Literal["json", "gcf"]] = ("json", "gcf"),
    tokenizer: str | Callable[[str], int] = "estimate",
    extensions: bool = True,
    min_saving: float = 0.1,
    min_tokens: int = 16,
    max_size: int = 4_194_304,
    max_depth: int = 128,
) -> list[Any]:
    r"""Shrink the tool results of a chat, and leave everything else as it is.

    The result for a message depends on this message and the options alone. The beginning of a chat
    therefore stays the same when the chat grows, as prompt caches need. Messages that were shrunk
    before are returned as they are; a `Shrunk` in place of a text becomes its text.

    Parameters
    ----------
    messages : iterable of dict
        Messages of OpenAI (Chat Completions), items of OpenAI (Responses), or messages of
        Anthropic. They are not modified. Objects that are not dicts are returned as they are.
    formats, tokenizer, extensions, min_saving, min_tokens, max_size, max_depth
        As in `shrink`, which is called for each text of a tool result.

    Returns
    -------
    list
        The messages in their order. A message in which a text was shrunk is a new dict with the
        same other members; every other message is the object that was passed.

    Raises
    ------
    TypeError
        `messages` is a str, bytes, a single dict or a table, or not iterable; or an option has
        another type.
    OptionError
        An option has a value that is not allowed, also if no message has a tool result.
    UnsupportedValue
        A `Shrunk` is an element of a list of parts, where it must be the text of a part.

    Examples
    --------
    >>> import compactwire as cw
    >>> rows = [{"id": i, "state": "open", "kind": "task"} for i in range(20)]
    >>> chat = [{"role": "tool", "tool_call_id": "c1", "content": str(rows).replace("'", '"')}]
    >>> cw.shrink_messages(chat)[0]["content"][:60]
    'GCF profile=generic\n## [20]{id,state=open,kind=task}\n0\n1\n2\n3'

    Source: an extension of this package.
    """
    # The items of a dict, a table or a model would be its names, columns or fields.
    kind = type(messages)
    is_table = hasattr(kind, "columns") or hasattr(kind, "model_fields")
    is_other = is_table or isinstance(messages, str | bytes | bytearray | Mapping)
    if is_other or not hasattr(messages, "__iter__"):
        raise TypeError(f"messages must be a list of dicts, not {type(messages).__name__}")
    # A copy, because an iterator would be empty after the first text. `shrink` rejects a str.
    is_text = isinstance(formats, str)
    names: Iterable[Any] = formats if is_text else tuple(iterated("formats", formats, "str"))

    def shorten(text: str) -> str:
        return shrink(
            text,
            formats=names,
            tokenizer=tokenizer,
            extensions=extensions,
            min_saving=min_saving,
            min_tokens=min_tokens,
            max_size=max_size,
            max_depth=max_depth,
        ).text

    # Otherwise an invalid option would be noticed only when a chat has its first tool result.
    shorten("")
    return [_message(message, f"messages[{at}]", shorten) for at, message in enumerate(messages)]


def _message(message: Any, path: str, shorten: Callable[[str], str]) -> Any:
    return _with_texts(_shortened(message, shorten), path) if isinstance(message, dict) else message


def _shortened(message: dict[Any, Any], shorten: Callable[[str], str]) -> dict[Any, Any]:
    role, kind = message.get("role"), message.get("type")
    if role in ("tool", "function"):
        return _result(message, "content", shorten)
    if role == "user":
        return _with(message, "content", each_part(message.get("content"), "tool_result", shorten))
    if kind in ("function_call_output", "custom_tool_call_output"):
        if called_by_program(message):
            return message
        return _result(message, "output", shorten)
    return message


def _with_texts(item: dict[Any, Any], path: str, levels: int = _LEVELS) -> dict[Any, Any]:
    """A message or part with the text of each `Shrunk`, which no client of a model can send."""
    for name in ("content", "output", "text"):
        value = item.get(name)
        if isinstance(value, Shrunk):
            item = _with(item, name, value.text)
        elif isinstance(value, list) and levels > 0:
            kind = _TEXT_PARTS.get(name, "text")
            done = [
                _with_text(part, f"{path}.{name}[{at}]", kind, levels)
                for at, part in enumerate(value)
            ]
            item = _with(item, name, _unless_same(done, value))
    return item


def _with_text(part: Any, path: str, kind: str, levels: int) -> Any:
    if isinstance(part, Shrunk):
        # The type of the part depends on the API, which the message need not tell.
        message = (
            f'{path}: a Shrunk is not a part; put it into one: {{"type": "{kind}", "text": ...}}'
        )
        raise UnsupportedValue(
            message, code="unsupported_type", path=path, field=path, line=None, column=None
        )
    return _with_texts(part, path, levels - 1) if isinstance(part, dict) else part


def _result(result: dict[Any, Any], member: str, shorten: Callable[[str], str]) -> dict[Any, Any]:
    """A tool result, whose member is a text or a list of parts."""
    content = result.get(member)
    if isinstance(content, Shrunk):
        return _with(result, member, content.text)
    # Errors stay as they are: they are short, and a program may search their text.
    if result.get("is_error"):
        return result
    if isinstance(content, str):
        return _with(result, member, shorten(content))
    return _with(result, member, each_part(content, _TEXT_PARTS[member], shorten))


def each_part(parts: Any, kind: str, shorten: Callable[[str], str]) -> Any:
    """The parts of a message; those of this type with their texts shortened."""
    if not isinstance(parts, list):
        return parts
    return _unless_same([_part(part, kind, shorten) for part in parts], parts)


def _unless_same(new: list[Any], old: list[Any]) -> list[Any]:
    """The new list; the old one if its elements are the same objects."""
    return old if all(one is other for one, other in zip(new, old, strict=True)) else new


def size_of(content: object) -> int:
    """The characters of a text, or of those in the parts of a message."""
    if isinstance(content, str):
        return len(content)
    texts = map(_text_of, content) if isinstance(content, list) else ()
    return sum(len(text) for text in texts if isinstance(text, str))


def _text_of(part: Any) -> object:
    return part.get("text") if isinstance(part, dict) else None


def _part(part: Any, kind: str, shorten: Callable[[str], str]) -> Any:
    if not isinstance(part, dict) or part.get("type") != kind:
        return part
    if kind == "tool_result":
        return _result(part, "content", shorten)
    text = part.get("text")
    if isinstance(text, Shrunk):
        return _with(part, "text", text.text)
    return _with(part, "text", shorten(text)) if isinstance(text, str) else part


def member(item: object, name: str) -> Any:
    """A member of an item, which is a dict or an object of an SDK; None if it has none."""
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def called_by_program(call: object) -> bool:
    """Whether a program that the model wrote made this call: it reads the result, no model does."""
    return member(member(call, "caller"), "type") not in (None, "direct")


def _with(old: dict[Any, Any], member: str, value: Any) -> dict[Any, Any]:
    """The dict itself if its member is this very object, or else a copy with the new value."""
    return old if value is old.get(member) else {**old, member: value}
