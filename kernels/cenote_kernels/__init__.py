"""The part of Cenote that runs on the device: each op has one `OpSpec`, and a torch reference that is the fallback."""

from cenote_kernels.epilogue import Output, epilogue, finish
from cenote_kernels.matryoshka import TRUNCATE_NORMALIZE, truncate_normalize
from cenote_kernels.ops import Axis, OpSpec, TensorSpec
from cenote_kernels.pooling import POOL, PoolingMode, pool
from cenote_kernels.quantize import QUANTIZE, NumberFormat, Ranges, quantize

OPS: tuple[OpSpec, ...] = (POOL, TRUNCATE_NORMALIZE, QUANTIZE)
"""Every op, for the tests and benchmarks that are generated from them."""

__all__ = [
    "OPS",
    "POOL",
    "QUANTIZE",
    "TRUNCATE_NORMALIZE",
    "Axis",
    "NumberFormat",
    "OpSpec",
    "Output",
    "PoolingMode",
    "Ranges",
    "TensorSpec",
    "epilogue",
    "finish",
    "pool",
    "quantize",
    "truncate_normalize",
]
