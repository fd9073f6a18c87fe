"""A failure stays with the request that caused it: a batch that fails is run again in halves, down to the one at fault.

In: prompts that are ready, each with all who asked for it. Out: a row or a failure for each of those, in order. All who
asked for a prompt that fails fail alike. Knows no socket and no scheduler.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from service.engine.ceiling import TokenCeiling
from service.engine.failures import INTERNAL, NO_MEMORY, Code, failed
from service.engine.finisher import Finisher, Row
from service.engine.out_of_memory import is_out_of_memory
from service.engine.quarantine import Quarantine
from service.engine.scheduler import Waiting
from service.ipc.digest import prompt_digest
from service.ipc.messages import Failure

if TYPE_CHECKING:
    import torch

    from service.engine.runner import ModelRunner

    Batch = Sequence[Waiting[torch.Tensor]]

logger = logging.getLogger("cenote.engine")

Ends = list[Row | Failure]
"""What becomes of those who asked for one prompt, the first one first."""


class Isolation:
    """Runs batches for a model that may fail on any of them.

    Attributes:
        ceiling: tokens of a batch, learned from those that had no memory.
    """

    def __init__(
        self,
        runner: "ModelRunner",
        ceiling: TokenCeiling,
        announce: "Callable[[Batch], None]",
        drop_cached: Callable[[], None],
        keep: "Callable[[Waiting[torch.Tensor], bytes | None], None] | None" = None,
    ) -> None:
        self.ceiling = ceiling
        self._runner = runner
        self._finisher = Finisher(runner)
        self._keep = keep
        self._announce = announce
        self._drop_cached = drop_cached
        self._quarantine = Quarantine()

    def embed(self, batch: "Batch") -> list[Ends]:
        """What becomes of each prompt; one that is in quarantine never reaches the model.

        Raises:
            Exception: the device is lost.
        """
        held = [self._holds(waiting) for waiting in batch]
        free = [waiting for waiting, is_held in zip(batch, held, strict=True) if not is_held]
        rows = iter(self._embed_or_halve(free) if free else [])
        return [_failed(one, INTERNAL) if is_held else next(rows) for one, is_held in zip(batch, held, strict=True)]

    def _embed_or_halve(self, batch: "Batch") -> list[Ends]:
        rows, had_memory = self._try(batch)
        # Outside the handler: its traceback keeps the failed batch's tensors alive, and memory may be what was short.
        if rows is not None:
            self.ceiling.went_well()
            return rows
        self._runner.check_alive()
        if not had_memory:
            if len(batch) > 1:  # a single one runs whatever the ceiling is
                self.ceiling.ran_out(_num_tokens(batch))
            self._runner.free_memory()
        if len(batch) == 1:
            return [self._last_word(batch[0], had_memory=had_memory)]
        half = len(batch) // 2
        return self._embed_or_halve(batch[:half]) + self._embed_or_halve(batch[half:])

    def _try(self, batch: "Batch") -> tuple[list[Ends] | None, bool]:
        """Ends or None, and whether there was memory."""
        self._announce(batch)
        try:
            raw = self._runner.embed(batch)
            self._keep_all(batch, raw)
            return self._finish(batch, raw), True
        except Exception as error:
            if not (is_short := is_out_of_memory(error)):
                logger.exception("a batch of %d failed", len(batch))
        if is_short:
            logger.warning("a batch of %d with %d tokens had no memory", len(batch), _num_tokens(batch))
        return None, not is_short

    def _keep_all(self, batch: "Batch", raw: "torch.Tensor") -> None:
        if self._keep is not None:
            for waiting, vector in zip(batch, self._runner.to_keep(raw), strict=True):
                self._keep(waiting, vector)

    def _finish(self, batch: "Batch", raw: "torch.Tensor") -> list[Ends]:
        requests = [one.request for waiting in batch for one in waiting.everyone]
        if len(requests) > len(batch):
            times = [len(waiting.everyone) for waiting in batch]
            raw = self._runner.repeat(raw, [waiting.request for waiting in batch], times)
        rows = iter(self._finisher.rows(raw, requests))
        return [[next(rows) for _ in waiting.everyone] for waiting in batch]

    def _last_word(self, waiting: "Waiting[torch.Tensor]", *, had_memory: bool) -> Ends:
        """What becomes of a request that failed by itself; one without memory gets all there is, once."""
        if not had_memory:
            self._drop_cached()
            self._runner.free_memory()
            rows, had_memory = self._try([waiting])
            if rows is not None:
                return rows[0]
            self._runner.check_alive()
        if not had_memory:
            return _failed(waiting, NO_MEMORY, "out_of_memory")
        self._quarantine.add(prompt_digest(waiting.request), time.monotonic())
        return _failed(waiting, INTERNAL)

    def _holds(self, waiting: "Waiting[torch.Tensor]") -> bool:
        is_used = len(self._quarantine) > 0  # nearly always empty: then nothing is hashed
        return is_used and self._quarantine.holds(prompt_digest(waiting.request), time.monotonic())


def _failed(waiting: "Waiting[torch.Tensor]", message: str, code: Code = "internal_error") -> Ends:
    return [failed(one.request, message, code) for one in waiting.everyone]


def _num_tokens(batch: "Batch") -> int:
    return sum(len(waiting.request.token_ids) for waiting in batch)
