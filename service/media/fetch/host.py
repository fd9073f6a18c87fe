"""A host as it stands in a URL: a name of ASCII labels, a dotted quad, or an IPv6 address in brackets.

One spelling for each host. `getaddrinfo` takes `0x7f.1`, `2130706433`, `127.1` and circled digits for 127.0.0.1; here
they are refused, and so is every letter outside ASCII: a name in another script is written in its `xn--` form, so that
there is no mapping to disagree about. Knows no network.
"""

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Never

from service.media.fetch.address import Address
from service.media.fetch.url_error import UrlError

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_LOOKS_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DOTTED_QUAD = re.compile(r"(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}")
_MAX_NAME_CHARS = 253


@dataclass(frozen=True, slots=True)
class Host:
    """A host.

    Attributes:
        text: in lower case, without brackets.
        address: the address, when the host is one.
    """

    text: str
    address: Address | None = None

    @property
    def in_url(self) -> str:
        """As it stands in a URL and in the `Host` field."""
        return f"[{self.text}]" if isinstance(self.address, IPv6Address) else self.text


def parse_host(text: str) -> Host:
    """Read a host.

    Args:
        text: what stands between `//` and the port.

    Raises:
        UrlError: it is no host, or one in a spelling that is not accepted.

    Source: RFC 3986 section 3.2.2; the WHATWG URL standard, "ends in a number checker".
    """
    lower = text.lower()
    if lower.startswith("["):
        return _ipv6(lower)
    labels = lower.split(".")
    if _LOOKS_NUMERIC.fullmatch(labels[-1]):
        return _ipv4(lower)
    if len(lower) > _MAX_NAME_CHARS or not all(map(_LABEL.fullmatch, labels)):
        _refuse("a host that is no name of ASCII letters, digits and hyphens (other scripts in their `xn--` form)")
    return Host(lower)


def _ipv6(text: str) -> Host:
    try:
        address = IPv6Address(text[1:-1]) if text.endswith("]") and "%" not in text else None
    except AddressValueError:
        address = None
    if address is None:
        _refuse("a host in brackets that is no IPv6 address")
    return Host(str(address), address)


def _ipv4(text: str) -> Host:
    try:
        address = IPv4Address(text) if _DOTTED_QUAD.fullmatch(text) else None
    except AddressValueError:
        address = None
    if address is None:
        _refuse("a numeric host that is no IPv4 address of four decimal numbers")
    return Host(text, address)


def _refuse(got: str) -> Never:
    raise UrlError(f"got {got}") from None
