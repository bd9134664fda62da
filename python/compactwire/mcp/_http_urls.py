"""The URL of a server, and the proxy on the way to it."""

from __future__ import annotations

import ipaddress
import re
from base64 import b64encode
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from .._texts import short_line

__all__ = [
    "address",
    "checked",
    "is_loopback",
    "named_proxy",
    "origin",
    "proxy_for",
    "proxy_headers",
    "target_of",
]

_PORTS = {"http": 80, "https": 443}


def checked(url: str) -> SplitResult:
    """The parts of a URL, all in ASCII; `ValueError` if it is not valid."""
    try:
        place = urlsplit(url)
        port = place.port
    except ValueError:
        raise ValueError("the URL of the server is malformed") from None
    if place.scheme not in _PORTS or not place.hostname or port == 0:
        raise ValueError("the URL of the server must begin with http:// or https:// and a host")
    if not _is_host(place.hostname):
        raise ValueError(f"the URL of the server names no valid host: {short_line(place.hostname)}")
    if place.username is not None or place.password is not None:
        raise ValueError("the URL names a user: credentials belong in --header")
    safe = "!$%&'()*+,/:;=@-._~?"
    if not place.hostname.isascii():
        named = place.hostname.encode("idna").decode()
        place = place._replace(netloc=named if port is None else f"{named}:{port}")
    path, query = quote(place.path, safe=safe), quote(place.query, safe=safe)
    return place._replace(path=path or "/", query=query, fragment="")


def address(place: SplitResult) -> tuple[str, int]:
    """The host and the port."""
    return place.hostname or "", place.port or _PORTS.get(place.scheme, 80)


def origin(place: SplitResult) -> str:
    """Scheme, host, and the port if it is not the usual one."""
    host, port = address(place)
    shown = f"[{host}]" if ":" in host else host
    usual = port == _PORTS.get(place.scheme)
    return f"{place.scheme}://{shown}{'' if usual else f':{port}'}"


def _is_host(name: str) -> bool:
    """Whether a name can be looked up: no spaces, and labels of 1 to 63 characters."""
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return bool(name) and not re.search(r"[\x00-\x20\x7f]", name)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def target_of(place: SplitResult, proxy: SplitResult | None) -> str:
    """The target in the first line of a request."""
    target = place.path + (f"?{place.query}" if place.query else "")
    return origin(place) + target if proxy is not None and place.scheme == "http" else target


def proxy_for(place: SplitResult) -> SplitResult | None:
    """The proxy that the environment names for this host."""
    host = place.hostname or ""
    url = None if is_loopback(host) else getproxies().get(place.scheme)
    if not url or proxy_bypass(host):
        return None
    try:
        proxy = urlsplit(url if "://" in url else f"http://{url}")
        valid = proxy.scheme == "http" and _is_host(proxy.hostname or "") and proxy.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise OSError(f"{named_proxy(place, None)} has no valid http:// URL")
    return proxy


def named_proxy(place: SplitResult, proxy: SplitResult | None) -> str:
    """The proxy and where it comes from; its URL may hold a password."""
    at = "" if proxy is None else f"{short_line(origin(proxy))} "
    return f"the proxy {at}of {place.scheme.upper()}_PROXY or the system's settings"


def proxy_headers(proxy: SplitResult | None) -> dict[str, str]:
    """The user and password for a proxy, if its URL names them."""
    if proxy is None or proxy.username is None:
        return {}
    user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(user.encode()).decode()}"}
