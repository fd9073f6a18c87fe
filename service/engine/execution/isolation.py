"""Runs and finishes batches so that a failure stays with the request that caused it: a batch that fails is halved.

All requests that were coalesced for a prompt that fails fail alike. What contains failures of media too is here: their
answers, the test for lack of memory, the quarantine. Knows no socket and no scheduler.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.scheduling.coalescing import Coalescing
from service.engine.scheduling.waiting import Waiting
from service.ipc.announcements import Announce
from service.ipc.messages import Failure, Request
from service.ipc.prompt_digest import prompt_digest
from service.outputs.block import Rows

if TYPE_CHECKING:
    import torch

    from service.engine.execution.runner import ModelRunner
    from service.model.model import Found

    Batch = Sequence[Waiting[torch.Tensor]]

Result = tuple["Waiting[torch.Tensor]", Rows | Failure]
"""A request with its rows, or why it has none."""

logger = logging.getLogger("cenote.engine")

Code = Literal["non_finite_embedding", "out_of_memory", "internal_error"]

INTERNAL = "the engine failed on this input"
NOT_VALID = "the vector of this input is not finite and of unit length in the number format that was asked for"
NO_MEMORY = "the device has no memory for this input now; send it again, or send less"
NO_FIT = "the features of this image hold numbers that {dtype} cannot; ask for float32"

CPU_WORDS = ("can't allocate memory", "not enough memory")
"""From torch's `DefaultCPUAllocator`, which raises a plain RuntimeError."""

RAISE_AFTER = 16
"""Batches in a row that had memory before the ceiling rises."""
RAISE_BY = 1.1
FLOOR_SHARE = 64
"""The ceiling never falls below this part of the setting, so that a short lack of memory is forgotten soon."""

QUARANTINE_S = 60.0
MAX_ENTRIES = 1024


def failed(request: Request, message: str = INTERNAL, code: Code = "internal_error") -> Failure:
    """The answer to a request that failed; a library's own message never goes into it."""
    return Failure(id=request.id, code=code, message=message)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether memory was short: `torch.OutOfMemoryError`, `MemoryError`, or the CPU allocator's RuntimeError."""
    import torch  # here, after a failure: the loop can be imported without it

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in CPU_WORDS)


class Quarantine:
    """Digests of content that failed by itself, each refused for a while. Bounded; has no clock of its own.

    The same content gets the same answer at once and costs other requests nothing. The time runs from the failure and
    is not extended by asking again: afterwards the content gets another chance.

    Attributes:
        until_s: when each digest's time ends; nearly always empty.
    """

    def __init__(self, *, quarantine_s: float = QUARANTINE_S, max_entries: int = MAX_ENTRIES) -> None:
        self._quarantine_s = quarantine_s
        self._max_entries = max_entries
        self.until_s: OrderedDict[bytes, float] = OrderedDict()

    def add(self, digest: bytes, now_s: float) -> None:
        """Refuse this content from now on; the oldest entry makes room."""
        self.until_s.pop(digest, None)
        self.until_s[digest] = now_s + self._quarantine_s
        while len(self.until_s) > self._max_entries:
            self.until_s.popitem(last=False)

    def holds(self, digest: bytes, now_s: float) -> bool:
        """Return whether this content is refused; drops expired entries."""
        while self.until_s and next(iter(self.until_s.values())) <= now_s:
            self.until_s.popitem(last=False)
        return digest in self.until_s


class TokenCeiling:
    """Most tokens of a batch: the setting, or less where the device had no memory for so many.

    It falls at once and rises slowly, as congestion windows do.
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
        """Count a batch that had memory below the setting; after enough of them the ceiling rises by a tenth."""
        self._num_well += 1
        if self._num_well >= RAISE_AFTER:
            self.num_tokens = min(self.max_tokens, int(self.num_tokens * RAISE_BY) + 1)
            self._num_well = 0


class Isolation:
    """Runs batches on a model that may fail on any of them."""

    def __init__(
        self,
        runner: "ModelRunner",
        announce: Announce,
        cache: "EncoderCache[torch.Tensor]",
        coalescing: "Coalescing[torch.Tensor]",
        max_batch_tokens: int,
    ) -> None:
        """Run batches by `runner`; `cache` is cleared where memory is short, `coalescing` keeps raw vectors."""
        self.ceiling = TokenCeiling(max_batch_tokens)
        self._runner = runner
        self._announce = announce
        self._cache = cache
        self._coalescing = coalescing
        self._quarantine = Quarantine()

    def embed(self, batch: "Batch") -> Sequence[Result]:
        """Run a batch, in halves where it fails, but nothing in quarantine; the results are of coalesced ones too."""
        if self._quarantine.until_s:
            now_s = time.monotonic()
            held = [waiting for waiting in batch if self._quarantine.holds(prompt_digest(waiting.request), now_s)]
            free = [waiting for waiting in batch if waiting not in held]
            if held:
                return [*_all_failed(held, INTERNAL), *(self.embed(free) if free else [])]
        results, had_memory = self._try(batch)
        # Outside the handler: its traceback keeps the failed batch's tensors alive, and memory may be what was short.
        if results is not None:
            if self.ceiling.num_tokens < self.ceiling.max_tokens:
                self.ceiling.went_well()
            failures = (row for _, row in results if isinstance(row, Failure))
            spoilt = {one.id for one in failures if one.code == "non_finite_embedding"}
            return self._run_again_alone(batch, results, spoilt) if spoilt and len(batch) > 1 else results
        self._runner.check_alive()
        if not had_memory:
            self._runner.free_memory()
        if len(batch) == 1:
            return self._last_try(batch[0], had_memory=had_memory)
        half = len(batch) // 2
        return [*self.embed(batch[:half]), *self.embed(batch[half:])]

    def finish(self, found: "Found", batch: "Batch") -> Sequence[Result]:
        """Make of raw rows, fresh or kept ones, what each request of a batch asks for, coalesced ones by themselves."""
        requests, heads = [waiting.request for waiting in batch], self._runner.heads
        try:
            results: list[Result] = []
            for waiting, row in zip(batch, self._runner.finish(found, requests), strict=True):
                request = waiting.request
                if row is None:
                    results.append((waiting, failed(request, NOT_VALID, "non_finite_embedding")))
                elif all(ask.are_whole(row, heads[ask.kind].num_rows(request.plan)) for ask in request.asks):
                    results.append((waiting, row))
                else:  # a short one would be sent with 200
                    logger.error("a vector has another length than requested. This is a bug.")
                    results.append((waiting, failed(request)))
            return results
        except Exception as error:
            logger.exception("%d vectors could not be finished", len(requests))
            is_short = is_out_of_memory(error)
        self._runner.check_alive()
        if len(batch) == 1:
            failure = failed(requests[0], NO_MEMORY, "out_of_memory") if is_short else failed(requests[0])
            return [(batch[0], failure)]
        half = len(batch) // 2
        first, second = (self._runner.of(found, range(*ends)) for ends in ((0, half), (half, len(batch))))
        return [*self.finish(first, batch[:half]), *self.finish(second, batch[half:])]

    def _try(self, batch: "Batch") -> tuple[Sequence[Result] | None, bool]:
        """Results or None, and whether there was memory."""
        everyone = [one for waiting in batch for one in (waiting, *waiting.joined)]
        num_tokens = sum(len(waiting.request.plan.ids) for waiting in batch)
        self._announce("forward", num_tokens, [one.request.id for one in everyone])
        try:
            found = self._runner.embed(batch)
            if self._coalescing.results.is_on:
                for waiting, vector in zip(batch, self._runner.to_keep(found), strict=True):
                    if vector is not None:
                        self._coalescing.keep(waiting, vector)
            if len(everyone) > len(batch):
                found = self._runner.of(found, [place for place, one in enumerate(batch) for _ in one.group])
            return self.finish(found, everyone), True
        except Exception as error:
            if not (is_short := is_out_of_memory(error)):
                logger.exception("a batch of %d failed", len(batch))
        if is_short:
            logger.warning("out of memory in a batch of %d with %d tokens", len(batch), num_tokens)
            if len(batch) > 1:  # a single prompt runs whatever the ceiling is
                self.ceiling.ran_out(num_tokens)
        return None, not is_short

    def _run_again_alone(self, batch: "Batch", results: Sequence[Result], spoilt: set[int]) -> Sequence[Result]:
        """Run those alone that have no vector in company: one's NaN may lie in rows that others share with it."""
        again = [waiting for waiting in batch if not spoilt.isdisjoint(one.request.id for one in waiting.group)]
        gone = {one.request.id for waiting in again for one in waiting.group}
        well = [(one, row) for one, row in results if one.request.id not in gone]
        return well + [result for waiting in again for result in self.embed([waiting])]

    def _last_try(self, waiting: "Waiting[torch.Tensor]", *, had_memory: bool) -> Sequence[Result]:
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


def _all_failed(batch: "Batch", message: str, code: Code = "internal_error") -> list[Result]:
    return [(one, failed(one.request, message, code)) for waiting in batch for one in waiting.group]
