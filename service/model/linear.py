"""The matrix product as torch has it, over a weight that stays the checkpoint's."""

from collections.abc import Sequence

import torch


class Linear:
    """``x Wᵀ + b`` into memory that is there already.

    Attributes:
        weight: `[outputs, inputs]`.
        bias: `[outputs]`, or None.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None = None) -> None:
        self.weight = weight
        self.bias = bias
        self._transposed = weight.t()

    @property
    def num_outputs(self) -> int:
        """Width of what comes out."""
        return self.weight.shape[0]

    def write(self, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """``out = x Wᵀ + b``; `x` is `[rows, inputs]`, `out` `[rows, outputs]`."""
        if self.bias is None:
            return torch.mm(x, self._transposed, out=out)
        return torch.addmm(self.bias, x, self._transposed, out=out)

    def add(self, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """``out += x Wᵀ + b``: a projection and its residual in one pass over `out`."""
        out.addmm_(x, self._transposed)
        return out if self.bias is None else out.add_(self.bias)

    def part(self, start: int, stop: int) -> "Linear":
        """The outputs `start` to `stop` as a product of their own; shares the weight's memory."""
        return Linear(self.weight[start:stop], None if self.bias is None else self.bias[start:stop])


def fuse(modules: Sequence[torch.nn.Linear]) -> Linear:
    """Products of the same rows as one: their outputs stand side by side.

    The modules keep working: their parameters become views of the fused matrix, so that memory holds each weight once.
    Fusing what is fused already changes nothing.
    """
    with torch.no_grad():
        weight = _side_by_side(modules, "weight")
        bias = _side_by_side(modules, "bias") if modules[0].bias is not None else None
    return Linear(weight, bias)


def _side_by_side(modules: Sequence[torch.nn.Linear], name: str) -> torch.Tensor:
    parts: list[torch.Tensor] = [getattr(module, name).detach() for module in modules]
    num_rows = sum(len(part) for part in parts)
    first, end = parts[0], 0
    if all(
        _follows(first, part, end := end + before) for part, before in zip(parts, _sizes_before(parts), strict=True)
    ):
        return torch.as_strided(first, (num_rows, *first.shape[1:]), first.stride())
    fused = torch.cat(parts)
    for module, view in zip(modules, torch.split(fused, [len(part) for part in parts]), strict=True):
        setattr(module, name, torch.nn.Parameter(view, requires_grad=False))
    return fused


def _sizes_before(parts: Sequence[torch.Tensor]) -> list[int]:
    return [0, *(part.numel() for part in parts[:-1])]


def _follows(first: torch.Tensor, part: torch.Tensor, offset: int) -> bool:
    """Whether `part` lies `offset` numbers behind the start of `first`, in the same memory."""
    same = part.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
    return same and part.is_contiguous() and part.storage_offset() == first.storage_offset() + offset
