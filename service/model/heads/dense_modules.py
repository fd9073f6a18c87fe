"""The Dense and LayerNorm modules of a sentence-transformers checkpoint, in float32, over pooled states or tokens'."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch.nn import functional

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.sentence_files import cuts_unit_vectors
from service.checkpoint.sentence_modules import DenseConfig, NormConfig, list_modules, read_dense
from service.errors import ModelError

_FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "Identity": lambda x: x,
    "Tanh": torch.tanh,
    "ReLU": functional.relu,
    "GELU": functional.gelu,
    "SiLU": functional.silu,
    "Sigmoid": torch.sigmoid,
}


@dataclass(frozen=True, slots=True)
class Dense:
    """``activation(W x + b)``, and with a residual ``+ x`` or ``+ R x``.

    Attributes:
        weight: `[out_features, in_features]`, float32.
        bias: `[out_features]`, float32, or None.
        residual: `[out_features, in_features]`, float32, or None where x has the length of the result.
    """

    weight: torch.Tensor
    bias: torch.Tensor | None
    activation: str
    has_residual: bool = False
    residual: torch.Tensor | None = None

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """All weights."""
        return tuple(tensor for tensor in (self.weight, self.bias, self.residual) if tensor is not None)

    def __call__(self, vectors: torch.Tensor) -> torch.Tensor:
        """`[rows, in_features]` to `[rows, out_features]`."""
        result = _FUNCTIONS[self.activation](functional.linear(vectors, self.weight, self.bias))
        if not self.has_residual:
            return result
        return result + (vectors if self.residual is None else functional.linear(vectors, self.residual))


@dataclass(frozen=True, slots=True)
class NormLayer:
    """``(x - mean) / sqrt(variance + 1e-5) · weight + bias``; weight and bias are `[width]`, float32."""

    weight: torch.Tensor
    bias: torch.Tensor

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """All weights."""
        return self.weight, self.bias

    def __call__(self, vectors: torch.Tensor) -> torch.Tensor:
        """`[rows, width]` to the same."""
        return functional.layer_norm(vectors, self.weight.shape, self.weight, self.bias)


class DenseModules:
    """`Modules`: all such modules of a checkpoint, one after the other; without any it gives back what it got.

    Where the files cut vectors that have length 1 it brings them to it.

    Attributes:
        hidden_size: length of a vector after the last of them.
        does_nothing: there is no layer, and no length to bring to 1.
    """

    def __init__(self, layers: Sequence[Dense | NormLayer], width: int, *, normalizes: bool = False) -> None:
        self._layers = layers
        self._normalizes = normalizes
        self.does_nothing = not layers and not normalizes
        self.hidden_size = layers[-1].weight.shape[0] if layers else width
        self.num_parameters = sum(tensor.numel() for layer in layers for tensor in layer.tensors)

    @classmethod
    def load(cls, folder: Path, device: torch.device, width: int) -> "DenseModules":
        """From the folders that `modules.json` names."""
        configs = [read_dense(module) for module in list_modules(folder) if module.kind == "Dense"]
        return cls.of(configs, device, width, normalizes=cuts_unit_vectors(CheckpointFiles(folder)))

    @classmethod
    def of(
        cls,
        configs: Sequence[DenseConfig | NormConfig],
        device: torch.device,
        width: int,
        *,
        is_among_others: bool = False,
        normalizes: bool = False,
    ) -> "DenseModules":
        """From each configuration's folder.

        Args:
            width: of what the first of them gets.
            is_among_others: their weights lie among those of the transformer.
            normalizes: vectors come out at length 1, and are cut afterwards.
        """
        for config in configs:
            if config.in_features != width:
                raise ModelError(
                    "internal_error", f"{config.folder.name} takes {config.in_features} numbers, but gets {width}"
                )
            width = config.out_features
        layers = [
            _load_norm(config, device)
            if isinstance(config, NormConfig)
            else _load(config, device, is_among_others=is_among_others)
            for config in configs
        ]
        return cls(layers, width, normalizes=normalizes)

    def __call__(self, vectors: torch.Tensor) -> torch.Tensor:
        """`[rows, width]` of any number format to `[rows, hidden_size]`, float32."""
        vectors = vectors.float()
        for layer in self._layers:
            vectors = layer(vectors)
        return functional.normalize(vectors, dim=-1) if self._normalizes else vectors


def _load(config: DenseConfig, device: torch.device, *, is_among_others: bool) -> Dense:
    expected: dict[str, tuple[int, ...]] = {"linear.weight": (config.out_features, config.in_features)}
    if config.bias:
        expected["linear.bias"] = (config.out_features,)
    if config.has_residual and config.in_features != config.out_features:
        expected["residual.weight"] = expected["linear.weight"]
    weights = _read(config.folder, expected, device, is_among_others=is_among_others)
    bias, residual = weights.get("linear.bias"), weights.get("residual.weight")
    return Dense(weights["linear.weight"], bias, config.activation, config.has_residual, residual)


def _load_norm(config: NormConfig, device: torch.device) -> NormLayer:
    shape = (config.in_features,)
    weights = _read(config.folder, {"norm.weight": shape, "norm.bias": shape}, device, is_among_others=False)
    return NormLayer(weights["norm.weight"], weights["norm.bias"])


def _read(
    folder: Path, expected: Mapping[str, tuple[int, ...]], device: torch.device, *, is_among_others: bool
) -> dict[str, torch.Tensor]:
    path = folder / "model.safetensors"
    if not path.is_file():
        raise ModelError("internal_error", f"{folder.name} has no model.safetensors; no other format is loaded")
    with safe_open(path, "pt") as file:
        names = [name for name in file.keys() if name in expected or not is_among_others]  # noqa: SIM118  # no mapping
        tensors = {name: file.get_tensor(name) for name in names}
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if shapes != expected:
        raise ModelError("internal_error", f"{folder.name} has tensors {shapes}, expected {expected}")
    return {name: tensor.to(device, torch.float32) for name, tensor in tensors.items()}
