"""IPv4 addresses inside IPv6 ones: translators and tunnels deliver there, whatever the IPv6 address looks like."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network

WELL_KNOWN_NAT64 = IPv6Network("64:ff9b::/96")
LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
"""A network's own prefixes lie in here, of any length from 48 on."""
LOCAL_NAT64_LENGTHS = (48, 56, 64, 96)
NAT64_LENGTHS = (32, 40, *LOCAL_NAT64_LENGTHS)

TUNNELS = tuple(
    map(
        IPv6Network,
        (
            "::/96",  # IPv4-compatible; holds :: and ::1 too
            "::ffff:0:0:0/96",  # IPv4-translated
            "2001::/32",  # Teredo
            "2002::/16",  # 6to4
        ),
    )
)
"""Forms that hold an IPv4 address and that no picture's host is reached by."""

_ISATAP_MARKS = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")
_RESERVED_BYTE = 8


def nat64_ipv4(address: IPv6Address, prefix_length: int) -> IPv4Address:
    """The IPv4 address that a translator with a prefix of this length delivers to.

    The four bytes follow the prefix and step over byte 8, which is zero.

    Source: RFC 6052 section 2.2.
    """
    start = prefix_length // 8
    places = [place for place in range(start, 16) if place != _RESERVED_BYTE][:4]
    return IPv4Address(bytes(address.packed[place] for place in places))


def is_tunnel(address: IPv6Address) -> bool:
    """Whether an address is of a form that tunnels or translates to IPv4, NAT64 and IPv4-mapped aside.

    Source: RFC 4291 section 2.5.5.1, RFC 2765, RFC 4380, RFC 3056; RFC 5214 section 6.1 (ISATAP).
    """
    return address.packed[8:12] in _ISATAP_MARKS or any(address in network for network in TUNNELS)
