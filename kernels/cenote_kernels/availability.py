"""Finds out if kernels run on a CUDA device; where they do not, the torch references do, and the log says why, once."""

import logging
from functools import cache

import torch

from cenote_kernels import nvrtc
from cenote_kernels.launch import architecture

MIN_CAPABILITY = (7, 5)
"""The least that NVRTC 13 compiles for."""

logger = logging.getLogger("cenote.kernels")


@cache
def kernels_run_on(device: torch.device) -> bool:
    """True if the kernels run on a tensor's device. The first call for a CUDA device compiles all of them."""
    if device.type != "cuda":
        return False
    index = torch.cuda.current_device() if device.index is None else device.index
    if reason := _reason_against(index):
        logger.warning("kernels: the torch references run on cuda:%d, slower than need be: %s", index, reason)
        return False
    logger.info("kernels: compiled for %s, on cuda:%d", architecture(index), index)
    return True


def _reason_against(index: int) -> str | None:
    capability = torch.cuda.get_device_capability(index)
    if torch.version.hip or capability < MIN_CAPABILITY:
        return f"compute capability {capability[0]}.{capability[1]} is too old, or the card is not NVIDIA's"
    try:
        for name in nvrtc.SOURCES:
            nvrtc.cubin(name, architecture(index))
    except ImportError:
        return "cuda-python is not installed"
    except Exception as error:  # noqa: BLE001 - whatever a library of NVIDIA's raises, the references still run
        return f"NVRTC gave {type(error).__name__}"
    return None
