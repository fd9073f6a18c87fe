"""IP addresses that may be connected to: an own table, since `ipaddress.is_global` accepts several internal ones.

`is_global` is true for NAT64, 6to4, site-local and multicast addresses and for Azure's 168.63.129.16, and `is_private`
misses 100.64.0.0/10. IPv6 starts from what is allowed; IPv4, where almost everything is allowed, from what is not.
Translators and tunnels deliver to the IPv4 address inside an IPv6 one, so that one is judged.

Source: the IANA special-purpose address registries for IPv4 and IPv6; docs/notes/security.md.
"""

from collections.abc import Sequence
from enum import IntEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeVar

WELL_KNOWN_NAT64 = IPv6Network("64:ff9b::/96")
LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
"""Locally assigned prefixes, of any length from 48 on."""
LOCAL_NAT64_LENGTHS = (48, 56, 64, 96)
NAT64_LENGTHS = (32, 40, *LOCAL_NAT64_LENGTHS)

Network = TypeVar("Network", IPv4Network, IPv6Network)


def _networks(kind: type[Network], *texts: str) -> tuple[Network, ...]:
    return tuple(map(kind, texts))


TUNNELS = _networks(
    IPv6Network,
    "::/96",  # IPv4-compatible; holds :: and ::1 too
    "::ffff:0:0:0/96",  # IPv4-translated
    "2001::/32",  # Teredo
    "2002::/16",  # 6to4
)
"""Forms that hold an IPv4 address and that no media host is reached by."""

_ISATAP_MARKS = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")
_RESERVED_BYTE = 8


def nat64_ipv4(address: IPv6Address, prefix_length: int) -> IPv4Address:
    """Extract the IPv4 address that follows a NAT64 prefix of this length: four bytes that skip byte 8, which is zero.

    Source: RFC 6052 section 2.2.
    """
    start = prefix_length // 8
    places = [place for place in range(start, 16) if place != _RESERVED_BYTE][:4]
    return IPv4Address(bytes(address.packed[place] for place in places))


def is_tunnel(address: IPv6Address) -> bool:
    """Return whether an address tunnels or translates to IPv4, NAT64 and IPv4-mapped aside.

    Source: RFC 4291 section 2.5.5.1, RFC 2765, RFC 4380, RFC 3056; RFC 5214 section 6.1 (ISATAP).
    """
    return address.packed[8:12] in _ISATAP_MARKS or any(address in network for network in TUNNELS)


Address = IPv4Address | IPv6Address


class AddressClass(IntEnum):
    """Hosts that may be connected to at an address; a larger value is stricter."""

    PUBLIC = 0
    """Any allowed host."""
    PRIVATE = 1
    """Loopback and private networks: only hosts that the operator listed as private."""
    NEVER = 2
    """No host: metadata services, link-local, multicast, tunnels, reserved ranges."""


_NEVER_IPV4 = _networks(
    IPv4Network,
    "0.0.0.0/8",  # this network; Linux takes 0.0.0.0 for itself
    "169.254.0.0/16",  # link-local: the metadata services of most clouds
    "168.63.129.16/32",  # Azure's host
    "100.100.100.200/32",  # Alibaba's metadata
    "192.0.0.0/24",  # protocol assignments; Oracle's metadata
    "192.0.2.0/24",  # documentation, and two more
    "198.51.100.0/24",
    "203.0.113.0/24",
    "192.88.99.0/24",  # 6to4 relays
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, broadcast
)
_PRIVATE_IPV4 = _networks(
    IPv4Network,
    "10.0.0.0/8",
    "100.64.0.0/10",  # carriers' NAT
    "127.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "198.18.0.0/15",  # benchmarks
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NEVER_IPV6 = _networks(
    IPv6Network,
    "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
    "2001:db8::/32",  # documentation, and one more
    "3fff::/20",
    "3ffe::/16",  # the old test network
    "2620:4f:8000::/48",  # AS112: answers for private names
    "fd00:ec2::/32",  # metadata of AWS, and of three others
    "fd20:ce::254/128",
    "fd00:42::42/128",
    "fd00:c1::a9fe:a9fe/128",
)
_LOOPBACK = IPv6Address("::1")
_UNIQUE_LOCAL = IPv6Network("fc00::/7")


def classify(address: Address, nat64_prefixes: Sequence[IPv6Network] = ()) -> AddressClass:
    """Classify an address; one that a translator turns into an IPv4 address is classified as that one.

    Args:
        nat64_prefixes: this network's NAT64 prefixes, besides the well-known one.
    """
    if isinstance(address, IPv4Address):
        return _classify_ipv4(address)
    if address.scope_id is not None:
        return AddressClass.NEVER
    if address.ipv4_mapped is not None:
        return _classify_ipv4(address.ipv4_mapped)
    for prefix in (WELL_KNOWN_NAT64, *nat64_prefixes):
        if address in prefix:
            return _classify_ipv4(nat64_ipv4(address, prefix.prefixlen))
    if address in LOCAL_NAT64:  # its length is not known here, so the strictest reading counts
        inside = [_classify_ipv4(nat64_ipv4(address, length)) for length in LOCAL_NAT64_LENGTHS]
        return max(AddressClass.PRIVATE, *inside)
    return _classify_ipv6(address)


def _classify_ipv4(address: IPv4Address) -> AddressClass:
    if any(address in network for network in _NEVER_IPV4):
        return AddressClass.NEVER
    return AddressClass.PRIVATE if any(address in network for network in _PRIVATE_IPV4) else AddressClass.PUBLIC


def _classify_ipv6(address: IPv6Address) -> AddressClass:
    if any(address in network for network in _NEVER_IPV6):
        return AddressClass.NEVER
    if address == _LOOPBACK or address in _UNIQUE_LOCAL:
        return AddressClass.PRIVATE
    return AddressClass.PUBLIC if address in _GLOBAL_UNICAST and not is_tunnel(address) else AddressClass.NEVER
