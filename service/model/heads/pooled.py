"""One row for each prompt, or for each chunk of one: the states of its tokens pooled, and modules after that.

An embedder's dense vector, and a reranker's logit.
"""

from collections.abc import Sequence
from typing import Literal

import torch

from cenote_kernels import PoolingMode, finish
from service.model.backbone import Needs, StockRun
from service.model.heads.head import HeadRows, Modules, Ranges, keep_floats, restore_floats
from service.model.linear.products import PackedProducts
from service.model.states import States
from service.outputs.block import Rows
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from service.outputs.score import LOGIT, ScoreAsk


class PooledHead:
    """A `Head`: ``modules(pool(states))``, of the kind `score` where that is one number.

    Args:
        pools_rows: each token goes through the modules, and what comes out is pooled.
    """

    def __init__(self, pooling: PoolingMode, modules: Modules, *, pools_rows: bool = False) -> None:
        self.hidden_size = modules.hidden_size
        self.num_parameters = modules.num_parameters
        self.needs: Needs = "last" if pooling == "last_token" else "all"
        self.are_scores = modules.hidden_size == 1
        self.kind: Literal["dense", "score"] = "score" if self.are_scores else "dense"
        self._pooling: PoolingMode = pooling
        self._modules = modules
        self._pools_rows = pools_rows

    @property
    def whole_ask(self) -> DenseAsk | ScoreAsk:
        """See `Head.whole_ask`."""
        return ScoreAsk() if self.are_scores else DenseAsk(dimensions=self.hidden_size)

    def num_rows(self, plan: TokenPlan) -> int:
        """One, or one for each span."""
        return len(plan.spans) or 1

    def rows(self, states: States, plans: Sequence[TokenPlan]) -> torch.Tensor:
        """See `Head.rows`."""
        if any(plan.spans for plan in plans):
            states = states.of_spans([plan.spans for plan in plans])
        return states.by_prompt(self._of(states))

    def _of(self, states: States) -> torch.Tensor:
        if self._pools_rows:
            return States(self._modules(states.rows.float()), states.lengths).pooled(self._pooling)
        return self._modules(states.pooled(self._pooling))

    def stock_rows(self, run: StockRun) -> torch.Tensor:
        """The stock module's logit, or modules after its states."""
        return self._of(run) if isinstance(run, States) else run

    def finish(
        self, rows: HeadRows, plans: Sequence[TokenPlan], asks: Sequence[DenseAsk | ScoreAsk], ranges: Ranges
    ) -> Sequence[Rows | None]:
        """See `Head.finish`."""
        dense = [LOGIT if isinstance(ask, ScoreAsk) else ask for ask in asks]
        counts = None if len(rows.rows) == len(asks) else rows.counts
        return finish(rows.rows, dense, num_vectors=counts, ranges=ranges)

    def keep(self, rows: HeadRows) -> list[bytes | None]:
        """See `Head.keep`; zero is a score."""
        return keep_floats(rows, may_be_zero=self.are_scores)

    def restore(self, kept: Sequence[bytes]) -> HeadRows:
        """See `Head.restore`."""
        return restore_floats(kept, self.hidden_size)

    def pack(self, products: PackedProducts) -> None:
        """Nothing: its modules run for one row of a prompt."""
