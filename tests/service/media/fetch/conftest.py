"""A fetcher with everything real but the resolver, which is an argument of it: names go to addresses of ours."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import pytest

from service.errors import MediaError
from service.media.fetch.address import Address
from service.media.fetch.connection import FetchError, client_context
from service.media.fetch.fetcher import Fetcher
from service.media.fetch.memory import FetchMemory
from service.media.fetch.policy import FetchPolicy, HostList
from service.media.fetch.url import parse_url
from tests.media_host import MediaHost

ANYWHERE = HostList(has_any=True)
OURS = HostList(names=frozenset({"host.test", "other.test"}))


@dataclass
class Names:
    """Answers from a table, one answer after the other where there are several."""

    table: dict[str, Sequence[str] | Callable[[], Sequence[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def resolve(self, name: str) -> Sequence[Address]:
        self.asked.append(name)
        found = self.table.get(name)
        if found is None:
            raise FetchError("name_not_resolved")
        return [ip_address(text) for text in (found() if callable(found) else found)]


@dataclass
class Bench:
    """A media host, names, and fetchers between them."""

    host: MediaHost
    names: Names
    taken: list[int] = field(default_factory=list)

    def fetcher(self, **policy: Any) -> Fetcher:
        given = {"allowed": ANYWHERE, "private": OURS, "ports": frozenset({self.host.port})} | policy
        limits = {"max_per_host": 8, "max_per_tenant": 16, "tls": client_context()}
        return Fetcher(FetchPolicy(**given), self.names, FetchMemory(1 << 20), **limits)

    def fetch(self, url: str, **policy: Any) -> bytes:
        return asyncio.run(self.fetcher(**policy).fetch(parse_url(url), b"tenant", self.taken.append))

    def failure(self, url: str, **policy: Any) -> MediaError:
        with pytest.raises(MediaError) as caught:
            self.fetch(url, **policy)
        return caught.value


@pytest.fixture
def bench() -> Iterator[Bench]:
    with MediaHost() as host:
        yield Bench(host, Names({"host.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}))


@pytest.fixture
def reasons(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Why fetches failed, as the log says it."""
    return lambda: [vars(record)["reason"] for record in caplog.records if record.name == "cenote.fetch"]
