"""Small random ColQwen2 and ColQwen2.5, saved by transformers: weights, configuration, tokenizer and processor."""

import json
from pathlib import Path

import torch
from transformers import (
    ColQwen2Config,
    ColQwen2ForRetrieval,
    ColQwen2Processor,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2VLConfig,
    Qwen2VLImageProcessorPil,
)

from tests.models.text.tokenizers import byte_level
from tests.models.vlm.checkpoints import QWEN2_5_VISION, QWEN2_VISION, SPECIALS, TEXT

IDS = {"image_token_id": 5, "video_token_id": 6, "vision_start_token_id": 3, "vision_end_token_id": 4}
PIXELS_OF_TOKEN = 28 * 28
MAX_PAGE_TOKENS = 100


def colqwen2(folder: Path, **config: object) -> Path:
    """A checkpoint in the form that transformers 5 writes; no weight has its initial value."""
    return _saved(Qwen2VLConfig(text_config=TEXT, vision_config=QWEN2_VISION, **IDS), folder, **config)


def colqwen2_5(folder: Path, **config: object) -> Path:
    """The same on Qwen2.5-VL, whose tower attends in windows."""
    return _saved(Qwen2_5_VLConfig(text_config=TEXT, vision_config=QWEN2_5_VISION, **IDS), folder, **config)


def _saved(vlm: Qwen2VLConfig | Qwen2_5_VLConfig, folder: Path, **config: object) -> Path:
    processor(folder)
    model = ColQwen2ForRetrieval(ColQwen2Config(vlm_config=vlm.to_dict()))
    generator = torch.Generator().manual_seed(20261121)
    for parameter in model.parameters():
        is_norm = parameter.ndim == 1 and bool((parameter == 1).all())
        noise = torch.randn(parameter.shape, generator=generator) * (0.2 if is_norm else 0.08)
        parameter.data = noise + 1 if is_norm else noise
    model.save_pretrained(folder)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))
    return folder


def processor(folder: Path) -> None:
    """Its tokenizer and processor, with a limit for pages that is not the default."""
    made = byte_level(SPECIALS, None, None)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<|endoftext|>")
    images = Qwen2VLImageProcessorPil(
        size={"shortest_edge": 4 * PIXELS_OF_TOKEN, "longest_edge": MAX_PAGE_TOKENS * PIXELS_OF_TOKEN}
    )
    ColQwen2Processor(images, tokenizer).save_pretrained(folder)
