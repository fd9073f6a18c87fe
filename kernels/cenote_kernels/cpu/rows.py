"""Operations on rows in one pass: norms and rotary embeddings between a decoder's products, and unit vectors.

On a processor with kernels it is `rows.c`, which computes in float32 and rounds once; elsewhere the references run.
"""

import ctypes

import torch

from cenote_kernels.cpu.library import kernel, num_threads, parallel_region, runs_on


class _Norm(ctypes.Structure):
    """A mirror of `Norm` in rows.c."""

    _fields_ = (
        ("x", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("weight", ctypes.c_void_p),
        ("num_rows", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("x_stride", ctypes.c_int64),
        ("out_stride", ctypes.c_int64),
        ("num_threads", ctypes.c_int64),
        ("parallel", ctypes.c_void_p),
        ("epsilon", ctypes.c_float),
    )


class _Turn(ctypes.Structure):
    """A mirror of `Turn` in rows.c."""

    _fields_ = (
        ("x", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("weight", ctypes.c_void_p),
        ("cos", ctypes.c_void_p),
        ("sin", ctypes.c_void_p),
        ("num_rows", ctypes.c_int64),
        ("num_heads", ctypes.c_int64),
        ("head_dim", ctypes.c_int64),
        ("x_strides", ctypes.c_int64 * 2),
        ("out_strides", ctypes.c_int64 * 2),
        ("num_threads", ctypes.c_int64),
        ("parallel", ctypes.c_void_p),
        ("epsilon", ctypes.c_float),
    )


class _Unit(ctypes.Structure):
    """A mirror of `Unit` in rows.c."""

    _fields_ = (
        ("x", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("is_valid", ctypes.c_void_p),
        ("num_rows", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("x_stride", ctypes.c_int64),
        ("normalizes", ctypes.c_int32),
        ("may_be_zero", ctypes.c_int32),
        ("tolerance", ctypes.c_float),
    )


def rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float, out: torch.Tensor) -> torch.Tensor:
    """``out = weight · x / sqrt(mean(x²) + epsilon)`` over the last axis.

    Args:
        x: `[rows, width]`, any float dtype.
        weight: `[width]`, float32.
        out: as `x`, written; not the same memory.

    Source: transformers `Qwen3VLTextRMSNorm`; Zhang and Sennrich 2019 (arXiv 1910.07467).
    """
    if not runs_on(x.dtype, x.device):
        return rms_norm_reference(x, weight, epsilon, out)
    num_rows, width = x.shape
    arguments = _Norm(
        x.data_ptr(),
        out.data_ptr(),
        weight.data_ptr(),
        num_rows,
        width,
        x.stride(0),
        out.stride(0),
        num_threads(8 * num_rows * width),
        parallel_region(),
        epsilon,
    )
    kernel("rms_norm", x.dtype)(ctypes.byref(arguments))
    return out


def apply_rope(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, out: torch.Tensor, norm: tuple[torch.Tensor, float] | None
) -> torch.Tensor:
    """Norm each head, where there is a norm, and turn each pair (x_i, x_{i + head_dim / 2}) by its angle.

    Args:
        x: `[rows, heads, head_dim]`; the last axis is contiguous.
        cos: `[rows, 1, head_dim / 2]`, float32 or the dtype of `x`; on a processor float32.
        sin: likewise.
        out: as `x`, written; may be `x` itself.
        norm: weights, `[heads, head_dim]`, float32, and epsilon.

    Source: transformers `apply_rotary_pos_emb` and `apply_rotary_pos_emb_vision` of Qwen3-VL; Su et al. 2021
    (arXiv 2104.09864).
    """
    if not (runs_on(x.dtype, x.device) and cos.dtype == sin.dtype == torch.float32):
        return apply_rope_reference(x, cos, sin, out, norm)
    num_rows, num_heads, head_dim = x.shape
    arguments = _Turn(
        x.data_ptr(),
        out.data_ptr(),
        None if norm is None else norm[0].data_ptr(),
        cos.data_ptr(),
        sin.data_ptr(),
        num_rows,
        num_heads,
        head_dim,
        x.stride()[:2],
        out.stride()[:2],
        num_threads(8 * num_rows * num_heads * head_dim),
        parallel_region(),
        0.0 if norm is None else norm[1],
    )
    kernel("turn_heads", x.dtype)(ctypes.byref(arguments))
    return out


def unit_rows(
    rows: torch.Tensor, dimensions: int, normalize: bool, tolerance: float
) -> tuple[torch.Tensor, list[bool]]:
    """``rows[:, :dimensions]``, each row divided by its length where `normalize` says so, and whether each is valid.

    A row is valid that is finite, and whose length is 1 within `tolerance`, or without `normalize` not 0; one number
    is a score, which may be 0.

    Args:
        rows: `[num_rows, hidden]`, float32, where `runs_on` says yes.
        dimensions: how many leading numbers to keep.
        normalize: scale to unit length.
        tolerance: of the length.

    Raises:
        ValueError: the rows are not float32, or too narrow.
    """
    rows = rows.contiguous()
    if rows.dtype != torch.float32 or dimensions > rows.shape[1]:
        raise ValueError(f"{dimensions} numbers of rows {tuple(rows.shape)} of {rows.dtype}, expected float32")
    out = rows.new_empty(len(rows), dimensions)
    is_valid = ctypes.create_string_buffer(len(rows))
    arguments = _Unit(
        rows.data_ptr(),
        out.data_ptr(),
        ctypes.addressof(is_valid),
        len(rows),
        dimensions,
        rows.stride(0),
        normalize,
        rows.shape[1] == 1,
        tolerance,
    )
    kernel("unit_rows", torch.float32)(ctypes.byref(arguments))
    return out, [flag != 0 for flag in is_valid.raw]


def rms_norm_reference(x: torch.Tensor, weight: torch.Tensor, epsilon: float, out: torch.Tensor) -> torch.Tensor:
    """`rms_norm` in torch, for any shape that `weight` broadcasts against; rounded before the weight."""
    exact = x.float()
    factor = torch.linalg.vector_norm(exact, dim=-1, keepdim=True)
    factor.square_().div_(x.shape[-1]).add_(epsilon).rsqrt_()
    if x.dtype == torch.float32:
        torch.mul(x, factor, out=out)
    else:
        out.copy_(exact.mul_(factor))
    return out.mul_(weight)


def apply_rope_reference(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, out: torch.Tensor, norm: tuple[torch.Tensor, float] | None
) -> torch.Tensor:
    """`apply_rope` in torch, in the dtype of the angles."""
    heads = (x.clone() if norm is None else rms_norm_reference(x, *norm, torch.empty_like(x))).to(cos.dtype)
    turned = out if out.dtype == cos.dtype else torch.empty_like(heads)
    (first, second), (to_first, to_second) = heads.chunk(2, dim=-1), turned.chunk(2, dim=-1)
    torch.mul(first, cos, out=to_first).addcmul_(second, sin, value=-1)
    torch.mul(second, cos, out=to_second).addcmul_(first, sin)
    return turned if turned is out else out.copy_(turned)
