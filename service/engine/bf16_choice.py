"""Whether a float32 model multiplies in parts of bfloat16: where the processor has tiles for it and nothing is lost."""

import logging

import torch

from service.model.bf16_gemm import find_gemm
from service.model.embedding_model import EmbeddingModel
from service.model.qwen3_vl import Qwen3VLEmbedding

logger = logging.getLogger("cenote.engine")


def use_bfloat16(model: EmbeddingModel, *, with_decoder: bool) -> None:
    """Put parts of bfloat16 in the place of float32 products, matrix by matrix, where the matrix is bfloat16's.

    Args:
        model: its stock forward is not needed any more.
        with_decoder: the decoder's matrices too; `--weights int8` has another way for them.
    """
    if not isinstance(model, Qwen3VLEmbedding) or model.device.type != "cpu" or model.dtype != torch.float32:
        return
    if (gemm := find_gemm()) is None:
        return
    share = model.multiply_in_bfloat16(gemm, with_decoder=with_decoder)
    logger.info("float32 by three products of bfloat16 (AMX): %.0f %% of the matrices' numbers", 100 * share)
