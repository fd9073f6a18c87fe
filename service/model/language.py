"""The language half: a packed batch of tokens and picture features to post-norm hidden states."""

from dataclasses import dataclass
from typing import cast

import torch
from transformers import Qwen3VLModel


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Requests laid one behind the other, without padding.

    Attributes:
        token_ids: `[total_tokens]`, int64.
        position_ids: `[4, total_tokens]`, int64: plain, temporal, height, width; each restarts at 0 per request.
        segment_lengths: tokens of each request.
        visual_index: `[visual_tokens]`, int64: where the placeholders are, in packed order.
        features: `[visual_tokens, hidden · (1 + deepstack)]`, or None when no request has a picture.
    """

    token_ids: torch.Tensor
    position_ids: torch.Tensor
    segment_lengths: list[int]
    visual_index: torch.Tensor
    features: torch.Tensor | None


class LanguageModel:
    """Runs the decoder without cache, without padding and without a language-model head."""

    def __init__(self, model: Qwen3VLModel) -> None:
        self.decoder = model.language_model
        self.embed_tokens = model.language_model.embed_tokens
        self.device = self.embed_tokens.weight.device
        self.hidden = self.embed_tokens.embedding_dim

    @torch.inference_mode()
    def forward(self, batch: PackedBatch) -> torch.Tensor:
        """Post-norm hidden states of the whole packed batch.

        Picture features replace the placeholders' embeddings; deepstack level i is added to the residual stream at
        the same places after decoder layer i. `use_cache=False` is not a saving but a must: with a cache transformers
        forgets that the row is packed, and requests attend to each other.

        Returns:
            `[total_tokens, hidden]`, in the model's dtype.

        Source: transformers `Qwen3VLModel.forward`; DeepStack, Meng et al. 2024 (arXiv 2406.04334).
        """
        embeds = self.embed_tokens(batch.token_ids)
        visual_mask, deepstack = None, None
        if batch.features is not None:
            main, *levels = torch.split(batch.features, self.hidden, dim=-1)
            embeds = embeds.index_copy(0, batch.visual_index, main.to(embeds.dtype))
            visual_mask = torch.zeros(1, len(batch.token_ids), dtype=torch.bool, device=self.device)
            visual_mask[0, batch.visual_index] = True
            deepstack = [level.contiguous() for level in levels]
        out = self.decoder(
            inputs_embeds=embeds.unsqueeze(0),
            attention_mask=None,
            position_ids=batch.position_ids.unsqueeze(1),
            visual_pos_masks=visual_mask,
            deepstack_visual_embeds=deepstack,
            use_cache=False,
            segment_lengths=batch.segment_lengths,
        )
        return cast(torch.Tensor, out.last_hidden_state[0])
