"""A checkpoint's projection of tokens, as a module."""

import torch
from safetensors import safe_open

from service.checkpoint.late.token_projection import TokenProjection


def load_projection(found: TokenProjection, device: torch.device, dtype: torch.dtype) -> torch.nn.Linear:
    """The linear layer, in the number format of the decoder's weights; its first rows, where vectors are shorter."""
    linear = torch.nn.Linear(found.width, found.dimensions, device=device, dtype=dtype)
    for parameter, name, path in zip((linear.weight, linear.bias), found.tensors, found.files, strict=True):
        with safe_open(path, framework="pt") as file:
            parameter.data.copy_(file.get_tensor(name)[: found.dimensions])
    linear.requires_grad_(False)
    return linear
