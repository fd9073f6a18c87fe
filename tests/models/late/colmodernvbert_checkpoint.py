"""A small random ColModernVBERT, saved by transformers: weights, configuration, tokenizer and processor."""

from pathlib import Path
from typing import Any

from transformers import (
    ColModernVBertConfig,
    ColModernVBertForRetrieval,
    ColModernVBertProcessor,
    Idefics3ImageProcessorPil,
    ModernBertConfig,
    ModernVBertConfig,
    PreTrainedTokenizerFast,
    SiglipVisionConfig,
)

from service.checkpoint.late.image_block import FAKE, GLOBAL, IMAGE, place
from tests.models.text.tokenizers import byte_level
from tests.models.weights import save

TILE, LONGEST = 32, 128
"""So that a page has up to four tiles by four."""
SPECIALS = ["[CLS]", "[SEP]", "[PAD]", FAKE, IMAGE, "<end_of_utterance>", GLOBAL]
PLACES = [place(row, column) for row in range(4) for column in range(4)]


def colmodernvbert(folder: Path, *, begins: bool = False, **config: object) -> Path:
    """A checkpoint in the form that transformers 5 writes; no weight has its initial value.

    Args:
        begins: `<|begin_of_text|>` is a token of the vocabulary, and no text.
    """
    specials = [*SPECIALS, *PLACES, *(["<|begin_of_text|>"] if begins else [])]
    _processor(folder, specials)
    text = ModernBertConfig(**_sizes(vocab_size=512, intermediate_size=48, num_hidden_layers=4))
    vision = SiglipVisionConfig(**_sizes(intermediate_size=48, num_hidden_layers=2), image_size=TILE, patch_size=8)
    vlm = ModernVBertConfig(
        text_config=text, vision_config=vision, pixel_shuffle_factor=2, image_token_id=specials.index(IMAGE)
    )
    return save(ColModernVBertForRetrieval(ColModernVBertConfig(vlm_config=vlm.to_dict())), folder, **config)


def _sizes(**more: object) -> dict[str, Any]:
    """Of text and tower alike; a window of the encoder is narrower than a page."""
    text = {"local_attention": 32, "pad_token_id": 2, "cls_token_id": 0, "sep_token_id": 1, "bos_token_id": 0}
    text |= {"eos_token_id": 1, "max_position_embeddings": 1024} if "vocab_size" in more else {}
    return {"hidden_size": 32, "num_attention_heads": 2, **(text if "vocab_size" in more else {}), **more}


def _processor(folder: Path, specials: list[str]) -> None:
    made = byte_level(specials, "[CLS]", "[SEP]")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]")
    images = Idefics3ImageProcessorPil(size={"longest_edge": LONGEST}, max_image_size={"longest_edge": TILE})
    ColModernVBertProcessor(images, tokenizer, image_seq_len=4).save_pretrained(folder)
