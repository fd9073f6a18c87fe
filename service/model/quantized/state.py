"""A quantized checkpoint as the state that `from_pretrained` loads, each weight dequantized when it is taken.

Packed tensors are mapped from their files; besides the model there are a few matrices in float32 at a time (one for
each of transformers' loading threads), and of a matrix's intermediate numbers those of `OUTPUTS` outputs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import safe_open
from transformers.configuration_utils import PretrainedConfig

from service.checkpoint.quantized.matrices import FLOATS, Matrix
from service.checkpoint.quantized.settings import KEY, Quantization
from service.checkpoint.weight_files import read_matrices
from service.errors import ModelError
from service.model.quantized.dequantize import FORMULAS

OUTPUTS = 256
"""Dequantized at once; a multiple of 32, which ends no word and no byte."""
DTYPES = {"F64": torch.float32, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


class Dequantized:
    """A weight, read when it is indexed, as transformers does with each tensor of a file."""

    def __init__(self, matrix: Matrix, how: Quantization, files: Mapping[Path, Any]) -> None:
        """With `files`, opened."""
        self._matrix, self._how, self._files = matrix, how, files

    def __getitem__(self, index: object) -> torch.Tensor:
        """All of it, `[outputs, inputs]`, float32, whatever the index."""
        matrix, formula = self._matrix, FORMULAS[self._how.method]
        parts = {role: self._files[one.path].get_tensor(one.name) for role, one in matrix.parts.items()}
        whole = torch.empty(matrix.shape)
        for start in range(0, len(whole), OUTPUTS):
            outputs = slice(start, min(start + OUTPUTS, len(whole)))
            whole[outputs] = formula(matrix, parts, self._how, outputs)
        return whole


class State(NamedTuple):
    """What is loaded.

    Attributes:
        tensors: by name; they are read when they are indexed.
        dtype: the model's own.
        zeros: names of biases that are nothing, which older packers of GPTQ gave layers that have none.
    """

    tensors: dict[str, Any]
    dtype: torch.dtype
    zeros: frozenset[str]


def dequantized(folder: Path, how: Quantization, config: PretrainedConfig) -> State:
    """The state of a quantized checkpoint; `config` loses its settings of a quantization.

    Raises:
        ModelError: a matrix has groups without scales.
    """
    vars(config).pop(KEY, None)
    matrices, others = read_matrices(folder, how)
    tensors = [part for matrix in matrices.values() for part in matrix.parts.values()]
    files: dict[Path, Any] = {
        path: safe_open(path, framework="pt") for path in {one.path for one in (*tensors, *others.values())}
    }
    for matrix in matrices.values():
        _check_groups(matrix, files)
    state: dict[str, Any] = {name: files[one.path].get_slice(one.name) for name, one in others.items()}
    state |= {name: Dequantized(matrix, how, files) for name, matrix in matrices.items()}
    stored = next((one.dtype for one in others.values() if one.dtype in FLOATS), "F32")
    said = config.dtype
    biases = [name for name in others if name.removesuffix("bias") + "weight" in matrices and name.endswith(".bias")]
    zeros = frozenset(name for name in biases if not state[name][...].any())
    return State(state, said if isinstance(said, torch.dtype) else DTYPES[stored], zeros)


def _check_groups(matrix: Matrix, files: Mapping[Path, Any]) -> None:
    if (place := matrix.parts.get("groups")) is None:
        return
    groups = files[place.path].get_tensor(place.name)
    if not 0 <= int(groups.min()) <= int(groups.max()) < matrix.parts["scales"].shape[0]:
        raise ModelError("internal_error", f"{place.path.name} has {place.name} of groups that have no scales")
