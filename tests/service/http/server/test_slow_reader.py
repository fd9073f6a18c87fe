"""Slow readers: those under the least rate on average, and none because it reads in lumps."""

import socket

from service.http.server.pacing import MAX_PAUSE_S, SlowReader, num_in_kernel
from tests.conftest import until

LEAST = 16_000


def lives_s(taken: list[tuple[float, int]], until_s: float = 600) -> float:
    """When a reader of a large answer is given up that takes so much at such times."""
    reader, now_s = SlowReader(10.0, LEAST), 0.0
    while now_s < until_s:
        wait_s = reader.wait_s(now_s, sum(num for at_s, num in taken if at_s <= now_s), 1 << 40)
        if not wait_s:
            return now_s
        now_s += wait_s
    return until_s


def test_who_takes_nothing_has_its_time_and_no_more() -> None:
    assert lives_s([]) == 10


def test_who_takes_the_least_rate_is_waited_for_however_large_the_lumps() -> None:
    for lump_s in (0.1, 1, 5, 9):
        assert lives_s([(n * lump_s, int(20_000 * lump_s)) for n in range(1, int(600 / lump_s))]) == 600
    assert lives_s([(0, 6 << 20)] + [(n * 19, 384 << 10) for n in range(1, 40)]) == 600  # a buffer, then a sixteenth


def test_who_takes_less_than_the_least_rate_is_given_up() -> None:
    assert lives_s([(n, LEAST // 2) for n in range(600)]) < 40


def test_what_was_taken_at_once_does_not_pay_for_an_hour() -> None:
    assert lives_s([(1, 1 << 30)]) <= 10 + 2 * MAX_PAUSE_S


def test_who_had_nothing_to_take_for_a_while_has_its_time_again() -> None:
    reader = SlowReader(10.0, LEAST)
    assert reader.wait_s(0, 0, 1000) == 10
    assert reader.wait_s(10, 1000, 1_000_000) == 10  # it took all that there was; the rest may have come this moment
    assert reader.wait_s(20, 1000, 1_000_000) == 0


def test_what_the_other_side_has_not_taken_is_known_of_a_real_socket() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(listening.getsockname())
        server, _ = listening.accept()
        with server:
            assert num_in_kernel(server) == 0
            server.setblocking(False)
            num_written = server.send(b"x" * 1_000_000)
            assert num_written - 100_000 < num_in_kernel(server) < num_written
            client.settimeout(10)
            num_read = 0
            while num_read < num_written:
                num_read += len(client.recv(1 << 20))
            until(lambda: num_in_kernel(server) == 0, "an empty buffer", 10)
