"""Which tokens of its own prompt a token attends to: all, those before it, or those near it. Knows no kernel."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Reach:
    """``j`` is seen from ``i`` when ``|i - j| < window``, and ``j <= i`` where it is causal.

    Attributes:
        is_causal: nothing behind the token is seen.
        window: distance that is no longer seen; None for no bound.
    """

    is_causal: bool = True
    window: int | None = None

    def is_bounded(self, num_tokens: int) -> bool:
        """Whether the window hides anything in a prompt of this length."""
        return self.window is not None and num_tokens > self.window

    def sides(self) -> tuple[int, int]:
        """Tokens seen to the left and to the right, -1 for all: the form of variable-length kernels."""
        left = -1 if self.window is None else self.window - 1
        return left, 0 if self.is_causal else left

    def columns(self, start: int, stop: int, num_tokens: int) -> tuple[int, int]:
        """First and behind-last token that any of the tokens from `start` to `stop` sees."""
        low = 0 if self.window is None else max(0, start - self.window + 1)
        high = num_tokens if self.window is None else min(num_tokens, stop + self.window - 1)
        return low, stop if self.is_causal else high

    def mask(self, rows: tuple[int, int], columns: tuple[int, int], device: torch.device) -> torch.Tensor:
        """`[rows, columns]`, true where the one sees the other.

        Args:
            rows: first and behind-last token that looks.
            columns: first and behind-last token that is looked at.
            device: where it is wanted.
        """
        distance = torch.arange(*rows, device=device)[:, None] - torch.arange(*columns, device=device)
        seen = distance >= 0 if self.is_causal else torch.ones_like(distance, dtype=torch.bool)
        return seen if self.window is None else seen & (distance.abs() < self.window)


CAUSAL = Reach()
"""A decoder's: everything before the token, and the token itself."""
