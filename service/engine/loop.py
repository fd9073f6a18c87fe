"""The engine's loop: read messages, run the scheduler's next step, answer. One thread."""

import logging
import math
import queue
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.engine.execution.isolation import INTERNAL, NO_MEMORY, Isolation, Result, failed
from service.engine.execution.media_encoder import MediaEncoder
from service.engine.fronts import FrontLine, Fronts, Joined, Left
from service.engine.scheduling.coalescing import Kept
from service.engine.scheduling.scheduler import Scheduler
from service.engine.scheduling.waiting import EncodeStep, FeaturesStep, ForwardStep
from service.engine.shared_tiers.shared import LookedUp
from service.ipc.messages import Abandon, AskKept, Failure, FrontMessage, Ping, Pixels, StepDone, StepReport, Submit
from service.ipc.reports import ResultReport
from service.outputs.ask import needs
from service.outputs.block import Vector, blocks_of

if TYPE_CHECKING:
    import torch

    from service.engine.execution.runner import ModelRunner
    from service.engine.shared_tiers.shared import SharedTiers

    OwnMessage = FrontMessage | LookedUp[torch.Tensor] | Joined | Left

logger = logging.getLogger("cenote.engine")


@dataclass(slots=True)
class GuestInbox:
    """What messages to a model are put into whose loop runs beside another's: at that one's inbox alone is waited."""

    host: "queue.Queue[Inboxed]"
    loop: "EngineLoop" = field(init=False)

    def put(self, message: "OwnMessage") -> None:
        """See `queue.Queue.put`."""
        self.host.put((self.loop, message))


class EngineLoop:
    """From the inbox by scheduler and runner to the answers."""

    def __init__(
        self,
        fronts: Fronts,
        inbox: "queue.Queue[Inboxed]",
        scheduler: "Scheduler[torch.Tensor]",
        runner: "ModelRunner",
        shared: "SharedTiers[torch.Tensor] | None" = None,
    ) -> None:
        """Answer `fronts`, and announce to them what is about to run; `shared` are the tiers behind the cache."""
        self._fronts = fronts
        self._inbox = inbox
        self._scheduler = scheduler
        self._runner = runner
        self._shared = shared
        self._look_ups = scheduler.images.look_ups
        self._cache_report = scheduler.cache.report()
        self._encoder = MediaEncoder(runner, fronts.begin, scheduler.cache)
        self._isolation = Isolation(
            runner, fronts.begin, scheduler.cache, scheduler.coalescing, scheduler.ready.max_tokens
        )
        self._released: list[int] = []
        self._beside: list[EngineLoop] = []

    def run(self) -> None:
        """Run indefinitely, with the models that share the weights a step of each in turn; the reader ends the process.

        So one that is flooded keeps another from its next step for no longer than one of its own.
        """
        while True:
            if wait_s := min([one.turn() for one in (self, *self._beside)]):
                self._wait(wait_s)

    def join(self, other: "EngineLoop") -> None:
        """Run a model's loop beside this one, by whose inbox its messages come."""
        everyone = [self._fronts, *self._fronts.beside, other._fronts]
        for fronts in everyone:
            fronts.beside = [one for one in everyone if one is not fronts]
        self._beside.append(other)

    def turn(self) -> float:
        """Answer from kept vectors, then run one step; without one the seconds to wait for work, or for more of it."""
        self._read_all()
        if wait_s := self._scheduler.gather_s(time.monotonic()):
            return self._least(wait_s)
        match self._scheduler.next_step():
            case ForwardStep(batch=batch):
                began_s = time.perf_counter()
                results = self._isolation.embed(batch)
                took_s = time.perf_counter() - began_s
                self._scheduler.ready.max_tokens = self._isolation.ceiling.num_tokens
                self._answer(began_s, results, num_tokens=sum(len(waiting.request.plan.ids) for waiting in batch))
                num_left = len(self._scheduler.ready)
                self._scheduler.batch_delay.ended(len(results), num_left, took_s, time.monotonic())
            case EncodeStep() as step:
                self._encode(step)
            case FeaturesStep(waiting=waiting):
                began_s = time.perf_counter()
                self._answer(began_s, [(waiting, self._encoder.row(waiting))])
            case None:
                if self._released:
                    self._answer(time.perf_counter())
                return self._least(math.inf)
        return 0.0

    def _least(self, most_s: float) -> float:
        """Seconds until a look-up is late, at most so many."""
        return most_s if self._look_ups is None else min(most_s, self._look_ups.wait_s(time.monotonic()))

    def _wait(self, most_s: float = math.inf) -> None:
        """Handle the next message, or wake after `most_s`."""
        with suppress(queue.Empty):
            self._handle(self._inbox.get(timeout=None if most_s == math.inf else most_s))

    def _read_all(self) -> None:
        """Handle what has come, and answer what is known of it."""
        while not self._inbox.empty():
            self._handle(self._inbox.get())
        if self._look_ups is not None:
            for key in self._look_ups.turn(self._scheduler.num_held_tokens, time.monotonic()):
                self._scheduler.images.not_found(key)
        self._released += self._scheduler.expire(time.monotonic())
        if keys := self._scheduler.images.ask_for_pixels():
            self._fronts.want(keys)
        while kept := self._scheduler.coalescing.take_kept(self._scheduler.max_batch_requests):
            self._answer_kept(kept)

    def _handle(self, message: "Inboxed") -> None:
        match message:
            case Submit(requests=requests):
                now_s = time.perf_counter()
                for request in requests:
                    self._released += self._scheduler.add(request, now_s)
            case Pixels(key=key, slot=slot):
                if not self._scheduler.images.supply(key, slot):
                    self._released.append(slot.start)
            case Abandon(ids=ids):
                self._released += self._scheduler.abandon(ids)
            case LookedUp(key=key, features=features):
                assert self._look_ups is not None  # only they ask
                self._look_ups.answered(key)
                if features is None:
                    self._scheduler.images.not_found(key)
                else:
                    self._released += self._scheduler.found(key, features, features.nbytes)
            case AskKept(id=id_, digests=digests):
                are_kept = self._scheduler.coalescing.results.have(digests)
                self._fronts.tell_kept(id_, are_kept)
            case Ping():
                self._fronts.pong()
            case Joined(index=index, line=line):
                self._fronts.join(index, line)
            case Left(index=index, line=line):
                self._forget(index, line)
            case EngineLoop() as other:
                self.join(other)
            case (loop, one):
                loop._handle(one)

    def _forget(self, index: int, line: FrontLine) -> None:
        """Drop what a front asked for that has gone; its part of the arena is not read again from here on."""
        if self._fronts.leave(index, line):
            self._released += self._scheduler.forget_front(
                lambda id_: self._fronts.of_request(id_) == index, lambda start: self._fronts.of_slot(start) == index
            )
            self._released = [start for start in self._released if self._fronts.of_slot(start) != index]
            self._fronts.next_joins(index)

    def _answer_kept(self, kept: "Sequence[Kept[torch.Tensor]]") -> None:
        """Finish vectors that the result cache has; the model does not run."""
        began_s = time.perf_counter()
        found = self._runner.kept([vector for _, vector in kept])
        self._answer(began_s, self._isolation.finish(found, [waiting for waiting, _ in kept]))

    def _encode(self, step: "EncodeStep[torch.Tensor]") -> None:
        began_s = time.perf_counter()
        failures: list[Result] = []
        num_encoded = 0
        for encode in step.encodes:
            if not encode.waiters:  # an earlier image has failed its requests
                continue
            media_s = time.perf_counter()
            features = self._encoder.features(encode)
            if isinstance(features, str):
                message = NO_MEMORY if features == "out_of_memory" else INTERNAL
                waiting, released = self._scheduler.encode_failed(encode)
                failures += [(one, failed(one.request, message, features)) for one in waiting]
                self._released += released
            else:
                assert encode.slot is not None  # an EncodeStep has no other
                self._scheduler.encoded(encode, features, features.nbytes, time.perf_counter() - media_s)
                self._released.append(encode.slot.start)
                if encode.media.dtype is None:
                    num_encoded += 1
                    if self._shared is not None:
                        self._shared.offer(encode.media.key, features, features.nbytes)
        self._answer(began_s, failures, num_encoded=num_encoded)

    def _answer(
        self, began_s: float, results: Sequence[Result] = (), *, num_encoded: int = 0, num_tokens: int = 0
    ) -> None:
        """Send what a step gave; `num_tokens` is 0 where the language model did not run."""
        step_ms = (time.perf_counter() - began_s) * 1e3
        vectors, failures = [], []
        for waiting, row in results:
            if isinstance(row, Failure):
                failures.append(row)
                continue
            request = waiting.request
            vector = Vector(
                id=request.id,
                rows=row,
                key=request.media[0].key if needs(request.asks) == "nothing" else b"",
                num_hits=waiting.num_hits,
                num_misses=waiting.num_misses,
                is_cached=waiting.is_spared,
                queue_ms=(began_s - waiting.arrived_s) * 1e3,
                inference_ms=step_ms,
                num_batched=len(results) if num_tokens else 0,
            )
            vectors.append(vector)
        released, self._released = self._released, []
        after, cache, coalescing = self._fronts.num_steps, self._scheduler.cache, self._scheduler.coalescing
        if cache.has_changed or self._shared is not None:
            self._cache_report = cache.report(*(() if self._shared is None else self._shared.reports()))
        num_reused, self._runner.prefixes.num_reused = self._runner.prefixes.num_reused, 0
        report = StepReport(
            after=after,
            num_requests=len(results),
            num_hits=sum(vector.num_hits for vector in vectors),
            num_misses=sum(vector.num_misses for vector in vectors),
            num_encoded=num_encoded,
            num_tokens=num_tokens,
            num_prefix_tokens=num_reused,
            step_ms=(time.perf_counter() - began_s) * 1e3,
            cache=self._cache_report,
            results=coalescing.report() if coalescing.results.is_on or coalescing.num_joined else ResultReport(),
        )
        done = StepDone(blocks=blocks_of(vectors), failures=failures, released=released, after=after)
        self._fronts.answer(done, report)


if TYPE_CHECKING:
    Inboxed = OwnMessage | EngineLoop | tuple[EngineLoop, OwnMessage]
