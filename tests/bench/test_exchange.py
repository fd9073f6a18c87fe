"""The bench's client against a server that answers in pieces, in chunks, with an error, or not to the end."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.bench.exchange import Answer, connect, exchange

WHOLE = [b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n", b"\r\nabc", b"def"]
CHUNKS = [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab", b"c\r\n3\r\ndef\r\n0\r\n", b"\r\n"]
REFUSED = [b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nno"]
CUT = [b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabc"]


async def asked(parts: Sequence[bytes], num: int, *, is_cut: bool = False) -> list[Answer]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:  # the test's own server
        try:
            while await reader.readuntil(b"{}"):
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0.001)
                if is_cut:
                    break
        except asyncio.IncompleteReadError:
            pass
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        connections = [await connect(f"http://127.0.0.1:{port}", None) for _ in range(2)]
        try:
            return (await exchange(connections, "/v1/embeddings", [b"{}"] * num))[0]
        finally:
            for connection in connections:
                connection.close()


@pytest.mark.parametrize("parts", [WHOLE, CHUNKS])
def test_every_answer_is_whole_and_timed(parts: Sequence[bytes]) -> None:
    answers = asyncio.run(asked(parts, 7))
    assert [one.body for one in answers] == [b"abcdef"] * 7
    assert all(one.ended_s > one.began_s for one in answers)


def test_an_error_ends_the_measurement() -> None:
    with pytest.raises(RuntimeError, match="answered 400: b'no'"):
        asyncio.run(asked(REFUSED, 1))


@pytest.mark.parametrize("parts", [CUT, WHOLE])
def test_a_connection_that_ends_is_an_error_and_no_wait(parts: Sequence[bytes]) -> None:
    with pytest.raises(ConnectionError):
        asyncio.run(asyncio.wait_for(asked(parts, 5, is_cut=True), 5))
