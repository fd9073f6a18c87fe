"""Which profile a checkpoint folder needs.

In: a folder. Out: a `Profile`, or an `UnsupportedModelError` that says what is supported.
Reads config.json, tokenizer.json and the sentence-transformers prompts; loads no weights and runs nothing of the
folder.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from service.media.picture import MERGE_SIZE
from service.media.resize import PixelRule
from service.prompt import qwen3_vl
from service.prompt.profile import Profile, SpecialTokens, UnsupportedModelError

_CONFIG_IDS = {
    "image_pad": "image_token_id",
    "video_pad": "video_token_id",
    "vision_start": "vision_start_token_id",
    "vision_end": "vision_end_token_id",
}
"""Special tokens that config.json numbers too: both files must agree."""


def load_profile(folder: Path) -> Profile:
    """Choose the profile of a checkpoint and fill it with the checkpoint's numbers.

    `matryoshka_dimensions` (a list) and `is_matryoshka` (a boolean) of config.json override the family's range, as in
    vLLM. Pixel limits are the family's constants (see `qwen3_vl.PIXEL_RULE`), unless config.json has an object `cenote`
    with `max_pixels`: a checkpoint trained on small pictures says so, and larger ones are shrunk to what it knows.

    Args:
        folder: holds config.json and tokenizer.json.

    Returns:
        The profile.

    Raises:
        UnsupportedModelError: the family is unknown, or the files are missing, damaged or in disagreement.

    Source: reference/qwen3-vl-embedding.md sections 1, 2.5 and 7.
    """
    config = _read_object(folder / "config.json")
    model_type = config.get("model_type")
    if model_type != qwen3_vl.MODEL_TYPE:
        raise UnsupportedModelError(
            f"{folder / 'config.json'} has model_type {model_type!r}; supported: {qwen3_vl.MODEL_TYPE!r} "
            "(Qwen3-VL-Embedding 2B and 8B, and fine-tunes of them)"
        )
    _check_patches(_section(config, "vision_config"))
    text = _section(config, "text_config")
    dimensions = _positive(text, "hidden_size")
    return qwen3_vl.make_profile(
        _special_tokens(folder, config),
        dimensions=dimensions,
        num_deepstack=_num_deepstack(_section(config, "vision_config")),
        matryoshka=_matryoshka(config, dimensions),
        pixel_rule=_pixel_rule(config),
        max_positions=_positive(text, "max_position_embeddings"),
        prompts=_prompts(folder / "config_sentence_transformers.json"),
    )


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UnsupportedModelError(f"{path} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise UnsupportedModelError(f"{path} is not a JSON object")
    return value


def _section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = config.get(name)
    if not isinstance(section, dict):
        raise UnsupportedModelError(f"config.json has no object {name!r}")
    return section


def _positive(section: Mapping[str, Any], name: str) -> int:
    value = section.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UnsupportedModelError(f"config.json has {name} {value!r}; a positive integer is needed")
    return value


def _check_patches(vision: Mapping[str, Any]) -> None:
    patch, merge = _positive(vision, "patch_size"), _positive(vision, "spatial_merge_size")
    if (patch * merge, merge) != (qwen3_vl.PIXEL_RULE.factor, MERGE_SIZE):
        raise UnsupportedModelError(
            f"config.json has patch_size {patch} and spatial_merge_size {merge}; supported: "
            f"{qwen3_vl.PIXEL_RULE.factor // MERGE_SIZE} and {MERGE_SIZE}"
        )


def _num_deepstack(vision: Mapping[str, Any]) -> int:
    layers = vision.get("deepstack_visual_indexes")
    if not isinstance(layers, list) or not all(type(layer) is int and layer >= 0 for layer in layers):
        raise UnsupportedModelError(f"config.json has deepstack_visual_indexes {layers!r}; a list of layers is needed")
    return len(layers)


def _special_tokens(folder: Path, config: Mapping[str, Any]) -> SpecialTokens:
    added = _read_object(folder / "tokenizer.json").get("added_tokens", [])
    ids = {token["content"]: token["id"] for token in added if token.get("special")}
    missing = [token for token in qwen3_vl.TOKEN_NAMES.values() if token not in ids]
    if missing:
        raise UnsupportedModelError(f"{folder / 'tokenizer.json'} lacks the special tokens {', '.join(missing)}")
    named = {field: ids[token] for field, token in qwen3_vl.TOKEN_NAMES.items()}
    for field, key in _CONFIG_IDS.items():
        if config.get(key) != named[field]:
            raise UnsupportedModelError(
                f"config.json has {key} {config.get(key)!r}, but tokenizer.json numbers "
                f"{qwen3_vl.TOKEN_NAMES[field]} {named[field]}"
            )
    return SpecialTokens(**named)


def _matryoshka(config: Mapping[str, Any], dimensions: int) -> tuple[int, ...] | None:
    offered = config.get("matryoshka_dimensions")
    if offered is None:
        return (dimensions,) if config.get("is_matryoshka") is False else None
    if not isinstance(offered, list) or not all(type(d) is int and 1 <= d <= dimensions for d in offered):
        raise UnsupportedModelError(
            f"config.json has matryoshka_dimensions {offered!r}; a list of integers from 1 to {dimensions} is needed"
        )
    return tuple(sorted({*offered, dimensions}))


def _pixel_rule(config: Mapping[str, Any]) -> PixelRule:
    own = config.get("cenote") or {}
    family = qwen3_vl.PIXEL_RULE
    max_pixels = own.get("max_pixels", family.max_pixels) if isinstance(own, dict) else None
    if type(max_pixels) is not int or not family.min_pixels <= max_pixels <= family.max_pixels:
        raise UnsupportedModelError(
            f"config.json has cenote {own!r}; an object is needed whose max_pixels is from {family.min_pixels} to "
            f"{family.max_pixels}"
        )
    return replace(family, max_pixels=max_pixels)


def _prompts(path: Path) -> Mapping[str, str]:
    if not path.exists():
        return {}
    prompts = _read_object(path).get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(text, str) for text in prompts.values()):
        raise UnsupportedModelError(f"{path} has prompts that are not an object of strings")
    return prompts
