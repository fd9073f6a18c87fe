"""The event of an answer's head is the one that h11 makes by itself, and refuses what h11 refuses."""

import random

import h11
import pytest
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES

from service.http.server.answer_head import answer_head

PIECES = [b"a", b"Z", b"0", b"-", b"_", b" ", b"  ", b"\t", b":", b": ", b",", b"\r", b"\n", b"\0", b"\x7f", b"\x80"]
PIECES += [b"\xff", b"~", b"!", b'"', b"(", b"content-length", b"transfer-encoding", b"chunked", b"12", b"connection"]


def by_h11(status: int, headers: list[tuple[bytes, bytes]]) -> h11.Response | None:
    try:
        return h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
    except h11.LocalProtocolError:
        return None


def by_us(status: int, headers: list[tuple[bytes, bytes]]) -> h11.Response | None:
    try:
        return answer_head(status, headers)
    except h11.LocalProtocolError:
        return None


def test_what_is_sent_and_what_is_refused_is_as_h11_has_it() -> None:
    dice = random.Random(11)
    num_refused = 0
    for _ in range(20_000):
        headers = [
            (b"".join(dice.choices(PIECES, k=dice.randint(0, 2))), b"".join(dice.choices(PIECES, k=dice.randint(0, 4))))
            for _ in range(dice.randint(0, 3))
        ]
        headers += [(b"x-a", b"b")] * dice.randint(0, 1)
        expected, found = by_h11(200, headers), by_us(200, headers)
        num_refused += expected is None
        if expected is None or found is None:
            assert found is expected, headers
        else:
            assert found.headers.raw_items() == expected.headers.raw_items()
            assert (found.status_code, found.reason, found.http_version) == (200, b"OK", b"1.1")
    assert 1000 < num_refused < 19_000


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"\n", b" a", b"a ", b"a\0"])
def test_no_value_makes_a_line_of_its_own(value: bytes) -> None:
    for headers in ([(b"x", value)], [(b"x", b"1"), (b"y", value)], [(b"y", value), (b"z", b"")]):
        assert by_us(200, headers) is None or b"\n" not in value
        assert (by_us(200, headers) is None) == (by_h11(200, headers) is None)
