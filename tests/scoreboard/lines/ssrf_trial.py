"""The trial of a URL that must not be reached: a fetcher, names that lie, hosts that listen, and who sees it.

Connections are seen by listeners on this machine, and by Python's own audit of every `connect`, which is heard below
everything that the product does, and stops what would leave the machine.
"""

import sys
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from service.errors import MediaError
from service.media.fetch.address import Address
from service.media.fetch.connection import FetchError
from service.media.fetch.fetcher import Fetcher
from service.media.fetch.url import UrlError, parse_url
from tests.media_host import MediaHost

LOOPBACK = ("127.0.0.1", "::1")


class Witness:
    """Hears every `connect` of this process.

    Attributes:
        strays: where connections were tried to that must not be.
        public: to which public stand-ins, at ports that are allowed; stopped too, and right.
    """

    def __init__(
        self, permitted: tuple[str, int], public: Iterable[str], ports: Iterable[int], canaries: list[MediaHost]
    ) -> None:
        self._permitted, self._public, self._ports = permitted, set(public), set(ports)
        self._canaries = canaries
        self._is_listening = False
        self.strays: list[tuple[str, int]] = []
        self.public: list[str] = []

    def __enter__(self) -> "Witness":
        self._is_listening = True
        sys.addaudithook(self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_listening = False  # a hook cannot be taken back

    @property
    def num_packets(self) -> int:
        """Connections that the canaries took, and those that were stopped on their way elsewhere."""
        return len(self.strays) + sum(canary.num_connections for canary in self._canaries)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._is_listening or event != "socket.connect" or not isinstance(arguments[1], tuple):
            return
        host, port = arguments[1][:2]
        if (host, port) == self._permitted:
            return
        if host in LOOPBACK and port in [canary.port for canary in self._canaries]:
            return  # let it arrive: the canary counts
        if host in self._public and port in self._ports:
            self.public.append(host)
        else:
            self.strays.append((host, port))
        raise PermissionError


@dataclass
class Names:
    """Addresses of names; asked twice, an answer of two may differ."""

    table: dict[str, Iterator[Sequence[str]]] = field(default_factory=dict)
    num_asked: int = 0

    async def resolve(self, name: str) -> Sequence[Address]:
        self.num_asked += 1
        if name not in self.table:
            raise FetchError("name_not_resolved")
        return [ip_address(text) for text in next(self.table[name])]


@dataclass
class Trial:
    """Everything between a case and its verdict.

    Attributes:
        front: a host that is allowed, and redirects.
        canary: what must hear nothing.
    """

    front: MediaHost
    canary: MediaHost
    witness: Witness
    names: Names
    fetcher: Fetcher
    num_tried: int = 0
    failures: list[str] = field(default_factory=list)
    told: set[tuple[str, str]] = field(default_factory=set)

    async def fetch(self, url: str) -> str:
        """The code of the refusal; what was told for reasons behind the text is kept."""
        try:
            parsed = parse_url(url)
            self.fetcher.policy.check(parsed)
        except UrlError:
            return "media_source_refused"
        try:
            await self.fetcher.fetch(parsed, b"tenant", lambda _: None)
        except MediaError as error:
            self.told.add((error.code, error.message))
            return error.code
        return "fetched"

    async def expect(self, what: str, fetch: Awaitable[str], *codes: str) -> None:
        before, self.num_tried = self.witness.num_packets, self.num_tried + 1
        code = await fetch
        if code not in codes or self.witness.num_packets != before:
            self.failures.append(f"{what}: {code}, packets {self.witness.num_packets - before}")
