"""A failure stays with the request that caused it: a batch that fails is run again in halves, down to the one at fault.

In: ready requests. Out: a row or a failure for each, in order. Knows no socket and no scheduler.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from service.engine.ceiling import TokenCeiling
from service.engine.out_of_memory import is_out_of_memory
from service.engine.quarantine import Quarantine
from service.engine.row_length import has_right_length
from service.engine.scheduler import Waiting
from service.ipc.digest import request_digest
from service.ipc.messages import Failure

if TYPE_CHECKING:
    import torch

    from service.engine.runner import ModelRunner

    Batch = Sequence[Waiting[torch.Tensor]]

logger = logging.getLogger("cenote.engine")

Row = dict[str, bytes]

INTERNAL = "the engine failed on this input"
NOT_SOUND = "the vector of this input is not finite and of unit length in the number format that was asked for"
NO_MEMORY = "the device has no memory for this input now; send it again, or send less"


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
    ) -> None:
        self.ceiling = ceiling
        self._runner = runner
        self._announce = announce
        self._drop_cached = drop_cached
        self._quarantine = Quarantine()

    def embed(self, batch: "Batch") -> list[Row | Failure]:
        """One row or failure per request; what is in quarantine never reaches the model.

        Raises:
            Exception: the device is lost.
        """
        held = [self._holds(waiting) for waiting in batch]
        free = [waiting for waiting, is_held in zip(batch, held, strict=True) if not is_held]
        rows = iter(self._embed_or_halve(free) if free else [])
        return [_failed(one, INTERNAL) if is_held else next(rows) for one, is_held in zip(batch, held, strict=True)]

    def _embed_or_halve(self, batch: "Batch") -> list[Row | Failure]:
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

    def _try(self, batch: "Batch") -> tuple[list[Row | Failure] | None, bool]:
        """Rows or None, and whether there was memory."""
        self._announce(batch)
        try:
            rows = self._runner.embed(batch)
            return [_checked(waiting, row) for waiting, row in zip(batch, rows, strict=True)], True
        except Exception as error:
            if not (is_short := is_out_of_memory(error)):
                logger.exception("a batch of %d failed", len(batch))
        if is_short:
            logger.warning("a batch of %d with %d tokens had no memory", len(batch), _num_tokens(batch))
        return None, not is_short

    def _last_word(self, waiting: "Waiting[torch.Tensor]", *, had_memory: bool) -> Row | Failure:
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
        self._quarantine.add(request_digest(waiting.request), time.monotonic())
        return _failed(waiting, INTERNAL)

    def _holds(self, waiting: "Waiting[torch.Tensor]") -> bool:
        is_used = len(self._quarantine) > 0  # nearly always empty: then nothing is hashed
        return is_used and self._quarantine.holds(request_digest(waiting.request), time.monotonic())


def _checked(waiting: "Waiting[torch.Tensor]", row: Row | None) -> Row | Failure:
    if row is None:
        return _failed(waiting, NOT_SOUND, "non_finite_embedding")
    if not has_right_length(row, waiting.request.output):
        logger.error("a vector has another length than was asked for. This is a bug.")
        return _failed(waiting, INTERNAL)
    return row


def _failed(waiting: "Waiting[torch.Tensor]", message: str, code: str = "internal_error") -> Failure:
    return Failure(id=waiting.request.id, code=code, message=message)  # type: ignore[arg-type]


def _num_tokens(batch: "Batch") -> int:
    return sum(len(waiting.request.token_ids) for waiting in batch)
