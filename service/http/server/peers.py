"""Peers of a server: whose a connection is, how many each has, and whether one more is one too many.

A peer is an IPv4 address or an IPv6 network of 64 bits, as one machine or home has. A proxy stands for many clients, so
none has a share: those that `--proxies` names are one peer without a name.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from service.settings.settings import Settings, SettingsError

PROXY = ""
"""The peer that all proxies are."""

GONE = "gone"

PEER_BITS = 64
"""Of an IPv6 address: the shortest network that a provider gives away, within which a client chooses its address."""


class ArrivalVerdict(IntEnum):
    """Verdict on a new connection."""

    FREE = 0
    PEER_HAS_ITS_SHARE = 1
    ALL_TAKEN = 2


class Arrival(NamedTuple):
    """A new connection: whose it is, and what it meets."""

    peer: str
    verdict: ArrivalVerdict


class Tally:
    """Number of connections, of all and of each peer that has any."""

    def __init__(self) -> None:
        self.num = 0
        self.of: Counter[str] = Counter()

    def change(self, peer: str, by: int) -> None:
        """Count so many more, or less."""
        self.num += by
        self.of[peer] += by
        if not self.of[peer]:
            del self.of[peer]


@dataclass(frozen=True, slots=True)
class PeerRule:
    """Who may have one more connection.

    Attributes:
        max_connections: of all.
        max_of_peer: of one peer.
        proxies: networks of those that have no share.
    """

    max_connections: int
    max_of_peer: int
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def of(cls, settings: Settings, max_connections: int) -> "PeerRule":
        """The rule of a configuration."""
        return cls(max_connections, max(1, max_connections // 2), _networks(settings.proxies or ""))

    def arrival(self, address: str, tallies: Iterable[Tally]) -> Arrival:
        """A connection from an address, beside those that are counted; no address where it has disconnected already."""
        peer = _peer(address, self.proxies) if address else GONE
        num = num_of_peer = 0
        for tally in tallies:
            num += tally.num
            num_of_peer += tally.of[peer]
        if peer != PROXY and num_of_peer >= self.max_of_peer:
            return Arrival(peer, ArrivalVerdict.PEER_HAS_ITS_SHARE)
        return Arrival(peer, ArrivalVerdict.ALL_TAKEN if num >= self.max_connections else ArrivalVerdict.FREE)


@lru_cache(4096)
def _peer(address: str, proxies: tuple[IPv4Network | IPv6Network, ...]) -> str:
    ip = ip_address(address)
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if any(ip in network for network in proxies):
        return PROXY
    return str(ip) if ip.version == 4 else str(IPv6Network((int(ip), PEER_BITS), strict=False))


def _networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",")) if text else ()
    except ValueError as error:
        wanted = "expected addresses or networks separated by commas, such as 10.0.0.7,10.1.0.0/16"
        raise SettingsError(f"--proxies: {wanted}: {error}") from None
