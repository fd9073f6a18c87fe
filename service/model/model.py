"""A model: a backbone and the heads over its states. All that the runner knows of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import compress

import torch

from service.model.backbone import Backbone, Probe
from service.model.heads.head import Head, HeadRows
from service.model.packed.packed_batch import PackedBatch
from service.model.qwen3_vl.qwen3_vl import Qwen3VL

Found = Mapping[str, HeadRows]
"""Raw rows of a batch, by the kind of their head."""


class Model:
    """Packed prompts to raw rows. `architectures.load_model` makes it, by the architecture of a profile.

    Attributes:
        own: the first of them, whose rows may be kept.
    """

    def __init__(self, backbone: Backbone, *heads: Head) -> None:
        self.backbone = backbone
        self.heads: Mapping[str, Head] = {head.kind: head for head in heads}
        self.own = heads[0]
        self.num_parameters = backbone.num_parameters + sum(head.num_parameters for head in heads)

    @property
    def own_decoder(self) -> Qwen3VL | None:
        """The backbone if it is Qwen3-VL's, whose matrices may be kept in other number formats; else None."""
        return self.backbone if isinstance(self.backbone, Qwen3VL) else None

    @torch.inference_mode()
    def embed(self, batch: PackedBatch, kinds: Sequence[Collection[str]]) -> Found:
        """Rows of all heads that a prompt of the batch asks for."""
        if self.own.looks_up and not all(is_run := [plan.needs_forward for plan in batch.plans]):
            return {self.own.kind: HeadRows(self._partly_run(batch, kinds, is_run), [1] * len(kinds))}
        asked = {kind: [place for place, own in enumerate(kinds) if kind in own] for kind in self.heads}
        heads = [self.heads[kind] for kind, prompts in asked.items() if prompts]
        states = self.backbone.states(batch, "all" if any(head.needs == "all" for head in heads) else "last")
        found: dict[str, HeadRows] = {}
        for head in heads:
            prompts, counts = asked[head.kind], [0] * len(kinds)
            for prompt in prompts:
                counts[prompt] = head.num_rows(batch.plans[prompt])
            own = states if len(prompts) == len(kinds) else states.only(prompts)
            found[head.kind] = HeadRows(head.rows(own, [batch.plans[prompt] for prompt in prompts]), counts)
        return found

    def _partly_run(self, batch: PackedBatch, kinds: Sequence[Collection[str]], is_run: Sequence[bool]) -> torch.Tensor:
        """Own rows of a batch of which some prompts, or all, do not go through the model."""
        is_known = [not one for one in is_run]
        known = self.own.look_up(list(compress(torch.split(batch.token_ids, batch.segment_lengths), is_known)))
        rows = known.new_empty((len(is_run), self.own.hidden_size))
        rows[torch.tensor(is_known)] = known
        if any(is_run):
            lengths = torch.tensor(batch.segment_lengths)
            is_token = torch.tensor(is_run).repeat_interleave(lengths)
            rest = replace(
                batch,
                token_ids=batch.token_ids[is_token],
                position_ids=batch.position_ids[:, is_token],
                segment_lengths=lengths[torch.tensor(is_run)].tolist(),
                plans=list(compress(batch.plans, is_run)),
                tenants=(),
            )
            rows[torch.tensor(is_run)] = self.embed(rest, list(compress(kinds, is_run)))[self.own.kind].rows
        return rows

    @torch.inference_mode()
    def stock_rows(self, probe: Probe) -> torch.Tensor:
        """The own rows of a probe by the stock module's forward, `[num_rows, hidden_size]`: our weights alone."""
        return self.own.stock_rows(self.backbone.stock_run(probe))

    def prepack(self) -> bool:
        """Bring matrices into the processor's layout, or return False; the stock forward may not be run any more."""
        products = self.backbone.prepack()
        if products is not None:
            for head in self.heads.values():
                head.pack(products)
        return products is not None
