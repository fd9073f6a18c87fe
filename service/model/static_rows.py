"""Rows of a table in the place of a transformer: what a text's tokens have is looked up, and nothing computed of it.

A token's row is ``table[mapping[token]] · weights[token]``; without a mapping that of its own number, without weights
as it is. The mean over a text is taken as rows are read, so that no batch has them in memory.

Source: model2vec 0.10 `StaticModel._encode_batch`; sentence-transformers 6.2 `StaticEmbedding.forward`.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn.functional import embedding_bag

from service.checkpoint.static_files import TABLES
from service.checkpoint.weight_files import SINGLE
from service.errors import ModelError
from service.model.backbone import Backbone, Needs, Probe
from service.model.packed.packed_batch import PackedBatch
from service.model.states import States
from service.outputs.plan import TokenPlan

PROBE_LENGTHS = (12, 7, 1, 12)
NOTHING = torch.zeros(0)


class StaticRows(Backbone):
    """A `Backbone` whose states are the means of prompts.

    Args:
        table: `[rows, width]`, floating point.
        mapping: `[tokens]`, int64, the row of each token; empty: its own.
        weights: `[tokens]`, float32; empty: 1.
    """

    def __init__(self, table: torch.Tensor, mapping: torch.Tensor, weights: torch.Tensor) -> None:
        # there is no module of transformers that the base could read
        self.num_parameters = table.numel() + weights.numel()
        self.device, self.dtype = table.device, table.dtype
        self.width = table.shape[1]
        self._table, self._mapping, self._weights = table, mapping, weights

    @classmethod
    def load(cls, folder: Path, device: torch.device) -> "StaticRows":
        """From a folder whose header was checked (`static_files.py`); integers become float32, as model2vec has them.

        Raises:
            ModelError: a token is mapped to a row that is not there.
        """
        found = load_file(folder / SINGLE, str(device))
        table = next(found[name] for name in TABLES if name in found)
        mapping, weights = found.get("mapping", NOTHING.to(device)), found.get("weights", NOTHING.to(device))
        if len(mapping) and not 0 <= int(mapping.min()) <= int(mapping.max()) < len(table):
            raise ModelError(
                "internal_error", f"{folder.name} maps tokens to rows beyond the {len(table)} of its table"
            )
        return cls(table if table.is_floating_point() else table.float(), mapping.long(), weights.float())

    def cast(self, dtype: torch.dtype) -> "StaticRows":
        """The same with another number format."""
        return StaticRows(self._table.to(dtype), self._mapping, self._weights)

    @torch.inference_mode()
    def states(self, batch: PackedBatch, needs: Needs) -> States:
        """The mean of each prompt's rows, as one row."""
        ids, lengths = batch.token_ids.to(self.device), torch.tensor(batch.segment_lengths, device=self.device)
        starts = lengths.cumsum(0) - lengths
        rows = self._mapping[ids] if len(self._mapping) else ids
        if not len(self._weights):
            return States(embedding_bag(rows, self._table, starts, mode="mean"), [1] * len(starts))
        shares = self._weights[ids] / lengths.repeat_interleave(lengths)
        means = embedding_bag(rows, self._table, starts, mode="sum", per_sample_weights=shares.to(self.dtype))
        return States(means, [1] * len(starts))

    def probes(self) -> Sequence[Probe]:
        """Texts of three lengths, of tokens from all over the vocabulary."""
        num_ids = len(self._mapping) or len(self._table)
        return [
            Probe(TokenPlan([(1 + 7919 * (16 * first + place)) % num_ids for place in range(length)]))
            for first, length in enumerate(PROBE_LENGTHS)
        ]

    @torch.inference_mode()
    def stock_run(self, probe: Probe) -> States:
        """The same in float64, row by row."""
        whole = torch.zeros(self.width, dtype=torch.float64, device=self.device)
        for one in probe.plan.ids:
            row = self._table[self._mapping[one] if len(self._mapping) else one].double()
            whole += row * self._weights[one] if len(self._weights) else row
        return States((whole / len(probe.plan.ids))[None].float(), [1])
