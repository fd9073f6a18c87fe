"""The table of addresses: each range at its first, middle and last address, and IPv4 wherever it hides in IPv6."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import pytest

from service.media.fetch.address import NAT64_LENGTHS, AddressClass, classify, nat64_ipv4

PRIVATE = [
    "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15", "::1/128",
    "fc00::/8",
]  # fmt: skip
NEVER = [
    "0.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.0/24", "192.0.2.0/24",
    "198.51.100.0/24", "203.0.113.0/24", "192.88.99.0/24", "224.0.0.0/4", "240.0.0.0/4", "::/128", "::2/127",
    "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3ffe::/16", "3fff::/20", "5f00::/16", "4000::/3",
    "8000::/1", "fe80::/10", "fec0::/10", "ff00::/8", "fd00:ec2::254/128", "fd20:ce::254/128", "64:ff9b:1::/48",
    "::ffff:0:0:0/96", "2620:4f:8000::/48",
]  # fmt: skip


@pytest.mark.parametrize("network", NEVER)
def test_a_reserved_range_is_for_nobody_from_its_first_address_to_its_last(network: str) -> None:
    inside = ip_network(network)
    found = [classify(inside[place]) for place in (0, inside.num_addresses // 2, -1)]
    expected = AddressClass.PRIVATE if network == "64:ff9b:1::/48" else AddressClass.NEVER
    assert min(found) >= expected


@pytest.mark.parametrize("network", PRIVATE)
def test_a_private_range_is_for_hosts_that_were_named(network: str) -> None:
    inside = ip_network(network)
    assert {classify(inside[place]) for place in (0, inside.num_addresses // 2, -1)} == {AddressClass.PRIVATE}


@pytest.mark.parametrize("text", ["1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.0.0.1",
    "128.0.0.1", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255",
    "2606:4700::1111", "2a00:1450:4001:82f::200e", "64:ff9b::101:101", "::ffff:1.1.1.1"])  # fmt: skip
def test_what_lies_beside_the_ranges_is_public(text: str) -> None:
    assert classify(ip_address(text)) is AddressClass.PUBLIC


@pytest.mark.parametrize("text", ["::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe",
    "64:ff9b:1:a9fe:a9:fe00::", "2002:a9fe:a9fe::", "::169.254.169.254", "::ffff:0:169.254.169.254",
    "2001:0:a9fe:a9fe::", "2606:4700::5efe:a9fe:a9fe", "2606:4700::200:5efe:a9fe:a9fe"])  # fmt: skip
def test_no_form_of_ipv6_hides_a_metadata_address(text: str) -> None:
    assert classify(ip_address(text)) is AddressClass.NEVER


def test_a_translated_private_address_is_private() -> None:
    assert classify(ip_address("64:ff9b::a00:1")) is AddressClass.PRIVATE
    assert classify(ip_address("64:ff9b:1::a00:1")) is not AddressClass.PUBLIC


@pytest.mark.parametrize("length", NAT64_LENGTHS)
def test_a_networks_own_translators_are_seen_through(length: int) -> None:
    prefix = IPv6Network(("2606:4700:1:2:0:3::" if length == 96 else "2606:4700::", length), strict=False)
    for text, reach in (
        ("10.1.2.3", AddressClass.PRIVATE),
        ("169.254.169.254", AddressClass.NEVER),
        ("9.8.7.6", AddressClass.PUBLIC),
    ):
        address = embedded(prefix, IPv4Address(text))
        assert nat64_ipv4(address, length) == IPv4Address(text)
        assert classify(address, (prefix,)) is reach


def embedded(prefix: IPv6Network, address: IPv4Address) -> IPv6Address:
    """RFC 6052 the other way round."""
    packed, places = bytearray(prefix.network_address.packed), [*range(prefix.prefixlen // 8, 16)]
    for place, byte in zip([place for place in places if place != 8], address.packed, strict=False):
        packed[place] = byte
    return IPv6Address(bytes(packed))


def test_an_address_with_a_zone_is_for_nobody() -> None:
    assert classify(IPv6Address("2606:4700::1%eth0")) is AddressClass.NEVER
