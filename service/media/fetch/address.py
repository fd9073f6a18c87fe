"""Which addresses may be connected to: an own table, since `ipaddress.is_global` lets several through.

On the Python this was written with, `is_global` is true for NAT64, 6to4, site-local and multicast addresses and for
Azure's 168.63.129.16, and `is_private` misses 100.64.0.0/10. So IPv6 starts from what is allowed, and IPv4, where
almost everything is, from what is not. Knows no names and opens nothing.

Source: the IANA special-purpose address registries for IPv4 and IPv6; reference/security-reliability.md, finding 11.
"""

from collections.abc import Sequence
from enum import IntEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from service.media.fetch.embedded import LOCAL_NAT64, LOCAL_NAT64_LENGTHS, WELL_KNOWN_NAT64, is_tunnel, nat64_ipv4

Address = IPv4Address | IPv6Address


class Reach(IntEnum):
    """Who may be sent to an address; the larger the fewer."""

    PUBLIC = 0
    """Every host that is allowed at all."""
    PRIVATE = 1
    """Hosts that the operator named as private: loopback, private networks."""
    NEVER = 2
    """Nobody: metadata services, link-local, multicast, tunnels, what is reserved."""


_NEVER_IPV4 = tuple(
    map(
        IPv4Network,
        (
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
        ),
    )
)
_PRIVATE_IPV4 = tuple(
    map(
        IPv4Network,
        (
            "10.0.0.0/8",
            "100.64.0.0/10",  # carriers' NAT
            "127.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "198.18.0.0/15",  # benchmarks
        ),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NEVER_IPV6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
            "2001:db8::/32",  # documentation, and one more
            "3fff::/20",
            "3ffe::/16",  # the old test network
            "2620:4f:8000::/48",  # AS112: answers for private names
            "fd00:ec2::/32",  # metadata of AWS, and of three others
            "fd20:ce::254/128",
            "fd00:42::42/128",
            "fd00:c1::a9fe:a9fe/128",
        ),
    )
)
_LOOPBACK = IPv6Address("::1")
_UNIQUE_LOCAL = IPv6Network("fc00::/7")


def reach_of(address: Address, nat64_prefixes: Sequence[IPv6Network] = ()) -> Reach:
    """Who may be sent to an address.

    An address that a translator turns into an IPv4 address is judged by that one.

    Args:
        address: where a socket would connect.
        nat64_prefixes: the translators' prefixes of this network, besides the well-known one.

    Returns:
        The strictest answer that holds.
    """
    if isinstance(address, IPv4Address):
        return _reach_ipv4(address)
    if address.scope_id is not None:
        return Reach.NEVER
    if address.ipv4_mapped is not None:
        return _reach_ipv4(address.ipv4_mapped)
    for prefix in (WELL_KNOWN_NAT64, *nat64_prefixes):
        if address in prefix:
            return _reach_ipv4(nat64_ipv4(address, prefix.prefixlen))
    if address in LOCAL_NAT64:  # of which length the prefix is, is not known here
        inside = [_reach_ipv4(nat64_ipv4(address, length)) for length in LOCAL_NAT64_LENGTHS]
        return max(Reach.PRIVATE, *inside)
    return _reach_ipv6(address)


def _reach_ipv4(address: IPv4Address) -> Reach:
    if any(address in network for network in _NEVER_IPV4):
        return Reach.NEVER
    return Reach.PRIVATE if any(address in network for network in _PRIVATE_IPV4) else Reach.PUBLIC


def _reach_ipv6(address: IPv6Address) -> Reach:
    if any(address in network for network in _NEVER_IPV6):
        return Reach.NEVER
    if address == _LOOPBACK or address in _UNIQUE_LOCAL:
        return Reach.PRIVATE
    return Reach.PUBLIC if address in _GLOBAL_UNICAST and not is_tunnel(address) else Reach.NEVER
