"""Row 14, its disk part: a full disk, a lost folder or no descriptors left must not take the server along.

Each case puts the server into a misery, asks it under load, and wants every answer; where descriptors run out, some
clients are not let in, and it has to be well again within five seconds of their leaving.
"""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import httpx

from tests.conftest import CHECKPOINT, MODEST, READY_S, ROOT, STOP_S, children_of, free_ports, plain_environ
from tests.scoreboard.line import Result, line

ASKS = 40
NUM_DESCRIPTORS = 128
RECOVERS_S = 5


@contextlib.contextmanager
def served(stderr: int | IO[bytes], **popen: Any) -> Iterator[tuple[httpx.Client, int]]:
    """A client and the process id of a server whose stderr nobody reads, so its port is chosen here."""
    (port,) = free_ports()
    command = [sys.executable, "-m", "service", "serve", "--port", str(port), "--model", str(CHECKPOINT), *MODEST]
    environ = plain_environ()
    path = (str(ROOT), str(ROOT / "kernels"), environ.get("PYTHONPATH"))  # the last has what a sabotage breaks
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    process = subprocess.Popen(command, stderr=stderr, **{"cwd": ROOT, "env": environ} | popen)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        try:
            _wait_until_ready(client, process)
            yield client, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            if process.wait(STOP_S) != 0:
                raise RuntimeError(f"it ended with {process.returncode}")


def _wait_until_ready(client: httpx.Client, process: "subprocess.Popen[bytes]") -> None:
    deadline_s = time.monotonic() + READY_S
    while process.poll() is None and time.monotonic() < deadline_s:
        with contextlib.suppress(httpx.TransportError):
            if client.get("/readyz").status_code == 200:
                return
        time.sleep(0.05)
    process.kill()
    raise RuntimeError("it did not become ready")


def _asks(client: httpx.Client) -> int:
    """Number of questions that were not answered; a wrong one among them makes the log speak."""
    statuses = [client.post("/v1/embeddings", json={"input": f"question {i}"}).status_code for i in range(ASKS)]
    refused = [client.post("/v1/embeddings", json={"inputt": i}).status_code for i in range(ASKS)]
    return sum(status != 200 for status in statuses) + sum(status != 400 for status in refused)


def full_disk_under_the_log() -> int:
    with Path("/dev/full").open("wb") as full, served(full) as (client, _):
        return _asks(client)


def nobody_reads_the_log() -> int:
    """A pipe whose reader has gone: every line is an EPIPE."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as broken, served(broken) as (client, _):
        return _asks(client)


def no_file_may_grow() -> int:
    """Each write that makes a file longer fails, as on a full disk, in both processes."""
    with served(subprocess.DEVNULL) as (client, front):
        for pid in (front, *children_of(front)):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))
        return _asks(client)


def the_folder_has_gone() -> int:
    """The working folder is deleted as soon as the server is ready."""
    place = tempfile.mkdtemp()
    with served(subprocess.DEVNULL, cwd=place) as (client, _):
        Path(place).rmdir()
        return _asks(client)


def no_descriptors_are_left() -> int:
    """More connections than descriptors: the server lives, and is well again when they have gone."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (NUM_DESCRIPTORS, NUM_DESCRIPTORS))

    with served(subprocess.DEVNULL, preexec_fn=limit) as (client, _):
        held = [socket.socket() for _ in range(2 * NUM_DESCRIPTORS)]
        for one in held:
            one.setblocking(False)
            one.connect_ex((client.base_url.host, client.base_url.port))
        time.sleep(2)
        for one in held:
            one.close()
        time.sleep(RECOVERS_S)
        return _asks(client)


CASES: tuple[Callable[[], int], ...] = (
    full_disk_under_the_log,
    nobody_reads_the_log,
    no_file_may_grow,
    the_folder_has_gone,
    no_descriptors_are_left,
)


@line(
    14,
    "log on a full disk, log without a reader, no file may grow, folder gone, descriptors used up",
    "every question answered, exit 0; well again 5 s after descriptors ran out",
    sizes=(len(CASES), len(CASES)),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    num_failed, notes = 0, []
    for case in CASES[:size]:
        try:
            num_lost = case()
            trouble = f"{num_lost} of {2 * ASKS} questions were not answered as they should" if num_lost else ""
        except (RuntimeError, httpx.TransportError, subprocess.TimeoutExpired) as error:
            trouble = f"{type(error).__name__}: {error}"
        if trouble:
            num_failed += 1
            notes.append(f"{case.__name__}: {trouble}")
    return Result(len(CASES[:size]), num_failed, notes)
