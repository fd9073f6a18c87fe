"""Products of rows with a fixed weight, ``post_op(x Wᵀ + b)``, on processors: `product.c`.

Weights are packed once. Any number of rows is as fast as the next, and what follows a product costs no pass of its own.
"""

import ctypes
from dataclasses import dataclass
from typing import Final, Literal

import torch

from cenote_kernels.cpu.library import columns, kernel, num_threads, parallel_region

PostOp = Literal["", "gelu_erf", "gelu_tanh", "add", "gate"]
"""The operation after ``y = x Wᵀ + b``: none, GELU by the error function or by tanh, `out` is added, or
``silu(gate) · up`` of a weight that is packed for it."""

_POST_OPS: Final[dict[PostOp, int]] = {"": 0, "gelu_erf": 1, "gelu_tanh": 2, "add": 3, "gate": 4}


class _Product(ctypes.Structure):
    """A mirror of `Product` in product.c."""

    _fields_ = (
        ("x", ctypes.c_void_p),
        ("weight", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("num_rows", ctypes.c_int64),
        ("num_words", ctypes.c_int64),
        ("num_outputs", ctypes.c_int64),
        ("x_stride", ctypes.c_int64),
        ("out_stride", ctypes.c_int64),
        ("post_op", ctypes.c_int64),
        ("num_threads", ctypes.c_int64),
        ("parallel", ctypes.c_void_p),
    )


@dataclass(frozen=True, slots=True)
class PackedWeight:
    """A weight as the kernel reads it.

    Attributes:
        panels: `[outputs / panel, words of inputs, panel]`, int32: words of one float32 or two bfloat16.
        bias: `[num_outputs]` in `dtype`, or None.
        dtype: of weight, rows and results.
        num_inputs: numbers of a row.
        num_outputs: numbers of a result's row; of a gated weight half of what was packed.
        is_gated: half of each panel is of the gate, half of what it multiplies.
    """

    panels: torch.Tensor
    bias: torch.Tensor | None
    dtype: torch.dtype
    num_inputs: int
    num_outputs: int
    is_gated: bool


def packs(weight: torch.Tensor) -> bool:
    """True if a weight has the form for it: rows of whole words. Ask `library.runs_on` too."""
    return weight.ndim == 2 and weight.shape[1] * weight.element_size() % 4 == 0 and weight.numel() > 0


def pack(weight: torch.Tensor, bias: torch.Tensor | None, *, is_gated: bool = False) -> PackedWeight:
    """Pack ``W``, `[outputs, inputs]`, and ``b``, `[outputs]`.

    Args:
        is_gated: the first half of the outputs is the gate, the other what it multiplies; without a bias.

    Raises:
        ValueError: rows are not of whole words, bias and weight are of different formats, or a gate has a bias or an
            odd number of outputs.
    """
    is_wrong_gate = is_gated and (bias is not None or len(weight) % 2 == 1)
    if not packs(weight) or is_wrong_gate or (bias is not None and bias.dtype != weight.dtype):
        raise ValueError(f"no weight for this product: {tuple(weight.shape)} of {weight.dtype}, gated: {is_gated}")
    num_outputs, num_inputs = weight.shape
    parts = [part.detach().contiguous().view(torch.int32) for part in weight.chunk(2 if is_gated else 1)]
    panel, num_words = columns("panel"), parts[0].shape[1]
    share = panel // len(parts)
    panels = torch.zeros(-(-len(parts[0]) // share), num_words, panel, dtype=torch.int32)
    for place, part in enumerate(parts):
        into, num_whole = panels[..., place * share :], len(part) // share
        into[:num_whole, :, :share] = part[: num_whole * share].view(num_whole, share, num_words).transpose(1, 2)
        if num_rest := len(part) % share:
            into[num_whole, :, :num_rest] = part[num_whole * share :].t()
    bias = None if bias is None else bias.detach().contiguous()
    return PackedWeight(panels, bias, weight.dtype, num_inputs, num_outputs // len(parts), is_gated)


def multiply(x: torch.Tensor, weight: PackedWeight, out: torch.Tensor, post_op: PostOp = "") -> torch.Tensor:
    """``out = post_op(x Wᵀ + b)``.

    Args:
        x: `[rows, num_inputs]`; rows may lie apart.
        out: `[rows, num_outputs]`, written; not the memory of `x`.

    Raises:
        ValueError: the tensors do not fit the weight.
    """
    wanted = ((len(x), weight.num_inputs), (len(x), weight.num_outputs))
    is_packed = x.stride(1) == out.stride(1) == 1 and x.stride(0) * x.element_size() % 4 == 0
    is_fit = (x.shape, out.shape) == wanted and x.dtype == out.dtype == weight.dtype and is_packed
    if not is_fit or weight.is_gated != (post_op == "gate"):
        shapes = f"{tuple(x.shape)} of {x.dtype} and {tuple(out.shape)} of {out.dtype}"
        raise ValueError(f"rows and results {shapes}, expected {wanted} of {weight.dtype}, post_op {post_op!r}")
    num_rows, num_inputs = x.shape
    arguments = _Product(
        x.data_ptr(),
        weight.panels.data_ptr(),
        None if weight.bias is None else weight.bias.data_ptr(),
        out.data_ptr(),
        num_rows,
        weight.panels.shape[1],
        weight.num_outputs,
        x.stride(0),
        out.stride(0),
        _POST_OPS[post_op],
        num_threads(num_rows * num_inputs * weight.num_outputs),
        parallel_region(),
    )
    if num_rows:
        kernel("multiply", x.dtype)(ctypes.byref(arguments))
    return out
