"""Text for messages, and the errors for text that is not valid Unicode, as in the core."""

from __future__ import annotations

from .errors import UnsupportedValue


def check_texts(**fields: object) -> None:
    """Raise `UnsupportedValue` for a lone surrogate, which no format can write."""
    for name, text in fields.items():
        try:
            if isinstance(text, str):
                text.encode()
        except UnicodeEncodeError as error:
            raise UnsupportedValue(
                f"{name}: {surrogate(error)}",
                code="invalid_surrogate",
                path=name,
                field=name,
                line=None,
                column=None,
            ) from None


def surrogate(error: UnicodeEncodeError) -> str:
    """A description of the lone surrogate, with its position."""
    return f"lone surrogate at position {error.start} cannot be encoded as UTF-8"


def one_line(text: str) -> str:
    """Escape line breaks and terminal control characters, which quoted input may contain."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def short_line(text: str, limit: int = 128) -> str:
    """`one_line` of at most `limit` characters of the text, with an ellipsis if it was longer."""
    return one_line(text[:limit]) + ("…" if len(text) > limit else "")
