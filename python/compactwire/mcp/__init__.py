"""MCP: the results of tools are shrunk between a server and the model.

`compactwire mcp proxy -- COMMAND` runs an MCP server and relays between it and its host, see
`docs/mcp.md`. `CompactMiddleware` does the same inside a FastMCP server.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._middleware import CompactMiddleware as CompactMiddleware

__all__ = ["CompactMiddleware"]


def __getattr__(name: str) -> object:
    # The relay needs no FastMCP.
    if name == "CompactMiddleware":
        from ._middleware import CompactMiddleware

        return CompactMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
