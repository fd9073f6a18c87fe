"""The one parser of URLs: what it returns is what is connected to, requested and compared with the lists of hosts.

Only scheme and host change case; nothing else is normalized. Everything that two parsers have disagreed about is
refused: a backslash, a space, a control character, `@` or `%` before the path, an empty host, a port that is no number.
A host has one spelling: `getaddrinfo` takes `0x7f.1`, `2130706433`, `127.1` and circled digits for 127.0.0.1, which are
refused here, and so are letters outside ASCII: an international name is written in its `xn--` form.

Source: RFC 3986; GHSA-qh4c-xf7m-gxfc and GHSA-v359-jj2v-j536 show what a second parser leads to.
"""

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Literal, Never

from service.media.fetch.address import Address


class UrlError(Exception):
    """A URL is not accepted for how it is written, or for a host or port that is not allowed.

    The message is for the client. It depends on the text and the settings alone, so that it says nothing about hosts.
    """


_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_LOOKS_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DOTTED_QUAD = re.compile(r"(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}")
_MAX_NAME_CHARS = 253


@dataclass(frozen=True, slots=True)
class Host:
    """A host."""

    text: str
    """In lower case, without brackets."""
    address: Address | None = None

    @property
    def in_url(self) -> str:
        """The form used in a URL and in the `Host` field."""
        return f"[{self.text}]" if isinstance(self.address, IPv6Address) else self.text


def parse_host(text: str) -> Host:
    """Read a host.

    Args:
        text: what stands between `//` and the port.

    Source: RFC 3986 section 3.2.2; the WHATWG URL standard, "ends in a number checker".
    """
    lower = text.lower()
    if lower.startswith("["):
        inside = lower[1:-1] if lower.endswith("]") and "%" not in lower else ""
        return _numeric(IPv6Address, inside, "a host in brackets that is no IPv6 address")
    labels = lower.split(".")
    if _LOOKS_NUMERIC.fullmatch(labels[-1]):
        quad = lower if _DOTTED_QUAD.fullmatch(lower) else ""
        return _numeric(IPv4Address, quad, "a numeric host that is no IPv4 address of four decimal numbers")
    if len(lower) > _MAX_NAME_CHARS or not all(map(_LABEL.fullmatch, labels)):
        _refuse("a host that is no name of ASCII letters, digits and hyphens (other scripts in their `xn--` form)")
    return Host(lower)


def _numeric(kind: type[Address], text: str, got: str) -> Host:
    try:
        address = kind(text)
    except AddressValueError:
        _refuse(got)
    return Host(str(address), address)


def _refuse(got: str) -> Never:
    raise UrlError(f"got {got}") from None


MAX_URL_CHARS = 8192
Scheme = Literal["http", "https"]
DEFAULT_PORTS: dict[Scheme, int] = {"http": 80, "https": 443}

_URL = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<rest>[/?][^#]*)?(#.*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?", re.IGNORECASE)
_REFUSED_CHARS = re.compile(r"[^\x21-\x7e]|\\")


@dataclass(frozen=True, slots=True)
class Url:
    """A parsed URL: where to connect, and the target to request."""

    scheme: Scheme
    """`http` or `https`."""
    host: Host
    port: int
    """1 to 65535."""
    target: str
    """Path and query, as written."""

    @property
    def authority(self) -> str:
        """Host and port as they stand in the `Host` field: no port where it is the scheme's own."""
        return self.host.in_url if self.port == DEFAULT_PORTS[self.scheme] else f"{self.host.in_url}:{self.port}"

    @property
    def text(self) -> str:
        """The whole URL, in one spelling."""
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_url(text: str) -> Url:
    """Read a URL.

    Args:
        text: an absolute URL of http or https; a fragment is dropped.
    """
    if len(text) > MAX_URL_CHARS:
        raise UrlError(f"got {len(text)} characters, expected at most {MAX_URL_CHARS}")
    if _REFUSED_CHARS.search(text):
        raise UrlError("got a space, a backslash or a character outside ASCII, expected it percent-encoded")
    whole = _URL.fullmatch(text)
    authority = _AUTHORITY.fullmatch(whole["authority"]) if whole else None
    if whole is None or authority is None:
        raise UrlError("expected http:// or https://, a host and perhaps a port, without user name or password")
    scheme: Scheme = "https" if whole["scheme"].lower() == "https" else "http"
    rest = whole["rest"] or "/"
    target = rest if rest.startswith("/") else f"/{rest}"
    port = int(authority["port"] or DEFAULT_PORTS[scheme])
    if not 1 <= port <= 65535 or (authority["port"] or "").startswith("0"):
        raise UrlError("got a port that is no number from 1 to 65535")
    return Url(scheme, parse_host(authority["host"]), port, target)
