"""Token counts from the tokenizer itself, not estimated from bytes.

A long text is counted in pieces. They are cut where the encodings of OpenAI always begin a new
token, before a separator that follows an ASCII letter or digit, so that the sum is the count of the
whole. In a text without such places, for example in Chinese, each cut may add a token to the count.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from .._texts import check_type, shown
from ..errors import EncodeError, OptionError
from .extra import need

Counter = Callable[[str], int]

# Loading an encoding takes up to 113 MiB.
_MEMORY = 128 << 20
# The tokenizer takes 200,000 tokens at once. A character is at most 4 bytes, a token at least one.
_PIECE = 50_000
# Encodings by the first words of a model's name, as OpenAI's tiktoken and Voyage have them.
_MODELS = {
    **dict.fromkeys(
        ("chatgpt-4o", "gpt-4.1", "gpt-4.5", "gpt-4o", "gpt-5", "o1", "o3", "o4-mini"), "o200k_base"
    ),
    **dict.fromkeys(("gpt-3.5-turbo", "gpt-4", "text-embedding-3"), "cl100k_base"),
    "voyage-3": "voyage3_base",
}
# Models whose tokenizers are not published.
_UNPUBLISHED = ("claude", "gemini")
_BOUNDARY = re.compile(r"(?s:.*)(?<=[0-9A-Za-z])(?=[\x00-&(-/:-@[-`{-~])")


def count_tokens(text: str, tokenizer: str | Counter = "o200k_base") -> int:
    """Count the tokens of a string.

    Parameters
    ----------
    text : str
        Any text. Special tokens in it are counted as ordinary text.
    tokenizer : str or callable
        A tokenizer of bpe-openai: "o200k_base" (the default), "cl100k_base", ...; or the name of
        a model that uses one, such as "gpt-4o" or "gpt-4-turbo"; or a function from `str` to `int`.

    Returns
    -------
    int
        The number of tokens.

    Raises
    ------
    TypeError
        The text is not a `str`, or the function does not return an int.
    CompactWireError
        No tokenizer and no known model has this name; the message lists the known ones.
    ImportError
        The extra ``analysis`` is not installed.
    MemoryError
        There is not enough memory to load the tokenizer.

    Examples
    --------
    >>> count_tokens("The answer is 42.")
    6
    """
    check_type("text", text, str)
    return counter(tokenizer)(text)


def counter(tokenizer: str | Counter) -> Counter:
    """Return the counting function: the caller's own, or that of an encoding."""
    if callable(tokenizer):
        return partial(_counted, tokenizer)
    if not isinstance(tokenizer, str):
        found = type(tokenizer).__name__
        raise TypeError(f"tokenizer must be a str or a function from str to int, not {found}")
    _encoder(tokenizer)
    return partial(_count, tokenizer)


def _count(encoding: str, text: str) -> int:
    encoder = _encoder(encoding)
    return sum(len(encoder.encode_ordinary(piece)) for piece in _pieces(text))


def _counted(tokenizer: Counter, text: str) -> int:
    """The result of a caller's own function, with the errors that `shrink` raises for it."""
    tokens = tokenizer(text)
    if not isinstance(tokens, int) or isinstance(tokens, bool):
        raise TypeError(f"tokenizer must return an int, not {type(tokens).__name__}")
    # The number itself: a subclass can have other methods, which `shrink` does not call either.
    count = int.__index__(tokens)
    if not 0 <= count < 2**63:
        message = f"tokenizer: it must return an int from 0 to 2^63 - 1, not {shown(count)}"
        raise EncodeError(message, field="tokenizer")
    return count


def name_of(tokenizer: str | Counter) -> str:
    """Return the name of the tokenizer."""
    if isinstance(tokenizer, str):
        return tokenizer
    return str(getattr(tokenizer, "__name__", type(tokenizer).__name__))


@cache
def _encoder(encoding: str) -> Any:
    library = need("bpe_openai", "bpe-openai", extra="tokens", user="counting tokens")
    known = library.list_encoding_names()
    name = encoding if encoding in known else _of_model(encoding)
    if name not in known:
        raise OptionError(_unknown(encoding, known), option="tokenizer")
    # The library ends the process if there is not enough memory: ask for it first.
    bytes(_MEMORY)  # Not written to, so that only its address space is taken.
    try:
        return library.get_encoding(name)
    except RuntimeError as error:  # Some encodings also need tiktoken.
        message = f"bpe-openai cannot load {encoding!r}: {error}"
        raise OptionError(message, option="tokenizer") from error


def _of_model(model: str) -> str | None:
    """Return the encoding of a model; a dated or smaller one has a suffix: "gpt-4o-mini"."""
    fitting = [name for name in _MODELS if model == name or model.startswith(name + "-")]
    return _MODELS[max(fitting, key=len)] if fitting else None


def _unknown(encoding: str, known: list[str]) -> str:
    names = ", ".join(known)
    if encoding.startswith(_UNPUBLISHED):
        return (
            f"the tokenizer of {reprlib.repr(encoding)} is not published: pass a function from str"
            f" to int, or for an estimate one of {names}"
        )
    models = ", ".join(sorted(_MODELS))
    return (
        f"unknown tokenizer {reprlib.repr(encoding)}; expected one of {names}, or a model: {models}"
    )


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PIECE:
        boundary = _BOUNDARY.match(text, start + 1, start + _PIECE)
        end = boundary.end() if boundary else start + _PIECE
        yield text[start:end]
        start = end
    yield text[start:]
