"""The model at the 2B shape: right in bfloat16, how near to the card's matrix rate, and what a cached image saves."""

import io
from collections.abc import Iterator

import numpy as np
import torch
from PIL import Image

from service.model.packed.packed_batch import PackedBatch
from tests.builders import image_bytes
from tests.gpu import shape_2b
from tests.gpu.row import Row
from tests.gpu.stage import Stage

WANTED_COSINE, WANTED_SHARE, WANTED_SAVING = 0.999, 0.6, 5.0
SIDE, NUM_INSTRUCTIONS, NUM_WORDS = 1024, 16, 32
COSINE = "bfloat16 vectors against the float32 oracle, least cosine (texts and an image)"
MIXED = "text batch of 16,384 tokens, mixed lengths 16 to 1024"
MIXED_8B = "8B shape: text batch of 16,384 tokens, mixed lengths 16 to 1024"
PAIRS = "64 documents of 128 tokens after one query of 64: a reranker's forward"
SHORT = "text batch of 64 queries, 24 tokens each"
LONG = "one text of 8,192 tokens in float32: memory beside the weights"
SAVED = f"one image of {SIDE}² × {NUM_INSTRUCTIONS} instructions: cached against uncached, decoding included"
NAMES = (MIXED, SHORT, PAIRS, SAVED, COSINE, LONG, MIXED_8B)


def measure(stage: Stage) -> Iterator[Row]:
    """All of it, on one set of weights."""
    model = shape_2b.make(stage)
    yield _rate(stage, model, MIXED, _mixed(stage), WANTED_SHARE)
    yield _rate(stage, model, SHORT, [24] * 64, None)
    yield _pairs(stage, model)
    yield _saving(stage, model)
    oracle = shape_2b.in_float32(model)
    yield _cosine(stage, model, oracle)
    yield _long_in_float32(stage, oracle)
    del oracle, model
    yield _rate(stage, shape_2b.make(stage, is_8b=True), MIXED_8B, _mixed(stage), WANTED_SHARE)


def _mixed(stage: Stage) -> list[int]:
    if stage.is_dry:
        return [5, 9, 2]
    lengths: list[int] = []
    rng = np.random.default_rng(1)
    while sum(lengths) < 16_384:
        lengths.append(min(int(rng.integers(16, 1025)), 16_384 - sum(lengths)))
    return lengths


def _vocabulary(model: shape_2b.Model2B) -> int:
    return int(model.stock.config.text_config.vocab_size)


def _rate(stage: Stage, model: shape_2b.Model2B, name: str, lengths: list[int], wanted: float | None) -> Row:
    batch = shape_2b.text_batch(lengths, _vocabulary(model))
    seconds = stage.seconds(lambda: model.language.forward(batch, last_only=True), rounds=9)
    rate = model.flop(batch) / seconds
    share = rate / stage.matmul_flop_s
    measured = f"{rate / 1e12:.0f} TFLOP/s, {sum(lengths) / seconds:,.0f} tokens/s ({seconds * 1e3:.1f} ms)"
    ceiling = f"{stage.matmul_flop_s / 1e12:.0f} TFLOP/s"
    if wanted is None:
        return Row(name, measured, ceiling, share)
    return Row(name, measured, ceiling, share, f">= {wanted} of the matrix rate", share >= wanted)


def _pairs(stage: Stage, model: shape_2b.Model2B) -> Row:
    num, query, document = (8, 4, 6) if stage.is_dry else (64, 64, 128)
    batch = shape_2b.text_batch([query + document] * num, _vocabulary(model), num_shared=query)
    seconds = stage.wall_seconds(lambda: model.language.forward(batch, last_only=True))
    return Row(PAIRS, f"{seconds * 1e3:.1f} ms, {num / seconds:,.0f} documents/s")


def _pixels(side: int) -> tuple[torch.Tensor, bytes]:
    """A smooth image, and its JPEG at a quarter more pixels a side: decoding and resizing are what clients cause."""
    rng = np.random.default_rng(3)
    small = Image.fromarray(rng.integers(0, 256, (24, 24, 3), dtype=np.uint8))
    large = image_bytes(small.resize((side * 5 // 4,) * 2, Image.Resampling.BICUBIC), "JPEG", quality=90)
    return _decode(large, side), large


def _decode(jpeg: bytes, side: int) -> torch.Tensor:
    image = Image.open(io.BytesIO(jpeg)).convert("RGB").resize((side, side), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(image))


def _saving(stage: Stage, model: shape_2b.Model2B) -> Row:
    side, num = stage.size(SIDE, 64), stage.size(NUM_INSTRUCTIONS, 3)
    _, jpeg = _pixels(side)
    grid, vocabulary = (1, side // 16, side // 16), _vocabulary(model)

    def encode() -> torch.Tensor:
        return model.vision.encode(_decode(jpeg, side).to(stage.device))

    def embed(features: list[torch.Tensor]) -> torch.Tensor:
        return model.vectors(shape_2b.image_batch(features, grid, NUM_WORDS, vocabulary))

    uncached = stage.wall_seconds(lambda: embed([encode() for _ in range(num)]))
    cached = stage.wall_seconds(lambda: embed([encode()] * num))
    features, pixels = encode(), _decode(jpeg, side)
    language = stage.wall_seconds(lambda: embed([features] * num))
    tower = stage.wall_seconds(lambda: model.vision.encode(pixels.to(stage.device)))
    ratio = uncached / cached
    measured = f"{cached * 1e3:.0f} ms against {uncached * 1e3:.0f} ms (tower {tower * 1e3:.1f} ms an image)"
    ceiling = f"{language * 1e3:.0f} ms, language alone"
    return Row(SAVED, measured, ceiling, ratio, f">= {WANTED_SAVING} times", ratio >= WANTED_SAVING)


def _cosine(stage: Stage, model: shape_2b.Model2B, oracle: shape_2b.Model2B) -> Row:
    side = stage.size(256, 64)
    pixels, _ = _pixels(side)
    lengths = [1, 3, 17, 64, 200, 33, 128] if not stage.is_dry else [1, 3, 17]

    def both(one: shape_2b.Model2B) -> torch.Tensor:
        texts = shape_2b.text_batch(lengths, _vocabulary(one), seed=5)
        features = one.vision.encode(pixels.to(stage.device))
        grid = (1, side // 16, side // 16)
        image = shape_2b.image_batch([features] * 2, grid, NUM_WORDS, _vocabulary(one), seed=6)
        return torch.cat([one.vectors(texts), one.vectors(image)])

    mine, want = both(model).double(), both(oracle).double()
    least = float((mine * want).sum(1).min()) if mine.shape == want.shape else 0.0
    return Row(COSINE, f"{least:.6f}", wanted=f"> {WANTED_COSINE}", holds=least > WANTED_COSINE)


def _long_in_float32(stage: Stage, oracle: shape_2b.Model2B) -> Row:
    """torch's plain attention would take 4.3 GB a layer for the scores alone."""
    batch: PackedBatch = shape_2b.text_batch([stage.size(8192, 40)], _vocabulary(oracle))
    if stage.device.type != "cuda":
        oracle.language.forward(batch)
        return Row(LONG, "dry")
    torch.cuda.reset_peak_memory_stats(stage.device)
    before = torch.cuda.memory_allocated(stage.device)
    oracle.language.forward(batch)
    stage.synchronize()
    taken = torch.cuda.max_memory_allocated(stage.device) - before
    return Row(LONG, f"{taken / 1e9:.2f} GB", wanted="< 2 GB: no scores in memory", holds=taken < 2e9)
