"""Fetch policy: hosts, ports, sizes and times from the settings, read once at start."""

from dataclasses import dataclass
from ipaddress import IPv6Network

from service.media.fetch.address import NAT64_LENGTHS, Address, AddressClass, classify
from service.media.fetch.url import Host, Url, UrlError, parse_host
from service.settings.settings import Settings, SettingsError

ANY = "*"


@dataclass(frozen=True, slots=True)
class HostList:
    """Hosts, by name."""

    names: frozenset[str] = frozenset()
    """Whole hosts."""
    suffixes: tuple[str, ...] = ()
    """Ends of names, each with its leading dot."""
    has_any: bool = False
    """Every address, and every name that a single label does not make: those are this network's own."""

    def __contains__(self, host: Host) -> bool:
        """Return whether a host is on the list."""
        if host.text in self.names or (self.has_any and (host.address is not None or "." in host.text)):
            return True
        return host.address is None and host.text.endswith(self.suffixes)


NO_HOSTS = HostList()


def parse_host_list(text: str, setting: str, *, patterns: bool) -> HostList:
    """Read the value of a setting.

    Args:
        patterns: whether `*` and `*.example.com` may stand there.

    Raises:
        SettingsError: one is no host.
    """
    entries = [entry.strip() for entry in text.split(",")]
    wild = {entry for entry in entries if entry.startswith(ANY)} if patterns else set()
    whole = [_host(entry, setting, patterns=patterns) for entry in entries if entry not in wild]
    ends = [_host(entry[2:], setting, patterns=True) for entry in wild - {ANY} if entry.startswith("*.")]
    if len(ends) != len(wild - {ANY}) or any(end.address is not None for end in ends):
        raise _error(setting, patterns=patterns)
    return HostList(frozenset(host.text for host in whole), tuple(sorted(f".{end.text}" for end in ends)), ANY in wild)


def _host(text: str, setting: str, *, patterns: bool) -> Host:
    try:
        return parse_host(text)
    except UrlError as error:
        raise _error(setting, patterns=patterns) from error


def _error(setting: str, *, patterns: bool) -> SettingsError:
    also = ", `*.example.com` or `*`" if patterns else "; patterns are not accepted here"
    return SettingsError(f"{setting}: expected hosts separated by commas: `example.com`, `10.1.2.3`, `[fd00::1]`{also}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPolicy:
    """Limits of a fetch.

    Attributes:
        allowed: hosts that may be asked.
        private: hosts that may also be asked where their addresses are private.
        nat64_prefixes: this network's own translators.
        max_bytes: largest file.
        timeout_s: longest time of a fetch, redirects included, by the wall clock.
        connect_timeout_s: longest time until a hop's connection stands.
        min_bytes_per_s: least rate of an answer.
        max_redirects: hops after the first.
    """

    allowed: HostList = NO_HOSTS
    private: HostList = NO_HOSTS
    ports: frozenset[int] = frozenset((80, 443))
    nat64_prefixes: tuple[IPv6Network, ...] = ()
    max_bytes: int = 20 << 20
    timeout_s: float = 10.0
    connect_timeout_s: float = 3.0
    min_bytes_per_s: int = 16_000
    max_redirects: int = 3

    @classmethod
    def of(cls, settings: Settings) -> "FetchPolicy | None":
        """The policy of a configuration; None when it names no host.

        Raises:
            SettingsError: a host, a port or a prefix is none.
        """
        allowed, private = settings.allow_media_hosts, settings.allow_private_media_hosts
        if allowed is None and private is None:
            return None
        return cls(
            allowed=NO_HOSTS if allowed is None else parse_host_list(allowed, "--allow-media-hosts", patterns=True),
            private=NO_HOSTS
            if private is None
            else parse_host_list(private, "--allow-private-media-hosts", patterns=False),
            ports=_ports(settings.media_ports),
            nat64_prefixes=_prefixes(settings.nat64_prefixes) if settings.nat64_prefixes is not None else (),
            max_bytes=settings.max_image_bytes,
            timeout_s=settings.media_fetch_timeout_s,
            min_bytes_per_s=settings.min_bytes_per_s,
        )

    def check(self, url: Url) -> None:
        """Refuse what the text alone shows to be outside the policy."""
        if url.host not in self.allowed and url.host not in self.private:
            raise UrlError("got a host that media are not fetched from here")
        if url.port not in self.ports:
            raise UrlError("got a port that media are not fetched from here")

    def permits(self, host: Host, address: Address) -> bool:
        """Return whether a host may be connected to at an address."""
        highest = AddressClass.PRIVATE if host in self.private else AddressClass.PUBLIC
        return classify(address, self.nat64_prefixes) <= highest


def _ports(text: str) -> frozenset[int]:
    ports = [part.strip() for part in text.split(",")]
    if not all(port.isascii() and port.isdigit() and 1 <= int(port) <= 65535 for port in ports):
        raise SettingsError("--media-ports: expected ports from 1 to 65535, separated by commas")
    return frozenset(map(int, ports))


def _prefixes(text: str) -> tuple[IPv6Network, ...]:
    try:
        prefixes = tuple(IPv6Network(part.strip()) for part in text.split(","))
    except ValueError:  # those of addresses and masks are such
        prefixes = ()
    if not prefixes or any(prefix.prefixlen not in NAT64_LENGTHS for prefix in prefixes):
        lengths = ", ".join(map(str, NAT64_LENGTHS))
        raise SettingsError(f"--nat64-prefixes: expected IPv6 prefixes of length {lengths}, separated by commas")
    return prefixes
