"""Qwen3-VL-Embedding, 2B and 8B, and similar models."""

from collections.abc import Mapping
from dataclasses import astuple, replace
from typing import Any

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.reranker_kind import architecture, module_kinds
from service.media.resize.image_rule import PixelRule
from service.media.video.video_rule import VideoRule
from service.prompt.profile.chat_templates import check_chat_template
from service.prompt.profile.family import Family
from service.prompt.profile.profile import ImageProfile, Profile, input_types
from service.prompt.profile.qwen2_vl_files import check_patches, special_tokens
from service.prompt.templates.chatml import ChatML, punctuate

DEFAULT_INSTRUCTION = "Represent the user's input."
"""With its full stop, as the code has it; the README's prose drops it."""
QUERY_INSTRUCTION = "Retrieve images or text relevant to the user's query."
"""The first task of the official README. Documents keep the default instruction."""
PIXEL_RULE = PixelRule(factor=32, min_pixels=4_096, max_pixels=1_843_200, max_aspect=200)
"""The embedder's constants, never the checkpoint's preprocessor_config.json.

That file carries Qwen3-VL's own limits, 65,536 and 16,777,216, which give other grids and so other vectors: a 77 x 100
thumbnail is 4 x 6 patches under the embedder and 16 x 20 under the file.
"""
CLASSES = ("Qwen3VLForConditionalGeneration", "Qwen3VLModel", "Qwen3VLForEmbedding")
"""As released, as sentence-transformers saves it, and the released script's."""
MAX_TOKENS = 8_192
"""The embedder's `max_length`."""
MIN_DIMENSIONS = 64
"""Shortest matryoshka prefix of the model card."""
INPUT_TYPES = input_types(DEFAULT_INSTRUCTION, query=QUERY_INSTRUCTION)
"""Cohere's names. The checkpoint's own prompts add names and never change these."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    `matryoshka_dimensions` and `is_matryoshka` of config.json override the family's range. Pixel limits are the
    family's constants, unless config.json has an object `cenote` with `max_pixels`: a checkpoint trained on small
    images says so, and larger ones are shrunk to what it knows.

    Source: QwenLM/Qwen3-VL-Embedding at 8ce3aab, `src/models/qwen3_vl_embedding.py`; docs/notes/qwen3-vl-embedding.md.
    """
    text, vision = files.section("text_config"), files.section("vision_config")
    check_patches({key: positive(vision, key) for key in ("patch_size", "spatial_merge_size")}, PIXEL_RULE)
    dimensions = positive(text, "hidden_size")
    matryoshka = files.matryoshka(dimensions) or ()
    tokens = special_tokens(files, {})
    pixel_rule, num_levels = _pixel_rule(files.config), 1 + _num_deepstack(vision)
    images = ImageProfile(
        pixel_rule=pixel_rule,
        feature_width=dimensions * num_levels,
        num_levels=num_levels,
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
        images=images,
        protected=astuple(tokens),
        layout=ChatML(tokens, DEFAULT_INSTRUCTION),
        expected_tail=tokens.end_of_text,
    )


def make_embedder(files: CheckpointFiles) -> Profile:
    """The profile of an embedder, whose chat template is its prompt: the reference renders every item by it."""
    if (name := architecture(files)) and name not in CLASSES:
        raise CheckpointError(
            f"config.json has architectures {files.config['architectures']!r}; supported of an embedder with "
            f"model_type {files.model_type!r}: {', '.join(CLASSES)}"
        )
    check_chat_template(files, ChatML(special_tokens(files, {}), DEFAULT_INSTRUCTION))
    return make_profile(files)


def _num_deepstack(vision: Mapping[str, Any]) -> int:
    layers = vision.get("deepstack_visual_indexes")
    if not isinstance(layers, list) or not all(type(layer) is int and layer >= 0 for layer in layers):
        raise CheckpointError(f"config.json has deepstack_visual_indexes {layers!r}; a list of layers is needed")
    return len(layers)


def _pixel_rule(config: Mapping[str, Any]) -> PixelRule:
    own = config.get("cenote") or {}
    max_pixels = own.get("max_pixels", PIXEL_RULE.max_pixels) if isinstance(own, dict) else None
    if type(max_pixels) is not int or not PIXEL_RULE.min_pixels <= max_pixels <= PIXEL_RULE.max_pixels:
        raise CheckpointError(
            f"config.json has cenote {own!r}; an object is needed whose max_pixels is from {PIXEL_RULE.min_pixels} to "
            f"{PIXEL_RULE.max_pixels}"
        )
    return replace(PIXEL_RULE, max_pixels=max_pixels)


def _video_rule(pixel_rule: PixelRule) -> VideoRule:
    """The family's, with frames no larger than the images that the checkpoint knows."""
    rule, largest = VideoRule(), pixel_rule.max_pixels
    least, most = min(rule.min_frame_pixels, largest), min(rule.max_frame_pixels, largest)
    return replace(rule, min_frame_pixels=least, max_frame_pixels=most)


def is_embedder(files: CheckpointFiles) -> bool:
    """False for a folder that calls itself a reranker and has no file that says so: which it is, a name never says."""
    return bool(module_kinds(files)) or not files.is_called("rerank")


FAMILIES = {
    "qwen3_vl": Family(
        model_types=("qwen3_vl",),
        is_of=is_embedder,
        about="Qwen3-VL-Embedding 2B and 8B, and fine-tunes of them",
        make_profile=make_embedder,
        kind="vision-language",
        stock="Qwen3VLModel",
        modalities="text, image, video",
        pooling="last token",
        prompt="ChatML with a system turn",
        tests=("tests/models/golden/",),
    )
}
