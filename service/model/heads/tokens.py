"""A row for each token, for late interaction: a projection of its hidden state."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from torch.nn import functional

from cenote_kernels import finish
from service.checkpoint.late.token_projection import TokenProjection
from service.model.backbone import Backbone, StockRun
from service.model.heads.file_head import FileHead, read_projection
from service.model.heads.head import HeadRows, Modules, Ranges
from service.model.heads.token_pooling import pool_tokens
from service.model.states import States
from service.outputs.block import Rows
from service.outputs.plan import TokenPlan
from service.outputs.tokens import TokensAsk


class TokensHead(FileHead):
    """A `Head`: ``modules(states)``: template, text, visual tokens and what a query is filled with alike.

    Args:
        is_beside: it stands beside a dense head: the first token has no row, and calibrated ranges are the dense ones'.
    """

    kind = "tokens"

    def __init__(self, modules: Modules, *, is_beside: bool = False) -> None:
        self.hidden_size, self.num_parameters = modules.hidden_size, modules.num_parameters
        self._modules = modules
        self._is_beside = is_beside

    @classmethod
    def read(cls, path: Path, backbone: Backbone) -> "TokensHead":
        """See `FileHead.read`."""
        return cls(read_projection(path, backbone.width, backbone), is_beside=True)

    @property
    def whole_ask(self) -> TokensAsk:
        """See `Head.whole_ask`."""
        return TokensAsk(dimensions=self.hidden_size)

    def num_rows(self, plan: TokenPlan) -> int:
        """One for each token but those that are skipped."""
        return len(plan.ids) - len(plan.skipped) - self._is_beside

    def rows(self, states: States, plans: Sequence[TokenPlan]) -> torch.Tensor:
        """See `Head.rows`."""
        rows = states.by_token(self._modules(states.rows)).float()
        if not self._is_beside and not any(plan.skipped for plan in plans):
            return rows
        is_given, start = np.ones(len(rows), bool), 0
        for plan in plans:
            is_given[start + np.array(plan.skipped, np.int64)] = False
            is_given[start] &= not self._is_beside
            start += len(plan.ids)
        return rows[torch.from_numpy(is_given).to(rows.device)]

    def stock_rows(self, run: StockRun) -> torch.Tensor:
        """Return the stock module's own projection, or ours of its states."""
        return self._modules(run.rows) if isinstance(run, States) else run

    def finish(
        self, rows: HeadRows, plans: Sequence[TokenPlan], asks: Sequence[TokensAsk], ranges: Ranges
    ) -> list[Rows | None]:
        """See `Head.finish`; tokens are pooled first, where that is asked for."""
        parts = list(torch.split(rows.rows, list(rows.counts)))
        for place, (part, ask) in enumerate(zip(parts, asks, strict=True)):
            if ask.pool_factor > 1 and bool(part.isfinite().all()):
                unit = functional.normalize(part, dim=-1) if ask.normalize else part
                parts[place] = pool_tokens(unit, ask.pool_factor)
        ranges = {} if self._is_beside else ranges
        found = finish(torch.cat(parts), asks, num_vectors=[len(part) for part in parts], ranges=ranges)
        return [row and {TokensAsk.row + dtype: one for dtype, one in row.items()} for row in found]


def load_projection(found: TokenProjection, device: torch.device, dtype: torch.dtype) -> torch.nn.Linear:
    """A projection in the number format of the decoder's weights; its first rows, where vectors are shorter."""
    linear = torch.nn.Linear(found.width, found.dimensions, device=device, dtype=dtype)
    for parameter, name, path in zip((linear.weight, linear.bias), found.tensors, found.files, strict=True):
        with safe_open(path, framework="pt") as file:
            parameter.data.copy_(file.get_tensor(name)[: found.dimensions])
    linear.requires_grad_(False)
    return linear
