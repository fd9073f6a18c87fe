"""Answers in slices through a real server: whole, of a known length, cut when a slice fails, in turn with others."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator

import httpx
import pytest
import uvicorn
from litestar import Litestar, get
from litestar.params import FromPath

from service.front.turns import Turns
from service.http.late import Late, Parts, in_parts
from service.http.listening import MetricsServer, server_config
from service.http.reply import SLICE_BYTES, Reply, reply
from service.settings import Settings

TURNS = Turns()
PIECE = b"x" * (SLICE_BYTES // 2)
NUM_PIECES = 40


def pieces(*, breaks: bool) -> Iterator[bytes]:
    for i in range(NUM_PIECES):
        if breaks and i == NUM_PIECES // 2:
            raise RuntimeError("this slice cannot be printed")
        yield PIECE


@get("/{kind:str}")
async def answer(kind: FromPath[str]) -> Reply:
    late = Late(lambda: pieces(breaks="broken" in kind), NUM_PIECES * len(PIECE), is_exact="exact" in kind)
    return reply(TURNS, Parts([b"<", late, b">"]), {"x-mine": "1"}, "text/plain")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    config = server_config(Litestar([answer], openapi_config=None), Settings(), 0)
    listening = config.bind_socket()
    listening.listen()  # who asks before the server runs waits in the backlog
    server: uvicorn.Server = MetricsServer(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.mark.parametrize("kind", ["exact", "about"])
def test_the_whole_answer_comes_with_its_length_where_that_is_known(url: str, kind: str) -> None:
    heard = httpx.get(f"{url}/{kind}")
    assert heard.content == b"<" + NUM_PIECES * PIECE + b">"
    assert heard.headers["x-mine"] == "1"
    assert heard.headers.get("content-length") == (str(len(heard.content)) if kind == "exact" else None)


@pytest.mark.parametrize("kind", ["exact broken", "about broken"])
def test_an_answer_that_breaks_midway_is_cut_and_never_ends_as_if_it_were_whole(url: str, kind: str) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{url}/{kind}")
    assert httpx.get(f"{url}/exact").status_code == 200


def test_a_client_that_leaves_or_waits_harms_nobody(url: str) -> None:
    with httpx.stream("GET", f"{url}/about") as left, contextlib.closing(left.iter_raw()) as raw:
        next(raw)
        assert httpx.get(f"{url}/exact").status_code == 200
    assert httpx.get(f"{url}/exact").status_code == 200


def test_slices_take_turns_with_each_other_and_with_everybody_else() -> None:
    async def story() -> str:
        turns, order = Turns(), []

        async def stream(name: str) -> None:
            for _ in range(4):
                await turns.take(lambda: order.append(name))

        async def tick() -> None:
            while True:
                order.append(" ")
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        await asyncio.gather(stream("a"), stream("b"), stream("c"))
        ticking.cancel()
        return "".join(order)

    order = asyncio.run(story())
    assert order.replace(" ", "") == "abcabcabcabc"
    assert max(map(len, order.split())) == 1


def test_a_text_that_holds_the_mark_is_told_apart() -> None:
    parts = in_parts({"said": "\0", "late": Late(lambda: [b"[1,", b"2]"], 5)})
    assert b"".join(parts.pieces()) == b'{"said":"\\u0000","late":[1,2]}'
    assert parts.num_bytes == len(b'{"said":"\\u0000","late":[1,2]}')
    assert list(parts.slices(1 << 20)) == [b"".join(parts.pieces())]
    with pytest.raises(TypeError, match="no part of an answer"):
        in_parts({"odd": object()})
