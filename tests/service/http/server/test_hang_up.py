"""A request is cancelled when its client has disconnected; a cancellation from elsewhere is passed on."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from litestar.types import Receive, Scope, Send
from uvicorn.server import ServerState

from service.http.middleware.access_log import AccessLog
from service.http.server.connection import Connection
from service.http.server.listening import server_config
from service.settings.settings import Settings
from tests.service.http.middleware.access_lines import access_lines

HEAD = b"POST /v1/embeddings HTTP/1.1\r\nhost: a\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
BROKEN = b"zz\r\n"
MIB = 1 << 20


def sized(num_announced: int, num_sent: int) -> bytes:
    return HEAD + b"content-length: %d\r\n\r\n" % num_announced + b" " * num_sent


class Works:
    """An app that reads its body and never answers."""

    def __init__(self, deadline_s: float | None = None) -> None:
        self.deadline_s = deadline_s
        self.has_begun = asyncio.Event()
        self.has_read = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.has_begun.set()
        message: Any = await receive()
        while message.get("more_body"):
            message = await receive()
        if message["type"] == "http.disconnect":
            await asyncio.Event().wait()
        self.has_read.set()
        async with asyncio.timeout(self.deadline_s):
            await asyncio.Event().wait()


@asynccontextmanager
async def connected(app: Any) -> AsyncIterator[tuple[Connection, asyncio.StreamReader, asyncio.StreamWriter]]:
    """The server's side of a connection and the client's."""
    config: Any = server_config(AccessLog(app, SimpleNamespace(is_draining=False)), Settings(), 0)  # type: ignore[arg-type]
    config.load()
    made = asyncio.get_running_loop().create_future()

    def connect() -> Connection:
        made.set_result(config.http_protocol_class(config=config, server_state=ServerState(), app_state={}))
        return made.result()  # type: ignore[no-any-return]

    server = await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        yield await made, reader, writer
        writer.close()


async def request_of(connection: Connection) -> "asyncio.Task[None]":
    """The task of its request, when there is one."""
    while not connection.tasks:
        await asyncio.sleep(0)
    (task,) = connection.tasks
    return task


async def end_of(task: "asyncio.Task[None]") -> None:
    """Wait for it; to await it would pass a cancellation on to it, by which it ends too."""
    await asyncio.wait([task], timeout=5)
    assert task.done()


@pytest.mark.parametrize("deadline_s", [None, 30.0])
@pytest.mark.parametrize(
    ("sent", "is_whole"),
    [
        (sized(0, 0), True),
        (sized(14, 14), True),
        (sized(14, 7), False),
        (sized(MIB, MIB), True),
        (CHUNKED + b"10000\r\n" + b" " * 65_536 + b"\r\n1\r\n \r\n0\r\n\r\n", True),
        (CHUNKED + b"1\r\n \r\n", False),
    ],
    ids=["none", "small", "half", "large", "chunks", "a chunk"],
)
def test_a_hang_up_ends_the_request_and_not_the_task_that_it_ran_in(
    sent: bytes, is_whole: bool, deadline_s: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        app = Works(deadline_s)
        async with connected(app) as (connection, _, writer):
            writer.write(sent)
            await (app.has_read if is_whole else app.has_begun).wait()
            task = await request_of(connection)
            writer.close()
            await end_of(task)
            assert task.cancelling() == 0

    with access_lines() as lines:
        asyncio.run(asyncio.wait_for(story(), 10))
    assert [line.status for line in lines] == [499]
    assert "Exception" not in caplog.text


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_a_client_that_ends_its_side_is_asked_whether_it_is_there(version: str) -> None:
    """HTTP/1.0 has no answer that asks: such a client has disconnected after a moment."""

    async def story() -> bytes:
        may_answer = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await may_answer.wait()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        async with connected(app) as (connection, reader, writer):
            writer.write(sized(0, 0).replace(b"1.1", version.encode()))
            writer.write_eof()
            task = await request_of(connection)
            heard = await reader.read(1000)
            may_answer.set()
            await end_of(task)
            return heard + await reader.read()

    with access_lines() as lines:
        heard = asyncio.run(asyncio.wait_for(story(), 10))
    if version == "1.0":
        assert (heard, [line.status for line in lines]) == (b"", [499])
        return
    assert heard.startswith(b"HTTP/1.1 102 Processing\r\n\r\n")
    assert heard.count(b"HTTP/1.1 200 OK\r\n") == 1
    assert [line.status for line in lines] == [200]


def test_a_client_is_heard_to_go_when_the_end_of_its_body_was_more_than_is_read_ahead() -> None:
    async def story() -> None:
        app = Works()
        async with connected(app) as (connection, _, writer):
            connection.data_received(sized(MIB, 0))
            await app.has_begun.wait()  # and waits for the body
            connection.data_received(b" " * MIB)
            await app.has_read.wait()
            task = await request_of(connection)
            writer.close()
            await end_of(task)

    with access_lines() as lines:
        asyncio.run(asyncio.wait_for(story(), 10))
    assert [line.status for line in lines] == [499]


@pytest.mark.parametrize("at_once", [False, True])
def test_a_body_that_breaks_is_refused_and_its_request_cancelled(at_once: bool) -> None:
    async def story() -> None:
        app = Works()
        async with connected(app) as (connection, reader, writer):
            writer.write(CHUNKED + BROKEN if at_once else CHUNKED)
            if not at_once:
                await app.has_begun.wait()
                writer.write(BROKEN)
            assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
            for task in [*connection.tasks]:
                await end_of(task)
            assert not app.has_read.is_set()

    with access_lines() as lines:
        asyncio.run(asyncio.wait_for(story(), 10))
    assert [line.status for line in lines] == [499]


@pytest.mark.parametrize("has_hung_up", [False, True])
def test_a_server_that_ends_cancels_whether_or_not_the_client_is_there(
    has_hung_up: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        app = Works()
        async with connected(app) as (connection, _, writer):
            writer.write(sized(14, 14))
            await app.has_read.wait()
            task = await request_of(connection)
            if has_hung_up:
                connection.connection_lost(None)
            task.cancel()
            await end_of(task)

    with caplog.at_level(logging.ERROR, "uvicorn.error"):
        asyncio.run(asyncio.wait_for(story(), 10))
    (record,) = caplog.records  # the cancellation has come to uvicorn
    assert record.exc_info is not None
    assert record.exc_info[0] is asyncio.CancelledError


def test_a_client_that_goes_with_its_answer_cancels_nothing() -> None:
    async def story() -> bool:
        is_gone, is_over = asyncio.Event(), asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            await is_gone.wait()
            is_over.set()

        async with connected(app) as (connection, reader, writer):
            writer.write(sized(0, 0))
            await reader.readuntil(b"\r\n\r\n")
            writer.close()
            while connection in connection.connections:
                await asyncio.sleep(0)
            is_gone.set()
            await is_over.wait()
        return True

    with access_lines() as lines:
        assert asyncio.run(asyncio.wait_for(story(), 10))
    assert [line.status for line in lines] == [200]
