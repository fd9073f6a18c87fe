"""Qwen3-VL-Embedding, 2B and 8B and its likes."""

from collections.abc import Mapping
from dataclasses import astuple, replace
from typing import Any

from service.media.picture import MERGE_SIZE
from service.media.resize import PixelRule
from service.media.video_rule import VideoRule
from service.prompt.chatml import TOKEN_NAMES, ChatML, SpecialTokens
from service.prompt.checkpoint_files import CheckpointFiles, positive
from service.prompt.family import Family
from service.prompt.instruction import punctuate
from service.prompt.profile import PictureProfile, Profile, UnsupportedModelError

DEFAULT_INSTRUCTION = "Represent the user's input."
"""With its full stop, as the code has it; the README's prose drops it."""
QUERY_INSTRUCTION = "Retrieve images or text relevant to the user's query."
"""The first task of the official README. Documents keep the default instruction (reference section 12)."""
PIXEL_RULE = PixelRule(factor=32, min_pixels=4_096, max_pixels=1_843_200, max_aspect=200)
"""The embedder's constants, never the checkpoint's preprocessor_config.json.

That file carries Qwen3-VL's own limits, 65,536 and 16,777,216, which give other grids and so other vectors: a 77 x 100
thumbnail is 4 x 6 patches under the embedder and 16 x 20 under the file (reference section 3.4).
"""
MAX_TOKENS = 8_192
"""The embedder's `max_length`."""
MIN_DIMENSIONS = 64
"""Shortest matryoshka prefix of the model card."""
INPUT_TYPES: Mapping[str, str] = {
    "search_document": DEFAULT_INSTRUCTION,
    "search_query": QUERY_INSTRUCTION,
    "classification": DEFAULT_INSTRUCTION,
    "clustering": DEFAULT_INSTRUCTION,
    "image": DEFAULT_INSTRUCTION,
}
"""Cohere's names. The checkpoint's own prompts add names and never change these."""

_CONFIG_IDS = {
    "image_pad": "image_token_id",
    "video_pad": "video_token_id",
    "vision_start": "vision_start_token_id",
    "vision_end": "vision_end_token_id",
}
"""Special tokens that config.json numbers too: both files must agree."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    `matryoshka_dimensions` and `is_matryoshka` of config.json override the family's range. Pixel limits are the
    family's constants, unless config.json has an object `cenote` with `max_pixels`: a checkpoint trained on small
    pictures says so, and larger ones are shrunk to what it knows.

    Raises:
        UnsupportedModelError: files are missing, damaged or in disagreement.

    Source: reference/qwen3-vl-embedding.md sections 1, 2.1, 2.5 and 7.
    """
    text, vision = files.section("text_config"), files.section("vision_config")
    _check_patches(vision)
    dimensions = positive(text, "hidden_size")
    matryoshka = files.matryoshka(dimensions)
    tokens = _special_tokens(files)
    pixel_rule = _pixel_rule(files.config)
    pictures = PictureProfile(
        pixel_rule=pixel_rule,
        feature_width=dimensions * (1 + _num_deepstack(vision)),
        image_pad=tokens.image_pad,
        video_pad=tokens.video_pad,
        video_rule=_video_rule(pixel_rule),
    )
    own = {name: punctuate(prompt, DEFAULT_INSTRUCTION) for name, prompt in files.prompts().items()}
    return Profile(
        name="qwen3-vl-embedding",
        architecture="qwen3_vl",
        default_instruction=DEFAULT_INSTRUCTION,
        input_types={**own, **INPUT_TYPES},
        pooling="last_token",
        normalize=True,
        dimensions=dimensions,
        min_dimensions=matryoshka[0] if matryoshka else min(MIN_DIMENSIONS, dimensions),
        matryoshka=matryoshka,
        max_tokens=min(MAX_TOKENS, positive(text, "max_position_embeddings")),
        modalities=("text", "image", "video"),
        pictures=pictures,
        protected=astuple(tokens),
        layout=ChatML(tokens, DEFAULT_INSTRUCTION),
        expected_tail=tokens.end_of_text,
    )


def _check_patches(vision: Mapping[str, Any]) -> None:
    patch, merge = positive(vision, "patch_size"), positive(vision, "spatial_merge_size")
    if (patch * merge, merge) != (PIXEL_RULE.factor, MERGE_SIZE):
        raise UnsupportedModelError(
            f"config.json has patch_size {patch} and spatial_merge_size {merge}; supported: "
            f"{PIXEL_RULE.factor // MERGE_SIZE} and {MERGE_SIZE}"
        )


def _num_deepstack(vision: Mapping[str, Any]) -> int:
    layers = vision.get("deepstack_visual_indexes")
    if not isinstance(layers, list) or not all(type(layer) is int and layer >= 0 for layer in layers):
        raise UnsupportedModelError(f"config.json has deepstack_visual_indexes {layers!r}; a list of layers is needed")
    return len(layers)


def _special_tokens(files: CheckpointFiles) -> SpecialTokens:
    named = files.special_tokens(TOKEN_NAMES)
    for field, key in _CONFIG_IDS.items():
        if files.config.get(key) != named[field]:
            raise UnsupportedModelError(
                f"config.json has {key} {files.config.get(key)!r}, but tokenizer.json numbers "
                f"{TOKEN_NAMES[field]} {named[field]}"
            )
    return SpecialTokens(**named)


def _pixel_rule(config: Mapping[str, Any]) -> PixelRule:
    own = config.get("cenote") or {}
    max_pixels = own.get("max_pixels", PIXEL_RULE.max_pixels) if isinstance(own, dict) else None
    if type(max_pixels) is not int or not PIXEL_RULE.min_pixels <= max_pixels <= PIXEL_RULE.max_pixels:
        raise UnsupportedModelError(
            f"config.json has cenote {own!r}; an object is needed whose max_pixels is from {PIXEL_RULE.min_pixels} to "
            f"{PIXEL_RULE.max_pixels}"
        )
    return replace(PIXEL_RULE, max_pixels=max_pixels)


def _video_rule(pixel_rule: PixelRule) -> VideoRule:
    """The family's, with frames no larger than the pictures that the checkpoint knows."""
    rule, largest = VideoRule(), pixel_rule.max_pixels
    least, most = min(rule.min_frame_pixels, largest), min(rule.max_frame_pixels, largest)
    return replace(rule, min_frame_pixels=least, max_frame_pixels=most)


FAMILY = Family(("qwen3_vl",), "Qwen3-VL-Embedding 2B and 8B, and fine-tunes of them", make_profile)
