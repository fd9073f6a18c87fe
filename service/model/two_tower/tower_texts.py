"""Texts through the stock text tower of a two-tower model, without padding and without a mask.

CLIP's, MetaCLIP 2's and Chinese-CLIP's run packed: all texts one after the other, positions restart, our attention
under the stock layers. Those of SigLIP have one length by themselves, so the stock module runs them as they come.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, cast

import numpy as np
import torch
from transformers.modeling_utils import PreTrainedModel

from service.model.packed.packed_attention import PACKED
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.segments import Index, Segments, plan_segments

OLD_END = 2
"""End token of configurations of old, which is none: there the token with the largest number is pooled."""


class TowerTexts:
    """A text tower with its projection; all texts have one length where it `is_padded`."""

    def __init__(self, stock: PreTrainedModel, *, is_padded: bool) -> None:
        self._stock: Any = stock
        self._tower: Any = cast(Any, stock).text_model
        self._is_padded = is_padded
        self._is_bert = stock.config.model_type == "chinese_clip"
        self._is_of_old = stock.config.model_type == "clip" and self._tower.config.eos_token_id == OLD_END
        if not is_padded:
            self._tower.config._attn_implementation = PACKED

    def vectors(self, texts: list[Index]) -> torch.Tensor:
        """Raw vectors, `[texts, hidden]`, in the model's dtype, on the device."""
        if self._is_padded:
            groups, places = by_length(texts)  # several groups only where a client sends token ids
            embed, device = self._stock.get_text_features, self._stock.device
            return torch.cat([embed(input_ids=ids.to(device)).pooler_output for ids in groups])[places]
        lengths = [len(text) for text in texts]
        token_ids = np.concatenate(texts)
        plan = plan_segments(token_ids, lengths, np.zeros(0, np.int64), may_share=False)
        states = self._states(token_ids[plan.tokens], plan)
        starts = np.array([0, *accumulate(lengths[i] for i in plan.order)])[:-1]
        pooled = np.empty(len(texts), np.int64)
        pooled[plan.order] = starts + [self._place(texts[i]) for i in plan.order]
        chosen = states[torch.from_numpy(pooled).to(states.device)]
        if not self._is_bert:
            chosen = self._tower.final_layer_norm(chosen)
        projected: torch.Tensor = self._stock.text_projection(chosen)
        return projected

    def _states(self, token_ids: Index, plan: Segments) -> torch.Tensor:
        """All texts through the layers, `[total_tokens, width]`."""
        device, embeddings = self._stock.device, self._tower.embeddings
        ids = torch.from_numpy(token_ids).to(device)[None]
        positions = np.concatenate([np.tile(np.arange(group.num_tokens), group.num_segments) for group in plan.groups])
        places = torch.from_numpy(positions).to(device)[None]
        if self._is_bert:
            embedded = embeddings(input_ids=ids, position_ids=places, token_type_ids=torch.zeros_like(ids))
        else:  # the module's own forward takes no more tokens at once than it has positions
            embedded = embeddings.token_embedding(ids) + embeddings.position_embedding(places)
        found = self._tower.encoder(embedded, attention_mask=None, packing=plan.groups, is_causal=not self._is_bert)
        states: torch.Tensor = found.last_hidden_state[0]
        return states

    def _place(self, text: Index) -> int:
        """The token of a text that is pooled: BERT's first; CLIP's first end token, or the first of all without one."""
        if self._is_bert:
            return 0
        return int(np.argmax(text if self._is_of_old else text == self._tower.config.eos_token_id))


def split_items(
    batch: PackedBatch, hidden: int, device: torch.device
) -> tuple[torch.Tensor, list[Index], torch.Tensor]:
    """Vectors with the features in their rows, token ids of each text, and the rows that its vectors belong in.

    Every item of a batch is one text, or one image or audio file whose vector is there already.

    Returns:
        vectors `[num_requests, hidden]`, float32, on the device, of which the texts' rows are not written;
        texts; rows `[num_texts]`.
    """
    num_items = len(batch.segment_lengths)
    starts = np.array([0, *accumulate(batch.segment_lengths)])
    vectors = torch.empty(num_items, hidden, dtype=torch.float32, device=device)
    others = np.searchsorted(starts, batch.visual.index.numpy(), side="right") - 1
    if len(others):
        vectors[torch.from_numpy(others).to(device)] = batch.visual.features.float()
    rows = np.setdiff1d(np.arange(num_items), others)
    token_ids = batch.token_ids.numpy()
    return vectors, [token_ids[starts[i] : starts[i + 1]] for i in rows], torch.from_numpy(rows)


def by_length(texts: Sequence[Index]) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Texts of one length together, shortest first: `[num_texts, num_tokens]` each, and the place of each text."""
    lengths = np.array([len(text) for text in texts])
    groups = [np.stack([text for text in texts if len(text) == length]) for length in np.unique(lengths)]
    places = np.argsort(np.argsort(lengths, kind="stable"), kind="stable")
    return [torch.from_numpy(group) for group in groups], torch.from_numpy(places)
