"""Image features into the packed batch: over the placeholders' embeddings, or on top of the residual stream."""

import ctypes
from typing import Any

import torch

from cenote_kernels.availability import kernels_run_on
from cenote_kernels.launch import Call, Launch, on_device
from cenote_kernels.ops import Axis, OpSpec, TensorSpec
from cenote_kernels.patchify import NAMES


def scatter_reference(
    target: torch.Tensor, index: torch.Tensor, features: torch.Tensor, add: bool = False
) -> torch.Tensor:
    """``target[index] = features``, or ``target[index] += features``; see `scatter`."""
    features = features.to(target.dtype)
    return target.index_add_(0, index, features) if add else target.index_copy_(0, index, features)


def scatter_kernel(
    target: torch.Tensor, index: torch.Tensor, features: torch.Tensor, add: bool = False, *, launch: Launch = on_device
) -> torch.Tensor:
    """`scatter` by cuda/scatter.cu, the same bits: halves are added in float32 and rounded once, as torch does.

    What vectors of 16 bytes cannot reach (odd widths) is left to the reference.
    """
    features = features.to(target.dtype)
    if features.stride(1) != 1 or not _is_vectorized(features):
        features = features.contiguous()
    if not target.is_contiguous() or not _is_vectorized(target) or not _is_vectorized(features):
        return scatter_reference(target, index, features, add)
    if len(index):
        entry = f"scatter_{'add' if add else 'copy'}_{NAMES[target.dtype]}"
        sizes = ctypes.c_int64(features.stride(0)), ctypes.c_int32(target.shape[1]), ctypes.c_int64(target.shape[0])
        launch(Call("scatter", entry, (len(index), 1), 128, (target, index.contiguous(), features, *sizes)))
    return target


def scatter(target: torch.Tensor, index: torch.Tensor, features: torch.Tensor, add: bool = False) -> torch.Tensor:
    """``target[index[i]] = features[i]``, or ``+=`` with `add`; in place.

    Args:
        target: `[total_tokens, hidden]`, any float dtype: embeddings, or the residual stream.
        index: `[visual_tokens]`, int64, no number twice.
        features: `[visual_tokens, hidden]`, cast to the target's dtype; may be a column range of a wider tensor.
        add: add instead of replace: one deepstack level.

    Returns:
        The target.

    Source: transformers `Qwen3VLModel.forward` and `_deepstack_process`; DeepStack, Meng et al. 2024
        (arXiv 2406.04334).
    """
    SCATTER.check_axes(target=target, index=index, features=features)
    return (scatter_kernel if kernels_run_on(target.device) else scatter_reference)(target, index, features, add)


def _is_vectorized(tensor: torch.Tensor) -> bool:
    """True if every row begins at a multiple of 16 bytes and is a multiple of 16 bytes long."""
    lengths = (tensor.data_ptr(), tensor.shape[1] * tensor.itemsize, tensor.stride(0) * tensor.itemsize)
    return all(length % 16 == 0 for length in lengths)


def _rows(seed: int, tokens: int, visual: int, hidden: int, dtype: torch.dtype) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    wide = torch.randn(visual, hidden * 2, generator=generator).to(dtype)
    return {
        "target": torch.randn(tokens, hidden, generator=generator).to(dtype),
        "index": torch.randperm(tokens, generator=generator)[:visual].sort().values,
        "features": wide[:, hidden * (seed % 2) :][:, :hidden],
        "add": seed % 2 == 1,
    }


def _sample(seed: int) -> dict[str, Any]:
    """Replace and add, in every dtype, from the first and from a later column of wider features."""
    return _rows(seed, 40, 17, 2056 if seed % 4 < 2 else 64, tuple(NAMES)[seed // 2 % len(NAMES)])


def _bytes_moved(target: torch.Tensor, index: torch.Tensor, features: torch.Tensor, add: bool = False) -> int:
    return features.numel() * target.itemsize * (3 if add else 2) + index.numel() * index.itemsize


SCATTER = OpSpec(
    name="scatter",
    formula="target[index[i]] = features[i], or += with add",
    axes=(
        Axis("total_tokens", "tokens of all requests, packed without padding"),
        Axis("visual_tokens", "tokens that stand for images"),
        Axis("hidden", "width of the model"),
    ),
    inputs=(
        TensorSpec("target", ("total_tokens", "hidden"), tuple(NAMES), "embeddings or residual stream"),
        TensorSpec("index", ("visual_tokens",), (torch.int64,), "where each feature goes"),
        TensorSpec("features", ("visual_tokens", "hidden"), tuple(NAMES), "one level of image features"),
    ),
    outputs=(TensorSpec("out", ("total_tokens", "hidden"), tuple(NAMES), "the target"),),
    reference=scatter_reference,
    tolerance=dict.fromkeys(NAMES, 0.0),
    sample=_sample,
    kernel=scatter_kernel,
    bytes_moved=_bytes_moved,
    large=lambda seed: _rows(seed, 65536, 49152, 2048, torch.bfloat16),
)
