"""What a decoder does to rows between its products, in one pass each: norms, turned heads, gates.

On a processor `cpu/rows.py` has norms and turned heads, on a CUDA device `cuda/decoder_rows.cu` all three. Both compute
in float32 and round once; where neither runs, the references do.
"""

import ctypes
from typing import Any

import torch
from torch.nn.functional import silu

from cenote_kernels.availability import kernels_run_on
from cenote_kernels.cpu import rows
from cenote_kernels.cpu.library import runs_on
from cenote_kernels.launch import Argument, Call, Launch, on_device
from cenote_kernels.ops import Axis, OpSpec, TensorSpec
from cenote_kernels.patchify import NAMES

SOURCE = "decoder_rows"
NORM_WARPS, WARP_BYTES = 8, 8 * 32 * 16
"""Warps of a norm's block, and what the threads of one keep of a row; as in decoder_rows.cu."""
MANY_ROWS = 4096
"""From so many on they fill a card with as few warps each as hold one; below, all of a block take one together."""
TURN_HEADS, MAX_TURN_WARPS, MAX_HEAD_DIM = 4, 4, 256
"""Heads of a thread at a time, warps of a block, and numbers that the threads of a warp hold of one head."""
GATE_THREADS, GATE_VECTORS = 256, 4

Norm = tuple[torch.Tensor, float]
"""Weights and epsilon."""


def rms_norm_reference(x: torch.Tensor, weight: torch.Tensor, epsilon: float, out: torch.Tensor) -> torch.Tensor:
    """`rms_norm` in torch, for any shape that `weight` broadcasts against."""
    exact = x.float()
    factor = torch.linalg.vector_norm(exact, dim=-1, keepdim=True)
    factor.square_().div_(x.shape[-1]).add_(epsilon).rsqrt_()
    if x.dtype == torch.float32:
        return torch.mul(x, factor, out=out).mul_(weight)
    return out.copy_(exact.mul_(factor).mul_(weight))


def rms_norm_kernel(
    x: torch.Tensor, weight: torch.Tensor, epsilon: float, out: torch.Tensor, *, launch: Launch = on_device
) -> torch.Tensor:
    """`rms_norm` by cuda/decoder_rows.cu; rows that vectors of 16 bytes do not fill are left to the reference."""
    if not _norm_fits(x, weight, out):
        return rms_norm_reference(x, weight, epsilon, out)
    (num_rows, width), num_bytes = x.shape, x.shape[1] * x.itemsize
    held = WARP_BYTES if num_rows >= MANY_ROWS else 512  # one vector a thread
    warps = min(NORM_WARPS, 1 << (-(-num_bytes // held) - 1).bit_length())
    sizes = ctypes.c_int64(num_rows), ctypes.c_int32(width), ctypes.c_int32(warps), ctypes.c_float(epsilon)
    arguments = x, out, weight, ctypes.c_int64(x.stride(0)), ctypes.c_int64(out.stride(0)), *sizes
    if num_rows:
        grid = (-(-num_rows * warps // NORM_WARPS), 1)
        launch(Call(SOURCE, f"rms_norm_{NAMES[x.dtype]}", grid, 32 * NORM_WARPS, arguments))
    return out


def rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float, out: torch.Tensor) -> torch.Tensor:
    """``out = weight · x / sqrt(mean(x²) + epsilon)`` over the last axis.

    Args:
        x: `[rows, width]`, any float dtype.
        weight: `[width]`, float32.
        out: as `x`, written; not the same memory.

    Source: transformers `Qwen3VLTextRMSNorm`; Zhang and Sennrich 2019 (arXiv 1910.07467).
    """
    if kernels_run_on(x.device):
        return rms_norm_kernel(x, weight, epsilon, out)
    return (rows.rms_norm if runs_on(x.dtype, x.device) else rms_norm_reference)(x, weight, epsilon, out)


def apply_rope_reference(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, out: torch.Tensor, norm: Norm | None
) -> torch.Tensor:
    """`apply_rope` in torch, in the dtype of the angles."""
    heads = x.to(cos.dtype, copy=norm is None)
    if norm is not None:
        heads = rms_norm_reference(heads, *norm, torch.empty_like(heads))
    turned = out if out.dtype == cos.dtype else torch.empty_like(heads)
    (first, second), (to_first, to_second) = heads.chunk(2, dim=-1), turned.chunk(2, dim=-1)
    torch.mul(first, cos, out=to_first).addcmul_(second, sin, value=-1)
    torch.mul(second, cos, out=to_second).addcmul_(first, sin)
    return turned if turned is out else out.copy_(turned)


def apply_rope_kernel(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    out: torch.Tensor,
    norm: Norm | None,
    *,
    launch: Launch = on_device,
) -> torch.Tensor:
    """`apply_rope` by cuda/decoder_rows.cu; what four numbers at a time cannot reach is left to the reference."""
    if not _turn_fits(x, cos, sin, out, norm):
        return apply_rope_reference(x, cos, sin, out, norm)
    num_rows, num_heads, head_dim = x.shape
    lanes = 1 << (head_dim // 8 - 1).bit_length()
    warps = min(MAX_TURN_WARPS, -(-num_heads * lanes // (32 * TURN_HEADS)))
    weight, epsilon = (ctypes.c_int64(0), 0.0) if norm is None else norm
    strides = [ctypes.c_int64(one) for one in (*x.stride()[:2], *out.stride()[:2], cos.stride(0))]
    sizes = [ctypes.c_int32(one) for one in (num_heads, head_dim, lanes)]
    arguments: tuple[Argument, ...] = x, out, weight, cos, sin, *strides, *sizes, ctypes.c_float(epsilon)
    if num_rows and num_heads:
        launch(Call(SOURCE, f"turn_heads_{NAMES[x.dtype]}", (num_rows, 1), 32 * warps, arguments))
    return out


def apply_rope(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, out: torch.Tensor, norm: Norm | None
) -> torch.Tensor:
    """Norm each head, where there is a norm, and turn each pair (x_i, x_{i + head_dim / 2}) by its angle.

    Args:
        x: `[rows, heads, head_dim]`; the last axis is contiguous.
        cos: `[rows, 1, head_dim / 2]`, float32 or the dtype of `x`; where kernels run float32.
        sin: likewise.
        out: as `x`, written; may be `x` itself.
        norm: weights, `[heads, head_dim]`, float32, and epsilon.

    Source: transformers `apply_rotary_pos_emb` and `apply_rotary_pos_emb_vision` of Qwen3-VL; Su et al. 2021
    (arXiv 2104.09864).
    """
    if kernels_run_on(x.device):
        return apply_rope_kernel(x, cos, sin, out, norm)
    is_ours = runs_on(x.dtype, x.device) and cos.dtype == sin.dtype == torch.float32
    return (rows.apply_rope if is_ours else apply_rope_reference)(x, cos, sin, out, norm)


def gate_reference(both: torch.Tensor) -> torch.Tensor:
    """`gate` in torch, over the first half; rounded before the product, too."""
    first, second = both.chunk(2, dim=-1)
    return silu(first, inplace=True).mul_(second)


def gate_kernel(both: torch.Tensor, *, launch: Launch = on_device) -> torch.Tensor:
    """`gate` by cuda/decoder_rows.cu, into new memory; odd widths are left to the reference."""
    num_rows, width = both.shape[0], both.shape[1] // 2
    bits = both.data_ptr() | both.stride(0) * both.itemsize | width * both.itemsize
    num_vectors = num_rows * width * both.itemsize // 16
    is_ours = both.dtype in NAMES and both.stride(1) == 1 and both.shape[1] == 2 * width
    if not (is_ours and bits % 16 == 0 and num_vectors < 1 << 31):
        return gate_reference(both)
    out = torch.empty(num_rows, width, dtype=both.dtype, device=both.device)
    if num_vectors:
        sizes = ctypes.c_int64(both.stride(0)), ctypes.c_int32(width), ctypes.c_int32(num_vectors)
        grid = (-(-num_vectors // (GATE_THREADS * GATE_VECTORS)), 1)
        launch(Call(SOURCE, f"gate_{NAMES[both.dtype]}", grid, GATE_THREADS, (both, out, *sizes)))
    return out


def gate(both: torch.Tensor) -> torch.Tensor:
    """``silu(g) · u`` with ``silu(g) = g / (1 + exp(-g))``.

    Args:
        both: `[rows, 2 · width]`, g and u side by side; may be written over.

    Returns:
        `[rows, width]`: new memory, or the first half of `both`.

    Source: transformers `Qwen3VLTextMLP.forward`; Shazeer 2020 (arXiv 2002.05202).
    """
    return (gate_kernel if kernels_run_on(both.device) else gate_reference)(both)


def _norm_fits(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> bool:
    """True if each row begins at a multiple of 16 bytes, is one long, and is no longer than what a block keeps."""
    dtype, shape, (row, step), (out_row, out_step) = x.dtype, x.shape, x.stride(), out.stride()
    num_bytes = shape[1] * dtype.itemsize
    bits = x.data_ptr() | out.data_ptr() | weight.data_ptr() | (row | out_row) * dtype.itemsize | num_bytes
    return (
        bits % 16 == 0
        and step == out_step == 1
        and 0 < num_bytes <= NORM_WARPS * WARP_BYTES
        and dtype == out.dtype in NAMES
        and shape == out.shape
        and shape[1:] == weight.shape
        and weight.dtype == torch.float32
        and weight.is_contiguous()
    )


def _turn_fits(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, out: torch.Tensor, norm: Norm | None) -> bool:
    """True if halves of heads begin at a multiple of four numbers, are one long, and a warp has threads for them."""
    dtype, shape, angles = x.dtype, x.shape, cos.stride()
    (row, head, step), (out_row, out_head, out_step) = x.stride(), out.stride()
    num_rows, _, head_dim = shape
    bits = x.data_ptr() | out.data_ptr() | (row | head | out_row | out_head) * dtype.itemsize
    angle_bits = cos.data_ptr() | sin.data_ptr() | angles[0] * 4
    if norm is not None:
        weight = norm[0]
        angle_bits |= weight.data_ptr()
        if weight.dtype != torch.float32 or weight.shape != shape[1:] or not weight.is_contiguous():
            return False
    return (
        bits % (4 * dtype.itemsize) == angle_bits % 16 == head_dim % 8 == 0
        and step == out_step == angles[2] == 1
        and 0 < head_dim <= MAX_HEAD_DIM
        and dtype == out.dtype in NAMES
        and shape == out.shape
        and cos.dtype == sin.dtype == torch.float32
        and cos.shape == sin.shape == (num_rows, 1, head_dim // 2)
        and angles == sin.stride()
    )


def _drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _norm_rows(seed: int, num_rows: int, width: int, dtype: torch.dtype) -> dict[str, Any]:
    """Rows in wider ones; results below 1, where what a format can hold differs little."""
    x, out = _drawn(seed, num_rows, width + 16).to(dtype), torch.full((num_rows, width + 8), 7.0, dtype=dtype)
    weight = 0.1 + 0.1 * _drawn(seed + 1, width).sigmoid()
    return {"x": x[:, 8 : width + 8], "weight": weight, "epsilon": 1e-6, "out": out[:, :width]}


def _norm_sample(seed: int) -> dict[str, Any]:
    width = (1024, 2048, 64, 3072, 200, 4096, 8192, 2560)[seed // 3 % 8]
    num_rows = MANY_ROWS + 3 if seed % 35 == 34 else 1 + seed % 3  # so many in `make check-gpu` alone
    return _norm_rows(seed, num_rows, width, tuple(NAMES)[seed % 3])


def _norm_bytes(x: torch.Tensor, weight: torch.Tensor, epsilon: float, out: torch.Tensor) -> int:
    return 2 * x.numel() * x.itemsize + weight.numel() * 4


def _heads(seed: int, shape: tuple[int, int, int], dtype: torch.dtype, normed: bool, in_place: bool) -> dict[str, Any]:
    """Heads between others."""
    (num_rows, num_heads, head_dim), angle = shape, _drawn(seed, shape[0], 1, shape[2] // 2)
    x = (_drawn(seed + 1, num_rows, num_heads + 8, head_dim) / 8).to(dtype)[:, 4 : num_heads + 4]
    out = x if in_place else torch.full((num_heads, num_rows, head_dim), 7.0, dtype=dtype).transpose(0, 1)
    norm = (0.1 + 0.1 * _drawn(seed + 2, num_heads, head_dim).sigmoid(), 1e-6) if normed else None
    return {"x": x, "cos": angle.cos(), "sin": angle.sin(), "out": out, "norm": norm}


def _heads_sample(seed: int) -> dict[str, Any]:
    num_heads, head_dim = ((24, 128), (3, 72), (16, 64), (5, 80), (8, 96), (2, 256), (1, 128), (17, 64))[seed // 3 % 8]
    shape = 1 + seed % 4, num_heads, head_dim
    return _heads(seed, shape, tuple(NAMES)[seed % 3], normed=seed % 2 == 0, in_place=seed % 4 < 2)


def _heads_bytes(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, out: torch.Tensor, norm: Norm | None) -> int:
    return 2 * x.numel() * x.itemsize + 2 * cos.numel() * cos.itemsize


def _gate_rows(seed: int, num_rows: int, width: int, dtype: torch.dtype) -> dict[str, Any]:
    both = _drawn(seed, num_rows, 2 * width + 8).to(dtype)[:, : 2 * width]
    both[:, width:] /= 16
    return {"both": both}


def _gate_sample(seed: int) -> dict[str, Any]:
    return _gate_rows(seed, 1 + seed % 5, (64, 2048, 200, 1536)[seed // 3 % 4], tuple(NAMES)[seed % 3])


ROWS = Axis("rows", "tokens or patches")
RMS_NORM = OpSpec(
    name="rms_norm",
    formula="out = weight · x / sqrt(mean(x²) + epsilon)",
    axes=(ROWS, Axis("width", "of the model")),
    inputs=(
        TensorSpec("x", ("rows", "width"), tuple(NAMES), "the residual stream"),
        TensorSpec("weight", ("width",), (torch.float32,), "of the norm"),
    ),
    outputs=(TensorSpec("out", ("rows", "width"), tuple(NAMES), "normed rows"),),
    reference=rms_norm_reference,
    tolerance={torch.float32: 1e-6, torch.float16: 2**-11, torch.bfloat16: 2**-8},  # a sum's order turns a rounding
    sample=_norm_sample,
    kernel=rms_norm_kernel,
    bytes_moved=_norm_bytes,
    large=lambda seed: _norm_rows(seed, 65536, 2048, torch.bfloat16),
)
APPLY_ROPE = OpSpec(
    name="apply_rope",
    formula="(x_i, x_{i + d/2}) of normed heads, turned by the angle of the row and i",
    axes=(
        ROWS,
        Axis("heads", "queries and keys"),
        Axis("head_dim", "d, numbers of a head"),
        Axis("one", "angles are the same for all heads"),
        Axis("pairs", "half of `head_dim`"),
    ),
    inputs=(
        TensorSpec("x", ("rows", "heads", "head_dim"), tuple(NAMES), "heads, perhaps between others"),
        TensorSpec("cos", ("rows", "one", "pairs"), tuple(NAMES), "of the angles"),
        TensorSpec("sin", ("rows", "one", "pairs"), tuple(NAMES), "of the angles"),
    ),
    outputs=(TensorSpec("out", ("rows", "heads", "head_dim"), tuple(NAMES), "turned heads, perhaps over `x`"),),
    reference=apply_rope_reference,
    tolerance={torch.float32: 1e-6, torch.float16: 2**-10, torch.bfloat16: 2**-7},
    sample=_heads_sample,
    kernel=apply_rope_kernel,
    bytes_moved=_heads_bytes,
    large=lambda seed: _heads(seed, (16384, 24, 128), torch.bfloat16, normed=True, in_place=True),
)
GATE = OpSpec(
    name="gate",
    formula="out = g / (1 + exp(-g)) · u",
    axes=(ROWS, Axis("two_widths", "g and u side by side"), Axis("width", "of the feed-forward")),
    inputs=(TensorSpec("both", ("rows", "two_widths"), tuple(NAMES), "g and u; may be written over"),),
    outputs=(TensorSpec("out", ("rows", "width"), tuple(NAMES), "in new memory, or over g"),),
    reference=gate_reference,
    tolerance={torch.float32: 1e-6, torch.float16: 2**-9, torch.bfloat16: 2**-6},  # of a reference that rounds twice
    sample=_gate_sample,
    kernel=gate_kernel,
    bytes_moved=lambda both: both.numel() * both.itemsize * 3 // 2,
    large=lambda seed: _gate_rows(seed, 16384, 6144, torch.bfloat16),
)
