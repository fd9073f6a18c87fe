"""Causal attention by the formula, in float64."""

import torch


def exact(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scaling: float) -> torch.Tensor:
    """``softmax(scaling · Q Kᵀ + causal mask) V`` of one prompt, `[num_tokens, heads, head_dim]`."""
    q, k, v = (tensor.double().transpose(0, 1) for tensor in (query, key, value))
    k, v = (tensor.repeat_interleave(len(q) // len(tensor), dim=0) for tensor in (k, v))
    scores = (scaling * q @ k.transpose(1, 2)).masked_fill_(torch.ones(len(query), len(query)).triu_(1).bool(), -1e300)
    return (scores.softmax(-1) @ v).transpose(0, 1)
