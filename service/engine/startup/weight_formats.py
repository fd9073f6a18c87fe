"""Other formats of a float32 model's matrices on the CPU: oneDNN's layout, parts of bfloat16, int8 behind a gate.

`--weights int8` ends the start where its vectors differ too much from float32.
"""

import logging

import torch

from service.engine.startup.known_prompts import known_prompts
from service.errors import ModelError
from service.model.embedding_model import EmbeddingModel
from service.model.linear.bf16_gemm import find_gemm
from service.model.linear.int8_linear import Int8Linear
from service.model.linear.linear import give_back
from service.model.linear.products import torchs
from service.model.qwen3_vl.language import LanguageModel
from service.model.qwen3_vl.qwen3_vl import Qwen3VLEmbedding
from service.model.stock.text_encoder import TextEncoder

logger = logging.getLogger("cenote.engine")

LEAST_COSINE = 0.99
NUM_PROMPTS = 16


def use_bfloat16(model: EmbeddingModel, *, with_decoder: bool) -> None:
    """Compute float32 products in parts of bfloat16, for matrices that bfloat16 holds, where the processor has tiles.

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


def prepack(model: EmbeddingModel, *, with_decoder: bool) -> None:
    """Bring the matrices of a text model or a decoder into oneDNN's layout where that is faster.

    Args:
        model: its stock forward is not needed any more.
        with_decoder: Qwen3-VL's decoder too; `--weights int8` has another way for it.
    """
    has_prepacked = (
        model.prepack()
        if isinstance(model, TextEncoder) or (with_decoder and isinstance(model, Qwen3VLEmbedding))
        else False
    )
    if has_prepacked:
        logger.info("%s products by oneDNN, over weights in its layout", str(model.dtype).removeprefix("torch."))


def use_int8(model: EmbeddingModel) -> None:
    """Put a decoder in int8 in the place of the model's. The stock matrices are given back: they cannot be run again.

    Raises:
        ValueError: the model is of another family, or not in float32 on the CPU. Restarting would not change that.
        ModelError: the vectors differ by too much.
    """
    if not isinstance(model, Qwen3VLEmbedding):
        raise ValueError("--weights int8 is for Qwen3-VL's decoder; this model has another")
    if model.device.type != "cpu" or model.dtype != torch.float32:
        raise ValueError(f"--weights int8 is for float32 on the CPU, not for {model.dtype} on {model.device.type}")
    int8 = LanguageModel(model.stock, products=torchs(Int8Linear))
    logger.info("int8 weights: cosine of at least %.4f on known prompts", check_int8(model.language, int8))
    give_back(model.stock.language_model.layers)
    model.language = int8


def check_int8(language: LanguageModel, int8: LanguageModel) -> float:
    """The least cosine between float32 and int8 over known prompts.

    Raises:
        ModelError: it is under 0.99, or no number.
    """
    batch = known_prompts(language.embed_tokens.num_embeddings, NUM_PROMPTS)
    ours, want = (decoder.forward(batch, last_only=True) for decoder in (int8, language))
    least = float(torch.nn.functional.cosine_similarity(ours, want, dim=-1).min())
    if not least >= LEAST_COSINE:
        reason = f"--weights int8: cosine {least:.4f} against float32 on known prompts, at least {LEAST_COSINE} is due"
        raise ModelError("internal_error", reason)
    return least
