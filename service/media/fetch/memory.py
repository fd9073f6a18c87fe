"""Media that were fetched before, kept for conditional requests.

Each belongs to the tenant that fetched it and to one URL of one hop, so that every hop is asked and checked again.
Bounded in bytes, least recently used out first.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from service.media.fetch.url import Url

MAX_VALIDATOR_CHARS = 256
OVERHEAD_BYTES = 1024
"""Memory of an entry beside its body."""

FetchKey = tuple[bytes, str]


@dataclass(frozen=True, slots=True)
class Known:
    """A file, and what its host knows it by."""

    body: bytes
    conditions: Mapping[str, str]
    """The fields that ask for it only if it has changed."""

    @property
    def num_bytes(self) -> int:
        """Bytes that keeping it takes."""
        return len(self.body) + OVERHEAD_BYTES


class FetchMemory:
    """Files of all tenants, within one bound. Used on the event loop only.

    Source: RFC 9110 section 13 (conditional requests), RFC 9111 section 5.2.2.5 (`no-store`).
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.num_bytes = 0
        self._known: OrderedDict[FetchKey, Known] = OrderedDict()

    def find(self, tenant: bytes, url: Url) -> Known | None:
        """Return what a tenant fetched from a URL, and mark it as most recently used."""
        known = self._known.get((tenant, url.text))
        if known is not None:
            self._known.move_to_end((tenant, url.text))
        return known

    def keep(self, tenant: bytes, url: Url, body: bytes, fields: Mapping[str, str]) -> None:
        """Remember an answer, if it can be asked for conditionally and its host does not forbid it."""
        self._forget((tenant, url.text))
        known = Known(body, _conditions(fields))
        if not known.conditions or "no-store" in fields.get("cache-control", "").lower():
            return
        if known.num_bytes > self.max_bytes:
            return
        self._known[tenant, url.text] = known
        self.num_bytes += known.num_bytes
        while self.num_bytes > self.max_bytes:
            self._forget(next(iter(self._known)))

    def _forget(self, key: FetchKey) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            self.num_bytes -= known.num_bytes


def _conditions(fields: Mapping[str, str]) -> dict[str, str]:
    given = {"If-None-Match": fields.get("etag", ""), "If-Modified-Since": fields.get("last-modified", "")}
    return {name: value for name, value in given.items() if value and _is_plain(value)}


def _is_plain(value: str) -> bool:
    return len(value) <= MAX_VALIDATOR_CHARS and value.isascii() and value.isprintable()
