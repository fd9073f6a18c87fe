"""Fetches over real sockets: where a connection goes, what is sent over it, and what of the answer is believed."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.fairness.fair_queue import open_party
from service.media.fetch import exchange
from service.media.fetch.connection import FETCH_FAILED, client_context
from service.media.fetch.fetcher import Fetcher
from service.media.fetch.url import parse_url
from tests.conftest import until
from tests.media_host import redirect, reply
from tests.service.media.fetch.conftest import Bench

Reasons = Callable[[], list[str]]
IMAGE = bytes(range(256)) * 300


def test_an_image_comes_whole_and_is_counted_as_it_comes(bench: Bench) -> None:
    bench.host.pages["/a.png?size=1"] = reply(IMAGE)
    assert bench.fetch(bench.host.url("/a.png?size=1", "host.test")) == IMAGE
    assert sum(bench.taken) == len(IMAGE)
    assert len(bench.taken) > 1
    assert bench.names.asked == ["host.test"]


def test_nothing_of_the_client_or_the_environment_is_sent(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    bench.host.pages["/"] = reply(b"x")
    bench.fetch(bench.host.url("/", "host.test"))
    ((_, fields),) = bench.host.asked
    assert fields == {
        "host": f"host.test:{bench.host.port}",
        "user-agent": "cenote",
        "accept": "image/*, */*;q=0.1",
        "accept-encoding": "identity",
        "connection": "close",
    }


@pytest.mark.parametrize("addresses", [["10.0.0.1"], ["127.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["::1"],
                                       ["64:ff9b::7f00:1"], ["169.254.169.254"], []])  # fmt: skip
def test_one_address_that_is_not_public_condemns_the_name(bench: Bench, reasons: Reasons, addresses: list[str]) -> None:
    bench.names.table["elsewhere.test"] = addresses
    assert bench.failure(bench.host.url("/", "elsewhere.test")).message == FETCH_FAILED
    bench.names.table["host.test"] = ["169.254.169.254"]  # which no named private host reaches
    bench.failure(bench.host.url("/", "host.test"))
    assert reasons() == ["address_blocked"] * 2
    assert bench.host.num_connections == 0


def test_a_name_is_looked_up_once_for_each_hop_and_the_connection_goes_where_it_was_judged(bench: Bench) -> None:
    answers = itertools.chain([["127.0.0.1"]], itertools.repeat(["169.254.169.254"]))
    bench.names.table["host.test"] = lambda: next(answers)
    bench.host.pages["/"] = reply(b"x")
    assert bench.fetch(bench.host.url("/", "host.test")) == b"x"
    assert bench.names.asked == ["host.test"]


def test_every_cause_gives_one_message(bench: Bench) -> None:
    bench.names.table |= {"blocked.test": ["10.0.0.1"], "closed.test": ["127.0.0.1"]}
    bench.host.pages |= {"/500": reply(status="500 No"), "/gzip": reply(b"x", content_encoding="gzip")}
    bench.host.pages |= {"/garbage": b"SSH-2.0-OpenSSH\r\n", "/blocked": redirect(bench.host.url("/", "blocked.test"))}
    urls = [bench.host.url("/", "blocked.test"), bench.host.url("/", "unknown.test"), "http://host.test:1/"]
    urls += [bench.host.url(path, "host.test") for path in bench.host.pages]
    errors = [bench.failure(url, ports=frozenset({1, bench.host.port})) for url in urls]
    assert {(error.code, error.message) for error in errors} == {("media_fetch_failed", FETCH_FAILED)}


@pytest.mark.parametrize("location", ["/b", "b", "?b", "//other.test:{port}/b", "http://other.test:{port}/b", "/b#c"])
def test_a_redirect_is_followed_in_every_form(bench: Bench, location: str) -> None:
    bench.host.pages |= {"/a": redirect(location.format(port=bench.host.port)), "/b": reply(b"x"), "/a?b": reply(b"x")}
    assert bench.fetch(bench.host.url("/a", "host.test")) == b"x"
    assert len(bench.names.asked) == 2


@pytest.mark.parametrize(
    "location",
    ["", "file:///etc/passwd", "gopher://host.test/", "ftp://host.test/", "http://169.254.169.254/", "../b", "/\\b",
     "http://user@host.test/", "//[::1]/", "http://host.test:22/", "http://0x7f.1/", "http://intranet/", "data:,x"],
)  # fmt: skip
def test_a_redirect_is_checked_as_strictly_as_the_first_url(bench: Bench, reasons: Reasons, location: str) -> None:
    bench.host.pages["/a"] = redirect(location)
    error = bench.failure(bench.host.url("/a", "host.test"), ports=frozenset({80, bench.host.port}))
    assert error.code == "media_fetch_failed"
    assert reasons() == ["address_blocked" if "169" in location or "::1" in location else "redirect_refused"]
    assert bench.host.num_connections == 1


def test_only_so_many_redirects_are_followed(bench: Bench, reasons: Reasons) -> None:
    bench.host.pages |= {f"/{hop}": redirect(f"/{hop + 1}", "307 Temporary Redirect") for hop in range(4)}
    bench.host.pages["/4"] = reply(b"x")
    assert bench.fetch(bench.host.url("/1", "host.test")) == b"x"
    bench.failure(bench.host.url("/0", "host.test"))
    assert reasons() == ["too_many_redirects"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply(b"x", status="404 Not Found"), "status_refused"),
        (reply(b"x", status="206 Partial Content"), "status_refused"),
        (reply(status="304 Not Modified"), "status_refused"),
        (reply(b"x", content_encoding="gzip"), "coding_refused"),
        (reply(b"x", content_encoding="identity, br"), "coding_refused"),
        (reply(b"x", transfer_encoding="gzip, chunked", content_length=""), "protocol_broken"),
        (reply(b"short", content_length="100"), "protocol_broken"),
        (reply(b"x", content_length="-1"), "protocol_broken"),
        (reply(b"x", **{f"x_{number}": "y" for number in range(10_000)}), "protocol_broken"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20 + reply(b"x"), "protocol_broken"),
        (b"", "protocol_broken"),
        (reply(transfer_encoding="chunked", content_length="") + b"1\r\nx\r\n" * 2000, "protocol_broken"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_answer_that_is_not_plain_is_refused(bench: Bench, reasons: Reasons, answer: bytes, reason: str) -> None:
    bench.host.pages["/"] = answer
    bench.failure(bench.host.url("/", "host.test"))
    assert reasons() == [reason]


def endless() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield bytes(65536)


@pytest.mark.parametrize("script", [reply(IMAGE), lambda _: endless(), reply(b"", content_length=str(1 << 40))])
def test_a_body_is_cut_off_at_the_limit(bench: Bench, script: object) -> None:
    bench.host.pages["/"] = script
    assert bench.failure(bench.host.url("/", "host.test"), max_bytes=1000).code == "media_too_large"
    assert sum(bench.taken) <= 1000


def drip(_: object) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"
    while True:
        time.sleep(0.02)
        yield b"x"


def test_a_host_that_drips_is_left_by_the_wall_clock_and_its_socket_is_free(bench: Bench, reasons: Reasons) -> None:
    bench.host.pages["/"] = drip
    began_s, before = time.monotonic(), num_descriptors()
    bench.failure(bench.host.url("/", "host.test"), timeout_s=0.3)
    assert 0.3 <= time.monotonic() - began_s < 10
    assert reasons() == ["timed_out"]
    until(lambda: num_descriptors() <= before, "a free socket", 2)


def test_a_host_that_drips_is_left_long_before_the_time_limit(
    bench: Bench, reasons: Reasons, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "GRACE_S", 0.1)
    head = b"HTTP/1.1 200 OK\r\nx-name: "
    bench.host.pages |= {"/body": drip, "/head": lambda _: itertools.chain([head], slowly(b"x" * 1000))}
    for path in bench.host.pages:
        bench.failure(bench.host.url(path, "host.test"), timeout_s=600)
    assert reasons() == ["too_slow", "too_slow"]


def test_a_host_may_think_before_it_answers_and_be_as_slow_as_the_least_rate(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "GRACE_S", 0.3)
    whole = reply(b"x" * 30)

    def script(_: object) -> Iterator[bytes]:
        time.sleep(0.6)
        yield from slowly(whole)

    bench.host.pages["/"] = script
    assert bench.fetch(bench.host.url("/", "host.test"), min_bytes_per_s=10) == b"x" * 30


def slowly(content: bytes) -> Iterator[bytes]:
    for byte in content:
        yield bytes([byte])
        time.sleep(0.01)


async def test_a_fetch_that_is_cancelled_frees_its_socket(bench: Bench) -> None:
    bench.host.pages["/"] = drip
    fetcher, url = bench.fetcher(), parse_url(bench.host.url("/", "host.test"))
    task = asyncio.create_task(fetcher.fetch(url, b"", bench.taken.append))
    while not bench.taken:
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.to_thread(until, lambda: bench.host.num_open == 0, "a free socket", 2)
    assert len(fetcher._hosts) == len(fetcher._tenants) == 0


class Crowd:
    """A page that counts how many are asking for it; nobody gets it before as many as expected have met."""

    def __init__(self, expected: int) -> None:
        self.num = self.max = 0
        self._expected = expected
        self._changed = threading.Condition()

    def __call__(self, _: object) -> bytes:
        with self._changed:
            self.num += 1
            self.max = max(self.max, self.num)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.max >= self._expected, 10)
        time.sleep(0.05)  # for those who should not come
        with self._changed:
            self.num -= 1
        return reply(b"x")


@pytest.mark.parametrize(("tenants", "expected"), [([b"one"] * 8, 2), ([bytes([n]) for n in range(8)], 3)])
async def test_so_many_at_once_go_to_one_host_and_for_one_tenant(
    bench: Bench, tenants: list[bytes], expected: int
) -> None:
    """Counted by the page and not by open sockets: a host may see a new one before it sees that the last was closed."""
    crowd = bench.host.pages["/"] = Crowd(expected)
    limits = {"max_per_host": 3, "max_per_tenant": 2, "tls": client_context()}
    fetcher = Fetcher(bench.fetcher().policy, bench.names, bench.fetcher().memory, **limits)
    url = parse_url(bench.host.url("/", "host.test"))

    async def one(tenant: bytes) -> None:
        open_party(tenant.hex())  # a request of its own
        await fetcher.fetch(url, tenant, bench.taken.append)

    await asyncio.gather(*map(one, tenants))
    assert crowd.max == expected


def test_a_known_image_is_asked_for_only_if_it_has_changed(bench: Bench) -> None:
    def by_tag(fields: dict[str, str]) -> bytes:
        fresh = fields.get("if-none-match") == '"1"'
        return reply(status="304 Not Modified", content_length="") if fresh else reply(IMAGE, etag='"1"')

    bench.host.pages["/"] = by_tag
    fetcher, url = bench.fetcher(), parse_url(bench.host.url("/", "host.test"))
    for tenant in (b"one", b"one", b"two"):
        bench.taken.clear()
        assert asyncio.run(fetcher.fetch(url, tenant, bench.taken.append)) == IMAGE
        assert sum(bench.taken) == len(IMAGE)
    assert ["if-none-match" in fields for _, fields in bench.host.asked] == [False, True, False]


def test_a_known_image_is_not_given_out_when_its_host_may_no_longer_be_asked(bench: Bench) -> None:
    bench.host.pages["/"] = reply(IMAGE, etag='"1"')
    fetcher, url = bench.fetcher(), parse_url(bench.host.url("/", "host.test"))
    asyncio.run(fetcher.fetch(url, b"", bench.taken.append))
    assert fetcher.memory.num_bytes > len(IMAGE)
    bench.names.table["host.test"] = ["169.254.169.254"]
    with pytest.raises(Exception, match="could not be fetched"):
        asyncio.run(fetcher.fetch(url, b"", bench.taken.append))


def num_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))
