"""The engine's loop in the test's own thread: what goes in, what comes out, and a runner that fails on demand."""

import math
import queue
from typing import Any

import msgspec

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.fronts import Fronts
from service.engine.loop import EngineLoop
from service.engine.scheduling.result_cache import ResultCache
from service.engine.scheduling.scheduler import Scheduler
from service.ipc.messages import Media, Ready, Request, StepDone, StepReport, StepStarted, Submit
from service.outputs.block import Vector
from service.outputs.dense import DenseAsk
from tests.builders import engine_request, media
from tests.service.engine.troubled_runner import TroubledRunner

READY = Ready(device="cpu", dtype="float32", hidden=8, num_parameters=1, kernels="", model_digest=b"", load_s=0.0)


class RecordingFronts(Fronts):
    """Keeps what the engine's keeper would read."""

    def __init__(self, line: "RecordingLine") -> None:
        super().__init__(line.send, -1, READY, num_fronts=1, part_bytes=1 << 40)
        self.told: list[Any] = []

    def tell_keeper(self, message: Any) -> None:
        self.told.append(message)


class RecordingLine:
    """Keeps what a front is sent and announced, in order."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, message: msgspec.Struct) -> None:
        self.sent.append(message)

    def announce(self, step: StepStarted) -> None:
        self.sent.append(step)

    def close(self) -> None:
        raise AssertionError("the only front stays")


class LoopRig:
    """An engine's loop, and its only front.

    Attributes:
        inbox: messages to it.
        sent: its answers and announcements, in order.
        runner: what stands in for the model.
    """

    def __init__(
        self,
        scheduler: Scheduler[Any],
        runner: Any = None,
        *,
        inbox: "queue.Queue[Any] | None" = None,
        shared: Any = None,
    ) -> None:
        self.inbox: queue.Queue[Any] = inbox or queue.Queue()
        self.scheduler = scheduler
        self.runner = runner or TroubledRunner()
        line = RecordingLine()
        self.fronts = RecordingFronts(line)
        self.fronts.join(0, line)
        self.sent = line.sent
        self.sent.clear()
        self.loop = EngineLoop(self.fronts, self.inbox, scheduler, self.runner, shared)

    @property
    def steps(self) -> list[StepDone]:
        """The answers."""
        return [message for message in self.sent if isinstance(message, StepDone)]

    @property
    def reports(self) -> list[StepReport]:
        """Reports of each step."""
        return [message for message in self.fronts.told if isinstance(message, StepReport)]

    @property
    def started(self) -> list[StepStarted]:
        """The announcements."""
        return [message for message in self.sent if isinstance(message, StepStarted)]

    @property
    def answered(self) -> list[int]:
        """Requests that got vectors, in order."""
        return [vector.id for step in self.steps for vector in vectors_of(step)]

    def submit(self, *requests: Request) -> None:
        """Put requests that come together into the inbox."""
        self.inbox.put(Submit(requests=list(requests)))

    def turn(self, times: int = 1) -> None:
        """A step, or a message where there is none to run."""
        for _ in range(times):
            while 0 < (wait_s := self.loop.turn()) < math.inf and self.scheduler.ready:
                self.loop._wait(wait_s)
            if wait_s:
                self.loop._wait(wait_s)

    def run(self, *requests: Request) -> StepDone:
        """The only answer to requests that come together and have no images."""
        self.sent.clear()
        self.submit(*requests)
        self.turn()
        (step,) = self.steps
        return step


def vectors_of(step: StepDone) -> list[Vector]:
    """The answers of a step, each by itself."""
    return [one for block in step.blocks for one in block.vectors()]


def make_scheduler(result_bytes: int = 0, **options: Any) -> Scheduler[Any]:
    """A scheduler with room for 64 requests of one token."""
    limits = {"max_batch_tokens": 1000, "max_batch_requests": 64, "max_encoder_tokens": 100}
    return Scheduler(EncoderCache(1000), ResultCache(result_bytes), **limits, **options)


def request(id_: int, token: int, *images: Media, **ask: Any) -> Request:
    """A prompt of one token, by which `TroubledRunner` chooses its answer."""
    return engine_request(id_, [token], *images, ask=DenseAsk(**({"dimensions": 8} | ask)))


def image(key: bytes, start: int | None) -> Media:
    return media(key, start, num_tokens=1)
