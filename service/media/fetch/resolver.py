"""Names to addresses, asked once for each hop; judges none of them."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address
from socket import IPPROTO_TCP, SOCK_STREAM, gaierror, getaddrinfo
from typing import Protocol

from service.media.fetch.address import Address
from service.media.fetch.failure import FetchError

NUM_THREADS = 16


class Resolver(Protocol):
    """Gives the addresses of a name."""

    async def resolve(self, name: str) -> Sequence[Address]:
        """Every address, in the order to try them.

        Raises:
            FetchError: there is none.
        """
        raise NotImplementedError


class SystemResolver:
    """The operating system's resolver, in threads of its own.

    A slow name server holds only these: the loop's own threads write answers.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(NUM_THREADS, thread_name_prefix="resolve")

    async def resolve(self, name: str) -> Sequence[Address]:
        """See `Resolver.resolve`."""
        look_up = partial(getaddrinfo, name.encode("ascii"), None, type=SOCK_STREAM, proto=IPPROTO_TCP)
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._pool, look_up)
            return list(dict.fromkeys(ip_address(address[0]) for *_, address in found))
        except (gaierror, ValueError) as error:  # ValueError: an address that is none
            raise FetchError("name_not_resolved") from error
