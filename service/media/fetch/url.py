"""The one parse of a URL: what it gives is what is connected to, what is asked for and what is compared with lists.

Nothing is normalized but the case of scheme and host. Whatever two parsers have ever disagreed about is refused: a
backslash, a space, a control character, `@` or `%` before the path, an empty host, a port of no number.

Source: RFC 3986; GHSA-qh4c-xf7m-gxfc and GHSA-v359-jj2v-j536 are what a second parser leads to.
"""

import re
from dataclasses import dataclass
from typing import Literal

from service.media.fetch.host import Host, parse_host
from service.media.fetch.url_error import UrlError

MAX_URL_CHARS = 8192
Scheme = Literal["http", "https"]
DEFAULT_PORTS: dict[Scheme, int] = {"http": 80, "https": 443}

_URL = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<rest>[/?][^#]*)?(#.*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?", re.IGNORECASE)
_REFUSED_CHARS = re.compile(r"[^\x21-\x7e]|\\")


@dataclass(frozen=True, slots=True)
class Url:
    """Where to connect, and what to ask for there.

    Attributes:
        scheme: `http` or `https`.
        host: whom to connect to.
        port: 1 to 65535.
        target: path and query, as written.
    """

    scheme: Scheme
    host: Host
    port: int
    target: str

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

    Raises:
        UrlError: it is none, or is written in a way that is not accepted.
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
    return Url(scheme, parse_host(authority["host"]), _port(authority["port"], scheme), target)


def _port(text: str | None, scheme: Scheme) -> int:
    if text is None:
        return DEFAULT_PORTS[scheme]
    port = int(text)
    if not 1 <= port <= 65535 or text.startswith("0"):
        raise UrlError("got a port that is no number from 1 to 65535")
    return port
