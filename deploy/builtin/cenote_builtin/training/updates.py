"""Updates of weights: AdamW and Muon with warm-up and cosine, clipped gradients, and a running average, the result.

Source: Jordan et al. 2024, Muon; its scale next to AdamW's from Liu et al. 2025 (arXiv 2502.16982).
"""

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import torch
from transformers import Qwen3VLForConditionalGeneration

WARMUP_STEPS: Final = 50
_WEIGHT_DECAY: Final = 0.05
_EMA_DECAY: Final = 0.99
_MAX_GRADIENT_NORM: Final = 1.0


def cosine_rate(step: int, steps: int) -> float:
    """Share of the peak learning rate: it warms up, then decays by a cosine."""
    if step < WARMUP_STEPS:
        return (step + 1) / WARMUP_STEPS
    done = (step - WARMUP_STEPS) / max(1, steps - WARMUP_STEPS)
    return 0.01 + 0.99 * (1 + math.cos(math.pi * done)) / 2


class Updates:
    """The optimizer of a model, and the average of its weights.

    Args:
        helpers: weights of losses, which are trained with the model's and are no part of it.
        rate: of a step, the share of the peak learning rate.
        by_muon: matrices of the model whose updates Muon makes; AdamW makes those of all others.
    """

    def __init__(
        self,
        model: Qwen3VLForConditionalGeneration,
        helpers: Iterable[torch.nn.Parameter],
        peak_learning_rate: float,
        rate: Callable[[int], float],
        by_muon: Sequence[torch.nn.Parameter] = (),
    ) -> None:
        self.average = copy.deepcopy(model).requires_grad_(requires_grad=False)
        self._model, self._num_steps = model, 0
        others = {*map(id, by_muon)}
        matrices = [weight for weight in model.parameters() if weight.ndim >= 2 and id(weight) not in others]
        vectors = [weight for weight in model.parameters() if weight.ndim < 2]
        groups = [
            {"params": matrices, "weight_decay": _WEIGHT_DECAY},
            {"params": [*vectors, *helpers], "weight_decay": 0.0},
        ]
        self._optimizers: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(groups, lr=peak_learning_rate, betas=(0.9, 0.98))
        ]
        if by_muon:
            self._optimizers.append(
                torch.optim.Muon(
                    by_muon, lr=peak_learning_rate, weight_decay=_WEIGHT_DECAY, adjust_lr_fn="match_rms_adamw"
                )
            )
        self._schedules = [torch.optim.lr_scheduler.LambdaLR(one, rate) for one in self._optimizers]

    def descend(self, loss: torch.Tensor) -> None:
        """One update; weights that need no gradient stay as they are."""
        for optimizer in self._optimizers:
            optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), _MAX_GRADIENT_NORM)
        for optimizer, schedule in zip(self._optimizers, self._schedules, strict=True):
            optimizer.step()
            schedule.step()
        self._follow()

    @torch.no_grad()
    def _follow(self) -> None:
        """Move the average a hundredth of the way to the weights, further in the first steps."""
        self._num_steps += 1
        decay = min(_EMA_DECAY, self._num_steps / (10 + self._num_steps))
        for slow, fast in zip(self.average.parameters(), self._model.parameters(), strict=True):
            slow.lerp_(fast, 1 - decay)
