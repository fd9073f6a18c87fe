"""Root-mean-square normalization with the rounding points of transformers, in few passes over memory."""

import torch


def rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float, out: torch.Tensor) -> torch.Tensor:
    """``out = weight · x / sqrt(mean(x²) + epsilon)`` over the last axis; in float32, rounded before the weight.

    Args:
        x: any shape, any float dtype.
        weight: broadcasts against `x`.
        epsilon: keeps a row of zeros finite.
        out: as `x`, written; not the same memory where the dtype is float32.

    Source: transformers `Qwen3VLTextRMSNorm`; Zhang and Sennrich 2019 (arXiv 1910.07467).
    """
    exact = x.float()
    factor = torch.linalg.vector_norm(exact, dim=-1, keepdim=True)
    factor.square_().div_(x.shape[-1]).add_(epsilon).rsqrt_()
    if x.dtype == torch.float32:
        torch.mul(x, factor, out=out)
    else:
        out.copy_(exact.mul_(factor))
    return out.mul_(weight)
