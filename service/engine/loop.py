"""The engine's turn, over and over: read what came, take the next step, answer.

What is about to run is announced by `announcing.py`. What fails is `isolation.py`'s and `pictures.py`'s to contain.
"""

import logging
import queue
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from service.engine.announcing import Announcing
from service.engine.cache.look_ups import LookUps
from service.engine.cache.looked_up import LookedUp
from service.engine.ceiling import TokenCeiling
from service.engine.failures import INTERNAL, NO_MEMORY, failed
from service.engine.features_writer import FeaturesWriter
from service.engine.finisher import Finisher, Row
from service.engine.isolation import Isolation
from service.engine.pictures import PictureEncoder
from service.engine.scheduler import EncodeStep, FeaturesStep, LanguageStep, Scheduler, Waiting
from service.engine.twins import Known
from service.ipc.messages import (
    Abandon,
    Failure,
    FrontMessage,
    Ping,
    Pixels,
    Pong,
    StepDone,
    StepStarted,
    Submit,
    Vector,
    WantPixels,
)

if TYPE_CHECKING:
    import torch

    from service.engine.cache.shared import SharedTiers
    from service.engine.runner import ModelRunner

logger = logging.getLogger("cenote.engine")


class EngineLoop:
    """Inbox to scheduler to runner to answers, in one thread."""

    def __init__(
        self,
        send: Callable[[msgspec.Struct], None],
        announce: Callable[[StepStarted], None],
        inbox: "queue.SimpleQueue[FrontMessage | LookedUp[torch.Tensor]]",
        scheduler: "Scheduler[torch.Tensor]",
        runner: "ModelRunner",
        shared: "SharedTiers[torch.Tensor] | None" = None,
        look_ups: LookUps | None = None,
    ) -> None:
        """Answer by `send`, and tell what is about to run by `announce`.

        `shared` and `look_ups` come together, where there are tiers behind the cache.
        """
        self._send = send
        self._announcing = Announcing(announce)
        self._inbox = inbox
        self._scheduler = scheduler
        self._runner = runner
        self._shared = shared
        self._look_ups = look_ups
        drop_cached = scheduler.cache.clear
        self._pictures = PictureEncoder(runner, self._announcing.encode, drop_cached)
        ceiling = TokenCeiling(scheduler.max_batch_tokens)
        keep = scheduler.twins.keep if scheduler.twins.results.is_on else None
        self._isolation = Isolation(runner, ceiling, self._announcing.batch, drop_cached, keep)
        self._finisher = Finisher(runner)
        self._features = FeaturesWriter(runner)
        self._released: list[int] = []

    def run(self) -> None:
        """Run for ever; the reader thread ends the process."""
        while True:
            self.turn()

    def turn(self) -> None:
        """Wait for work if there is none, answer what is known, then take one step."""
        self._read_all()
        while known := self._scheduler.twins.take_known(self._scheduler.max_batch_requests):
            self._answer_known(known)
        match self._scheduler.next_step():
            case EncodeStep() as step:
                self._encode(step)
            case LanguageStep() as step:
                self._embed(step)
            case FeaturesStep(waiting=waiting):
                self._answer_features(waiting)
            case None:
                self._flush_released()
                self._wait()

    def _wait(self) -> None:
        """Handle the next message, or let a look-up be late."""
        timeout_s = None if self._look_ups is None else self._look_ups.wait_s(time.monotonic())
        with suppress(queue.Empty):
            self._handle(self._inbox.get(timeout=timeout_s))

    def _read_all(self) -> None:
        while not self._inbox.empty():
            self._handle(self._inbox.get())
        if self._look_ups is not None:
            for key in self._look_ups.turn(self._scheduler.num_held_tokens, time.monotonic()):
                self._scheduler.not_found(key)
        self._released += self._scheduler.expire(time.monotonic())
        if keys := self._scheduler.ask_for_pixels():
            self._send(WantPixels(keys=keys, after=self._announcing.num_steps))

    def _handle(self, message: "FrontMessage | LookedUp[torch.Tensor]") -> None:
        match message:
            case Submit(requests=requests):
                now_s = time.perf_counter()
                for request in requests:
                    self._released += self._scheduler.add(request, now_s)
            case Pixels(key=key, slot=slot):
                if not self._scheduler.supply(key, slot):
                    self._released.append(slot.start)
            case Abandon(ids=ids):
                self._released += self._scheduler.abandon(ids)
            case LookedUp(key=key, features=features):
                self._looked_up(key, features)
            case Ping():
                self._send(Pong(after=self._announcing.num_steps))

    def _looked_up(self, key: bytes, features: "torch.Tensor | None") -> None:
        assert self._look_ups is not None  # else nobody looks
        self._look_ups.answered(key)
        if features is None:
            self._scheduler.not_found(key)
        else:
            self._released += self._scheduler.found(key, features, features.nbytes)

    def _encode(self, step: "EncodeStep[torch.Tensor]") -> None:
        began_s = time.perf_counter()
        failures: list[Failure] = []
        num_encoded = 0
        for encode in step.encodes:
            if not self._scheduler.is_wanted(encode):
                continue
            picture_s = time.perf_counter()
            features = self._pictures.features(encode)
            if isinstance(features, str):
                message = NO_MEMORY if features == "out_of_memory" else INTERNAL
                everyone, released = self._scheduler.encode_failed(encode)
                failures += [failed(one.request, message, features) for one in everyone]
                self._released += released
            else:
                assert encode.slot is not None  # the scheduler takes no other
                self._scheduler.encoded(encode, features, features.nbytes, time.perf_counter() - picture_s)
                self._released.append(encode.slot.start)
                if encode.media.dtype is None:
                    num_encoded += 1
                    if self._shared is not None:
                        self._shared.offer(encode.media.key, features, features.nbytes)
        self._answer(began_s, failures=failures, num_encoded=num_encoded)

    def _answer_features(self, waiting: "Waiting[torch.Tensor]") -> None:
        began_s = time.perf_counter()
        row = self._features.row(waiting)
        if isinstance(row, Failure):
            self._answer(began_s, failures=[row])
            return
        answer = _vector(waiting, row, began_s, (time.perf_counter() - began_s) * 1e3)
        self._answer(began_s, vectors=[msgspec.structs.replace(answer, key=waiting.request.media[0].key)])

    def _embed(self, step: "LanguageStep[torch.Tensor]") -> None:
        began_s = time.perf_counter()
        ends = self._isolation.embed(step.batch)
        self._scheduler.max_batch_tokens = self._isolation.ceiling.num_tokens
        num_tokens = sum(len(waiting.request.token_ids) for waiting in step.batch)
        everyone = [one for waiting in step.batch for one in waiting.everyone]
        self._answer_rows(began_s, everyone, [row for rows in ends for row in rows], num_tokens)

    def _answer_known(self, known: "Sequence[Known[torch.Tensor]]") -> None:
        """Nothing runs but the epilogue."""
        began_s = time.perf_counter()
        everyone = [waiting for waiting, _ in known]
        raw = self._runner.kept([vector for _, vector in known])
        self._answer_rows(began_s, everyone, self._finisher.rows(raw, [one.request for one in everyone]))

    def _answer_rows(
        self,
        began_s: float,
        everyone: "Sequence[Waiting[torch.Tensor]]",
        rows: Sequence[Row | Failure],
        num_tokens: int = 0,
    ) -> None:
        step_ms = (time.perf_counter() - began_s) * 1e3
        vectors, failures = [], []
        for waiting, row in zip(everyone, rows, strict=True):
            if isinstance(row, Failure):
                failures.append(row)
            else:
                vectors.append(_vector(waiting, row, began_s, step_ms, len(everyone) if num_tokens else 0))
        self._answer(began_s, vectors=vectors, failures=failures, num_tokens=num_tokens)

    def _flush_released(self) -> None:
        if self._released:
            self._answer(time.perf_counter())

    def _answer(
        self,
        began_s: float,
        *,
        vectors: list[Vector] | None = None,
        failures: list[Failure] | None = None,
        num_encoded: int = 0,
        num_tokens: int = 0,
    ) -> None:
        behind = () if self._shared is None else self._shared.reports()
        released, self._released = self._released, []
        self._send(
            StepDone(
                vectors=vectors or [],
                failures=failures or [],
                released=released,
                num_encoded=num_encoded,
                num_tokens=num_tokens,
                step_ms=(time.perf_counter() - began_s) * 1e3,
                cache=self._scheduler.cache.report(*behind),
                results=self._scheduler.twins.report(),
                after=self._announcing.num_steps,
            )
        )


def _vector(
    waiting: "Waiting[torch.Tensor]", row: dict[str, bytes], began_s: float, step_ms: float, num_batched: int = 0
) -> Vector:
    return Vector(
        id=waiting.request.id,
        rows=row,
        num_hits=waiting.num_hits,
        num_misses=waiting.num_misses,
        is_cached=waiting.is_spared,
        queue_ms=(began_s - waiting.arrived_s) * 1e3,
        inference_ms=step_ms,
        num_batched=num_batched,
    )
