"""The host names that requests may be addressed to, and the origins whose pages may read answers.

`--allowed-hosts` refuses a request whose `Host` names another server. `--allowed-origins` adds the headers that let a
browser show an answer to a page of another origin, to refusals too, and answers preflights (`OPTIONS`), which bring no
key. Cookies and other credentials of browsers are never allowed: the service has none.

Source: the Fetch standard, "CORS protocol".
"""

import re
from collections.abc import Mapping
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from service.errors import InputError
from service.http.answer_headers import HEADERS
from service.http.errors import refuse
from service.http.request import PROBES
from service.settings.settings import SettingsError

ANY = "*"
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@,]+")
HEADER_NAMES = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,2048}")

EXPOSE = (b"access-control-expose-headers", ", ".join(sorted(name.lower() for name in HEADERS)).encode())
"""Every header that the document names; a browser shows a page few others."""

MAX_AGE_S = b"7200"
"""For how long a browser may keep the answer to a preflight; Chromium's own limit."""

Headers = list[tuple[bytes, bytes]]


class AllowedHosts:
    """ASGI middleware, by names and addresses that are separated by commas."""

    def __init__(self, app: ASGIApp, hosts: str) -> None:
        self._app = app
        self._hosts = {host.strip().lower().encode() for host in hosts.split(",")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request for another host; probes ask by address, and always pass."""
        if scope["type"] != ScopeType.HTTP or scope["path"] in PROBES or _host(scope) in self._hosts:
            await self._app(scope, receive, send)
            return
        error = InputError("invalid_request", "Host: got a name that this server does not go by")
        await refuse(scope, send, error, {})


def _host(scope: Scope) -> bytes:
    """The name without its port, in lower case; brackets of an IPv6 address stay."""
    host = _header(scope, b"host").lower()
    name, _, port = host.rpartition(b":")
    return name if port.isdigit() else host


class AllowedOrigins:
    """ASGI middleware, by origins such as `https://app.example` with commas between them, or `*` for every page."""

    def __init__(self, app: ASGIApp, origins: str) -> None:
        self._app = app
        self._origins = frozenset(_checked(origin.strip()) for origin in origins.split(","))
        if ANY in self._origins and len(self._origins) > 1:
            raise SettingsError("--allowed-origins: `*` is every origin, and stands alone")

    def around(self, app: ASGIApp) -> "AllowedOrigins":
        """The same around another app."""
        return AllowedOrigins(app, ",".join(self._origins))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight, or pass the request on and add headers to its answer."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        allowing = self._allowing(_header(scope, b"origin"))
        if scope["method"] == "OPTIONS" and _header(scope, b"access-control-request-method") and len(allowing) > 1:
            await _answer_preflight(scope, send, allowing)
            return

        async def send_allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *allowing]
            await send(message)

        await self._app(scope, receive, send_allowed)

    def _allowing(self, origin: bytes) -> Headers:
        """Headers of every answer; for an origin that is not allowed, only `Vary`, for caches."""
        if ANY in self._origins:
            return [(b"access-control-allow-origin", b"*"), EXPOSE]
        vary = (b"vary", b"Origin")
        is_allowed = origin.decode("latin-1").lower() in self._origins
        return [(b"access-control-allow-origin", origin), EXPOSE, vary] if is_allowed else [vary]


async def _answer_preflight(scope: HTTPScope, send: Send, allowing: Headers) -> None:
    """Allow any header: a header's value, a key above all, is checked when the request comes."""
    wanted = _header(scope, b"access-control-request-headers")
    headers: Headers = [
        *(pair for pair in allowing if pair != EXPOSE),
        (b"access-control-allow-methods", b"GET, HEAD, POST"),
        (b"access-control-max-age", MAX_AGE_S),
        (b"vary", b"Access-Control-Request-Method, Access-Control-Request-Headers"),
    ]
    if wanted and HEADER_NAMES.fullmatch(wanted):
        headers.append((b"access-control-allow-headers", wanted))
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _checked(origin: str) -> str:
    if origin != ANY and not ORIGIN.fullmatch(origin.lower()):
        raise SettingsError(
            f"--allowed-origins: got {origin!r}, expected origins as browsers send them, separated by commas: a "
            "scheme, a host and perhaps a port, nothing after (`https://app.example,http://localhost:5173`), or `*`"
        )
    return origin.lower()


def _header(scope: Mapping[str, Any], name: bytes) -> bytes:
    """The first value of a header; empty where it is absent. Servers give names in lower case."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""
