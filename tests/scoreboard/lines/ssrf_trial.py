"""The trial of a URL that must not be reached: a fetcher, names that lie, hosts that listen."""

from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from service.errors import MediaError
from service.media.fetch.address import Address
from service.media.fetch.connection import FetchError
from service.media.fetch.fetcher import Fetcher
from service.media.fetch.url import UrlError, parse_url
from tests.media_host import MediaHost
from tests.scoreboard.lines.ssrf_witness import Witness


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
