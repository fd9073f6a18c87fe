"""Lexical weights: one of each token, for sparse vectors of the vocabulary's entries that a text has.

BGE-M3's, beside its dense and its token vectors, all from one forward.

Source: FlagEmbedding `M3Embedder`.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from service.checkpoint.config_files import token_text
from service.checkpoint.json_files import CheckpointError, read_object
from service.model.backbone import Backbone, StockRun
from service.model.heads.file_head import FileHead, Projection, read_projection
from service.model.heads.head import HeadRows, Ranges
from service.model.states import States
from service.outputs.block import Rows
from service.outputs.plan import TokenPlan
from service.outputs.sparse import SPARSE, SparseAsk, pack_sparse

UNUSED = ("cls_token", "eos_token", "pad_token", "unk_token")
"""Tokens that have no place in a sparse vector, by their names in tokenizer_config.json."""


class LexicalHead(FileHead):
    """A `Head` from a file: ``relu(projection(states))``; `unused_ids` have no place in sparse vectors."""

    kind = "sparse"
    are_scores = True

    def __init__(self, projection: Projection, unused_ids: frozenset[int]) -> None:
        self.hidden_size, self.num_parameters = projection.hidden_size, projection.num_parameters
        self._projection = projection
        self._unused_ids = list(unused_ids)

    @classmethod
    def read(cls, path: Path, backbone: Backbone) -> "LexicalHead":
        """See `FileHead.read`."""
        return cls(read_projection(path, 1, backbone), unused_ids(path.parent))

    @property
    def whole_ask(self) -> SparseAsk:
        """See `Head.whole_ask`."""
        return SparseAsk(dimensions=self.hidden_size)

    def num_rows(self, plan: TokenPlan) -> int:
        """One weight for each token."""
        return len(plan.ids)

    def rows(self, states: States, plans: Sequence[TokenPlan]) -> torch.Tensor:
        """See `Head.rows`."""
        return states.by_token(self._projection(states.rows).relu()).float()

    def stock_rows(self, run: StockRun) -> torch.Tensor:
        """From the stock module's states."""
        assert isinstance(run, States)  # its module has no head
        return self._projection(run.rows).relu()

    def finish(
        self, rows: HeadRows, plans: Sequence[TokenPlan], asks: Sequence[SparseAsk], ranges: Ranges
    ) -> list[Rows | None]:
        """See `Head.finish`."""
        parts = torch.split(rows.rows[:, 0].cpu(), list(rows.counts))
        return [
            {SPARSE: self._row(plan.ids, part.numpy())} if bool(part.isfinite().all()) else None
            for plan, part in zip(plans, parts, strict=True)
        ]

    def _row(self, token_ids: Sequence[int], weights: np.ndarray) -> bytes:
        """The largest weight of each token that a text has, but for those that are not used, and zeros."""
        ids, place = np.unique(np.asarray(token_ids), return_inverse=True)
        best = np.zeros(len(ids), np.float32)
        np.maximum.at(best, place, weights)
        is_used = (best > 0) & ~np.isin(ids, self._unused_ids)
        return pack_sparse(ids[is_used], best[is_used])

    def keep(self, rows: HeadRows) -> list[bytes | None]:
        """None of them: what is kept of a model is its first head's."""
        return [None] * len(rows.counts)


def unused_ids(folder: Path) -> frozenset[int]:
    """Ids that have no place in a sparse vector."""
    config = read_object(folder / "tokenizer_config.json")
    names = [token_text(config.get(key)) for key in UNUSED]
    added = {one["content"]: int(one["id"]) for one in read_object(folder / "tokenizer.json").get("added_tokens", [])}
    if missing := [name for name in names if name is not None and name not in added]:
        raise CheckpointError(f"{folder / 'tokenizer_config.json'} names {missing[0]!r}, which tokenizer.json has not")
    return frozenset(added[name] for name in names if name is not None)
