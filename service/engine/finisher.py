"""Raw vectors made into what each request asked for. What fails here fails the one request that asked for it.

In: raw vectors, fresh ones or kept ones, and requests. Out: a row or a failure for each, in order. Knows no batches.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from service.engine.failures import INTERNAL, NO_MEMORY, NOT_SOUND, failed
from service.engine.out_of_memory import is_out_of_memory
from service.engine.row_length import has_right_length
from service.ipc.messages import Failure, Request

if TYPE_CHECKING:
    import torch

    from service.engine.runner import ModelRunner

logger = logging.getLogger("cenote.engine")

Row = dict[str, bytes]


class Finisher:
    """Runs the epilogue for a runner that may fail on any request."""

    def __init__(self, runner: "ModelRunner") -> None:
        self._runner = runner

    def rows(self, raw: "torch.Tensor", requests: Sequence[Request]) -> list[Row | Failure]:
        """One row or failure per request.

        Args:
            raw: `[total_vectors, hidden]`; each request has `ModelRunner.num_vectors` of them.
            requests: what each vector is wanted for.

        Raises:
            Exception: the device is lost.
        """
        try:
            rows = self._runner.finish(raw, requests)
            counts = [self._runner.num_vectors(request) for request in requests]
            return [_checked(*each) for each in zip(requests, rows, counts, strict=True)]
        except Exception as error:
            logger.exception("%d vectors could not be finished", len(requests))
            is_short = is_out_of_memory(error)
        self._runner.check_alive()
        if len(requests) == 1:
            return [failed(requests[0], NO_MEMORY, "out_of_memory") if is_short else failed(requests[0], INTERNAL)]
        half = len(requests) // 2
        first = sum(self._runner.num_vectors(request) for request in requests[:half])
        return self.rows(raw[:first], requests[:half]) + self.rows(raw[first:], requests[half:])


def _checked(request: Request, row: Row | None, num_vectors: int) -> Row | Failure:
    if row is None:
        return failed(request, NOT_SOUND, "non_finite_embedding")
    if not has_right_length(row, request.output, num_vectors):
        logger.error("a vector has another length than was asked for. This is a bug.")
        return failed(request, INTERNAL)
    return row
