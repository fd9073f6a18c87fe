"""Lets no request without a known key past this middleware, where the server has keys.

It surrounds the app rather than naming routes to protect: every path is closed, with every method and whether or not
it has a route, unless its handler is marked as open; then it is open by its exact path. It runs before a byte of the
body is read.
"""

from collections.abc import Iterable
from contextlib import ExitStack

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from service.accounting import EVERYONE
from service.errors import KeyRefusedError, UnavailableError
from service.fairness.fair_queue import open_party
from service.front.admission.api_keys import Keyring, LoadedKey
from service.front.serving.serving import Serving
from service.front.tenant import ANYONE, Tenant
from service.http.errors import refuse, retry_headers
from service.http.request import TENANT, context_of
from service.http.route_table import OPEN_PATHS

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="cenote"'}
"""Required beside every 401 (RFC 9110 section 15.5.2)."""

NO_KEY = (
    "expected an API key, as `Authorization: Bearer KEY`, as `x-api-key: KEY` or as `api-key: KEY`, and got none or "
    "more than one"
)
KEY_HEADERS = (b"authorization", b"x-api-key", b"api-key")
WRONG_KEY = "the API key is not one that this server knows"


class Guard:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, serving: Serving) -> None:
        self._app = app
        self._serving = serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its tenant, or refuse it: 401 without a key, 429 over the key's limits."""
        keyring = self._serving.keyring
        if scope["type"] == ScopeType.WEBSOCKET:  # there are none here, and none is opened
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": None})
        elif scope["type"] != ScopeType.HTTP:  # the server's start and end
            await self._app(scope, receive, send)
        elif scope["path"] in OPEN_PATHS or keyring is None:
            context = context_of(scope)
            if scope["path"] not in OPEN_PATHS:
                context.log_fields[TENANT] = EVERYONE
            open_party("")
            header = context.headers.get(b"authorization", b"")
            context.tenant = Tenant.without_key(header) if header else ANYONE
            await self._app(scope, receive, send)
        else:
            await self._with_key(keyring, scope, receive, send)

    async def _with_key(self, keyring: Keyring, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            known = _known(keyring, scope)
            open_party(known.tenant.name)
            context = context_of(scope)
            context.log_fields[TENANT] = known.tenant.name
            context.tenant, context.meter = known.tenant, known.meter
            with ExitStack() as place:
                place.enter_context(known.meter.request())
                await self._app(scope, receive, freeing(place, send))
        except KeyRefusedError as error:
            await refuse(scope, send, error, CHALLENGE)
        except UnavailableError as error:
            await refuse(scope, send, error, retry_headers(error))


def freeing(place: ExitStack, send: Send) -> Send:
    """Close `place` before the last part of an answer is sent: who has that may ask again, at any front."""

    async def send_one(message: Message) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body"):
            place.close()
        await send(message)

    return send_one


def _known(keyring: Keyring, scope: Scope) -> LoadedKey:
    key = sent_key(scope["headers"])
    if key is None:
        raise KeyRefusedError(NO_KEY)
    known = keyring.find(key)
    if known is None:
        raise KeyRefusedError(WRONG_KEY)
    return known


def sent_key(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The key of a request, in one of three headers: clients of OpenAI and Cohere send the first, of Azure the last.

    Returns:
        Its bytes, whatever they are; None where there is none, another scheme, or more than one key.

    Source: RFC 6750 section 2.1; the scheme's name has no case (RFC 9110 section 11.1).
    """
    found = [(name.lower(), value) for name, value in headers if name.lower() in KEY_HEADERS]
    if len(found) != 1:
        return None
    (name, value) = found[0]
    if name != b"authorization":
        return value.strip(b" \t") or None
    scheme, _, key = value.partition(b" ")
    return (key.strip(b" \t") or None) if scheme.lower() == b"bearer" else None
