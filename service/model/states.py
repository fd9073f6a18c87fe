"""Hidden states of a batch's prompts, as a backbone gives them and heads read them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from cenote_kernels import PoolingMode, pool
from service.model.packed.segments import Index, ragged_arange


@dataclass(frozen=True, slots=True)
class States:
    """Rows of one prompt stand together, prompts in an order of their own.

    Attributes:
        rows: `[num_rows, width]`, on the device.
        lengths: rows of each prompt, as they lie.
        order: `[num_prompts]`, the prompts as they lie; None: as in the batch.
    """

    rows: torch.Tensor
    lengths: Sequence[int]
    order: Index | None = None

    @property
    def bounds(self) -> list[int]:
        """Where each prompt begins, as they lie, and the end of the last."""
        return [0, *np.cumsum(self.lengths).tolist()]

    def pooled(self, mode: PoolingMode) -> torch.Tensor:
        """`[num_prompts, width]`, float32, as they lie."""
        return pool(self.rows, torch.tensor(self.bounds, device=self.rows.device), mode)

    def by_prompt(self, values: torch.Tensor) -> torch.Tensor:
        """Results of each prompt, `[num_prompts, ...]`, in the order of the batch."""
        return values if self.order is None else values[self._on_device(np.argsort(self.order))]

    def by_token(self, values: torch.Tensor) -> torch.Tensor:
        """Results of each row, `[num_rows, ...]`, in the order of the batch."""
        if self.order is None:
            return values
        return values[self._on_device(ragged_arange(*self._starts_and_lengths()))]

    def only(self, prompts: Sequence[int]) -> "States":
        """Those of some prompts, ascending, in the order of the batch."""
        starts, lengths = (one[prompts] for one in self._starts_and_lengths())
        return States(self.rows[self._on_device(ragged_arange(starts, lengths))], lengths.tolist())

    def of_spans(self, spans: Sequence[Sequence[tuple[int, int]]]) -> "States":
        """The rows of stretches of prompts, each as a prompt by itself, in the order of the batch.

        Args:
            spans: of each prompt in the batch's order, first row and after the last of each stretch; where there are
                none it stays whole.
        """
        starts, lengths = self._starts_and_lengths()
        found = [
            (start + first, start + stop)
            for start, length, own in zip(starts.tolist(), lengths.tolist(), spans, strict=True)
            for first, stop in own or [(0, length)]
        ]
        first, stop = np.array(found).T
        return States(self.rows[self._on_device(ragged_arange(first, stop - first))], (stop - first).tolist())

    def _starts_and_lengths(self) -> tuple[Index, Index]:
        """Of each prompt in the batch's order its first row, and how many it has."""
        lengths = np.array(self.lengths)
        starts = np.cumsum(lengths) - lengths
        if self.order is None:
            return starts, lengths
        place = np.argsort(self.order)
        return starts[place], lengths[place]

    def _on_device(self, index: Index) -> torch.Tensor:
        return torch.from_numpy(index).to(self.rows.device)
