"""A request is cancelled when its client has gone; a cancellation from elsewhere is passed on."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from litestar.types import Message, Receive, Scope, Send

from service.http.middleware.client_connection import MAX_WRITE_BYTES, ClientConnection

SCOPE: Any = {"type": "http"}
SERVING: Any = SimpleNamespace(is_draining=False)


class Server:
    """What a server gives and takes, and whether the client is still there."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.has_asked = False
        self.sent: list[Message] = []

    async def receive(self) -> Any:
        if not self.has_asked and not self.gone.is_set():
            self.has_asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def statuses(self) -> list[int]:
        return [message["status"] for message in self.sent if message["type"] == "http.response.start"]


async def works_for_ever(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await asyncio.Event().wait()


def start(server: Server, app: Any = works_for_ever) -> "asyncio.Task[None]":
    return asyncio.ensure_future(ClientConnection(app, SERVING)(SCOPE, server.receive, server.send))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_hang_up_ends_the_request_and_not_the_task_that_it_ran_in() -> None:
    async def story() -> None:
        server = Server()

        async def serve() -> str:
            await ClientConnection(works_for_ever, SERVING)(SCOPE, server.receive, server.send)
            return "goes on"

        serving = asyncio.ensure_future(serve())
        await settle()
        server.gone.set()
        assert await serving == "goes on"
        assert (serving.cancelling(), server.statuses) == (0, [499])

    asyncio.run(asyncio.wait_for(story(), 10))


def test_a_client_that_left_before_its_body_was_read_is_gone_too() -> None:
    async def story() -> None:
        server = Server()
        server.gone.set()
        task = start(server)
        await task
        assert (task.cancelling(), server.statuses) == (0, [499])

    asyncio.run(asyncio.wait_for(story(), 10))


@pytest.mark.parametrize("has_hung_up", [False, True])
def test_a_server_that_ends_cancels_whether_or_not_the_client_is_there(has_hung_up: bool) -> None:
    async def story() -> None:
        server = Server()
        task = start(server)
        await settle()
        if has_hung_up:
            server.gone.set()
            await asyncio.sleep(0)  # the watcher hears it
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert server.statuses == []

    asyncio.run(asyncio.wait_for(story(), 10))


def test_a_deadline_of_the_app_is_its_own_beside_a_hang_up() -> None:
    async def works_with_a_deadline(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        async with asyncio.timeout(30):
            await asyncio.Event().wait()

    async def story() -> None:
        server = Server()
        task = start(server, works_with_a_deadline)
        await settle()
        server.gone.set()
        await task
        assert (task.cancelling(), server.statuses) == (0, [499])

    asyncio.run(asyncio.wait_for(story(), 10))


@pytest.mark.parametrize("size", [0, 1, MAX_WRITE_BYTES, MAX_WRITE_BYTES + 1, 3 * MAX_WRITE_BYTES])
def test_a_large_body_is_written_in_parts_so_that_little_of_it_waits_for_a_slow_client(size: int) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)

    async def document(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def story() -> list[Any]:
        server = Server()
        await start(server, document)
        return server.sent[1:]

    sent = asyncio.run(story())
    assert b"".join(one["body"] for one in sent) == body
    assert all(len(one["body"]) <= MAX_WRITE_BYTES for one in sent)
    assert [one["more_body"] for one in sent] == [True] * (len(sent) - 1) + [False]
