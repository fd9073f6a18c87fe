"""Heads beside a dense one, each in a file of its own beside the model's weights, as BGE-M3 has them."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn import functional

from service.errors import ModelError
from service.model.backbone import Backbone
from service.model.heads.head import Head


class FileHead(Head):
    """A head that a checkpoint may have beside its dense one.

    Nothing registers it: this folder is listed, and the asks that it answers name its file.
    """

    @classmethod
    def read(cls, path: Path, backbone: Backbone) -> Head:
        """Read the head from its file."""
        raise NotImplementedError


class Projection:
    """`Modules` that are one linear layer, in the number format of the states."""

    does_nothing = False

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        """With `weight`, `[hidden_size, width]`."""
        self.hidden_size = len(weight)
        self.num_parameters = weight.numel() + (0 if bias is None else bias.numel())
        self._weight, self._bias = weight, bias

    @classmethod
    def of(cls, linear: torch.nn.Linear) -> "Projection":
        """On the weights of a module."""
        return cls(linear.weight, linear.bias)

    def __call__(self, vectors: torch.Tensor) -> torch.Tensor:
        """`[rows, width]` to `[rows, hidden_size]`."""
        return functional.linear(vectors, self._weight, self._bias)


def read_projection(path: Path, hidden_size: int, backbone: Backbone) -> Projection:
    """A linear layer from a state dictionary; nothing but tensors is unpickled."""
    try:
        tensors = load_file(path) if path.suffix == ".safetensors" else torch.load(path, "cpu", weights_only=True)
    except Exception as error:  # of pickle, zipfile, safetensors and torch
        reason = str(error).strip().partition("\n")[0]
        raise ModelError("internal_error", f"{path.name} cannot be read as tensors: {reason}") from error
    shapes = {"weight": (hidden_size, backbone.width), "bias": (hidden_size,)}
    is_tensors = isinstance(tensors, dict) and all(isinstance(one, torch.Tensor) for one in tensors.values())
    found = {name: tuple(one.shape) for name, one in tensors.items()} if is_tensors else {}
    if found != shapes or not all(one.is_floating_point() for one in tensors.values()):
        raise ModelError("internal_error", f"{path.name} has {found or 'no tensors'}, expected {shapes} of floats")
    return Projection(*(tensors[name].to(backbone.device, backbone.dtype) for name in ("weight", "bias")))
