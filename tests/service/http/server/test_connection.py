"""The edge of HTTP, spoken by hand: malformed heads, slow clients, too many of them."""

import json
import socket
import time
from collections.abc import Callable

import pytest

from tests.conftest import CHECKPOINT, LiveServer, until
from tests.raw_socket import address, connect, post, receive, say

BODY = b'{"input": "x"}'
LENGTH = b"content-length: 14\r\n"
START = b"POST /v1/embeddings HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
GET = b"GET /livez HTTP/1.1\r\nhost: a\r\n"
CHUNKED = START + b"transfer-encoding: chunked\r\n\r\n"
LINES_ELSEWHERE = CHUNKED.replace(b"json", b"x-ndjson")
WHOLE_CHUNK = b"e\r\n" + BODY + b"\r\n0\r\n\r\n"

RAW = {
    "both lengths": (START + LENGTH + b"transfer-encoding: chunked\r\n\r\n" + WHOLE_CHUNK, 400),
    "two lengths": (START + LENGTH + b"content-length: 13\r\n\r\n" + BODY, 400),
    "a length with a sign": (START + b"content-length: +14\r\n\r\n" + BODY, 400),
    "a length with an underscore": (START + b"content-length: 1_4\r\n\r\n" + BODY, 400),
    "a negative length": (START + b"content-length: -1\r\n\r\n" + BODY, 400),
    "a folded header": (START + b"x-a: b\r\n c\r\n" + LENGTH + b"\r\n" + BODY, 400),
    "bare line feeds": (START.replace(b"\r\n", b"\n") + b"content-length: 14\n\n" + BODY, 400),
    "a bare carriage return": (GET + b"x-a: b\rc: d\r\n\r\n", 400),
    "a NUL in a header": (GET + b"x-a: \x00\r\n\r\n", 400),
    "a space before the colon": (GET + b"x-a : b\r\n\r\n", 400),
    "another coding": (START + b"transfer-encoding: gzip, chunked\r\n\r\n" + WHOLE_CHUNK, 400),
    "a bad chunk": (CHUNKED + b"zz\r\n", 400),
    "no host": (b"GET /livez HTTP/1.1\r\n\r\n", 400),
    "two hosts": (GET + b"host: b\r\n\r\n", 400),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01", 400),
    "a long target": (b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n", 414),
    "200 headers": (GET + b"".join(b"x-%d: y\r\n" % i for i in range(200)) + b"\r\n", 431),
    "a header of 64 kB": (GET + b"x-a: " + b"b" * 65_536 + b"\r\n\r\n", 431),
    "headers of 1 MB": (GET + b"".join(b"x-%d: %s\r\n" % (i, b"b" * 20_000) for i in range(50)) + b"\r\n", 431),
    "tiny chunks": (CHUNKED + b"1\r\n \r\n" * 500_000 + b"0\r\n\r\n", 400),
    "any path as Host": (b"GET /livez HTTP/1.1\r\nhost: a/v1/x?\r\n\r\n", 400),
    "a wish that nobody knows": (GET + b"expect: more\r\n\r\n", 200),
    "one chunk": (CHUNKED + WHOLE_CHUNK, 200),
    "HTTP/1.0": (b"GET /livez HTTP/1.0\r\n\r\n", 200),
    "tiny chunks of lines elsewhere": (LINES_ELSEWHERE + b'c\r\n{"input":""}\r\n' * 500_000 + b"0\r\n\r\n", 415),
    "chunks of 64 bytes": (CHUNKED + (b"40\r\n" + b" " * 64 + b"\r\n") * 10_000 + WHOLE_CHUNK, 200),
    "HTTP/2.0": (b"GET /livez HTTP/2.0\r\nhost: a\r\n\r\n", 400),
    "HTTP/0.9": (b"GET /livez HTTP/0.9\r\nhost: a\r\n\r\n", 400),
    "a later HTTP/1": (b"GET /livez HTTP/1.2\r\nhost: a\r\n\r\n", 200),
    "a URL as target": (b"GET HTTP://b:80/livez HTTP/1.1\r\nhost: a\r\n\r\n", 200),
    "a URL without a path": (b"GET http://[::1]?a=/b HTTP/1.1\r\nhost: a\r\n\r\n", 200),
    "a URL of another server": (b"GET ftp://b/livez HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a URL with a password": (b"GET http://me:secret@b/livez HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a URL with a malformed host": (b"GET http://a,b/livez HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "a URL and no host": (b"GET http://b/livez HTTP/1.1\r\n\r\n", 400),
    "a blank line first": (b"\r\n" + GET + b"\r\n", 200),
    "blank lines and what h11 reads": (b"\r\n\r\n\r\n" + GET + b"expect: more\r\n\r\n", 200),
    "a blank line of a bare line feed": (b"\n" + GET + b"\r\n", 400),
    "a bare carriage return first": (b"\rGET / HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    "another upgrade": (GET + b"connection: upgrade\r\nupgrade: websocket\r\n\r\n", 200),
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_no_plain_http_is_refused_by_its_status_and_in_our_words(server: LiveServer, name: str) -> None:
    sent, status = RAW[name]
    heard = say(server, sent)
    assert heard.status == status or (heard.is_closed and not heard.raw and len(sent) > 60_000), heard
    if status != 200 and heard.raw:
        error = json.loads(heard.raw.partition(b"\r\n\r\n")[2])["error"]
        assert error["request_id"].encode() in heard.raw.partition(b"\r\n\r\n")[0]
    assert server.status("/livez") == 200


def test_a_body_shorter_than_announced_waits_and_one_longer_is_cut(server: LiveServer) -> None:
    longer = say(server, START + LENGTH + b"\r\n" + BODY + b"GARBAGE THAT IS NO REQUEST\r\n\r\n")
    assert longer.status == 200
    assert say(server, START + b"content-length: 100\r\n\r\n" + BODY, timeout_s=0.5).raw == b""


@pytest.mark.parametrize("first", [post("/v1/embeddings", BODY), CHUNKED + WHOLE_CHUNK], ids=["plain", "chunks"])
def test_blank_lines_between_requests_are_passed_over(server: LiveServer, first: bytes) -> None:
    """However they come: with the request before them, by themselves, in halves, with the one after them."""
    with connect(server) as client:
        for pieces in ((first + b"\r\n",), (b"\r\n\r", b"\n" + first), (b"\r\n" + first,)):
            for piece in pieces:
                client.sendall(piece)
                time.sleep(0.05)
            assert receive(client).status == 200


def test_a_client_that_waits_for_100_gets_it(server: LiveServer) -> None:
    with connect(server) as client:
        client.sendall(START + LENGTH + b"expect: 100-continue\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 100")
        client.sendall(BODY)
        assert receive(client).status == 200


@pytest.fixture(scope="module")
def impatient(start_server: Callable[..., LiveServer]) -> LiveServer:
    flags = ("--receive-timeout-s", "1", "--keep-alive-s", "1", "--max-connections", "8")
    return start_server("--model", str(CHECKPOINT), "--log-format", "json", *flags).wait_until_ready()


def drip(server: LiveServer, sent: bytes, rest: bytes) -> tuple[bytes, float]:
    """Send the one at once and the other a byte a tenth of a second; what came back, and when the connection ended."""
    with connect(server) as client:
        client.sendall(sent)
        client.settimeout(0.1)
        began_s, heard = time.monotonic(), b""
        for byte in rest:
            try:
                client.sendall(bytes([byte]))
                if not (received := client.recv(4096)):
                    break
                heard += received
            except TimeoutError:
                continue
            except OSError:
                break
        return heard, time.monotonic() - began_s


def test_a_slow_head_ends_its_connection(impatient: LiveServer) -> None:
    assert drip(impatient, b"", b"GET /livez HTTP/1.1\r\nhost: " + b"a" * 200)[1] < 10


def test_a_connection_that_says_nothing_ends(impatient: LiveServer) -> None:
    with connect(impatient) as client:
        assert receive(client).is_closed


def test_a_connection_that_is_idle_after_its_answer_ends_also_when_it_says_a_byte(impatient: LiveServer) -> None:
    for byte in (b"", b"G"):
        with connect(impatient) as client:
            client.sendall(GET + b"\r\n")
            assert receive(client).status == 200
            client.sendall(byte)
            assert receive(client).is_closed


def test_blank_lines_do_not_keep_a_connection(impatient: LiveServer) -> None:
    with connect(impatient) as client:
        client.sendall(GET + b"\r\n")
        assert receive(client).status == 200
        client.sendall(b"\r\n" * 100_000)
        assert receive(client).is_closed


def test_a_slow_body_is_answered_408_and_its_connection_ends(impatient: LiveServer) -> None:
    heard, seconds = drip(impatient, START + b"content-length: 1000\r\n\r\n", b" " * 200)
    assert heard.startswith(b"HTTP/1.1 408 ")
    assert b'"body_timeout"' in heard
    assert seconds < 10


def test_a_body_that_comes_fast_enough_has_longer_than_the_deadline(impatient: LiveServer) -> None:
    with connect(impatient) as client:
        client.sendall(post("/v1/embeddings", b" " * 100_000 + BODY)[:-100_014])
        for _ in range(20):
            client.sendall(b" " * 5_000)
            time.sleep(0.1)
        client.sendall(BODY)
        assert receive(client).status == 200


def test_a_body_that_nobody_reads_is_not_waited_for_for_long(impatient: LiveServer) -> None:
    heard, seconds = drip(
        impatient, START.replace(b"embeddings", b"nothing") + b"content-length: 1000\r\n\r\n", b" " * 299
    )
    assert heard.startswith(b"HTTP/1.1 404 ")
    assert 3 < seconds < 20


@pytest.mark.parametrize("path", [b"/nothing", b"/v1/models", b"/v1/embeddings"])
def test_a_body_in_chunks_that_is_refused_is_ended_and_not_parsed(impatient: LiveServer, path: bytes) -> None:
    """The answer says so, comes with the server's own end, and outlasts what its client still sends."""
    with connect(impatient) as client:
        client.sendall(LINES_ELSEWHERE.replace(b"/v1/embeddings", path) + b"5\r\nhello\r\n")
        heard = receive(client)
        assert heard.status in (404, 405, 415)
        assert b"\r\nconnection: close\r\n" in heard.raw
        client.sendall(b"what is no chunk at all" * 50_000)
        assert client.recv(1) == b""
        client.sendall(b"and more")


def until_others_have_ended(server: LiveServer) -> None:
    """Return once the connections of the last test are below the cap: on a busy machine their ends are heard late."""
    until(lambda: say(server, GET.replace(b"/livez", b"/v1/models") + b"\r\n").status == 200, "an answer", 30)


@pytest.mark.slow
def test_a_client_that_does_not_take_its_answer_is_let_go(impatient: LiveServer) -> None:
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(address(impatient))
        client.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n" * 60)
        until(lambda: 'phase="write"} 1.0' in impatient.http.get("/metrics").text, "the count of its end")


@pytest.mark.parametrize(
    "sent",
    [
        post("/v1/embeddings", BODY),
        CHUNKED + WHOLE_CHUNK,
        GET + b"\r\n" + post("/v1/embeddings", BODY),
        b"GET /livez HTTP/1.0\r\n\r\n",
    ],
    ids=["plain", "chunks", "two", "HTTP/1.0"],
)
def test_a_client_that_ends_its_side_has_its_answers(server: LiveServer, sent: bytes) -> None:
    with connect(server) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        client.settimeout(10)
        heard = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert heard.count(b"HTTP/1.1 200 ") == sent.count(b" HTTP/1.")


def test_a_client_that_hangs_up_while_it_waits_is_499_in_the_log(impatient: LiveServer) -> None:
    until_others_have_ended(impatient)
    with connect(impatient) as client:
        client.sendall(START + b"x-request-id: gone\r\ncontent-length: 100\r\n\r\n{")
        time.sleep(0.2)
    until(lambda: '"request_id":"gone"' in "".join(impatient.log_lines()), "its line", 30)
    (line,) = (line for line in impatient.log_lines() if '"request_id":"gone"' in line)
    assert json.loads(line)["status"] == 499
