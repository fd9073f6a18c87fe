"""Lists of allowed hosts, and the settings that stop the start."""

import pytest

from service.media.fetch.policy import parse_host_list
from service.media.fetch.url import parse_host
from service.settings.settings import SettingsError


@pytest.mark.parametrize(
    ("setting", "inside", "outside"),
    [
        ("a.example", ["a.example", "A.EXAMPLE"], ["b.a.example", "xa.example", "example"]),
        ("*.a.example", ["b.a.example", "c.b.a.example"], ["a.example", "ba.example", "a.example.evil.test"]),
        ("*", ["a.example", "1.1.1.1", "[2606:4700::1]"], ["intranet"]),
        ("10.1.2.3, [fd00::1]", ["10.1.2.3", "[FD00:0::1]"], ["10.1.2.4", "a.example"]),
        ("a.example,*.b.example", ["a.example", "x.b.example"], ["b.example"]),
    ],
)
def test_a_list_names_hosts_whole_by_their_end_or_all(setting: str, inside: list[str], outside: list[str]) -> None:
    hosts = parse_host_list(setting, "--flag", patterns=True)
    assert [host for host in inside if parse_host(host) not in hosts] == []
    assert [host for host in outside if parse_host(host) in hosts] == []


@pytest.mark.parametrize("setting", ["", "a.example,", "*a.example", "a.*.example", "*.", "*.1.2.3.4", "http://a.example",
                                     "a.example:80", "a b", "bücher.example"])  # fmt: skip
def test_what_is_no_host_stops_the_start(setting: str) -> None:
    with pytest.raises(SettingsError, match="--flag"):
        parse_host_list(setting, "--flag", patterns=True)


@pytest.mark.parametrize("setting", ["*", "*.a.example"])
def test_hosts_with_private_addresses_are_named_one_by_one(setting: str) -> None:
    with pytest.raises(SettingsError, match="patterns are not accepted"):
        parse_host_list(setting, "--flag", patterns=False)
