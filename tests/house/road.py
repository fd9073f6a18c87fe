"""The road of a request: each function of the product that it goes through, in front and engine, on a running server.

`python -m tests.house.road` writes the lists that `tests/test_house.py` holds it against.
"""

import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.at_start.environ import customized_environ
from tests.conftest import LiveServer, children_of, command_of, image, image_part, until

HERE = Path(__file__).parent
NUM_REQUESTS = 4
"""The road is what each of so many go through: what wakes by chance beside one of them is not on it."""
HELD = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "AVX2"}
SETTLED_S = 0.3
"""Time after an answer until its accounts are written and its connection waits for the next request."""


@contextmanager
def profiled_server() -> Iterator["Profiled"]:
    """The built-in model, with the profiler of `profiled/` in each process.

    Held to no kernels: the road is then the same on every processor.
    """
    with tempfile.TemporaryDirectory() as folder:
        env = customized_environ(HERE / "profiled", HOUSE_OUT=folder, PYTHONDONTWRITEBYTECODE="1", **HELD)
        server = LiveServer(Path(folder) / "log", "--model", "builtin", env=env)
        try:
            yield Profiled(server.wait_until_ready(), Path(folder))
        finally:
            server.stop()


class Profiled:
    """A server whose functions can be noted."""

    def __init__(self, server: LiveServer, out: Path) -> None:
        self.server = server
        self._out = out
        pids = [server.process.pid, *children_of(server.process.pid)]
        self._pids = [pid for pid in pids if "service.workers" not in command_of(pid)]
        self._idle: set[str] | None = None

    def roads(self, bodies: list[dict[str, Any]]) -> list[set[str]]:
        """`path: function` of what each of these goes through, and an idle server does not. The first warms up."""
        first, *bodies = bodies
        self.server.ask("/v1/embeddings", first)
        time.sleep(SETTLED_S)
        if self._idle is None:
            self._idle = set(self._called(None))
        return [set(self._called(body)) - self._idle for body in bodies]

    def _called(self, body: dict[str, Any] | None) -> list[str]:
        self._signal(signal.SIGUSR1)
        if body is None:
            time.sleep(1)  # as long as any watcher of an idle server sleeps
        else:
            self.server.ask("/v1/embeddings", body)
            time.sleep(SETTLED_S)
        self._signal(signal.SIGUSR2)
        return [call for pid in self._pids for call in self._written(pid)]

    def _signal(self, number: signal.Signals) -> None:
        for pid in self._pids:
            os.kill(pid, number)
        time.sleep(0.1)  # a handler runs between two instructions of its process

    def _written(self, pid: int) -> list[str]:
        path = self._out / str(pid)
        until(path.exists, f"the calls of process {pid}", 10)
        called: list[str] = json.loads(path.read_text())
        path.unlink()
        return called


def text_bodies() -> list[dict[str, Any]]:
    return [{"input": f"a red circle {number} to the left"} for number in range(NUM_REQUESTS + 1)]


def image_bodies() -> list[dict[str, Any]]:
    instruction = "Represent the colors of the image."
    images = [image(900 + number) for number in range(NUM_REQUESTS + 1)]
    return [{"inputs": [{"content": [image_part(url)]}], "instruction": instruction} for url in images]


ROADS = {"text": text_bodies, "image": image_bodies}


def committed(name: str) -> set[str]:
    """The list beside this file: what any request was seen to go through."""
    return set((HERE / f"{name}.txt").read_text().splitlines())


def files_of(road: set[str]) -> set[str]:
    return {call.partition(":")[0] for call in road}


if __name__ == "__main__":
    with profiled_server() as profiled:
        for name, bodies in ROADS.items():
            roads = profiled.roads(bodies())
            (HERE / f"{name}.txt").write_text("\n".join(sorted(set.union(*roads))) + "\n")
            road = set.intersection(*roads)
            print(f"{name}: {len(files_of(road))} files, {len(road)} functions")
