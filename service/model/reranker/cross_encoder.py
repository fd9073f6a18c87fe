"""Cross-encoders as the engine runs them: a packed text encoder, and the stock classifier's head over pooled vectors.

BERT numbers the texts of a pair: tokens behind the first separator are of the second type. Which ones follows from the
ids, since no text becomes a separator.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import torch
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from cenote_kernels import PoolingMode, pool
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.pair_template import read_pair_template
from service.checkpoint.reranker_files import read_reranker_files
from service.checkpoint.sentence_settings import CLASSIFICATION
from service.model.embedding_model import Probe
from service.model.load import load_stock
from service.model.packed.packed_attention import stock_attention
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.segments import Group
from service.model.reranker.classifier_head import ClassifierHead
from service.model.stock.text_encoder import NUM_PADS, TextEncoder


class CrossEncoder(TextEncoder):
    """An `EmbeddingModel` whose vector is one number, the logit of a classifier's only label."""

    def __init__(self, whole: PreTrainedModel, pooling: PoolingMode, separator: int | None) -> None:
        """Run encoder and head of `whole`; tokens behind `separator` are of type 1, where it is not None."""
        super().__init__(cast(PreTrainedModel, whole.base_model), pooling, ClassifierHead(whole))
        self._whole = whole
        self._separator = separator
        self._pools_logits = getattr(whole, "classifier_pooling", None) == "late"

    @classmethod
    def load(  # type: ignore[override]  # its class is no choice
        cls, folder: Path, device: torch.device, dtype: torch.dtype | None, pooling: PoolingMode
    ) -> "CrossEncoder":
        """From a checkpoint's folder; see `load_stock`."""
        stock_class = cast(type[PreTrainedModel], AutoModelForSequenceClassification)
        whole = load_stock(stock_class, folder, device, dtype, attention=None)
        files = CheckpointFiles(folder)
        if read_reranker_files(files, CLASSIFICATION).messages is not None:  # one text, by a chat template
            return cls(whole, pooling, None)
        template = read_pair_template(files)
        return cls(whole, pooling, template.between[0] if template.has_types else None)

    @torch.inference_mode()
    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """``head(pool(encoder(batch)))``, `[num_requests, 1]`."""
        if self._separator is not None:
            types = [token_types(ids, self._separator) for ids in torch.split(batch.token_ids, batch.segment_lengths)]
            batch = replace(batch, position_ids=torch.cat([batch.position_ids, torch.cat(types)[None]]))
        return super().embed(batch)

    def _forward(
        self, token_ids: torch.Tensor, position_ids: torch.Tensor, groups: Sequence[Group], **inputs: torch.Tensor
    ) -> torch.Tensor:
        """With types as a second row of `position_ids`, where there are types."""
        if self._separator is None:
            return super()._forward(token_ids, position_ids, groups, **inputs)
        positions, types = position_ids
        if self._encoder is not None:
            return self._encoder.forward(token_ids, positions + types * self._config.max_position_embeddings, groups)
        return super()._forward(token_ids, positions[None], groups, token_type_ids=types[None])

    def _pooled(self, states: torch.Tensor, bounds: torch.Tensor) -> torch.Tensor:
        """With `late` pooling each token has a logit, and the pair their mean."""
        if self._pools_logits:
            return pool(self._head(states.float()), bounds, self._pooling)
        return super()._pooled(states, bounds)

    def _probe_ids(self, first: int, num_tokens: int) -> list[int]:
        ids = super()._probe_ids(first, num_tokens)
        if self._separator is not None:
            ids[num_tokens // 2] = self._separator
        return ids

    @torch.inference_mode()
    def stock_vector(self, probe: Probe) -> torch.Tensor:
        """All of the stock classifier's own, with plain attention and with padding."""
        ids = torch.tensor([*probe.token_ids, *[self._pad_id] * NUM_PADS], device=self.device)
        inputs = {"attention_mask": (torch.arange(len(ids), device=self.device) < len(probe.token_ids)).long()[None]}
        if self._separator is not None:
            inputs["token_type_ids"] = token_types(ids, self._separator)[None]
        with stock_attention("eager", self._config):
            logits: torch.Tensor = self._whole(input_ids=ids[None], **inputs).logits
        return logits[0]


def token_types(token_ids: torch.Tensor, separator: int) -> torch.Tensor:
    """`[num_tokens]`, int64: 0 up to the first separator of a pair, 1 behind it."""
    is_separator = token_ids.eq(separator).long()
    return (is_separator.cumsum(0) - is_separator).clamp(max=1)
