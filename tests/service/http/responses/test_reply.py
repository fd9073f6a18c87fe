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
from litestar.types import ASGIApp

from service.fairness.threads import LoopTimeSlices
from service.http.responses.answer import MIN_SLICE_BYTES, SLICE_BYTES, BodyParts, in_parts, reply, slices
from service.http.server.listening import MetricsServer, server_config
from service.outputs.printing import DeferredValue
from service.settings.settings import Settings
from tests.builders import answer_lease

TURNS = LoopTimeSlices()
CHUNK = b"1" * (SLICE_BYTES // 2)
NUM_CHUNKS = 40


class Printed(DeferredValue):
    """A value that prints the same chunk again and again, and may fail midway."""

    def __init__(self, num_chunks: int, *, is_exact: bool = True, breaks: bool = False) -> None:
        self.num_bytes = num_chunks * len(CHUNK)
        self.is_exact = is_exact
        self._num_chunks = num_chunks
        self._breaks = breaks

    def chunks(self) -> Iterator[bytes]:
        for i in range(self._num_chunks):
            if self._breaks and i == self._num_chunks // 2:
                raise RuntimeError("this slice cannot be printed")
            yield CHUNK


@get("/{kind:str}")
async def answer(kind: FromPath[str]) -> ASGIApp:
    value = Printed(NUM_CHUNKS, is_exact="exact" in kind, breaks="broken" in kind)
    return reply(TURNS, BodyParts([b"<", value, b">"]), [(b"x-mine", b"1")], "text/plain", answer_lease())


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
    assert heard.content == b"<" + NUM_CHUNKS * CHUNK + b">"
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
        turns, order = LoopTimeSlices(), []

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


@pytest.mark.parametrize("num_chunks", [1, 3], ids=["printed at once", "deferred"])
def test_a_text_that_holds_the_mark_is_left_alone(num_chunks: int) -> None:
    parts = in_parts({"said": "\0", "late": Printed(num_chunks)})
    whole = b'{"said":"\\u0000","late":%b}' % (num_chunks * CHUNK)
    assert b"".join(slices(parts)) == whole
    with pytest.raises(TypeError, match="no part of an answer"):
        in_parts({"odd": object()})


def test_large_chunks_are_given_as_they_are_and_small_ones_together() -> None:
    large, small = b"x" * MIN_SLICE_BYTES, b"y" * (MIN_SLICE_BYTES // 2)
    given = list(slices(BodyParts([b"[", large, large, large, small, b",", large, b"]"])))
    assert given == [b"[" + 2 * large, large, small + b"," + large + b"]"]
    assert given[1] is large


def test_a_value_that_cannot_be_sent_with_the_others_in_one_piece_is_printed_when_its_turn_comes() -> None:
    printed = slices(in_parts([Printed(2), Printed(2, breaks=True)]))
    assert next(printed) == b"[" + 2 * CHUNK + b","
    assert next(printed) == CHUNK
    with pytest.raises(RuntimeError):
        next(printed)
