"""The training forward of the reranker and its loss: a row has a query and its documents, which do not see each other.

The layers are computed here on the stock module's weights; the last one for the tokens alone that are judged. Scoring
uses the stock forward instead, so that a fault here shows there.
"""

from typing import Final, cast

import torch
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import Qwen3VLForConditionalGeneration
from transformers.models.qwen3_vl.modeling_qwen3_vl import (
    Qwen3VLTextDecoderLayer,
    apply_rotary_pos_emb,
)

from cenote_builtin.architecture import HIDDEN
from cenote_builtin.scenes.batches import NUM_CELL_ATTRIBUTES
from cenote_builtin.training.objective import cell_weights
from cenote_builtin.training.pairs import PairBatch
from cenote_builtin.training.towers import Features

_AGREEMENT_WEIGHT: Final = 4.0


def visible(parts: torch.Tensor) -> torch.Tensor:
    """Attention mask `[rows, 1, tokens, tokens]`: a token sees the query and its own part, up to itself."""
    same = (parts[:, None] == 0) | (parts[:, None] == parts[:, :, None])
    return (same & torch.ones(same.shape[1:], dtype=torch.bool).tril())[:, None]


def _heads(states: torch.Tensor, norm: torch.nn.Module | None, size: int) -> torch.Tensor:
    split = states.view(*states.shape[:-1], -1, size)
    return (split if norm is None else norm(split)).transpose(1, 2)


def _layer(
    layer: Qwen3VLTextDecoderLayer,
    hidden: torch.Tensor,
    rope: tuple[torch.Tensor, torch.Tensor],
    mask: torch.Tensor,
    at: torch.Tensor | None,
) -> torch.Tensor:
    """One decoder layer; with `at`, `[rows, num]`, for these tokens alone."""
    own, size = layer.self_attn, layer.self_attn.head_dim
    normed = layer.input_layernorm(hidden)
    queries = _heads(own.q_proj(normed), own.q_norm, size)
    keys = _heads(own.k_proj(normed), own.k_norm, size)
    values = _heads(own.v_proj(normed), None, size)
    queries, keys = apply_rotary_pos_emb(queries, keys, *rope)
    if at is not None:
        rows = torch.arange(len(at))[:, None]
        queries, mask = (part[rows, :, at].transpose(1, 2) for part in (queries, mask))
        hidden = hidden[rows, at]
    keys, values = (part.repeat_interleave(own.num_key_value_groups, dim=1) for part in (keys, values))
    mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    hidden = hidden + own.o_proj(mixed.transpose(1, 2).flatten(2))
    return cast(torch.Tensor, hidden + layer.mlp(layer.post_attention_layernorm(hidden)))


class Judge:
    """The model, as the training runs it."""

    def __init__(self, model: Qwen3VLForConditionalGeneration, tokenizer: Tokenizer) -> None:
        self._model, self._text = model, model.model.language_model
        self._answers = [tokenizer.token_to_id(word) for word in ("yes", "no")]

    def logits(self, batch: PairBatch, features: Features) -> tuple[torch.Tensor, torch.Tensor]:
        """``(head[yes] - head[no]) · hidden`` of each pair's last token, and what documents' pictures are before it.

        Args:
            features: of `batch.images`.

        Returns:
            `[queries, documents]`, and `[pictures, tokens, hidden]` after the last layer but one.
        """
        ids, at = torch.from_numpy(batch.ids), torch.from_numpy(batch.lasts)
        seen = ids == self._model.config.image_token_id
        main, *deepstack = [level.flatten(0, 1) for level in features.levels]
        hidden = self._text.embed_tokens(ids).masked_scatter(seen[..., None], main)
        mask = visible(torch.from_numpy(batch.parts))
        rope = self._text.rotary_emb(hidden, torch.from_numpy(batch.positions))
        last = len(self._text.layers) - 1
        documents, pictures = seen & (torch.from_numpy(batch.parts) > 0), hidden
        for index, layer in enumerate(self._text.layers):
            if index == last:
                pictures = hidden[documents].view(-1, features.side_tokens**2, hidden.shape[-1])
            hidden = _layer(layer, hidden, rope, mask, at if index == last else None)
            if index < len(deepstack):
                hidden = hidden + torch.zeros_like(hidden).masked_scatter(seen[..., None], deepstack[index])
        yes, no = self._model.lm_head.weight[self._answers]
        return self._text.norm(hidden) @ (yes - no), pictures


class Lesson(torch.nn.Module):
    """An auxiliary task on the way: what does the query say of each cell, and does the picture agree there?

    Linear maps of the mean over a cell, after the last layer but one; they are discarded afterwards. Without it
    judgments stay near chance for hundreds of steps.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked = torch.nn.Linear(HIDDEN, NUM_CELL_ATTRIBUTES)
        self.agrees = torch.nn.Linear(HIDDEN, 1)

    def forward(self, pictures: torch.Tensor, batch: PairBatch, side_tokens: int) -> torch.Tensor:
        """Binary cross-entropy: the sum over a cell's attributes where the query says all, and of agreements: `[2]`."""
        cells, says_all = cell_weights(side_tokens) @ pictures, torch.from_numpy(batch.says_all)
        asked = functional.binary_cross_entropy_with_logits(
            self.asked(cells), torch.from_numpy(batch.asked), reduction="none"
        )
        asked = (asked.sum(dim=2).mean(dim=1) * says_all).sum() / says_all.sum().clamp(min=1)
        agreed = functional.binary_cross_entropy_with_logits(
            self.agrees(cells)[..., 0], torch.from_numpy(batch.agreements)
        )
        return torch.stack([asked, _AGREEMENT_WEIGHT * agreed])


def judgment_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Binary cross-entropy of each pair, and the answers' share of the softmax over a query's documents.

    Args:
        logits: Float `[queries, documents]`.
        labels: Float `[queries, documents]`, zeros and ones; every query has an answer.
    """
    each = functional.binary_cross_entropy_with_logits(logits, labels)
    answers = logits.masked_fill(labels == 0, -torch.inf).logsumexp(dim=1)
    return each + (logits.logsumexp(dim=1) - answers).mean()
