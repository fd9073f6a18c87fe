"""What a batch has come to: a vector or a failure for each request, and how alike ones are sent in one piece."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from service.ipc.messages import Failure
from service.ipc.vectors import Rows, VectorBlock

if TYPE_CHECKING:
    import torch

    from cenote_kernels import WholeRows
    from service.engine.scheduling.waiting import Waiting

Result = tuple["Waiting[torch.Tensor]", Rows | Failure]
"""A request with its vector, or why it has none."""


class Alike(Sequence[Result]):
    """The results of requests that want the same of one vector, and all have it.

    Args:
        batch: the requests.
        rows: their vectors.
    """

    def __init__(self, batch: "Sequence[Waiting[torch.Tensor]]", rows: "WholeRows") -> None:
        self._batch = batch
        self._rows = rows

    def __len__(self) -> int:
        return len(self._batch)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        if isinstance(index, slice):
            return list(zip(self._batch[index], self._rows[index], strict=True))
        return self._batch[index], self._rows[index]

    def block(self, began_s: float, step_ms: float) -> VectorBlock | None:
        """All of them in one piece; None where one has more to tell than how long it waited.

        Args:
            began_s: when their forward began, by `time.perf_counter`.
            step_ms: how long that took.
        """
        if any(waiting.request.media or waiting.is_spared for waiting in self._batch):
            return None
        return VectorBlock(
            ids=[waiting.request.id for waiting in self._batch],
            rows=self._rows.whole,
            queue_ms=[(began_s - waiting.arrived_s) * 1e3 for waiting in self._batch],
            inference_ms=step_ms,
            num_batched=len(self._batch),
        )
