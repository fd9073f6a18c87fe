"""The engine's loop in the test's own thread: what goes in, what comes out, and a runner that fails on demand."""

import queue
import time
from typing import Any

import msgspec

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.fronts import Fronts, FrontsAnnouncer
from service.engine.loop import EngineLoop
from service.engine.scheduling.result_cache import ResultCache
from service.engine.scheduling.scheduler import Scheduler
from service.ipc.messages import Media, OutputSpec, Request, StepDone, StepKind, StepReport, StepStarted, Submit
from tests.builders import engine_request, media
from tests.service.engine.troubled_runner import TroubledRunner


class RecordingAnnouncer(FrontsAnnouncer):
    """Announces into a list, and not to a front."""

    def __init__(self, sent: list[Any]) -> None:
        super().__init__(-1, 1)
        self._sent = sent
        self.num_computed = 0

    def computed(self) -> None:
        self.num_computed += 1

    def begin(self, kind: StepKind, num_tokens: int, ids: list[int]) -> StepStarted:
        self.num_steps += 1
        now_s = time.monotonic()
        step = StepStarted(number=self.num_steps, kind=kind, num_tokens=num_tokens, ids=ids, began_s=now_s)
        self._sent.append(step)
        return step


class LoopRig:
    """An engine's loop.

    Attributes:
        inbox: messages to it.
        sent: its answers and announcements, in order.
        runner: what stands in for the model.
        announcer: also counts the forwards that it said were over.
    """

    def __init__(
        self,
        scheduler: Scheduler[Any],
        runner: Any = None,
        *,
        inbox: "queue.Queue[Any] | None" = None,
        shared: Any = None,
        look_ups: Any = None,
    ) -> None:
        self.inbox: queue.Queue[Any] = inbox or queue.Queue()
        self.sent: list[Any] = []
        self.scheduler = scheduler
        self.runner = runner or TroubledRunner()
        self.announcer = announcer = RecordingAnnouncer(self.sent)
        fronts = Fronts(self.sent.append, announcer)
        self.loop = EngineLoop(fronts, announcer, self.inbox, scheduler, self.runner, shared, look_ups)

    @property
    def steps(self) -> list[StepDone]:
        """The answers."""
        return [
            msgspec.structs.replace(message, vectors=message.all_vectors(), block=None)
            for message in self.sent
            if isinstance(message, StepDone)
        ]

    @property
    def reports(self) -> list[StepReport]:
        """What each answer says of its step."""
        return [report_of(step) for step in self.steps]

    @property
    def started(self) -> list[StepStarted]:
        """The announcements."""
        return [message for message in self.sent if isinstance(message, StepStarted)]

    @property
    def answered(self) -> list[int]:
        """Requests that got vectors, in order."""
        return [vector.id for step in self.steps for vector in step.vectors]

    def submit(self, *requests: Request) -> None:
        """Put requests that come together into the inbox."""
        self.inbox.put(Submit(requests=list(requests)))

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.loop.turn()

    def run(self, *requests: Request) -> StepDone:
        """The only answer to requests that come together and have no images."""
        self.sent.clear()
        self.submit(*requests)
        self.turn()
        (step,) = self.steps
        return step


def report_of(step: StepDone) -> StepReport:
    """What an answer says of its step."""
    assert step.report is not None  # to the only front
    return step.report


def make_scheduler(result_bytes: int = 0, **options: Any) -> Scheduler[Any]:
    """A scheduler with room for 64 requests of one token."""
    limits = {"max_batch_tokens": 1000, "max_batch_requests": 64, "max_encoder_tokens": 100}
    return Scheduler(EncoderCache(1000), ResultCache(result_bytes), **limits, **options)


def request(id_: int, token: int, *images: Media, **output: Any) -> Request:
    """A prompt of one token, by which `TroubledRunner` chooses its answer."""
    return engine_request(id_, [token], *images, output=OutputSpec(**({"dimensions": 8} | output)))


def image(key: bytes, start: int | None) -> Media:
    return media(key, start, num_tokens=1)
