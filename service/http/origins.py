"""Which pages of other origins a browser lets read our answers, where `--allowed-origins` names them.

In: the `Origin` of a request. Out: the headers that a browser wants to see, on refusals too, else it hides them from
the page. A browser's question before a request (`OPTIONS`) is answered here, since it brings no key. Cookies and their
like are never allowed: the service has none.

Source: the Fetch standard, "CORS protocol".
"""

import re
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from service.openapi.document import HEADERS
from service.settings import SettingsError

ANY = "*"
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@,]+")
HEADER_NAMES = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,2048}")

EXPOSED = ", ".join(sorted(name.lower() for name in HEADERS)).encode()
"""Every header that the document names; a browser shows a page few others."""

MAX_AGE_S = b"7200"
"""How long a browser need not ask again; Chromium's own limit."""

Headers = list[tuple[bytes, bytes]]


class AllowedOrigins:
    """An ASGI app around another.

    Args:
        app: the app.
        origins: such as `https://app.example`, separated by commas; or `*` for every page that there is.

    Raises:
        SettingsError: one of them is no origin as browsers send it.
    """

    def __init__(self, app: ASGIApp, origins: str) -> None:
        self._app = app
        self._origins = frozenset(_checked(origin.strip()) for origin in origins.split(","))
        if ANY in self._origins and len(self._origins) > 1:
            raise SettingsError("--allowed-origins: `*` is every origin, and stands alone")

    def around(self, app: ASGIApp) -> "AllowedOrigins":
        """The same around another app."""
        return AllowedOrigins(app, ",".join(self._origins))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a browser's question, or pass on and add what it wants to see."""
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
        """What goes with every answer; for another origin only that it might have been otherwise, for caches."""
        exposed = (b"access-control-expose-headers", EXPOSED)
        if ANY in self._origins:
            return [(b"access-control-allow-origin", b"*"), exposed]
        vary = (b"vary", b"Origin")
        is_ours = origin.decode("latin-1").lower() in self._origins
        return [(b"access-control-allow-origin", origin), exposed, vary] if is_ours else [vary]


async def _answer_preflight(scope: HTTPScope, send: Send, allowing: Headers) -> None:
    """Any header may be sent: what a header is worth, a key above all, is judged when the request comes."""
    wanted = _header(scope, b"access-control-request-headers")
    headers: Headers = [
        *(pair for pair in allowing if pair[0] != b"access-control-expose-headers"),
        (b"access-control-allow-methods", b"GET, HEAD, POST"),
        (b"access-control-max-age", MAX_AGE_S),
        (b"vary", b"Access-Control-Request-Method, Access-Control-Request-Headers"),
    ]
    if wanted and HEADER_NAMES.fullmatch(wanted):
        headers.append((b"access-control-allow-headers", wanted))
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _header(scope: Any, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")


def _checked(origin: str) -> str:
    if origin != ANY and not ORIGIN.fullmatch(origin.lower()):
        raise SettingsError(
            f"--allowed-origins: got {origin!r}, expected origins as browsers send them, separated by commas: a "
            "scheme, a host and perhaps a port, nothing behind (`https://app.example,http://localhost:5173`), or `*`"
        )
    return origin.lower()
