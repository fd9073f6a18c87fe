"""Which hosts a setting names: `example.com`, `*.example.com` for every name below it, `*` for every name with a dot.

Compares text that `host.py` has read; knows no address but as text.
"""

from dataclasses import dataclass

from service.media.fetch.host import Host, parse_host
from service.media.fetch.url_error import UrlError
from service.settings import SettingsError

ANY = "*"


@dataclass(frozen=True, slots=True)
class HostList:
    """Hosts, by name.

    Attributes:
        names: whole hosts.
        suffixes: ends of names, each with its leading dot.
        has_any: every address, and every name that a single label does not make: those are this network's own.
    """

    names: frozenset[str] = frozenset()
    suffixes: tuple[str, ...] = ()
    has_any: bool = False

    def __contains__(self, host: Host) -> bool:
        """Whether a host is on the list."""
        if host.text in self.names or (self.has_any and (host.address is not None or "." in host.text)):
            return True
        return host.address is None and host.text.endswith(self.suffixes)


NOBODY = HostList()


def parse_host_list(text: str, setting: str, *, patterns: bool) -> HostList:
    """Read the value of a setting.

    Args:
        text: hosts, separated by commas.
        setting: its flag, for the error.
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
