"""Which tensors of a checkpoint are one quantized matrix, found and measured by headers. Imports no torch.

Source: transformers 5.24 `serialized_names` of its quantizers; AutoAWQ 0.2.9 `WQLinear_GEMM`; gptqmodel 7.7
`TorchLinear`; bitsandbytes 0.50 `QuantState`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from service.checkpoint.json_files import CheckpointError
from service.checkpoint.quantized.settings import Quantization

WORD_BITS = 32
FLOATS = ("F64", "F32", "F16", "BF16")
BLOCK_SIZES = (32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Weights under one maximum, of bitsandbytes."""


class StoredTensor(NamedTuple):
    """Place of a tensor: its file, its name there and its header."""

    path: Path
    name: str
    header: Mapping[str, Any]

    @property
    def shape(self) -> list[int]:
        """Of the tensor."""
        return list(self.header["shape"])

    @property
    def dtype(self) -> str:
        """As safetensors calls it."""
        return str(self.header["dtype"])


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of weights.

    Attributes:
        shape: outputs and inputs, once it is dequantized.
        parts: its tensors by their role.
        block: outputs and inputs that share a scale, 0 for all; or, in one number, weights in a row.
        state: further facts of bitsandbytes.
    """

    shape: tuple[int, int]
    parts: Mapping[str, StoredTensor]
    block: tuple[int, ...]
    state: Mapping[str, Any]


ROLES: Mapping[str, Mapping[str, str]] = {
    "fp8": {"scales": ".weight_scale_inv", "codes": ".weight"},
    "compressed-tensors": {"scales": ".weight_scale", "codes": ".weight"},
    "awq": {"codes": ".qweight", "scales": ".scales", "zeros": ".qzeros"},
    "gptq": {"codes": ".qweight", "scales": ".scales", "zeros": ".qzeros", "groups": ".g_idx"},
    "bitsandbytes": {
        "maxima": ".weight.absmax",
        "codes": ".weight",
        "values": ".weight.quant_map",
        "state": ".weight.quant_state.bitsandbytes__nf4",
        "maxima_maxima": ".weight.nested_absmax",
        "maxima_values": ".weight.nested_quant_map",
    },
}
"""Ends of the names of a matrix's tensors; a module that has the first is quantized."""
OPTIONAL = ("groups", "maxima_maxima", "maxima_values")
ENDS = (*sorted({end for roles in ROLES.values() for end in roles.values()} - {".weight"}), ".weight_zero_point")
OF_ACTIVATIONS = (
    *(".input_scale", ".output_scale", ".activation_scale", ".input_zero_point", ".output_zero_point"),
    *(".q_scale", ".k_scale", ".v_scale", ".q_proj.output_scale", ".k_proj.output_scale", ".v_proj.output_scale"),
)
"""Ends of tensors by which a forward would quantize what is no weight."""


def find_matrices(
    tensors: Mapping[str, StoredTensor], how: Quantization
) -> tuple[dict[str, Matrix], dict[str, StoredTensor]]:
    """Quantized matrices by the name of their weight, and all other tensors of a checkpoint that a model may read.

    Refused is also one that is quantized though the settings say that it is not.
    """
    roles = ROLES[how.method]
    first = next(iter(roles.values()))
    found: dict[str, Matrix] = {}
    used: set[str] = set()
    for name in tensors:
        if not name.endswith(first):
            continue
        module = name.removesuffix(first)
        parts = {role: tensors[module + end] for role, end in roles.items() if module + end in tensors}
        if missing := [roles[role] for role in roles if role not in parts and role not in OPTIONAL]:
            raise CheckpointError(f"{tensors[name].path} has {name} and no {module}{missing[0]}")
        if how.skips(module):
            raise CheckpointError(f"{tensors[name].path} has {name}, which config.json says is not quantized")
        found[f"{module}.weight"] = MEASURES[how.method](module, parts, how)
        used.update(part.name for part in parts.values())
    rest = {name: one for name, one in tensors.items() if name not in used and not name.endswith(OF_ACTIVATIONS)}
    for name, one in rest.items():
        if name.endswith(".weight") and one.dtype not in FLOATS:
            raise CheckpointError(f"{one.path} has {name} as {one.dtype}, without what {how.method} stores beside it")
        if name.endswith(ENDS):
            raise CheckpointError(f"{one.path} has {name}, which is not part of a matrix quantized by {how.method}")
    return found, rest


def _need(module: str, part: StoredTensor, dtypes: tuple[str, ...], *shapes: list[int]) -> None:
    """Refuse a tensor of another shape or dtype."""
    if part.shape not in shapes or part.dtype not in dtypes:
        wanted = " or ".join(str(tuple(shape)) for shape in shapes)
        raise CheckpointError(
            f"{part.path} has {part.name} of shape {tuple(part.shape)} and {part.dtype}; {wanted} of "
            f"{' or '.join(dtypes)} is needed with the other tensors of {module}"
        )


def _float8(module: str, parts: Mapping[str, StoredTensor], how: Quantization) -> Matrix:
    """One float8 number for each weight; scales of the matrix, of outputs, or of blocks."""
    codes, scales = parts["codes"], parts["scales"]
    shape = _two(codes)
    _need(module, codes, ("F8_E4M3",), codes.shape)
    forms = {block: _scale_shapes(shape, block) for block in how.blocks}
    _need(module, scales, FLOATS, *(one for shapes in forms.values() for one in shapes))
    block = next(block for block, shapes in forms.items() if scales.shape in shapes)
    return Matrix(shape, parts, block or (0, 0), {})


def _scale_shapes(shape: tuple[int, int], block: tuple[int, ...]) -> list[list[int]]:
    if not block:
        return [[], [1], [1, 1]]
    counts = [-(-size // one) if one else 1 for size, one in zip(shape, block, strict=True)]
    return [counts, counts[:1]] if counts[1] == 1 and not block[1] else [counts]


def _two(part: StoredTensor) -> tuple[int, int]:
    if len(part.shape) != 2:
        raise CheckpointError(f"{part.path} has {part.name} of shape {part.shape}; a matrix is needed")
    return part.shape[0], part.shape[1]


def _packed(module: str, parts: Mapping[str, StoredTensor], how: Quantization) -> Matrix:
    """Several weights in a word: of neighbouring outputs (AWQ) or inputs (GPTQ)."""
    codes, zeros, scales = parts["codes"], parts["zeros"], parts["scales"]
    in_word = WORD_BITS // how.bits
    rows, columns = _two(codes)
    inputs, outputs = (rows, columns * in_word) if how.method == "awq" else (rows * in_word, columns)
    size = how.group_size or inputs
    num_groups = -(-inputs // size)
    _need(module, codes, ("I32",), codes.shape)
    _need(module, scales, FLOATS, [num_groups, outputs])
    _need(module, zeros, ("I32",), [num_groups, -(-outputs // in_word)])
    if "groups" in parts:
        _need(module, parts["groups"], ("I32", "I64"), [inputs])
    elif how.needs_groups:
        raise CheckpointError(f"{codes.path} has {module} without g_idx, and config.json has desc_act true")
    return Matrix((outputs, inputs), parts, (1, size), {})


def _nf4(module: str, parts: Mapping[str, StoredTensor], how: Quantization) -> Matrix:
    """Two of sixteen values in a byte, in the order of the flat matrix; maxima of stretches of it."""
    codes, maxima, state = parts["codes"], parts["maxima"], _read_state(parts["state"])
    shape = (state["shape"][0], state["shape"][1])
    num = shape[0] * shape[1]
    begin, end = codes.header["data_offsets"]
    if end - begin != -(-num // 2):
        raise CheckpointError(f"{codes.path} has {codes.name} in {end - begin} bytes; {shape} needs {-(-num // 2)}")
    _need(module, parts["values"], ("F32",), [16])
    num_maxima = -(-num // state["blocksize"])
    if "maxima_maxima" not in parts and "maxima_values" not in parts:
        _need(module, maxima, ("F32",), [num_maxima])
    elif "maxima_maxima" in parts and "maxima_values" in parts and isinstance(state.get("nested_offset"), float):
        _need(module, maxima, ("U8",), [num_maxima])
        _need(module, parts["maxima_values"], ("F32",), [256])
        nested = -(-num_maxima // state["nested_blocksize"])
        _need(module, parts["maxima_maxima"], ("F32",), [nested])
    else:
        raise CheckpointError(f"{codes.path} has {module} with a part of what a double quantization stores")
    return Matrix(shape, parts, (state["blocksize"],), state)


def _read_state(part: StoredTensor) -> dict[str, Any]:
    """The JSON of a matrix's quantization, as bytes in a tensor."""
    begin, end = part.header["data_offsets"]
    with part.path.open("rb") as file:
        file.seek(8 + int.from_bytes(file.read(8), "little") + begin)
        content = file.read(end - begin)
    try:
        state = json.loads(content)
        sizes = [state["blocksize"], state.get("nested_blocksize", BLOCK_SIZES[0])]
        is_known = state["quant_type"] == "nf4" and state["dtype"] in ("float32", "float16", "bfloat16")
        is_known = is_known and len(state["shape"]) == 2 and all(size in BLOCK_SIZES for size in sizes)
        is_known = is_known and state.get("nested_dtype", "float32") == "float32"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{part.path} has {part.name}, which is no state of bitsandbytes: {error!r}") from error
    if not is_known:
        raise CheckpointError(f"{part.path} has {part.name} of {state}; supported: nf4 of a matrix in a float dtype")
    return dict(state)


MEASURES: Mapping[str, Callable[[str, Mapping[str, StoredTensor], Quantization], Matrix]] = {
    **dict.fromkeys(("fp8", "compressed-tensors"), _float8),
    **dict.fromkeys(("awq", "gptq"), _packed),
    "bitsandbytes": _nf4,
}
