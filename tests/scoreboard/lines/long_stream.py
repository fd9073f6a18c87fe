"""A stream of many short texts: answers begin at once, memory stays where it was, and an engine may die under it.

`size` is in lines, which are sent in parts: between two parts, while the stream stays open, stands a full request of
`/v1/embeddings` on the same server. A stream has to feed the engine as well, and a machine that is busier for a while
is so for both.
"""

import json
import os
import signal
import threading
import time
from pathlib import Path
from statistics import median

import msgspec

from schemas.limits import MAX_INPUTS
from tests.conftest import LiveServer
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served
from tests.scoreboard.vitals import processes_of
from tests.stream_client import StreamClient

MOST_INPUTS = MAX_INPUTS
"""Under way at once: those of a request; a stream's window is half as many."""
NUM_PARTS = 10
LEAST_RATIO = 0.8
MOST_GROWN_MIB = 16.0
"""Between the first and the last fifth of the stream, once warm."""
MOST_ABOVE_MIB = 80.0
"""Between the requests before and the highest point: the stream's window, its buffers and what fills once (`WARM`)."""
WARM = 0.5
"""Of the samples. oneDNN keeps 1,024 primitives, one for each number of tokens, which fill over some 50,000 lines: the
engine grew by 46 MiB in all over 300,000, and by 24 with 16 of them kept."""
SAMPLE_S = 0.25
LINES_A_CHUNK = 32
NUM_UNDER_A_DEATH = 4_000
QUERY = "?encoding_format=base64"


class Row(msgspec.Struct):
    """The fields of an answer's line that are looked at."""

    type: str
    index: int = -1
    complete: bool = False
    num_lines: int = 0
    error: dict[str, object] | None = None


class Watch:
    """Looks at memory, once before, and at the queue while a stream runs."""

    def __init__(self, server: LiveServer) -> None:
        self.processes = processes_of(server.process.pid)
        for process in self.processes:
            process.sample()
        self.most_inputs = 0.0
        self._server = server
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(SAMPLE_S):
            for process in self.processes:
                process.sample()
            self.most_inputs = max(self.most_inputs, self._server.metric("cenote_queue_inputs"))


class Stream:
    """One stream, sent by a thread as fast as it is taken, part by part.

    Attributes:
        seen: how often each line was answered with a vector.
        end: the last line.
    """

    def __init__(self, server: LiveServer, size: int, kill: "Kill | None" = None) -> None:
        self.seen = bytearray(size)
        self.end = Row("")
        self._client = StreamClient(server, QUERY)
        self._read = msgspec.json.Decoder(Row).decode
        self._kill = kill
        self._num_sent = 0

    def part(self, num_lines: int) -> float:
        """Send so many lines and read their answers; lines in a second."""
        began_s = time.monotonic()
        sending = threading.Thread(target=self._send, args=(self._num_sent, self._num_sent + num_lines), daemon=True)
        sending.start()
        for number in range(num_lines):
            row = self._read(self._client.answer.readline())
            if row.type != "embedding":
                self.end = row
                break
            self.seen[row.index] += 1
            if self._kill is not None:
                self._kill.when(number)
        sending.join()
        self._num_sent += num_lines
        return num_lines / (time.monotonic() - began_s)

    def finish(self, what: str) -> list[str]:
        """End the body; what was wrong with the answer."""
        if not self.end.type:
            self._client.finish()
            self.end = self._read(self._client.answer.readline())
        self._client.socket.close()
        wrong = sum(times != 1 for times in self.seen)
        found = [f"{what}: {wrong} lines were not answered once, with a vector"] if wrong else []
        if not (self.end.type == "end" and self.end.complete and self.end.num_lines == len(self.seen)):
            found.append(f"{what}: it ended with {self.end}")
        return found

    def _send(self, start: int, end: int) -> None:
        for first in range(start, end, LINES_A_CHUNK):
            numbers = range(first, min(end, first + LINES_A_CHUNK))
            self._client.send(*({"input": f"a short text, number {number}"} for number in numbers))


class Kill:
    """Ends the engine of that moment whenever one of these many answers have come.

    More than once: between two steps an engine runs nobody's line, and its end fails none.
    """

    def __init__(self, server: LiveServer, *numbers: int) -> None:
        self._server = server
        self._numbers = numbers

    def when(self, number: int) -> None:
        if number in self._numbers and (pid := self._server.engine_pid()):
            os.kill(pid, signal.SIGKILL)


@line(
    18,
    "lines of one stream, then 4,000 under two engines' deaths",
    "each answered once; memory flat; >= 0.8 of one request's rate",
    sizes=(100_000, 1_000_000),
)
def run(size: int, folder: Path) -> Result:
    with served(folder / "server.log", model="builtin") as server:
        return _measure(server, size)


def _measure(server: LiveServer, size: int) -> Result:
    for name in ("warm", "warmer"):
        last = _request(server, name)
    stream, watch = Stream(server, size), Watch(server)
    rates, ratios = [], []
    with watch:
        for number in range(NUM_PARTS):
            rates.append(stream.part(size // NUM_PARTS))
            beside = _request(server, f"beside {number}")
            ratios.append(rates[-1] * (1 / last + 1 / beside) / 2)
            last = beside
    failures = stream.finish("the stream") + _memory(watch)
    if (ratio := median(ratios)) < LEAST_RATIO:
        failures.append(f"{ratio:.2f} of the rate of one request")
    doomed = Stream(server, NUM_UNDER_A_DEATH, Kill(server, NUM_UNDER_A_DEATH // 4, NUM_UNDER_A_DEATH * 3 // 4))
    doomed.part(NUM_UNDER_A_DEATH)
    failures += doomed.finish("with an engine that died")
    told = f"{median(rates):.0f} lines/s, {ratio:.2f} of one request's"
    return Result(size + NUM_UNDER_A_DEATH, len(failures), [*failures[:5], told, _memory_told(watch)])


def _request(server: LiveServer, name: str) -> float:
    """Inputs a second of one full request."""
    texts = [f"a short text, {name}, number {i}" for i in range(MAX_INPUTS)]
    body = json.dumps({"input": texts, "encoding_format": "base64"}).encode()
    began_s = time.monotonic()
    server.http.post("/v1/embeddings", content=body, headers={"content-type": "application/json"}).raise_for_status()
    return MAX_INPUTS / (time.monotonic() - began_s)


def _memory(watch: Watch) -> list[str]:
    found = [] if watch.most_inputs <= MOST_INPUTS else [f"{watch.most_inputs:.0f} inputs were under way"]
    for process in watch.processes:
        grown, above = process.grown_mib(WARM), process.risen_mib
        if grown > MOST_GROWN_MIB or above > MOST_ABOVE_MIB:
            found.append(f"process {process.pid} grew by {grown:.1f} MiB, and stood {above:.1f} MiB above before")
    return found


def _memory_told(watch: Watch) -> str:
    memory = ", ".join(f"{one.risen_mib:.0f} at most, {one.grown_mib(WARM):+.1f} once warm" for one in watch.processes)
    return f"MiB of front and engine above before: {memory}; at most {watch.most_inputs:.0f} inputs under way"
