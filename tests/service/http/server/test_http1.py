"""Heads read and written without h11 are those of h11, and what h11 refuses is refused."""

import random
from collections.abc import Iterable, Sequence

import h11
import pytest
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES

from service.http.server import http1
from service.http.server.http1 import MAX_TINY_CHUNKS, Http1, read_plain
from service.http.server.pacing import ChunkTurns

MAX_HEAD_BYTES = 1 << 14
POST = b"POST /v1/embeddings?a=b HTTP/1.1\r\nHost: a:80\r\nContent-Type: application/json\r\n"
GET = b"GET /livez HTTP/1.1\r\nhost: a\r\naccept: */*\r\n\r\n"
WHOLE = POST + b"content-length: 5\r\n\r\nhello"
ANSWER = [(b"content-type", b"application/json"), (b"content-length", b"2"), (b"x-a", b"1, 2")]

LINES = [b"POST /a HTTP/1.1", b"GET / HTTP/1.1", b"GET /a b HTTP/1.1", b"HEAD /a HTTP/1.1", b"POST /a HTTP/1.0"]
LINES += [b"GET http://b/a HTTP/1.1", b"GET * HTTP/1.1", b"GET /\xc3 HTTP/1.1", b"GET  / HTTP/1.1", b"get / HTTP/1.1"]
HOSTS = [b"host: a", b"Host:a:80", b"host: [::1]:8", b"host: a/b", b"host: a\r\nhost: b", b"host:", b"x: y"]
HEADERS = [b"content-length:" + value for value in (b" 3", b" 03", b" 3, 3", b"", b" +3", b" " + b"9" * 21)]
HEADERS += [b"Content-Length: 3", *(b"content-length: 3\r\ncontent-length: " + digit for digit in (b"3", b"4"))]
HEADERS += [b"transfer-encoding: chunked", b"transfer-encoding: gzip", b"expect: 100-continue", b"upgrade: h2c"]
HEADERS += [b"connection: keep-alive", b"Connection: Keep-Alive", b"connection: close", b"connection: upgrade"]
HEADERS += [b"x: ", b"x:\ty", b"x: y ", b"x: \xff", b"x: y\tz", b"x : y", b" x: y", b"x: y\r\n z", b"x: \x00"]
HEADERS += [b"x: y\rz", b"x\n: y", b": y", b"x", b"x-" + b"y" * 40 + b": " + b"z" * 4000, b"x: y\r\nx: z", b"(x): y"]
HEADERS += [b"x: y\nz: 1", b"x:  y"]
BODIES = [b"", b"abc", b"abcd", b"ab", b"abc" + GET, b"3\r\nabc\r\n0\r\n\r\n", b"\r\n"]


PIECES = [b"a", b"Z", b"0", b"-", b"_", b" ", b"  ", b"\t", b":", b": ", b",", b"\r", b"\n", b"\0", b"\x7f", b"\x80"]
PIECES += [b"\xff", b"~", b"!", b'"', b"(", b"content-length", b"transfer-encoding", b"chunked", b"12", b"connection"]


class NoTurns(ChunkTurns):
    """Any number of chunks at once: there is no loop here."""

    def take(self) -> bool:
        return True


def connection() -> Http1:
    return Http1(MAX_HEAD_BYTES, NoTurns())


def heard(conn: Http1, pieces: Iterable[bytes]) -> list[object]:
    """Everything that a connection makes of what comes, in a form that compares: heads, whole bodies, refusals."""
    events: list[object] = []
    for piece in pieces:
        conn.receive_data(piece)
        while True:
            try:
                event = conn.next_event()
            except h11.RemoteProtocolError as error:
                return [*events, error.error_status_hint]
            if event in (h11.NEED_DATA, h11.PAUSED):
                break
            if isinstance(event, h11.Request):
                events += [event.method, event.target, event.http_version, list(event.headers), b""]
            elif isinstance(event, h11.Data):
                events[-1] = bytes(events[-1]) + bytes(event.data)  # type: ignore[call-overload]
            else:
                events.append(type(event))
    return [*events, conn.their_state, conn.our_state, conn.came]


def without_plain(monkeypatch: pytest.MonkeyPatch, pieces: Sequence[bytes]) -> tuple[list[object], Http1]:
    with monkeypatch.context() as patch:
        patch.setattr(http1, "read_plain", lambda *_: None)
        conn = connection()
        return heard(conn, pieces), conn


def test_every_head_is_read_or_refused_as_by_h11(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(7)
    num_plain = num_refused = 0
    for _ in range(15_000):
        head = [
            dice.choice(LINES[:2] if dice.random() < 0.7 else LINES),
            dice.choice(HOSTS[:3] if dice.random() < 0.8 else HOSTS),
        ]
        head += dice.choices(HEADERS, k=dice.choice((0, 1, 1, 2, 3)))
        raw = b"\r\n".join([*head, b"", dice.choice(BODIES)])
        cut = dice.randint(0, len(raw)) if dice.random() < 0.3 else len(raw)
        pieces = [piece for piece in (raw[:cut], raw[cut:]) if piece]
        expected, _ = without_plain(monkeypatch, pieces)
        assert heard(connection(), pieces) == expected, pieces
        num_plain += read_plain(raw, MAX_HEAD_BYTES) is not None
        num_refused += isinstance(expected[-1], int)
    assert num_plain > 2000
    assert num_refused > 2000


@pytest.mark.parametrize("pieces", [[WHOLE], [WHOLE[:-5], b"hello"], [WHOLE[:-2], b"l", b"o"], [GET], [WHOLE, GET]])
@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_has_the_bytes_that_h11_gives_it(
    monkeypatch: pytest.MonkeyPatch, pieces: list[bytes], status: int
) -> None:
    plain = connection()
    expected, by_h11 = without_plain(monkeypatch, pieces)
    assert heard(plain, pieces) == expected
    assert [answered(conn, status, ANSWER, [b"o", b"k"]) for conn in (plain, by_h11)] == [answered_bytes(status)] * 2
    assert heard(plain, [WHOLE]) == heard(by_h11, [WHOLE])


def answered(conn: Http1, status: int, headers: list[tuple[bytes, bytes]], parts: list[bytes]) -> bytes:
    """The bytes of an answer; the connection is ready for a next request afterwards."""
    conn.begin_answer(status, headers)
    sent = send_all(conn, parts)
    conn.start_next_cycle()
    return sent


def send_all(conn: Http1, parts: list[bytes]) -> bytes:
    return b"".join(conn.send(event) or b"" for event in (*map(h11.Data, parts), h11.EndOfMessage()))


def answered_bytes(status: int) -> bytes:
    reason = {200: b"OK", 404: b"Not Found"}[status]
    head = b"content-type: application/json\r\ncontent-length: 2\r\nx-a: 1, 2\r\n\r\n"
    return b"HTTP/1.1 %d %b\r\n%b" % (status, reason, head) + b"ok"


@pytest.mark.parametrize("status", [200, 413])
def test_an_answer_before_the_end_of_the_body_leaves_the_rest_to_be_read(status: int) -> None:
    conn = connection()
    heard(conn, [WHOLE[:-3]])
    conn.begin_answer(status, ANSWER)
    send_all(conn, [b"ok"])
    assert (conn.their_state, conn.our_state) == (h11.SEND_BODY, h11.DONE)
    conn.receive_data(b"llo" + GET)
    assert isinstance(conn.next_event(), h11.Data)
    assert isinstance(conn.next_event(), h11.EndOfMessage)
    conn.start_next_cycle()
    request = conn.next_event()
    assert isinstance(request, h11.Request)
    assert request.target == b"/livez"


@pytest.mark.parametrize(
    "headers",
    [[(b"content-type", b"a")], [*ANSWER, (b"connection", b"close")], [(b"Content-Length", b"2"), (b"x", b"")]],
)
def test_an_answer_that_is_not_plain_is_framed_by_h11(
    monkeypatch: pytest.MonkeyPatch, headers: list[tuple[bytes, bytes]]
) -> None:
    sent = []
    for conn in (connection(), without_plain(monkeypatch, [WHOLE])[1]):
        if conn.their_state is h11.IDLE:
            heard(conn, [WHOLE])
        conn.begin_answer(200, headers)
        sent.append((send_all(conn, [b"ok"]), conn.our_state))
    assert sent[0] == sent[1]


@pytest.mark.parametrize("parts", [[b"o"], [b"ok!"], [b"o", b"k", b"!"]])
def test_an_answer_of_another_length_than_it_said_is_an_error(parts: list[bytes]) -> None:
    conn = connection()
    heard(conn, [WHOLE])
    conn.begin_answer(200, ANSWER)
    with pytest.raises(h11.LocalProtocolError):
        send_all(conn, parts)
    assert conn.our_state is h11.ERROR


def test_a_body_of_tiny_pieces_is_refused_as_by_h11(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [POST + b"content-length: 9999\r\n\r\n", *[b"x"] * (MAX_TINY_CHUNKS + 1)]
    assert heard(connection(), pieces) == without_plain(monkeypatch, pieces)[0]
    assert heard(connection(), pieces[:-1])[-3:-1] == [h11.SEND_BODY, h11.SEND_RESPONSE]


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_connection_ends_after_an_answer_and_not_before(is_answered: bool) -> None:
    conn = connection()
    heard(conn, [WHOLE])
    conn.begin_answer(200, ANSWER)
    if is_answered:
        send_all(conn, [b"ok"])
        assert conn.send(h11.ConnectionClosed()) is None
        assert conn.our_state is h11.CLOSED
    else:
        with pytest.raises(h11.LocalProtocolError):
            conn.send(h11.ConnectionClosed())


def answer_to_get(status: int, headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """The head of an answer; None where one of its headers may not be sent."""
    conn = connection()
    heard(conn, [GET])
    try:
        conn.begin_answer(status, headers)
        return send_all(conn, [b"x" * 12])
    except h11.LocalProtocolError:
        return None


def answer_by_h11(status: int, headers: list[tuple[bytes, bytes]]) -> bytes | None:
    conn = h11.Connection(h11.SERVER)
    conn.receive_data(GET)
    while conn.next_event() is not h11.NEED_DATA:
        pass
    try:
        event = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
        return b"".join(conn.send(part) for part in (event, h11.Data(b"x" * 12), h11.EndOfMessage()))
    except h11.LocalProtocolError:
        return None


def test_headers_are_sent_and_refused_as_h11_has_it() -> None:
    dice = random.Random(11)
    num_refused = 0
    for number in range(20_000):
        headers = [
            (b"".join(dice.choices(PIECES, k=dice.randint(0, 2))), b"".join(dice.choices(PIECES, k=dice.randint(0, 4))))
            for _ in range(dice.randint(0, 3))
        ]
        headers += [(b"x-a", b"b")] * dice.randint(0, 1) + [(b"content-length", b"12")] * dice.randint(0, 1)
        expected = answer_by_h11(status := (200, 404)[number % 2], headers)
        assert answer_to_get(status, headers) == expected, headers
        num_refused += expected is None
    assert 1000 < num_refused < 19_000


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"\n", b" a", b"a ", b"a\0"])
def test_no_value_makes_a_line_of_its_own(value: bytes) -> None:
    for headers in ([(b"x", value)], [(b"x", b"1"), (b"y", value)], [(b"y", value), (b"z", b"")]):
        sent = answer_to_get(200, headers)
        assert sent == answer_by_h11(200, headers)
        assert sent is None or b"\n" not in value


def test_what_has_come_after_a_request_of_h11_is_of_the_next() -> None:
    """Also what comes while the answer to it is written, and after a request that asks for the connection's end."""
    conn = connection()
    chunked = POST + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    assert heard(conn, [chunked + GET[:9], GET[9:]])[-3:] == [h11.DONE, h11.SEND_RESPONSE, GET]
    answered(conn, 200, ANSWER, [b"ok"])
    assert heard(conn, [])[-1] == GET
    request = conn.next_event()
    assert isinstance(request, h11.Request)
    assert request.target == b"/livez"

    last = connection()
    assert heard(last, [GET.replace(b"accept: */*", b"connection: close"), GET])[-1] == 400
