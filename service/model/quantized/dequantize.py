"""Some outputs of a quantized matrix as float32, by the formula of each format.

A product is made in the number format in which the scales are stored, as the format's own libraries make it, or, by
fine-grained float8 and NF4, in float32.

Source: transformers 5.24 `Fp8Dequantize`; compressed-tensors 0.20 `dequantize`; AutoAWQ 0.2.9 `dequantize_gemm`;
gptqmodel 7.7 `TorchLinear.dequantize_weight`; bitsandbytes 0.50 `dequantize_4bit`.
"""

from collections.abc import Callable, Mapping

import torch

from service.checkpoint.quantized.matrices import WORD_BITS, Matrix
from service.checkpoint.quantized.settings import Quantization

AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)
"""Where in a word AWQ puts eight neighbouring outputs."""

Parts = Mapping[str, torch.Tensor]
Formula = Callable[[Matrix, Parts, Quantization, slice], torch.Tensor]
"""From a matrix, its tensors, the settings and which outputs, to `[outputs, inputs]`."""


def _float8(matrix: Matrix, parts: Parts, how: Quantization, outputs: slice) -> torch.Tensor:
    """``codes · scale`` of the matrix, the output or the block."""
    codes, scales = parts["codes"][outputs], parts["scales"]
    scales = scales.reshape(len(scales) if scales.ndim else 1, -1)
    high, wide = (size or whole for size, whole in zip(matrix.block, matrix.shape, strict=True))
    scales = scales[torch.arange(outputs.start, outputs.stop) // high]
    scales = scales[:, torch.arange(matrix.shape[1]) // wide] if scales.shape[1] > 1 else scales
    dtype = torch.float32 if how.method == "fp8" else scales.dtype
    return (codes.to(dtype) * scales.to(dtype)).float()


def _unpack(words: torch.Tensor, bits: int, dim: int) -> torch.Tensor:
    """Codes of words, the lowest bits first, in the place of `dim`."""
    shifts = torch.arange(0, WORD_BITS, bits, dtype=torch.int32)
    shifts = shifts.view([-1 if axis == dim + 1 else 1 for axis in range(words.ndim + 1)])
    return (words.unsqueeze(dim + 1) >> shifts & (1 << bits) - 1).flatten(dim, dim + 1)


def _awq(matrix: Matrix, parts: Parts, how: Quantization, outputs: slice) -> torch.Tensor:
    """``(code - zero) · scale``; words are of eight outputs."""
    words = slice(outputs.start * how.bits // WORD_BITS, outputs.stop * how.bits // WORD_BITS)
    order = torch.arange(outputs.stop - outputs.start).view(-1, len(AWQ_ORDER))[:, list(AWQ_ORDER)].flatten()
    codes, zeros = (_unpack(parts[role][:, words], how.bits, 1)[:, order] for role in ("codes", "zeros"))
    groups = torch.arange(matrix.shape[1]) // matrix.block[1]
    scales = parts["scales"][:, outputs]
    return ((codes - zeros[groups]).to(scales.dtype) * scales[groups]).float().T


def _gptq(matrix: Matrix, parts: Parts, how: Quantization, outputs: slice) -> torch.Tensor:
    """``(code - zero) · scale`` of the group that an input belongs to; words are of inputs.

    Zeros of the first format are one less than they are meant to be, whole words at a time.
    """
    codes = _unpack(parts["codes"][:, outputs], how.bits, 0)
    ones = sum(how.zero_offset << shift for shift in range(0, WORD_BITS, how.bits))
    zeros = _unpack(parts["zeros"] + ones, how.bits, 1)[:, outputs]
    groups = parts["groups"].long() if "groups" in parts else torch.arange(matrix.shape[1]) // matrix.block[1]
    scales = parts["scales"][:, outputs]
    return ((codes - zeros[groups]).to(scales.dtype) * scales[groups]).float().T


def _nf4(matrix: Matrix, parts: Parts, how: Quantization, outputs: slice) -> torch.Tensor:
    """``value · maximum`` of the stretch, rounded to the number format that was quantized."""
    begin, end = (place * matrix.shape[1] for place in (outputs.start, outputs.stop))
    codes = parts["codes"].flatten().view(torch.uint8)[begin // 2 : -(-end // 2)].int()
    codes = torch.stack([codes >> 4, codes & 15], -1).flatten()[: end - begin]
    maxima, state = parts["maxima"], matrix.state
    if "maxima_maxima" in parts:
        stretches = torch.arange(len(maxima)) // state["nested_blocksize"]
        maxima = parts["maxima_values"][maxima.int()] * parts["maxima_maxima"][stretches] + state["nested_offset"]
    weights = parts["values"][codes] * maxima[torch.arange(begin, end) // matrix.block[0]]
    return weights.to(getattr(torch, state["dtype"])).float().view(-1, matrix.shape[1])


FORMULAS: Mapping[str, Formula] = {
    "fp8": _float8,
    "compressed-tensors": _float8,
    "awq": _awq,
    "gptq": _gptq,
    "bitsandbytes": _nf4,
}
"""By `quant_method`."""
