"""The engine's turn, over and over: read what came, take the next step, answer.

A failure stays with the request that caused it: a batch that fails is run again in halves, down to the one at fault.
"""

import logging
import queue
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from service.engine.scheduler import Encode, EncodeStep, FeaturesStep, LanguageStep, Scheduler, Waiting
from service.ipc.messages import (
    Abandon,
    CacheReport,
    Failure,
    FeaturesSpec,
    FrontMessage,
    Pixels,
    StepDone,
    Submit,
    Vector,
    WantPixels,
)

if TYPE_CHECKING:
    import torch

    from service.engine.runner import ModelRunner

logger = logging.getLogger("cenote.engine")

INTERNAL = "the engine failed on this input"
NOT_FINITE = "the vector of this input is not finite in the number format that was asked for"
NO_FIT = "the features of this picture hold numbers that {dtype} cannot; ask for float32"


class EngineLoop:
    """Inbox to scheduler to runner to answers, in one thread."""

    def __init__(
        self,
        send: Callable[[msgspec.Struct], None],
        inbox: "queue.SimpleQueue[FrontMessage]",
        scheduler: "Scheduler[torch.Tensor]",
        runner: "ModelRunner",
    ) -> None:
        self._send = send
        self._inbox = inbox
        self._scheduler = scheduler
        self._runner = runner
        self._released: list[int] = []

    def run(self) -> None:
        """Run for ever; the reader thread ends the process."""
        while True:
            self.turn()

    def turn(self) -> None:
        """Wait for work if there is none, then take one step."""
        self._read_all()
        match self._scheduler.next_step():
            case EncodeStep() as step:
                self._encode(step)
            case LanguageStep() as step:
                self._embed(step)
            case FeaturesStep(waiting=waiting):
                self._answer_features(waiting)
            case None:
                self._flush_released()
                self._handle(self._inbox.get())

    def _read_all(self) -> None:
        while not self._inbox.empty():
            self._handle(self._inbox.get())
        self._released += self._scheduler.expire(time.monotonic())
        if keys := self._scheduler.ask_for_pixels():
            self._send(WantPixels(keys=keys))

    def _handle(self, message: FrontMessage) -> None:
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

    def _encode(self, step: "EncodeStep[torch.Tensor]") -> None:
        began_s = time.perf_counter()
        failures: list[Failure] = []
        num_encoded = 0
        for encode in step.encodes:
            if not self._scheduler.is_wanted(encode):
                continue
            features = self._features(encode)
            if features is None:
                failed, released = self._scheduler.encode_failed(encode)
                failures += [Failure(id=w.request.id, code="internal_error", message=INTERNAL) for w in failed]
                self._released += released
            else:
                assert encode.slot is not None  # the scheduler takes no other
                self._scheduler.encoded(encode, features, features.nbytes)
                self._released.append(encode.slot.start)
                num_encoded += encode.media.dtype is None
        self._answer(began_s, failures=failures, num_encoded=num_encoded)

    def _features(self, encode: "Encode[torch.Tensor]") -> "torch.Tensor | None":
        """Features of a picture, or None when there can be none; a broken device ends the process instead."""
        assert encode.slot is not None  # the scheduler takes no other
        try:
            if encode.media.dtype is not None:
                return self._runner.read_features(encode.slot, encode.media)
            return self._runner.encode(encode.slot, encode.media.grid_thw)
        except Exception:
            logger.exception("a picture could not be encoded")
        self._runner.check_alive()
        return None

    def _answer_features(self, waiting: "Waiting[torch.Tensor]") -> None:
        began_s = time.perf_counter()
        row = self._written(waiting)
        if isinstance(row, Failure):
            self._answer(began_s, failures=[row])
            return
        answer = _vector(waiting, row, began_s, (time.perf_counter() - began_s) * 1e3)
        self._answer(began_s, vectors=[msgspec.structs.replace(answer, key=waiting.request.media[0].key)])

    def _written(self, waiting: "Waiting[torch.Tensor]") -> dict[str, bytes] | Failure:
        spec, (features,) = waiting.request.output, waiting.features
        assert isinstance(spec, FeaturesSpec)  # the scheduler answers no other so
        assert features is not None  # and none before it is ready
        try:
            data = self._runner.write_features(features, spec.dtype)
        except Exception:
            logger.exception("features could not be written")
        else:
            message = NO_FIT.format(dtype=spec.dtype)
            no_fit = Failure(id=waiting.request.id, code="non_finite_embedding", message=message)
            return no_fit if data is None else {spec.dtype: data}
        self._runner.check_alive()
        return Failure(id=waiting.request.id, code="internal_error", message=INTERNAL)

    def _embed(self, step: "LanguageStep[torch.Tensor]") -> None:
        began_s = time.perf_counter()
        rows = self._embed_or_halve(step.batch)
        step_ms = (time.perf_counter() - began_s) * 1e3
        vectors, failures = [], []
        for waiting, row in zip(step.batch, rows, strict=True):
            if isinstance(row, Failure):
                failures.append(row)
            else:
                vectors.append(_vector(waiting, row, began_s, step_ms))
        num_tokens = sum(len(waiting.request.token_ids) for waiting in step.batch)
        self._answer(began_s, vectors=vectors, failures=failures, num_tokens=num_tokens)

    def _embed_or_halve(self, batch: "list[Waiting[torch.Tensor]]") -> list[dict[str, bytes] | Failure]:
        try:
            return [
                Failure(id=waiting.request.id, code="non_finite_embedding", message=NOT_FINITE) if row is None else row
                for waiting, row in zip(batch, self._runner.embed(batch), strict=True)
            ]
        except Exception:
            logger.exception("a batch of %d failed", len(batch))
        # Outside the handler: its traceback keeps the failed batch's tensors alive, and memory may be what was short.
        self._runner.check_alive()
        if len(batch) == 1:
            return [Failure(id=batch[0].request.id, code="internal_error", message=INTERNAL)]
        half = len(batch) // 2
        return self._embed_or_halve(batch[:half]) + self._embed_or_halve(batch[half:])

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
        cache = self._scheduler.cache
        released, self._released = self._released, []
        self._send(
            StepDone(
                vectors=vectors or [],
                failures=failures or [],
                released=released,
                num_encoded=num_encoded,
                num_tokens=num_tokens,
                step_ms=(time.perf_counter() - began_s) * 1e3,
                cache=CacheReport(num_entries=len(cache), num_bytes=cache.num_bytes, num_evictions=cache.num_evictions),
            )
        )


def _vector(waiting: "Waiting[torch.Tensor]", row: dict[str, bytes], began_s: float, step_ms: float) -> Vector:
    return Vector(
        id=waiting.request.id,
        rows=row,
        num_hits=waiting.num_hits,
        num_misses=waiting.num_misses,
        queue_ms=(began_s - waiting.arrived_s) * 1e3,
        inference_ms=step_ms,
    )
