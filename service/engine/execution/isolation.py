"""Runs and finishes batches so that a failure stays with the request that caused it: a batch that fails is halved.

All requests that were coalesced for a prompt that fails fail alike. Knows no socket and no scheduler.
"""

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.execution.failures import (
    INTERNAL,
    NO_MEMORY,
    NOT_VALID,
    Code,
    Quarantine,
    failed,
    is_out_of_memory,
)
from service.engine.scheduling.coalescing import Coalescing
from service.engine.scheduling.waiting import Waiting
from service.ipc.announcements import Announcer
from service.ipc.digest import prompt_digest
from service.ipc.messages import NUM_BITS, Failure, OutputSpec, Request

if TYPE_CHECKING:
    import torch

    from service.engine.execution.runner import ModelRunner

    Batch = Sequence[Waiting[torch.Tensor]]

logger = logging.getLogger("cenote.engine")

Row = dict[str, bytes]
"""Number format to bytes."""
Result = tuple["Waiting[torch.Tensor]", Row | Failure]
"""A request with its vector, or why it has none."""

RAISE_AFTER = 16
"""Batches in a row that had memory before the ceiling rises."""
RAISE_BY = 1.1
FLOOR_SHARE = 64
"""The ceiling never falls below this part of the setting, so that a short lack of memory is forgotten soon."""


class TokenCeiling:
    """Most tokens of a batch: the setting, or less where the device had no memory for so many.

    It falls at once and rises slowly, as congestion windows do.

    Attributes:
        max_tokens: the setting; the ceiling never exceeds it.
        num_tokens: the ceiling now.
    """

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self.num_tokens = max_tokens
        self._num_well = 0

    def ran_out(self, num_tokens: int) -> None:
        """Lower the ceiling to half of a batch that had no memory."""
        self.num_tokens = max(1, self.max_tokens // FLOOR_SHARE, min(self.num_tokens, num_tokens // 2))
        self._num_well = 0

    def went_well(self) -> None:
        """Count a batch that had memory; after enough of them the ceiling rises by a tenth."""
        if self.num_tokens == self.max_tokens:
            return
        self._num_well += 1
        if self._num_well >= RAISE_AFTER:
            self.num_tokens = min(self.max_tokens, int(self.num_tokens * RAISE_BY) + 1)
            self._num_well = 0


class Isolation:
    """Runs batches on a model that may fail on any of them.

    Attributes:
        ceiling: most tokens of a batch.
    """

    def __init__(
        self,
        runner: "ModelRunner",
        announcer: Announcer,
        cache: "EncoderCache[torch.Tensor]",
        coalescing: "Coalescing[torch.Tensor]",
        max_batch_tokens: int,
    ) -> None:
        """Run batches by `runner`; `cache` is cleared where memory is short, `coalescing` keeps raw vectors."""
        self.ceiling = TokenCeiling(max_batch_tokens)
        self._runner = runner
        self._announcer = announcer
        self._cache = cache
        self._coalescing = coalescing
        self._quarantine = Quarantine()

    def embed(self, batch: "Batch") -> list[Result]:
        """Run a batch. Content in quarantine never reaches the model.

        Returns:
            A result for each request of each prompt, the coalesced ones included.

        Raises:
            Exception: the device is lost.
        """
        if not self._quarantine.until_s:
            return self._embed_or_halve(batch)
        now_s = time.monotonic()
        held = [waiting for waiting in batch if self._quarantine.holds(prompt_digest(waiting.request), now_s)]
        free = [waiting for waiting in batch if waiting not in held]
        return (self._embed_or_halve(free) if free else []) + _all_failed(held, INTERNAL)

    def finish(self, raw: "torch.Tensor", batch: "Batch") -> list[Result]:
        """Make of raw vectors, fresh or kept ones, what each request asks for.

        Args:
            raw: `[total_vectors, hidden]`; each request has `ModelRunner.num_vectors` of them.
            batch: the requests, coalesced ones by themselves.

        Raises:
            Exception: the device is lost.
        """
        requests = [waiting.request for waiting in batch]
        try:
            rows = self._runner.finish(raw, requests)
            return [(one, self._checked(one.request, row)) for one, row in zip(batch, rows, strict=True)]
        except Exception as error:
            logger.exception("%d vectors could not be finished", len(requests))
            is_short = is_out_of_memory(error)
        self._runner.check_alive()
        if len(batch) == 1:
            failure = failed(requests[0], NO_MEMORY, "out_of_memory") if is_short else failed(requests[0])
            return [(batch[0], failure)]
        half = len(batch) // 2
        num_first = sum(self._runner.num_vectors(request) for request in requests[:half])
        return self.finish(raw[:num_first], batch[:half]) + self.finish(raw[num_first:], batch[half:])

    def _embed_or_halve(self, batch: "Batch") -> list[Result]:
        results, had_memory = self._try(batch)
        # Outside the handler: its traceback keeps the failed batch's tensors alive, and memory may be what was short.
        if results is not None:
            self.ceiling.went_well()
            return results
        self._runner.check_alive()
        if not had_memory:
            if len(batch) > 1:  # a single prompt runs whatever the ceiling is
                self.ceiling.ran_out(_num_tokens(batch))
            self._runner.free_memory()
        if len(batch) == 1:
            return self._last_try(batch[0], had_memory=had_memory)
        half = len(batch) // 2
        return self._embed_or_halve(batch[:half]) + self._embed_or_halve(batch[half:])

    def _try(self, batch: "Batch") -> tuple[list[Result] | None, bool]:
        """Results or None, and whether there was memory."""
        everyone = [one for waiting in batch for one in waiting.group]
        self._announcer.begin("forward", _num_tokens(batch), [one.request.id for one in everyone])
        try:
            raw = self._runner.embed(batch)
            if self._coalescing.results.is_on:
                for waiting, vector in zip(batch, self._runner.to_keep(raw), strict=True):
                    self._coalescing.keep(waiting, vector)
            if len(everyone) > len(batch):
                times = [1 + len(waiting.joined) for waiting in batch]
                raw = self._runner.repeat(raw, [waiting.request for waiting in batch], times)
            return self.finish(raw, everyone), True
        except Exception as error:
            if not (is_short := is_out_of_memory(error)):
                logger.exception("a batch of %d failed", len(batch))
        if is_short:
            logger.warning("a batch of %d with %d tokens had no memory", len(batch), _num_tokens(batch))
        return None, not is_short

    def _last_try(self, waiting: "Waiting[torch.Tensor]", *, had_memory: bool) -> list[Result]:
        """Fail a prompt that failed by itself; where memory was short, run it once more with all that there is."""
        if not had_memory:
            self._cache.clear()
            self._runner.free_memory()
            results, had_memory = self._try([waiting])
            if results is not None:
                return results
            self._runner.check_alive()
        if not had_memory:
            return _all_failed([waiting], NO_MEMORY, "out_of_memory")
        self._quarantine.add(prompt_digest(waiting.request), time.monotonic())
        return _all_failed([waiting], INTERNAL)

    def _checked(self, request: Request, row: Row | None) -> Row | Failure:
        """Refuse a vector that is not valid, or has not the bytes asked for: a short one would be sent with 200."""
        if row is None:
            return failed(request, NOT_VALID, "non_finite_embedding")
        assert isinstance(request.output, OutputSpec)  # features are never finished
        num_components = self._runner.num_vectors(request) * request.output.dimensions
        for dtype in request.output.output_dtypes:
            if len(row.get(dtype, b"")) * 8 != num_components * NUM_BITS[dtype]:
                logger.error("a vector has another length than was asked for. This is a bug.")
                return failed(request, INTERNAL)
        return row


def _all_failed(batch: "Batch", message: str, code: Code = "internal_error") -> list[Result]:
    return [(one, failed(one.request, message, code)) for waiting in batch for one in waiting.group]


def _num_tokens(batch: "Batch") -> int:
    return sum(len(waiting.request.token_ids) for waiting in batch)
