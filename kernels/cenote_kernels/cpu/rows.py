"""Operations on rows by `rows.c`, in one pass: norms and rotary embeddings of a decoder, and vectors of unit length."""

import ctypes

import torch

from cenote_kernels.cpu.library import kernel, num_threads, parallel_region


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
    """`decoder_rows.rms_norm` where `runs_on` says yes."""
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
    """`decoder_rows.apply_rope` where `runs_on` says yes; `cos` and `sin` are float32 and contiguous."""
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
