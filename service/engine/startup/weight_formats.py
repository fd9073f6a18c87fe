"""Other formats of a model's matrices on the CPU: packed, in parts of bfloat16, in int8 after a gate.

`--weights int8` ends the start where its vectors differ too much from float32.
"""

import logging
import random

import torch

from service.errors import ModelError
from service.model.linear.cpu_backend import gemm_of_parts, is_float32_on_cpu, say_kernels
from service.model.linear.int8_linear import Int8Linear
from service.model.linear.linear import give_back
from service.model.linear.products import torchs
from service.model.model import Model
from service.model.packed.packed_batch import PackedBatch
from service.model.qwen3_vl.language import LanguageModel

logger = logging.getLogger("cenote.engine")

LEAST_COSINE = 0.99
NUM_PROMPTS = 16
_SEED = 20261121
_FIRST_ID, _LAST_ID = 10, 4000


def use_bfloat16(model: Model, *, with_decoder: bool) -> None:
    """Compute float32 products in parts of bfloat16, for matrices that bfloat16 holds, where the processor has tiles.

    Args:
        model: its stock forward is not needed any more.
        with_decoder: the decoder's matrices too; `--weights int8` has another way for them.
    """
    gemm = gemm_of_parts(model.backbone.device, model.backbone.dtype)
    if gemm is None or (backbone := model.own_decoder) is None:
        return
    share = backbone.multiply_in_bfloat16(gemm, with_decoder=with_decoder)
    logger.info("float32 by three products of bfloat16 (AMX): %.0f %% of the matrices' numbers", 100 * share)


def prepack(model: Model, *, with_decoder: bool) -> str:
    """Bring the matrices of a text model or a decoder into another layout where that is faster.

    Args:
        model: its stock forward is not needed any more.
        with_decoder: Qwen3-VL's decoder too; `--weights int8` has another way for it.

    Returns:
        which kernels run, and why not others.
    """
    is_packed = (with_decoder or model.own_decoder is None) and model.prepack()
    return say_kernels(model.backbone.device, model.backbone.dtype, is_packed=is_packed)


def use_int8(model: Model) -> None:
    """Put a decoder in int8 in the place of the model's. The stock matrices are given back: they cannot be run again.

    Raises:
        ValueError: the model is of another family, or not in float32 on the CPU. Restarting would not change that.
        ModelError: the vectors differ by too much.
    """
    if (backbone := model.own_decoder) is None:
        raise ValueError("--weights int8 is for Qwen3-VL's decoder; this model has another")
    if not is_float32_on_cpu(backbone.device, backbone.dtype):
        raise ValueError(
            f"--weights int8 is for float32 on the CPU, not for {backbone.dtype} on {backbone.device.type}"
        )
    int8 = LanguageModel(backbone.stock, products=torchs(Int8Linear))
    logger.info("int8 weights: cosine of at least %.4f on known prompts", check_int8(backbone.language, int8))
    give_back(backbone.stock.language_model.layers)
    backbone.language = int8


def check_int8(language: LanguageModel, int8: LanguageModel) -> float:
    """The least cosine between float32 and int8 over known prompts. ModelError: it is under 0.99, or no number."""
    batch = known_prompts(language.embed_tokens.num_embeddings, NUM_PROMPTS)
    ours, want = (decoder.forward(batch, last_only=True) for decoder in (int8, language))
    least = float(torch.nn.functional.cosine_similarity(ours, want, dim=-1).min())
    if not least >= LEAST_COSINE:
        reason = f"--weights int8: cosine {least:.4f} against float32 on known prompts, at least {LEAST_COSINE} is due"
        raise ModelError("internal_error", reason)
    return least


def known_prompts(num_embeddings: int, num_prompts: int) -> PackedBatch:
    """Prompts of 8 to 63 random tokens from a vocabulary of so many, the same each time."""
    draw = random.Random(_SEED)  # noqa: S311  # the same prompts each time, no secret
    lengths = [draw.randrange(8, 64) for _ in range(num_prompts)]
    last_id = min(_LAST_ID, num_embeddings - 1)
    token_ids = [draw.randint(_FIRST_ID, last_id) for _ in range(sum(lengths))]
    positions = torch.cat([torch.arange(length) for length in lengths]).expand(4, -1)
    return PackedBatch(torch.tensor(token_ids), positions, lengths)
