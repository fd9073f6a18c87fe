"""From a host's name to an open socket: resolve the name, connect to a checked address, verify the peer.

The only place of the service that opens a socket to the outside. The name is resolved once per hop; no proxy is read
from the environment.
"""

import asyncio
import contextlib
import ssl
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import IPv6Address, ip_address
from socket import AF_INET, AF_INET6, IPPROTO_TCP, SOCK_STREAM, getaddrinfo, socket
from typing import Literal, Protocol

from service.fairness.fair_queue import CURRENT_PARTY
from service.media.fetch.address import Address
from service.media.fetch.slots import Gate
from service.media.fetch.url import Url

Reason = Literal[
    "address_blocked",
    "name_not_resolved",
    "not_connected",
    "wrong_peer",
    "tls_failed",
    "timed_out",
    "too_slow",
    "protocol_broken",
    "status_refused",
    "coding_refused",
    "redirect_refused",
    "too_many_redirects",
]

FETCH_FAILED = (
    "What the URL names could not be fetched: the host is not reachable for this server, or did not answer with a file "
    "in time."
)
"""The same for every cause beyond the URL's text, so that a client cannot probe our network."""


class FetchError(Exception):
    """A fetch failed for a reason that stays here."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


MAX_LOOK_UPS = 64


class Resolver(Protocol):
    """Gives the addresses of a name."""

    async def resolve(self, name: str) -> Sequence[Address]:
        """Every address, in the order to try them, and at least one."""
        raise NotImplementedError


class SystemResolver:
    """The operating system's resolver, a thread for each look-up.

    A look-up cannot be cancelled: a slow name server holds its thread, and one of so many places, even when
    its caller is gone. Tenants share the places as they share a host's slots. The loop's own threads write answers
    and are left alone; these never keep the process alive.
    """

    def __init__(self, max_look_ups: int = MAX_LOOK_UPS) -> None:
        self._places = Gate(max_look_ups)

    async def resolve(self, name: str) -> Sequence[Address]:
        """See `Resolver.resolve`."""
        party = CURRENT_PARTY.get()
        await self._places.take(party)
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Sequence[Address]] = loop.create_future()

        def settle(addresses: Sequence[Address]) -> None:
            self._places.give(party)
            if not found.done():  # else the caller has left
                found.set_result(addresses)

        def look_up() -> None:
            addresses = _addresses(name)
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(settle, addresses)

        threading.Thread(target=look_up, name="resolve", daemon=True).start()
        addresses = await found
        if not addresses:
            raise FetchError("name_not_resolved")
        return addresses


def _addresses(name: str) -> list[Address]:
    """Every address of a name; none where the look-up fails, for whatever reason."""
    try:
        found = getaddrinfo(name.encode("ascii"), None, type=SOCK_STREAM, proto=IPPROTO_TCP)
        return list(dict.fromkeys(ip_address(address[0]) for *_, address in found))
    except (OSError, ValueError):  # ValueError: an address that is none
        return []


READ_BYTES = 16 * 1024
MAX_ADDRESSES = 3
"""Most addresses of a name that are tried; they share the time to connect."""


def client_context() -> ssl.SSLContext:
    """TLS as a client: certificates and names are verified, HTTP/1.1 is what we speak."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


@asynccontextmanager
async def connect_to(
    url: Url, addresses: Sequence[Address], tls: ssl.SSLContext, timeout_s: float
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Both ends of a connection for one exchange; closed at once however the `with` ends.

    Args:
        url: scheme and port, and the host that a certificate must be for.
        addresses: where it may be, all of them judged; the first that answers is taken.
    """
    deadline_s = asyncio.get_running_loop().time() + timeout_s
    connected, is_https = await _first_of(addresses[:MAX_ADDRESSES], url.port, timeout_s), url.scheme == "https"
    try:
        async with asyncio.timeout_at(deadline_s):
            reader, writer = await asyncio.open_connection(
                sock=connected,
                limit=READ_BYTES,
                ssl=tls if is_https else None,
                server_hostname=url.host.text if is_https else None,
            )
    except BaseException as error:
        connected.close()
        if isinstance(error, OSError | TimeoutError):
            raise FetchError("tls_failed") from error
        raise
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def _first_of(addresses: Sequence[Address], port: int, timeout_s: float) -> socket:
    for address in addresses:
        try:
            async with asyncio.timeout(timeout_s / len(addresses)):
                return await _connected(address, port)
        except (OSError, TimeoutError):
            continue
    raise FetchError("not_connected")


async def _connected(address: Address, port: int) -> socket:
    opened = socket(AF_INET6 if isinstance(address, IPv6Address) else AF_INET, SOCK_STREAM)
    try:
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, (str(address), port))
        if ip_address(opened.getpeername()[0]) != address:
            raise FetchError("wrong_peer")
    except BaseException:
        opened.close()
        raise
    return opened
