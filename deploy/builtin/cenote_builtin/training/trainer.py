"""The steps of the embedder's training: weights, temperature and losses."""

import math
from typing import Final

import torch
from tokenizers import Tokenizer
from transformers import Qwen3VLForConditionalGeneration

from cenote_builtin.architecture import HIDDEN, MATRYOSHKA_DIMENSIONS, NUM_LEVELS, build_config
from cenote_builtin.scenes.batches import NUM_ATTRIBUTES, Batch
from cenote_builtin.scenes.scenes import ASPECTS
from cenote_builtin.tokenizer import VOCAB_SIZE, special_ids
from cenote_builtin.training.objective import TowerLesson, attribute_loss, matryoshka_info_nce
from cenote_builtin.training.towers import embed, encode_images
from cenote_builtin.training.updates import WARMUP_STEPS, Updates, cosine_rate

_PEAK_LEARNING_RATE: Final = 1.5e-3
_FIRST_INVERSE_TEMPERATURE: Final = 14.0
_MAX_INVERSE_TEMPERATURE: Final = 60.0
_ATTRIBUTE_WEIGHT: Final = 4.0
_RESIDUAL: Final = ("o_proj.weight", "down_proj.weight", "attn.proj.weight", "mlp.linear_fc2.weight")
"""Weights that write into the residual stream; halved, so that a token still counts after three blocks."""


def _waves(side: int, width: int) -> torch.Tensor:
    """Sines and cosines of row and column, half a wave to three waves per image: `[side * side, width]`.

    Smooth position embeddings keep their meaning when the grid is interpolated to an image's size; random ones do not.
    """
    place = torch.linspace(-0.5, 0.5, side)[:, None] * torch.linspace(0.5, 3, width // 4) * 2 * math.pi
    line = torch.cat([place.sin(), place.cos()], dim=1)
    grid = torch.cat([line[:, None].expand(-1, side, -1), line[None].expand(side, -1, -1)], dim=2)
    return grid.reshape(side * side, width)


@torch.no_grad()
def initialize(model: torch.nn.Module) -> None:
    """Scale the initial weights to a small model, in place.

    Matrices get 1 / sqrt(inputs), token embeddings the scale of the blocks, position embeddings smooth waves. The
    library's 0.02 is meant for widths in the thousands; here blocks and positions would have almost no effect.
    """
    for name, weight in model.named_parameters():
        if "pos_embed" in name:
            weight.copy_(_waves(math.isqrt(len(weight)), weight.shape[1]))
        elif "embed_tokens" in name:
            weight.normal_(0, 0.5)
        elif weight.ndim >= 2:
            weight.normal_(0, weight[0].numel() ** -0.5)
        if name.endswith(_RESIDUAL):
            weight.mul_(0.5)


def _rate(step: int, tower_steps: int, steps: int) -> float:
    """Share of the peak learning rate: each part warms up; the tower's stays constant, the other decays by a cosine."""
    if step < tower_steps:
        return min(1.0, (step + 1) / WARMUP_STEPS)
    return cosine_rate(step - tower_steps, steps)


class Trainer:
    """Weights, the temperature and the optimizer."""

    def __init__(self, tokenizer: Tokenizer, seed: int, tower_steps: int, steps: int) -> None:
        torch.manual_seed(seed)
        self.model = Qwen3VLForConditionalGeneration(build_config(VOCAB_SIZE, special_ids(tokenizer)))
        initialize(self.model)
        self.log_scale = torch.nn.Parameter(torch.tensor(math.log(_FIRST_INVERSE_TEMPERATURE)))
        self.attribute_map = torch.nn.Linear(HIDDEN, NUM_ATTRIBUTES)
        self.tower_lesson = TowerLesson(NUM_LEVELS)
        helpers = [self.log_scale, *self.attribute_map.parameters(), *self.tower_lesson.parameters()]
        self._updates = Updates(self.model, helpers, _PEAK_LEARNING_RATE, lambda step: _rate(step, tower_steps, steps))

    @property
    def average(self) -> Qwen3VLForConditionalGeneration:
        """The result: the running average of the weights."""
        return self._updates.average

    def step_tower(self, batch: Batch) -> float:
        """One update of the vision tower alone. Returns its loss."""
        loss = self.tower_lesson(encode_images(self.model.model, batch.pixels), torch.from_numpy(batch.cells))
        self._updates.descend(loss)
        return float(loss.detach())

    def step(self, batch: Batch) -> tuple[float, list[float]]:
        """One update. Returns the loss and, per aspect, the share of queries whose best caption means the same."""
        features = encode_images(self.model.model, batch.pixels)
        queries, captions = embed(self.model.model, batch, features, self.model.config.image_token_id)
        meanings = torch.from_numpy(batch.meanings)
        scale = self.log_scale.exp().clamp(max=_MAX_INVERSE_TEMPERATURE)
        contrast = matryoshka_info_nce(queries, captions, meanings, scale, MATRYOSHKA_DIMENSIONS)
        lesson = self.tower_lesson(features, torch.from_numpy(batch.cells))
        loss = contrast + lesson + _ATTRIBUTE_WEIGHT * self._attribute_loss(batch, queries, captions)
        self._updates.descend(loss)
        cosines = torch.nn.functional.normalize(queries.detach()) @ torch.nn.functional.normalize(captions.detach()).T
        right = meanings[cosines.argmax(dim=1)] == meanings
        return float(contrast.detach()), right.view(-1, len(ASPECTS)).float().mean(dim=0).tolist()

    def _attribute_loss(self, batch: Batch, *sides: torch.Tensor) -> torch.Tensor:
        """The auxiliary loss of both sides under one linear map, which is discarded after the training."""
        targets, asked = torch.from_numpy(batch.attributes), torch.from_numpy(batch.asked)
        losses = [attribute_loss(self.attribute_map(side), targets, asked) for side in sides]
        return torch.stack(losses).mean()
