"""A connection to one address that has been judged: the name is not looked up again, and the peer is compared.

The only place of the service where a socket to the outside is opened. Reads no proxy from the environment.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from socket import AF_INET, AF_INET6, SOCK_STREAM, socket

from service.media.fetch.address import Address
from service.media.fetch.failure import FetchError
from service.media.fetch.url import Url

READ_BYTES = 16 * 1024
MAX_ADDRESSES = 3
"""How many addresses of a name are tried; they share the time to connect."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Both ends of a stream."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


def client_context() -> ssl.SSLContext:
    """TLS as a client: certificates and names are verified, HTTP/1.1 is what we speak."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


@asynccontextmanager
async def connect_to(
    url: Url, addresses: Sequence[Address], tls: ssl.SSLContext, timeout_s: float
) -> AsyncIterator[Connection]:
    """A connection for one exchange; closed at once however the `with` ends.

    Args:
        url: scheme and port, and the host that a certificate must be for.
        addresses: where it may be, all of them judged; the first that answers is taken.
        tls: for https.
        timeout_s: until the connection stands, handshake included.

    Raises:
        FetchError: no address answers, or the certificate is not the host's.
    """
    deadline_s = asyncio.get_running_loop().time() + timeout_s
    connected = await _first_of(addresses[:MAX_ADDRESSES], url.port, timeout_s)
    connection = await _streams(connected, url, tls, deadline_s)
    try:
        yield connection
    finally:
        connection.writer.transport.abort()


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


async def _streams(connected: socket, url: Url, tls: ssl.SSLContext, deadline_s: float) -> Connection:
    is_https = url.scheme == "https"
    try:
        async with asyncio.timeout_at(deadline_s):
            reader, writer = await asyncio.open_connection(
                sock=connected,
                limit=READ_BYTES,
                ssl=tls if is_https else None,
                server_hostname=url.host.text if is_https else None,
            )
    except (OSError, TimeoutError) as error:
        connected.close()
        raise FetchError("tls_failed") from error
    except BaseException:
        connected.close()
        raise
    return Connection(reader, writer)
