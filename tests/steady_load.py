"""Clients that ask without pause, each item like no other, and everything that they were told."""

import asyncio
import base64
import json
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
JSON = {"content-type": "application/json"}
NUM_ITEMS = 200
PAUSE_S = 0.1
TIMEOUT_S = 60

Told = httpx.Response | httpx.TransportError


def item(index: int) -> dict[str, Any]:
    """A text; of three one with an image, and one with features of an image that nobody drew."""
    words = text_part(f"question {index} of {index * 7919} " + "and so on " * (index % 7))
    first = ([image_part(image(index, 64, 64))], [_features(index)], [])[index % 3]
    return {"content": [*first, words]}


def _features(seed: int) -> dict[str, Any]:
    file = npy_bytes(np.random.default_rng(seed).normal(size=(4, 384)).astype("<f2"))
    embeds = {"image_embeds": base64.b64encode(file).decode(), "image_grid_thw": [1, 4, 4]}
    return {"type": "image_embeds", "image_embeds": embeds}


def body_of(index: int, num_inputs: int = 1) -> bytes:
    """A request for the vectors of an item and of those after it."""
    inputs = [item((index + i) % NUM_ITEMS) for i in range(num_inputs)]
    return json.dumps({"inputs": inputs, "encoding_format": "base64"}).encode()


@dataclass
class SteadyLoad:
    """Clients in a thread of their own; who gets no vectors asks for the same again.

    Attributes:
        url: the server.
        num_clients: how many ask at once; each second one keeps its connection.
        body_of: an item's request.
        may_send: asked before each request; a client that may not is done.
        waits_as_told: a refused client waits for its Retry-After, and else for a moment.
        answers: index of the item, and what came.
        ended_s: when.
    """

    url: str
    num_clients: int = 6
    body_of: Callable[[int], bytes] = body_of
    may_send: Callable[[], bool] = lambda: True
    waits_as_told: bool = False
    answers: list[tuple[int, Told]] = field(default_factory=list)
    ended_s: list[float] = field(default_factory=list)
    _is_over: bool = False

    def start(self) -> "SteadyLoad":
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()
        return self

    @property
    def num_right(self) -> int:
        """Answers that are vectors, so far."""
        return sum(is_right(answer) for _, answer in list(self.answers))

    @property
    def failures(self) -> list[tuple[int, str]]:
        """Items that got no vectors, with what they got."""
        return [(index, _words(answer)) for index, answer in list(self.answers) if not is_right(answer)]

    def wait_for_answers(self, num: int, limit_s: float = TIMEOUT_S) -> None:
        """Return when so many more vectors have come; fail when they never do."""
        enough, deadline_s = self.num_right + num, time.monotonic() + limit_s
        while self.num_right < enough:
            assert time.monotonic() < deadline_s, "the load got no vectors"
            time.sleep(PAUSE_S)

    def stop(self) -> None:
        """Let every client finish its request."""
        self._is_over = True
        self.stop_when_done()

    def stop_when_done(self) -> None:
        """Wait until no client may send any more and every one has its answer."""
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
                answer: Told = await http.post(EMBEDDINGS, content=self.body_of(index), headers=JSON)
            except httpx.TransportError as error:
                answer = error
            self.answers.append((index, answer))
            self.ended_s.append(time.monotonic())
            if is_right(answer):
                index += self.num_clients
                await asyncio.sleep(0)
            else:
                told = getattr(answer, "headers", {}).get("retry-after", "1")
                await asyncio.sleep(float(told) if self.waits_as_told else PAUSE_S)


def is_right(answer: Told) -> bool:
    """True if it holds vectors."""
    return isinstance(answer, httpx.Response) and answer.is_success


def _words(answer: Told) -> str:
    return f"{answer.status_code} {answer.text[:200]}" if isinstance(answer, httpx.Response) else repr(answer)


def faults_of(load: SteadyLoad, server: LiveServer) -> list[str]:
    """Faults among the answers of a server whose engines were killed: all but vectors and honest refusals.

    The items' own vectors are asked for afterwards, so a swapped or doubled answer shows as another item's vector.
    """
    want = np.concatenate([server.vectors(json.loads(body_of(index))) for index in range(NUM_ITEMS)])
    faults, ids = [], set()
    for index, answer in load.answers:
        fault = _fault(answer, want[index % NUM_ITEMS])
        if not fault and isinstance(answer, httpx.Response):
            fault = "an id came twice" if answer.headers["x-request-id"] in ids else ""
            ids.add(answer.headers["x-request-id"])
        if fault:
            faults.append(f"item {index % NUM_ITEMS}: {fault}")
    return faults


def _fault(answer: Told, want: np.ndarray) -> str:
    if isinstance(answer, httpx.TransportError):
        return f"no answer ({type(answer).__name__})"
    if answer.status_code == 503:
        is_told = answer.headers.get("retry-after", "").isdigit() and "engine_restarting" in answer.text
        return "" if is_told else f"503 without Retry-After, or {answer.text[:80]}"
    if answer.status_code != 200:
        return f"status {answer.status_code}"
    got = from_base64(answer.json()["data"][0]["embedding"])
    return "" if np.abs(got - want).max() <= TOLERANCE else "another item's vector"
