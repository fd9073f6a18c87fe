"""Clients that ask through a proxy, one request after the other, and note each answer that is no vector."""

import threading
import time

import httpx

NUM_CLIENTS = 3
PAUSE_S = 0.01
LARGE_EVERY = 10
LARGE_BYTES = 100_000
"""Of each tenth body, as one with an image has; spaces, which cost the model nothing."""


class Load:
    """Clients of one proxy.

    Attributes:
        num_asked: requests so far.
        errors: what was answered in place of vectors.
    """

    def __init__(self, url: str) -> None:
        self.num_asked = 0
        self.errors: list[str] = []
        self._url = url
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._clients = [
            threading.Thread(target=self._ask, args=(number,), daemon=True) for number in range(NUM_CLIENTS)
        ]
        for client in self._clients:
            client.start()

    def _ask(self, client: int) -> None:
        with httpx.Client(base_url=self._url, timeout=60) as http:
            while not self._end.is_set():
                number = self.num_asked
                padding = LARGE_BYTES if number % LARGE_EVERY == 0 else 0
                error = self._one(http, b" " * padding + b'{"input": "text %d %d"}' % (client, number))
                with self._lock:
                    self.num_asked += 1
                    self.errors += [error] if error else []
                time.sleep(PAUSE_S)

    def _one(self, http: httpx.Client, body: bytes) -> str | None:
        try:
            answer = http.post("/v1/embeddings", content=body, headers={"content-type": "application/json"})
        except httpx.TransportError as error:
            return repr(error)
        return None if answer.status_code == 200 else f"{answer.status_code} {answer.text[:200]}"

    def stop(self) -> None:
        self._end.set()
        for client in self._clients:
            client.join()
