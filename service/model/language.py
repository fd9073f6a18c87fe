"""The language half: a packed batch of tokens and picture features to post-norm hidden states."""

from itertools import accumulate

import numpy as np
import torch
from transformers import Qwen3VLModel

from cenote_kernels import scatter
from service.model.decoder import Decoder
from service.model.packed_batch import PackedBatch
from service.model.placement import place
from service.model.product import MakeProduct, as_it_is
from service.model.segments import Index, plan_segments


class LanguageModel:
    """Runs the decoder without cache, without padding and without a language-model head.

    Args:
        model: the stock model.
        may_share: the attribute.
        make: how matrix products are run; as the checkpoint has them when not given.

    Attributes:
        may_share: compute a beginning that prompts of a batch have in common once.
    """

    def __init__(self, model: Qwen3VLModel, *, may_share: bool = True, make: MakeProduct = as_it_is) -> None:
        self.may_share = may_share
        self.embed_tokens = model.language_model.embed_tokens
        self.device = self.embed_tokens.weight.device
        self.hidden = self.embed_tokens.embedding_dim
        self._decoder = Decoder(model.language_model, make)

    def forward(self, batch: PackedBatch) -> torch.Tensor:
        """Post-norm hidden states of the whole packed batch, `[total_tokens, hidden]`, in the model's dtype."""
        return self._run(batch, last_only=False)

    def states_to_pool(self, batch: PackedBatch, pooling: str) -> tuple[torch.Tensor, torch.Tensor]:
        """What pooling reads, and the bounds of each request in it.

        Returns:
            `[rows, hidden]` and `[num_requests + 1]`, int64: one row per request where the last token is pooled, else
            the whole batch.
        """
        if pooling == "last_token":
            return self._run(batch, last_only=True), torch.arange(len(batch.segment_lengths) + 1, device=self.device)
        bounds = torch.tensor([0, *accumulate(batch.segment_lengths)], device=self.device)
        return self.forward(batch), bounds

    @torch.inference_mode()
    def _run(self, batch: PackedBatch, *, last_only: bool) -> torch.Tensor:
        """Plan on the host, embed, run the decoder, and bring its rows back into the order of the batch.

        Picture features replace the placeholders' embeddings; deepstack level i is added to the residual stream at
        the same places after decoder layer i.

        Source: transformers `Qwen3VLModel.forward`.
        """
        segments = plan_segments(
            batch.token_ids.numpy(), batch.segment_lengths, batch.visual_index.numpy(), may_share=self.may_share
        )
        tokens = torch.from_numpy(segments.tokens)
        hidden = self.embed_tokens(batch.token_ids[tokens].to(self.device))
        visual_rows, deepstack = self._on_device(segments.row[batch.visual_index.numpy()]), []
        if batch.features is not None:
            main, *deepstack = torch.split(batch.features, self.hidden, dim=-1)
            scatter(hidden, visual_rows, main)
        ends = np.cumsum(batch.segment_lengths)[segments.order] - 1
        out = self._decoder.forward(
            hidden,
            batch.position_ids[1:, tokens].to(self.device),
            place(segments, self.device),
            visual_rows,
            deepstack,
            self._on_device(segments.row[ends]) if last_only else None,
        )
        return out[self._on_device(np.argsort(segments.order) if last_only else segments.row)]

    def _on_device(self, index: Index) -> torch.Tensor:
        return torch.from_numpy(index).to(self.device)
