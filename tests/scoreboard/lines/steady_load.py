"""Clients that ask without pause, each item like no other, and everything that they were told."""

import asyncio
import base64
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np

from tests.builders import npy_bytes
from tests.conftest import TOLERANCE, LiveServer, from_base64, image, image_part, text_part

EMBEDDINGS = "/v1/embeddings"
NUM_ITEMS = 200
PAUSE_S = 0.1
TIMEOUT_S = 60


def item(index: int) -> dict[str, Any]:
    """A text; of three one with an image, and one with features of an image that nobody drew."""
    words = text_part(f"question {index} of {index * 7919} " + "and so on " * (index % 7))
    first = ([image_part(image(index, 64, 64))], [_features(index)], [])[index % 3]
    return {"content": [*first, words]}


def _features(seed: int) -> dict[str, Any]:
    file = npy_bytes(np.random.default_rng(seed).normal(size=(4, 384)).astype("<f2"))
    embeds = {"image_embeds": base64.b64encode(file).decode(), "image_grid_thw": [1, 4, 4]}
    return {"type": "image_embeds", "image_embeds": embeds}


def body_of(index: int, num_inputs: int) -> dict[str, Any]:
    return {"inputs": [item((index + i) % NUM_ITEMS) for i in range(num_inputs)], "encoding_format": "base64"}


@dataclass
class SteadyLoad:
    """Clients in a thread of their own.

    Attributes:
        url: the server.
        num_clients: how many ask at once; each second one keeps its connection.
        num_inputs: of each request.
        may_send: asked before each request; a client that may not is done.
        answers: index of the first item, and what came.
        ended_s: when.
    """

    url: str
    num_clients: int = 6
    num_inputs: int = 1
    may_send: Callable[[], bool] = lambda: True
    answers: list[tuple[int, httpx.Response | httpx.TransportError]] = field(default_factory=list)
    ended_s: list[float] = field(default_factory=list)
    _is_over: bool = False
    _thread: threading.Thread | None = None

    def start(self) -> "SteadyLoad":
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()
        return self

    @property
    def num_right(self) -> int:
        """Answers that are vectors, so far."""
        return sum(isinstance(answer, httpx.Response) and answer.is_success for _, answer in list(self.answers))

    def wait_for_answers(self, num: int) -> None:
        """Return when so many more vectors have come; fail when they never do."""
        enough, deadline_s = self.num_right + num, time.monotonic() + TIMEOUT_S
        while self.num_right < enough:
            assert time.monotonic() < deadline_s, "the load got no vectors"
            time.sleep(PAUSE_S)

    def stop(self) -> None:
        """Let every client finish its request."""
        self._is_over = True
        self.stop_when_done()

    def stop_when_done(self) -> None:
        """Wait until no client may send any more and every one has its answer."""
        assert self._thread is not None
        self._thread.join()

    async def _run(self) -> None:
        kept = httpx.AsyncClient(base_url=self.url, timeout=TIMEOUT_S)
        fresh = httpx.AsyncClient(
            base_url=self.url, timeout=TIMEOUT_S, limits=httpx.Limits(max_keepalive_connections=0)
        )
        async with kept, fresh:
            clients = [self._client(kept if number % 2 else fresh, number) for number in range(self.num_clients)]
            await asyncio.gather(*clients)

    async def _client(self, http: httpx.AsyncClient, index: int) -> None:
        while not self._is_over and self.may_send():
            try:
                answer = await http.post(EMBEDDINGS, json=body_of(index, self.num_inputs))
            except httpx.TransportError as error:
                self._note(index, error)
                await asyncio.sleep(PAUSE_S)
                continue
            self._note(index, answer)
            await asyncio.sleep(0 if answer.is_success else PAUSE_S)
            index += self.num_clients

    def _note(self, index: int, answer: httpx.Response | httpx.TransportError) -> None:
        self.answers.append((index, answer))
        self.ended_s.append(time.monotonic())


def faults_of(load: SteadyLoad, server: LiveServer) -> list[str]:
    """Faults among the answers of a server whose engines were killed: all but vectors and honest refusals.

    The items' own vectors are asked for afterwards, so a swapped or doubled answer shows as another item's vector.
    """
    bodies = [body_of(index, 1) for index in range(NUM_ITEMS)]
    want = np.concatenate([server.vectors(body) for body in bodies])
    faults, ids = [], set()
    for index, answer in load.answers:
        fault = _fault(answer, want[index % NUM_ITEMS])
        if not fault and isinstance(answer, httpx.Response):
            fault = "an id came twice" if answer.headers["x-request-id"] in ids else ""
            ids.add(answer.headers["x-request-id"])
        if fault:
            faults.append(f"item {index % NUM_ITEMS}: {fault}")
    return faults


def _fault(answer: httpx.Response | httpx.TransportError, want: np.ndarray) -> str:
    if isinstance(answer, httpx.TransportError):
        return f"no answer ({type(answer).__name__})"
    if answer.status_code == 503:
        is_told = answer.headers.get("retry-after", "").isdigit() and "engine_restarting" in answer.text
        return "" if is_told else f"503 without Retry-After, or {answer.text[:80]}"
    if answer.status_code != 200:
        return f"status {answer.status_code}"
    got = from_base64(answer.json()["data"][0]["embedding"])
    return "" if np.abs(got - want).max() <= TOLERANCE else "another item's vector"
