"""Tokens, sizes and pixel limits from a checkpoint's files, for the families on Qwen2-VL and Qwen2.5-VL.

Knows no template and no positions: these are what the families differ in.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.media.item import MERGE_SIZE
from service.media.resize.image_rule import ImageRule, PixelRule
from service.prompt.templates.chatml import TOKEN_NAMES, SpecialTokens

FACTOR = 28
"""Pixels along one side of a visual token: 2 x 2 patches of 14."""
MAX_ASPECT = 200
_CONFIG_KEYS = {
    "image_pad": "image_token_id",
    "video_pad": "video_token_id",
    "vision_start": "vision_start_token_id",
    "vision_end": "vision_end_token_id",
}
"""Special tokens that config.json numbers too: both files must agree."""
_DEFAULT_IDS = {"image_pad": 151655, "video_pad": 151656, "vision_start": 151652, "vision_end": 151653}
"""Numbers that transformers takes for Qwen2-VL where config.json has none."""
_FIXED = {"temporal_patch_size": 2, "resample": 3, "do_resize": True, "do_rescale": True, "do_normalize": True}
"""What a processor's file may say of an image, beside its limits, mean and deviation."""


def pixel_rule(min_tokens: int, max_tokens: int) -> PixelRule:
    """An image's area between so many visual tokens."""
    area = FACTOR**2
    return PixelRule(factor=FACTOR, min_pixels=min_tokens * area, max_pixels=max_tokens * area, max_aspect=MAX_ASPECT)


def processor_pixels(files: CheckpointFiles, default: PixelRule) -> PixelRule:
    """The limits of the processor's file, for families whose reference lets transformers' processor resize.

    Args:
        files: the checkpoint's; processor_config.json as transformers 5 writes it counts before
            preprocessor_config.json, and `min_pixels` and `max_pixels` count before `size`.
        default: where there is no such file, or it says nothing.
    """
    name, found = "preprocessor_config.json", files.processor().get("image_processor")
    if not isinstance(found, dict):
        found = files.optional(name)
    size = said if isinstance(said := found.get("size"), dict) else {}
    least = found.get("min_pixels") or size.get("shortest_edge") or default.min_pixels
    most = found.get("max_pixels") or size.get("longest_edge") or default.max_pixels
    fixed = {**_FIXED, "patch_size": default.patches.patch_size, "merge_size": default.patches.merge_size}
    if other := next((key for key, value in fixed.items() if found.get(key, value) not in (value, None)), None):
        raise CheckpointError(f"{name} has {other} {found[other]!r}; supported: {fixed[other]!r}")
    if type(least) is not int or type(most) is not int or not default.factor**2 <= least <= most:
        raise CheckpointError(
            f"{name} has pixel limits {least!r} and {most!r}; supported: integers, at least {default.factor**2}, in "
            "this order"
        )
    return replace(default, min_pixels=least, max_pixels=most, raises_late=True)


def check_patches(vision: Mapping[str, Any], rule: ImageRule) -> None:
    """Refuse a tower of patches of another size than the rule's."""
    own = rule.patches.patch_size
    patch, merge = vision.get("patch_size", own), vision.get("spatial_merge_size", MERGE_SIZE)
    if (patch, merge) != (own, MERGE_SIZE):
        raise CheckpointError(
            f"config.json has patch_size {patch!r} and spatial_merge_size {merge!r}; supported: {own} and {MERGE_SIZE}"
        )


def special_tokens(files: CheckpointFiles, defaults: Mapping[str, int] = _DEFAULT_IDS) -> SpecialTokens:
    """Ids of the template's special tokens.

    Args:
        defaults: ids that transformers takes where config.json has none.
    """
    named = files.special_tokens(TOKEN_NAMES)
    for field, key in _CONFIG_KEYS.items():
        if (found := files.config.get(key, defaults.get(field))) != named[field]:
            raise CheckpointError(
                f"config.json has {key} {found!r}, but tokenizer.json numbers {TOKEN_NAMES[field]} {named[field]}"
            )
    return SpecialTokens(**named)
