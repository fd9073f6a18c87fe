"""Nobody without a key gets further than this ring, where the server has keys.

A ring around the app and not a rule about its routes: what is not named as open is closed, whether or not there is a
route of that path, and with every method. Open are the operations that the route table of the document calls
unprotected, and the files of the playground, all by their exact paths. It runs before any byte of the body is read.

Source: reference/security-reliability.md section 3, "route gaps": an exclusion by pattern opened routes beside it.
"""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from service.errors import KeyRefusedError, UnavailableError
from service.fairness.party import open_party
from service.front.keyring import Known
from service.front.serving import Serving
from service.front.tenant import Tenant
from service.http.api_key import sent_key
from service.http.caller import mark
from service.http.errors import retry_headers
from service.http.exchange import TENANT, told_of
from service.http.refusal import refuse
from service.http.tenant_counts import EVERYONE
from service.openapi.routes import ROUTES
from service.playground.files import FILES

OPEN_PATHS = frozenset(route.path for route in ROUTES if not route.protected) | frozenset(FILES)
"""What needs no key: the probes, `/metrics`, and the playground, whose files are the same for everybody."""

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="cenote"'}
"""What RFC 9110 section 15.5.2 wants beside every 401."""

NO_KEY = "expected an API key, as `Authorization: Bearer KEY` or as `x-api-key: KEY`, and got none or more than one"
WRONG_KEY = "the API key is not one that this server knows"


class Guard:
    """An ASGI app around another."""

    def __init__(self, app: ASGIApp, serving: Serving) -> None:
        self._app = app
        self._serving = serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let pass, with the tenant in the scope, or refuse: 401 without a key, 429 over the key's limits."""
        if scope["type"] != ScopeType.HTTP:
            await self._other(scope, receive, send)
        elif self._serving.keyring is None or scope["path"] in OPEN_PATHS:
            if scope["path"] not in OPEN_PATHS:
                told_of(scope)[TENANT] = EVERYONE
            header = next((value for name, value in scope["headers"] if name.lower() == b"authorization"), b"")
            open_party("")
            await self._app(mark(scope, Tenant.without_key(header)), receive, send)  # type: ignore[arg-type]  # a scope
        else:
            await self._with_key(scope, receive, send)

    async def _with_key(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            known = self._known(scope)
            open_party(known.tenant.name)
            told_of(scope)[TENANT] = known.tenant.name
            with known.meter.request():
                await self._app(mark(scope, known.tenant, known.meter), receive, send)  # type: ignore[arg-type]  # a scope
        except KeyRefusedError as error:
            await refuse(scope, send, error, CHALLENGE)
        except UnavailableError as error:
            await refuse(scope, send, error, retry_headers(error))

    def _known(self, scope: Scope) -> Known:
        assert self._serving.keyring is not None  # as `__call__` has seen
        key = sent_key(scope["headers"])
        if key is None:
            raise KeyRefusedError(NO_KEY)
        known = self._serving.keyring.find(key)
        if known is None:
            raise KeyRefusedError(WRONG_KEY)
        return known

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The server's start and end pass; there are no web sockets here, and nobody opens one."""
        if scope["type"] == ScopeType.WEBSOCKET:
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": None})
            return
        await self._app(scope, receive, send)
