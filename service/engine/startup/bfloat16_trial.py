"""Measures at start if another `--dtype` would be faster, and how near its vectors are, for one line in the log.

A float32 decoder on a CPU whose processor multiplies bfloat16 runs known prompts in bfloat16 as well, one layer at a
time: a layer is rounded, packed, run and dropped, so that no second model is in memory. That is before the stock
matrices are given back; the time of a layer in float32 is taken after, as it will be served.

A model in bfloat16 or float16 on a processor that does not multiply it is warned of, by the time of one product.
"""

import copy
import logging
import timeit
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast, overload

import torch
from torch.nn.functional import cosine_similarity

from service.engine.startup.weight_formats import known_prompts
from service.model.linear.cpu_backend import bfloat16_instead
from service.model.linear.products import PackedProducts
from service.model.model import Model
from service.model.qwen3_vl.decoder_layer import DecoderLayer

logger = logging.getLogger("cenote.engine")

NUM_PROMPTS: Final = 4
NUM_ROWS: Final = 128
"""Rows that a layer is timed on: products are nearly as fast as with many."""
PRODUCT_WIDTH: Final = 1024
LEAST_GAIN: Final = 1.15
"""Where a layer or a product gains less, nothing is said."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of the trial of bfloat16.

    Attributes:
        vectors: `[NUM_PROMPTS, hidden]`, of the known prompts, float32.
        layer_s: of the products and norms of one layer for `NUM_ROWS` rows.
    """

    vectors: torch.Tensor
    layer_s: float


class RoundedLayers(Sequence[DecoderLayer]):
    """Stock layers in bfloat16, each made when it is asked for, of copies."""

    def __init__(self, layers: Sequence[torch.nn.Module], products: PackedProducts) -> None:
        self._layers = layers
        self._products = products

    def __len__(self) -> int:
        return len(self._layers)

    @overload
    def __getitem__(self, index: int) -> DecoderLayer: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DecoderLayer]: ...
    def __getitem__(self, index: int | slice) -> DecoderLayer | Sequence[DecoderLayer]:
        """The layer; past the last one IndexError, which ends an iteration."""
        if isinstance(index, slice):
            return RoundedLayers(self._layers[index], self._products)
        stock = self._layers[index]
        rounded = {id(one): torch.nn.Parameter(one.bfloat16(), requires_grad=False) for one in stock.parameters()}
        layer = cast(Any, copy.deepcopy(stock, cast(dict[int, Any], rounded)))
        return DecoderLayer(layer, self._products, index == len(self) - 1)


def try_bfloat16(model: Model) -> Trial | None:
    """Run known prompts in bfloat16 while the stock matrices are there; None where it would not be faster."""
    products = bfloat16_instead(model.backbone.device, model.backbone.dtype)
    if products is None or (backbone := model.own_decoder) is None:
        return None
    layers, language = RoundedLayers(list(backbone.stock.language_model.layers), products), backbone.language
    batch = known_prompts(language.embed_tokens.num_embeddings, NUM_PROMPTS)
    vectors = language.in_bfloat16(layers, products).forward(batch, last_only=True)
    return Trial(vectors.float(), _layer_s(layers[0], torch.bfloat16, language.hidden_size))


def say_if_faster(model: Model, trial: Trial | None) -> None:
    """Log how much faster bfloat16 is than the decoder as it is served, and the least cosine of its vectors."""
    if trial is None or (backbone := model.own_decoder) is None:
        return
    language = backbone.language
    batch = known_prompts(language.embed_tokens.num_embeddings, NUM_PROMPTS)
    vectors = language.forward(batch, last_only=True)
    gain = _layer_s(language.layers[0], torch.float32, language.hidden_size) / trial.layer_s
    cosine = float(cosine_similarity(trial.vectors, vectors, dim=-1).min())
    if gain >= LEAST_GAIN:
        logger.info(
            "--dtype bfloat16 would be faster: a layer's matrix products %.1f times as fast; cosine of the vectors to "
            "those in float32 at least %.5f (%d prompts of random tokens)",
            gain,
            cosine,
            NUM_PROMPTS,
        )


def warn_if_slower(model: Model) -> str:
    """Warn of a number format in which a product takes longer than in float32: torch then converts each number.

    Returns:
        the same for the model's card, or nothing.
    """
    dtype = model.backbone.dtype
    if model.backbone.device.type != "cpu" or dtype == torch.float32:
        return ""
    loss = _product_s(dtype) / _product_s(torch.float32)
    if loss < LEAST_GAIN:
        return ""
    name, slow = str(dtype).removeprefix("torch."), f"a product takes {loss:.1f} times as long as in float32"
    logger.warning(
        "--dtype %s is slow on this processor, which does not multiply it: %s, which --dtype auto takes", name, slow
    )
    return f"; {name}: {slow}"


def _product_s(dtype: torch.dtype) -> float:
    """Seconds of a product as torch does it, the least of three."""
    rows, weight = (torch.ones(num, PRODUCT_WIDTH, dtype=dtype) for num in (NUM_ROWS, PRODUCT_WIDTH))
    return min(timeit.repeat(lambda: torch.nn.functional.linear(rows, weight), number=1, repeat=3))


@torch.inference_mode()
def _layer_s(layer: DecoderLayer, dtype: torch.dtype, width: int) -> float:
    """Seconds of all of a layer but attention, the least of five."""
    states = torch.ones(NUM_ROWS, width, dtype=dtype)
    mixed = states.new_ones(NUM_ROWS, layer.num_heads, layer.head_dim)
    angle = torch.ones(NUM_ROWS, 1, layer.head_dim // 2, dtype=torch.float32)

    def run() -> None:
        layer.project(layer.all_heads, states, (angle, angle))
        layer.finish(states, mixed)

    return min(timeit.repeat(run, number=1, repeat=5))
