"""URLs and lists of allowed hosts: what is accepted has one meaning, and what parsers disagree about is refused."""

import pytest

from service.media.fetch.policy import parse_host_list
from service.media.fetch.url import MAX_URL_CHARS, UrlError, parse_host, parse_url
from service.settings.settings import SettingsError


@pytest.mark.parametrize(
    ("text", "authority", "port", "target"),
    [
        ("http://a.example", "a.example", 80, "/"),
        ("HTTPS://A.Example/B?C=%2e#d", "a.example", 443, "/B?C=%2e"),
        ("http://a.example?q", "a.example", 80, "/?q"),
        ("http://a.example:8080/", "a.example:8080", 8080, "/"),
        ("https://a.example:443/x@y:z", "a.example", 443, "/x@y:z"),
        ("http://xn--bcher-kva.example/", "xn--bcher-kva.example", 80, "/"),
        ("http://under_score.example/", "under_score.example", 80, "/"),
        ("http://192.0.2.1/", "192.0.2.1", 80, "/"),
        ("http://[2001:DB8::1]:81/", "[2001:db8::1]:81", 81, "/"),
    ],
)
def test_a_url_is_split_once_and_its_path_is_kept_as_written(text: str, authority: str, port: int, target: str) -> None:
    url = parse_url(text)
    assert (url.authority, url.port, url.target) == (authority, port, target)


@pytest.mark.parametrize(
    "text",
    [
        "http:/a.example/", "http:a.example", "http:///a", "http://", "http://:80/", "//a.example/", "a.example",
        "ftp://a.example/", "http://good.example\\@evil.example/", "http://good.example\\evil.example/",
        "http://user@evil.example/", "http://user:word@evil.example/", "http://good.example@evil.example/",
        "http://a.example%2eevil.example/", "http://%31%32%37.0.0.1/", "http://a example/", "http://a.example/ b",
        "http://a.example/\n", "\thttp://a.example/", "http://a.exa\tmple/", "http://a.example\x00.evil.example/",
        "http://a.example:0/", "http://a.example:65536/", "http://a.example:99999/", "http://a.example:080/",
        "http://a.example:/", "http://a.example:80:81/", "http://a.example:+80/", "http://a.example:8 0/",
        "http://a.example./", "http://LOCALHOST./", "http://.example/", "http://a..example/", "http://-a.example/",
        "http://bücher.example/", "http://a。example/", "http://①②⑦.0.0.1/", "http://\uff4cocalhost/", "http://a.example/ü",
        "http://0x7f.1/", "http://2130706433/", "http://0177.0.0.1/", "http://127.1/", "http://0/", "http://0x7f000001/",
        "http://127.0.0.01/", "http://127.0.0.1.5/", "http://256.0.0.1/", "http://1.2.3.0x4/", "http://127.0.0.1./",
        "http://[::1/", "http://::1/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[1.2.3.4]/",
        "http://[::1]x/", "http://[]/", "http://[::1]a.example/", "http://a.example,evil.example/",
        "http://" + "a" * 64 + ".example/", "http://" + "a." * 127 + "example/",
        "http://a.example/" + "b" * MAX_URL_CHARS,
    ],
)  # fmt: skip
def test_what_two_parsers_could_read_differently_is_refused(text: str) -> None:
    with pytest.raises(UrlError):
        parse_url(text)


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
