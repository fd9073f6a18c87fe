"""VLM2Vec-V2 on Qwen2-VL, its LoRA merged: no chat template, the last token of the text is pooled, plain positions.

The script finds images by the `<|vision_start|>` before them to number positions, and its prompts have none: they
count 0, 1, 2, ... through an image as through a text.

Source: TIGER-AI-Lab/VLM2Vec, `src/model/processor.py`, `src/arguments.py`, its `get_rope_index`.
"""

from service.checkpoint.config_files import CheckpointFiles
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile, input_types
from service.prompt.profile.qwen2_vl_files import Qwen2VLFiles, pixel_rule
from service.prompt.templates.vlm2vec import IMAGE_INSTRUCTION, bare_pads

PIXEL_RULE = pixel_rule(4, 1_280)
"""`resize_min_pixels` and `resize_max_pixels`."""
MAX_TOKENS = 8_192
"""The script has no limit of its own."""
INPUT_TYPES = input_types("", image=IMAGE_INSTRUCTION)
"""The training data has an instruction for each task, and none for all queries."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants; instructions stand as they are given.

    Raises:
        CheckpointError: files are missing, damaged or in disagreement.
    """
    return Qwen2VLFiles.read(files, PIXEL_RULE).profile(
        name="vlm2vec",
        architecture="stock_vlm_plain",
        default_instruction=None,
        input_types=INPUT_TYPES,
        max_tokens=MAX_TOKENS,
        layout=bare_pads,
    )


FAMILIES = {
    "vlm2vec": Family(
        model_types=("qwen2_vl",),
        about="VLM2Vec-V2, merged",
        make_profile=make_profile,
        named=("vlm2vec",),
        kind="vision-language",
        stock="Qwen2VLModel, plain positions",
        modalities="text, image",
        pooling="last token",
        prompt="image, instruction, text; no template",
        tests=("tests/models/vlm/",),
    )
}
