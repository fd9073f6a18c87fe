"""The protocol of a head: hidden states to raw rows of one kind of output, and these to the bytes of answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import isfinite
from typing import Any, Protocol

import torch

from service.model.backbone import Needs, StockRun
from service.model.linear.products import PackedProducts
from service.model.states import States
from service.outputs.ask import OutputAsk
from service.outputs.block import Rows
from service.outputs.plan import TokenPlan

Ranges = Mapping[int, tuple[torch.Tensor, torch.Tensor]]
"""Calibrated ranges of int8 and uint8, by number of dimensions."""


@dataclass(frozen=True, slots=True)
class HeadRows:
    """Raw rows of one kind, those of a prompt together, prompts in the order of their batch.

    Attributes:
        rows: `[num_rows, hidden_size]`, float32, neither cut nor normalized.
        counts: rows of each prompt; 0 of those that do not ask for this kind.
    """

    rows: torch.Tensor
    counts: Sequence[int]

    def of(self, prompts: Sequence[int]) -> "HeadRows":
        """Those of some prompts, in their order; the same may come several times."""
        parts = torch.split(self.rows, list(self.counts))
        return HeadRows(torch.cat([parts[prompt] for prompt in prompts]), [self.counts[prompt] for prompt in prompts])


class Modules(Protocol):
    """Modules that make a row of `hidden_size` numbers of a hidden state, or of pooled ones."""

    does_nothing: bool

    @property
    def hidden_size(self) -> int: ...  # noqa: D102
    @property
    def num_parameters(self) -> int: ...  # noqa: D102

    def __call__(self, vectors: torch.Tensor) -> torch.Tensor:
        """`[rows, width]` to `[rows, hidden_size]`."""
        ...


class Head:
    """One kind of output.

    Attributes:
        kind: of the asks that it answers.
        hidden_size: numbers of a raw row; 1 of a reranker, the logit of a pair.
        needs: the states that it reads.
        are_scores: its rows have no length that is scaled to 1: logits, and weights of the vocabulary's entries.
        looks_up: some prompts need no forward: `look_up` has their rows.
    """

    kind: str
    hidden_size: int
    num_parameters: int
    needs: Needs = "all"
    are_scores: bool = False
    looks_up: bool = False

    @property
    def whole_ask(self) -> OutputAsk:
        """An ask for all numbers of its rows, in float32."""
        raise NotImplementedError

    def num_rows(self, plan: TokenPlan) -> int:
        """Number of vectors of a prompt."""
        raise NotImplementedError

    def rows(self, states: States, plans: Sequence[TokenPlan]) -> torch.Tensor:
        """Raw rows in the order of the batch, `[total_rows, hidden_size]`."""
        raise NotImplementedError

    def look_up(self, prompts: Sequence[torch.Tensor]) -> torch.Tensor:
        """Rows of prompts that need no forward, `[num_prompts, hidden_size]`, from the ids of each."""
        raise NotImplementedError

    def stock_rows(self, run: StockRun) -> torch.Tensor:
        """The raw rows of a probe from the stock module's own forward, `[num_rows, hidden_size]`."""
        raise NotImplementedError

    def finish(
        self, rows: HeadRows, plans: Sequence[TokenPlan], asks: Sequence[Any], ranges: Ranges
    ) -> Sequence[Rows | None]:
        """Return the rows that each prompt's ask, of this head's kind, wants; None where a row is not valid."""
        raise NotImplementedError

    def keep(self, rows: HeadRows) -> list[bytes | None]:
        """The rows of each prompt as the result cache has them; None where there are none, or one is not valid.

        Valid are those that are finite and, unless they are scores, have a direction.
        """
        norms = torch.linalg.vector_norm(rows.rows, dim=-1).tolist()  # in Python from here: torch's calls cost more
        is_valid = [isfinite(norm) and (norm > 0 or self.are_scores) for norm in norms]
        whole, bounds = rows.rows.cpu().numpy(), pairwise([0, *accumulate(rows.counts)])
        return [
            whole[start:stop].tobytes() if start < stop and all(is_valid[start:stop]) else None
            for start, stop in bounds
        ]

    def restore(self, kept: Sequence[bytes]) -> HeadRows:
        """Restore what `keep` gave, bit for bit."""
        whole = torch.frombuffer(bytearray().join(kept), dtype=torch.float32).view(-1, self.hidden_size)
        return HeadRows(whole, [len(one) // (4 * self.hidden_size) for one in kept])

    def pack(self, products: PackedProducts) -> None:
        """Bring the head's own matrices into the layout of these products, where they are worth it."""
