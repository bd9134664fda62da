"""HTTP between agents: a body that repeats an earlier one is sent as its difference.

`compact_transport` wraps a transport of httpx or httpx2, `CompactASGI` an ASGI application. Each
body arrives byte for byte; a peer without this package gets plain HTTP. See `docs/http.md`.

    from compactwire.http import CompactASGI, compact_transport

    app = CompactASGI(app)
    client = httpx.AsyncClient(transport=compact_transport(httpx.AsyncHTTPTransport()))

This saves bytes between programs, not tokens: a model sees the same text as before.

Source: an extension of this package.
"""

from ._asgi import CompactASGI
from ._transport import compact_transport

__all__ = ["CompactASGI", "compact_transport"]
