"""The part of Cenote that runs on the device: each op has one `OpSpec`, and a torch reference that is the fallback."""

from cenote_kernels.availability import kernels_run_on
from cenote_kernels.epilogue import Output, epilogue, finish, finish_each
from cenote_kernels.fused_epilogue import EPILOGUE
from cenote_kernels.matryoshka import TRUNCATE_NORMALIZE, truncate_normalize
from cenote_kernels.ops import Axis, OpSpec, TensorSpec
from cenote_kernels.patchify import PATCHIFY, patchify
from cenote_kernels.pooling import POOL, PoolingMode, pool
from cenote_kernels.quantize import QUANTIZE, NumberFormat, Ranges, quantize
from cenote_kernels.resize import RESIZE, resize
from cenote_kernels.scatter import SCATTER, scatter

OPS: tuple[OpSpec, ...] = (POOL, TRUNCATE_NORMALIZE, QUANTIZE, EPILOGUE, PATCHIFY, SCATTER, RESIZE)
"""Every op, for the tests and benchmarks that are generated from them."""

__all__ = [
    "EPILOGUE",
    "OPS",
    "PATCHIFY",
    "POOL",
    "QUANTIZE",
    "RESIZE",
    "SCATTER",
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
    "finish_each",
    "kernels_run_on",
    "patchify",
    "pool",
    "quantize",
    "resize",
    "scatter",
    "truncate_normalize",
]
