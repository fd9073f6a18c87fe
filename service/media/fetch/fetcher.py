"""One fetch: wait for a slot, then for each hop resolve, check the addresses, connect and send a GET.

Runs on the front's event loop.
"""

import asyncio
import logging
import re
import ssl
from collections.abc import Mapping, Sequence
from typing import Never

from service.errors import MediaError
from service.fairness.fair_queue import CURRENT_PARTY, Party
from service.media.fetch.address import Address
from service.media.fetch.connection import FETCH_FAILED, FetchError, Resolver, connect_to
from service.media.fetch.exchange import Exchange, Take
from service.media.fetch.memory import FetchMemory
from service.media.fetch.policy import FetchPolicy
from service.media.fetch.slots import Slots
from service.media.fetch.url import Url, UrlError, parse_url

STATUSES = frozenset((301, 302, 303, 307, 308))

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_DOT_SEGMENT = re.compile(r"(^|/)\.{1,2}(/|$)")


def next_url(url: Url, fields: Mapping[str, str]) -> Url:
    """Read where an answer redirects to.

    Source: RFC 3986 section 5.2, without paths that climb.
    """
    try:
        found = parse_url(_absolute(url, fields.get("location", "")))
    except UrlError as error:
        raise FetchError("redirect_refused") from error
    if url.scheme == "https" and found.scheme == "http":
        raise FetchError("redirect_refused")
    return found


def _absolute(url: Url, location: str) -> str:
    origin = f"{url.scheme}://{url.authority}"
    path = url.target.partition("?")[0]
    if _ABSOLUTE.match(location):
        return location
    if location.startswith("//"):
        return f"{url.scheme}:{location}"
    if location.startswith("/"):
        return origin + location
    if location.startswith("?"):
        return origin + path + location
    if not location or _DOT_SEGMENT.search(re.split("[?#]", location)[0]):
        raise UrlError("got a redirect to nowhere")
    return f"{origin}{path.rpartition('/')[0]}/{location}"


logger = logging.getLogger("cenote.fetch")


class Fetcher:
    """Fetches media for all requests."""

    def __init__(
        self,
        policy: FetchPolicy,
        resolver: Resolver,
        memory: FetchMemory,
        *,
        max_per_host: int,
        max_per_tenant: int,
        tls: ssl.SSLContext,
    ) -> None:
        self.policy = policy
        self.memory = memory
        self._resolver = resolver
        self._tls = tls
        self._hosts = Slots(max_per_host, policy.timeout_s)
        self._tenants = Slots(max_per_tenant, policy.timeout_s)

    async def fetch(self, url: Url, tenant: bytes, take: Take) -> bytes:
        """The bytes at a URL.

        Args:
            url: one that `FetchPolicy.check` lets pass.
            tenant: whose fetch it is; the requests of a tenant share its slots, and tenants those of a host.
            take: asked for room as bytes come in; what it raises ends the fetch.

        Raises:
            UnavailableError: other fetches took all slots for too long.
        """
        request = CURRENT_PARTY.get().request
        async with self._tenants.hold(tenant, Party(str(request), request)):
            left_s = self.policy.timeout_s  # waiting for a slot is not the host's fault
            loop, party = asyncio.get_running_loop(), Party(tenant.hex(), request)
            for _ in range(self.policy.max_redirects + 1):
                async with self._hosts.hold(url.host.text, party):
                    began_s = loop.time()
                    found = await self._checked_hop(url, tenant, take, left_s)
                    left_s -= loop.time() - began_s
                if isinstance(found, bytes):
                    return found
                url = found
            return _fail(url, "too_many_redirects")

    async def _checked_hop(self, url: Url, tenant: bytes, take: Take, left_s: float) -> bytes | Url:
        try:
            async with asyncio.timeout(left_s):
                return await self._hop(url, tenant, take)
        except FetchError as error:
            return _fail(url, error.reason)
        except TimeoutError:
            return _fail(url, "timed_out")

    async def _hop(self, url: Url, tenant: bytes, take: Take) -> bytes | Url:
        addresses = await self._judged_addresses(url)
        known = self.memory.find(tenant, url)
        async with connect_to(url, addresses, self._tls, self.policy.connect_timeout_s) as (reader, writer):
            exchange = Exchange(reader, writer, self.policy.min_bytes_per_s)
            await exchange.ask(url, known.conditions if known else {})
            if known is not None and exchange.status == 304:
                take(len(known.body))
                return known.body
            if exchange.status in STATUSES:
                return self._next(url, exchange)
            if exchange.status != 200:
                raise FetchError("status_refused")
            body = await exchange.read(self.policy.max_bytes, take)
        self.memory.keep(tenant, url, body, exchange.fields)
        return body

    def _next(self, url: Url, exchange: Exchange) -> Url:
        found = next_url(url, exchange.fields)
        try:
            self.policy.check(found)
        except UrlError as error:
            raise FetchError("redirect_refused") from error
        return found

    async def _judged_addresses(self, url: Url) -> Sequence[Address]:
        """Every address of a host; one that is not permitted condemns them all."""
        host = url.host
        addresses = [host.address] if host.address else await self._resolver.resolve(host.text)
        if not addresses or not all(self.policy.permits(host, address) for address in addresses):
            raise FetchError("address_blocked")
        return addresses


def _fail(url: Url, reason: str) -> Never:
    """Log the cause and tell the client none. The path and the query of a URL can hold a key and are not logged."""
    logger.warning("an image was not fetched", extra={"media_host": url.host.text, "reason": reason})
    raise MediaError("media_fetch_failed", FETCH_FAILED) from None
