"""Bodies in tiny chunks: few of them a turn of the loop, however many connections bring them, and none indefinitely."""

import asyncio
from collections.abc import Callable

import h11
import pytest

from service.http.server.http1 import MAX_TINY_CHUNKS, STREAM_ROUTE, Http1
from service.http.server.pacing import MAX_CHUNKS_A_TURN, ChunkTurns
from service.http.stream.route import create_embedding_stream

HEAD = b"POST %b HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
CHUNK = b'c\r\n{"input":""}\r\n'


def parse_all(target: bytes, body: bytes) -> int:
    """Parse a request at once, turn after turn; how many chunks there were."""

    async def story() -> int:
        connection, num_chunks = Http1(32 << 10, ChunkTurns()), 0
        connection.receive_data(HEAD % target + body)
        while (event := connection.next_event()) is not h11.NEED_DATA or connection.is_behind:
            if connection.is_behind:
                await asyncio.sleep(0)
            num_chunks += isinstance(event, h11.Data)
        return num_chunks

    return asyncio.run(story())


def test_the_route_whose_lines_may_be_chunks_is_the_streams() -> None:
    assert create_embedding_stream.paths == {STREAM_ROUTE.decode()}


def test_a_body_of_lines_may_have_a_chunk_for_each_on_the_streams_route() -> None:
    for target in (STREAM_ROUTE, STREAM_ROUTE + b"?dimensions=64"):
        assert parse_all(target, CHUNK * 3 * MAX_TINY_CHUNKS) == 3 * MAX_TINY_CHUNKS


@pytest.mark.parametrize("target", [b"/nowhere", b"/v1/embeddings", STREAM_ROUTE + b"/", b"/?" + STREAM_ROUTE])
def test_the_media_type_buys_nothing_on_another_route(target: bytes) -> None:
    with pytest.raises(h11.RemoteProtocolError, match="too many tiny chunks"):
        parse_all(target, CHUNK * (MAX_TINY_CHUNKS + 1))


def test_connections_share_the_chunks_of_a_turn_and_each_has_its_own() -> None:
    """16 connections with 1,000 chunks each: no turn of the loop has more than its number, and all are parsed."""

    async def story() -> list[int]:
        turns, parsed, finished = ChunkTurns(), [0], list[int]()

        def parser(number: int) -> Callable[[], None]:
            left = iter(range(1000))

            def go_on() -> None:
                while turns.take():
                    if next(left, None) is None:
                        finished.append(number)
                        return
                    parsed[-1] += 1
                turns.wait(go_on)

            return go_on

        for number in range(16):
            parser(number)()
        while len(finished) < 16:
            parsed.append(0)
            await asyncio.sleep(0)
        assert sorted(finished) == list(range(16))
        return parsed

    parsed = asyncio.run(story())
    assert sum(parsed) == 16_000
    assert max(parsed) <= 2 * MAX_CHUNKS_A_TURN  # what is parsed between two sleeps of another task may be of two turns


def test_one_that_fails_does_not_keep_the_others_waiting() -> None:
    async def story() -> list[str]:
        turns, went_on = ChunkTurns(), list[str]()
        asyncio.get_running_loop().set_exception_handler(lambda *_: went_on.append("failed"))
        while turns.take():
            pass
        turns.wait(lambda: 1 // 0)
        turns.wait(lambda: went_on.append("went on"))
        for _ in range(4):
            await asyncio.sleep(0)
        return went_on

    assert asyncio.run(story()) == ["failed", "went on"]
