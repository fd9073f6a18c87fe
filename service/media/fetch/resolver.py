"""Names to addresses, asked once for each hop; judges none of them."""

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from ipaddress import ip_address
from socket import IPPROTO_TCP, SOCK_STREAM, getaddrinfo
from typing import Protocol

from service.media.fetch.address import Address
from service.media.fetch.failure import FetchError

MAX_LOOK_UPS = 64


class Resolver(Protocol):
    """Gives the addresses of a name."""

    async def resolve(self, name: str) -> Sequence[Address]:
        """Every address, in the order to try them.

        Raises:
            FetchError: there is none.
        """
        raise NotImplementedError


class SystemResolver:
    """The operating system's resolver, a thread for each look-up.

    A look-up cannot be cancelled: a slow name server holds its thread, and one of so many places, also when nobody
    waits any more. The loop's own threads write answers and are left alone; these never keep the process alive.
    """

    def __init__(self, max_look_ups: int = MAX_LOOK_UPS) -> None:
        self._places = asyncio.Semaphore(max_look_ups)

    async def resolve(self, name: str) -> Sequence[Address]:
        """See `Resolver.resolve`."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Sequence[Address]] = loop.create_future()

        def settle(addresses: Sequence[Address]) -> None:
            self._places.release()
            if not found.done():  # else whoever asked has left
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
