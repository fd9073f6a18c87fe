"""The projection that gives each token a vector, as colpali-engine and others save it beside the decoder's weights.

Reads headers alone: where the matrix is, and its shape. Imports no torch.

Source: colpali-engine 0.3.18 `ColQwen2_5` and `ColQwen3`, whose layer is `custom_text_proj`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from service.checkpoint.json_files import CheckpointError
from service.checkpoint.weight_files import list_weight_files, read_header

CUSTOM = "custom_text_proj"
"""colpali-engine's name of the layer."""


@dataclass(frozen=True, slots=True)
class TokenProjection:
    """A linear layer with a bias among a checkpoint's tensors.

    Attributes:
        name: of the layer.
        files: that hold `name.weight` and `name.bias`, in this order.
        dimensions: numbers of a token's vector: of the layer, or fewer, its first ones.
        width: of a hidden state.
    """

    name: str
    files: tuple[Path, Path]
    dimensions: int
    width: int

    @property
    def tensors(self) -> tuple[str, str]:
        """Names of its two tensors."""
        return f"{self.name}.weight", f"{self.name}.bias"


def find_projection(folder: Path, names: Sequence[str] = (CUSTOM,)) -> TokenProjection | None:
    """The layer that has one of these names; None where the checkpoint has none.

    Raises:
        CheckpointError: it has no bias, or its tensors are no linear layer's; or a file is damaged.
    """
    tensors = {key: (path, one) for path in list_weight_files(folder) for key, one in read_header(path).items()}
    name = next((name for name in names if f"{name}.weight" in tensors), None)
    if name is None:
        return None
    if f"{name}.bias" not in tensors:
        raise CheckpointError(f"{folder} has {name}.weight without {name}.bias; supported: a linear layer with both")
    (weight_file, weight), (bias_file, bias) = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
    shape = weight.get("shape")
    if not isinstance(shape, list) or len(shape) != 2 or bias.get("shape") != shape[:1]:
        raise CheckpointError(f"{folder} has {name} of the shapes {shape!r} and {bias.get('shape')!r}, no linear layer")
    return TokenProjection(name, (weight_file, bias_file), *map(int, shape))
