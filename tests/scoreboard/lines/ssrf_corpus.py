"""Hosts that must never be connected to: every special range, IPv4 inside IPv6, odd spellings, parsers' quarrels."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_network
from random import Random

RANGES = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32", "168.63.129.16/32", "100.100.100.200/32", "::/128", "::1/128",
    "100::/64", "2001::/32", "2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "2002::/16", "3fff::/20",
    "5f00::/16", "fc00::/7", "fd00:ec2::/32", "fd20:ce::254/128", "fe80::/10", "fec0::/10", "ff00::/8",
    "64:ff9b:1::/48",
)  # fmt: skip
INNER = (
    "127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "172.16.0.1", "172.31.255.255", "100.64.0.1", "0.0.0.0",
    "168.63.129.16", "100.100.100.200", "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.0.192",
)  # fmt: skip
SPELLINGS = (
    "0x7f.1", "0x7f000001", "0x7f.0.0.1", "2130706433", "017700000001", "0177.0.0.1", "127.1", "127.0.1", "0", "0.0",
    "127.0.0.1.", "127.000.000.001", "00.0.0.0", "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460", "127\u30020\u30020\u30021",
    "LOCALHOST.", "localhost", "LocalHost", "\uff4cocalhost", "[::1%25lo]", "[fe80::1%25eth0]", "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:0:0:1]", "[::1]", "[::]", "%31%32%37.0.0.1", "localhost%00.good.test", "127.0.0.1%2f", "256.0.0.1",
    "127.0.0.1.5", "0x7f.0x0.0x0.0x1", "[::127.0.0.1]",
)  # fmt: skip
QUARRELS = (
    "http://good.test\\@{0}/", "http://good.test@{0}/", "http://user:word@{0}/", "http://good.test:80@{0}/",
    "http://good.test#@{0}/", "http://good.test?@{0}/", "http://{0}\\.good.test/", "http://{0}\t/", "http://{0} /",
    " http://{0}/", "http:\\\\{0}/", "http:/{0}/", "http:{0}/", "//{0}/", "http:///{0}/", "http://\x00{0}/",
    "http://{0}@good.test:99999/", "http://good.test%40{0}/", "http://good.test,{0}/", "http://[{0}]/", "http://:{0}/",
    "HTTP://{0}\r\nHost: good.test/", "file://{0}/etc/passwd", "gopher://{0}/_GET", "ftp://{0}/", "dict://{0}/",
    "ldap://{0}/", "jar:http://{0}/!", "http://good.test\uff0f@{0}/",
)  # fmt: skip
PORTS = (0, 1, 22, 25, 6379, 8500, 9200, 11211, 65535, 65536)
ELSEWHERE = "93.184.216.34"
"""A public address, for ports that are not allowed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A target that must not be reached.

    Attributes:
        url: as text; `{port}` is a port that is allowed.
        address: what a name leads to that stands in for it.
        is_plain: the text is one that the parser takes, so that only what is behind it can be refused.
    """

    url: str
    address: str
    is_plain: bool


def corpus(num_cases: int) -> list[Case]:
    """So many cases; the first are made by hand, all further ones are random addresses of the same kinds."""
    cases = [*map(_of_address, _by_hand())]
    cases += [Case(f"http://{spelling}:{{port}}/", "127.0.0.1", False) for spelling in SPELLINGS]
    cases += [Case(quarrel.replace("{0}", "127.0.0.1:{port}"), "::1", False) for quarrel in QUARRELS]
    cases += [Case(f"http://{ELSEWHERE}:{port}/", "10.0.0.1", False) for port in PORTS]
    random = Random(8)
    while len(cases) < num_cases:
        cases.append(_of_address(_random(random)))
    return cases if num_cases >= len(cases) else Random(9).sample(cases, num_cases)


def _of_address(address: IPv4Address | IPv6Address) -> Case:
    host = f"[{address}]" if isinstance(address, IPv6Address) else str(address)
    return Case(f"http://{host}:{{port}}/", str(address), True)


def _by_hand() -> Iterator[IPv4Address | IPv6Address]:
    for text in RANGES:
        network = ip_network(text)
        yield from {network[place]: None for place in (0, network.num_addresses // 2, -1)}
    for inner in map(IPv4Address, INNER):
        yield inner
        yield from embeddings(inner)


def embeddings(inner: IPv4Address) -> Iterator[IPv6Address]:
    """An IPv4 address in every form that carries one."""
    number = int(inner)
    for prefix in ("::ffff:0:0", "::", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::", "64:ff9b:1:2:3:4::"):
        yield IPv6Address(int(IPv6Address(prefix)) | number)
    yield IPv6Address(int(IPv6Address("2002::")) | number << 80)
    yield IPv6Address(int(IPv6Address("2001::")) | number << 64 | (number ^ 0xFFFFFFFF))
    yield IPv6Address(int(IPv6Address("2606:4700::5efe:0:0")) | number)
    yield IPv6Address(int(IPv6Address("2606:4700::200:5efe:0:0")) | number)
    high, low = number >> 16, number & 0xFFFF
    yield IPv6Address(int(IPv6Address("64:ff9b:1::")) | high << 64 | low << 40)


def _random(random: Random) -> IPv4Address | IPv6Address:
    network = ip_network(random.choice(RANGES))
    address = network[random.randrange(network.num_addresses)]
    if isinstance(address, IPv6Address):
        return address
    return random.choice([address, *embeddings(address)])
