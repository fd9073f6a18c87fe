"""Whether a request is addressed to this server, where `--allowed-hosts` says who that is; used for nothing else.

Source: shared/reference/security-reliability.md section 3 (Host).
"""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from service.errors import InputError
from service.http.probes import PROBES
from service.http.refusal import refuse


class AllowedHosts:
    """An ASGI app around another.

    Args:
        app: the app.
        hosts: names and addresses, separated by commas.
    """

    def __init__(self, app: ASGIApp, hosts: str) -> None:
        self._app = app
        self._hosts = {host.strip().lower().encode() for host in hosts.split(",")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what is addressed to somebody else; probes ask by address, and always pass."""
        is_ours = scope["type"] != ScopeType.HTTP or scope["path"] in PROBES or _host(scope) in self._hosts
        if is_ours:
            await self._app(scope, receive, send)
            return
        error = InputError("invalid_request", "Host: got a name that this server does not go by")
        await refuse(scope, send, error, {})


def _host(scope: Scope) -> bytes:
    """The name without its port, in lower case; brackets of an IPv6 address stay."""
    came = next((value for name, value in scope["headers"] if name == b"host"), b"").lower()
    name, _, port = came.rpartition(b":")
    return name if port.isdigit() else came
