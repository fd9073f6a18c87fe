"""One row for each prompt, or for each chunk of one: the states of its tokens pooled, and modules after that.

An embedder's dense vector, and a reranker's logit.
"""

from collections.abc import Sequence

import torch

from cenote_kernels import PoolingMode, finish
from service.model.backbone import StockRun
from service.model.heads.head import Head, HeadRows, Modules, Ranges
from service.model.states import States
from service.outputs.block import Rows
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from service.outputs.score import LOGIT, ScoreAsk


class PooledHead(Head):
    """A `Head`: ``modules(pool(states))``, of the kind `score` where that is one number.

    Args:
        pools_rows: each token goes through the modules, and what comes out is pooled.
    """

    def __init__(self, pooling: PoolingMode, modules: Modules, *, pools_rows: bool = False) -> None:
        self.hidden_size = modules.hidden_size
        self.num_parameters = modules.num_parameters
        self.needs = "last" if pooling == "last_token" else "all"
        self.are_scores = modules.hidden_size == 1
        self.kind = "score" if self.are_scores else "dense"
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
        rows = self._modules(states.rows.float()) if self._pools_rows else states.rows
        if len(rows) > len(states.lengths):
            rows = States(rows, states.lengths).pooled(self._pooling)
        made = rows.float()
        if not (self._pools_rows or self._modules.does_nothing):
            made = self._modules(made)
        return made if states.order is None else states.by_prompt(made)

    def stock_rows(self, run: StockRun) -> torch.Tensor:
        """The stock module's logit, or modules after its states."""
        return self.rows(run, ()) if isinstance(run, States) else run

    def finish(
        self, rows: HeadRows, plans: Sequence[TokenPlan], asks: Sequence[DenseAsk | ScoreAsk], ranges: Ranges
    ) -> Sequence[Rows | None]:
        """See `Head.finish`."""
        dense = [LOGIT if isinstance(ask, ScoreAsk) else ask for ask in asks]
        counts = None if len(rows.rows) == len(asks) else rows.counts
        return finish(rows.rows, dense, num_vectors=counts, ranges=ranges)
