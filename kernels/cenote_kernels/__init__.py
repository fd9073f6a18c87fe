"""Each op on the device has one `OpSpec`, and a torch reference that is the fallback; kernels for processors: `cpu`."""

from cenote_kernels.availability import kernels_run_on
from cenote_kernels.decoder_rows import APPLY_ROPE, GATE, RMS_NORM, apply_rope, gate, rms_norm
from cenote_kernels.epilogue import epilogue, finish
from cenote_kernels.fused_epilogue import EPILOGUE, OutputSpec, Row, as_tensor
from cenote_kernels.ops import Axis, OpSpec, TensorSpec
from cenote_kernels.patchify import PATCHIFY, patchify
from cenote_kernels.scatter import SCATTER, scatter
from cenote_kernels.vector_ops import (
    POOL,
    QUANTIZE,
    TRUNCATE_NORMALIZE,
    NumberFormat,
    PoolingMode,
    Ranges,
    pool,
    quantize,
    truncate_normalize,
)

OPS: tuple[OpSpec, ...] = (
    *(POOL, TRUNCATE_NORMALIZE, QUANTIZE, EPILOGUE, PATCHIFY, SCATTER),
    *(RMS_NORM, APPLY_ROPE, GATE),
)
"""Every op, for the tests and benchmarks that are generated from them."""

__all__ = [
    "APPLY_ROPE",
    "EPILOGUE",
    "GATE",
    "OPS",
    "PATCHIFY",
    "POOL",
    "QUANTIZE",
    "RMS_NORM",
    "SCATTER",
    "TRUNCATE_NORMALIZE",
    "Axis",
    "NumberFormat",
    "OpSpec",
    "OutputSpec",
    "PoolingMode",
    "Ranges",
    "Row",
    "TensorSpec",
    "apply_rope",
    "as_tensor",
    "epilogue",
    "finish",
    "gate",
    "kernels_run_on",
    "patchify",
    "pool",
    "quantize",
    "rms_norm",
    "scatter",
    "truncate_normalize",
]
