"""One description per op: its formula, axes, dtypes, reference and tolerances.

A kernel is written against its `OpSpec`, tested against `reference`, timed on `sample` inputs, and falls back to the
reference where there is no device. Nothing about an op is said twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Axis:
    """A named dimension. The same name means the same length in every tensor of an op."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One tensor of an op: its axes by name, and the dtypes it may have."""

    name: str
    axes: tuple[str, ...]
    dtypes: tuple[torch.dtype, ...]
    description: str


@dataclass(frozen=True, slots=True)
class OpSpec:
    """Everything there is to know about one op.

    Attributes:
        name: the public function's name.
        formula: what it computes, in one line.
        axes: every named dimension.
        inputs: tensors read.
        outputs: tensors written.
        reference: plain torch; the specification and the fallback.
        tolerance: greatest absolute difference from the reference, by output dtype.
        sample: realistic keyword arguments for the reference, from a seed.
        kernel: the same on the device, with the reference's arguments and `launch`; None where only the reference is.
        bytes_moved: fewest bytes that must pass through device memory, from the reference's arguments.
        large: like `sample`, of a size that fills a GPU, for timing.
    """

    name: str
    formula: str
    axes: tuple[Axis, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    reference: Callable[..., torch.Tensor]
    tolerance: Mapping[torch.dtype, float]
    sample: Callable[[int], dict[str, Any]]
    kernel: Callable[..., torch.Tensor] | None = None
    bytes_moved: Callable[..., int] | None = None
    large: Callable[[int], dict[str, Any]] | None = None

    def check_axes(self, **tensors: torch.Tensor) -> dict[str, int]:
        """Bind each axis name to its length.

        Returns:
            The length of every axis that the given tensors name.

        Raises:
            ValueError: a tensor has another rank or dtype, or one axis two lengths.
        """
        lengths: dict[str, int] = {}
        for spec in (*self.inputs, *self.outputs):
            tensor = tensors.get(spec.name)
            if tensor is None:
                continue
            if tensor.dim() != len(spec.axes):
                raise ValueError(f"{self.name}: {spec.name} has {tensor.dim()} axes, expected {spec.axes}")
            if tensor.dtype not in spec.dtypes:
                raise ValueError(f"{self.name}: {spec.name} is {tensor.dtype}, expected one of {spec.dtypes}")
            for axis, length in zip(spec.axes, tensor.shape, strict=True):
                if lengths.setdefault(axis, length) != length:
                    raise ValueError(f"{self.name}: axis {axis} is {lengths[axis]} and {length}")
        return lengths
