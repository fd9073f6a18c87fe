"""VLM2Vec-V2 on Qwen2-VL, its LoRA merged: no chat template, the last token of the text is pooled, plain positions.

The script finds pictures by the `<|vision_start|>` before them to number positions, and its prompts have none: they
count 0, 1, 2, ... through a picture as through a text.

Source: TIGER-AI-Lab/VLM2Vec, `src/model/processor.py`, `src/arguments.py`, its `get_rope_index`.
"""

from service.prompt.bare_pads import PICTURE_INSTRUCTION, bare_pads
from service.prompt.checkpoint_files import CheckpointFiles
from service.prompt.family import Family
from service.prompt.profile import Profile
from service.prompt.qwen2_vl_files import Qwen2VLFiles, pixel_rule

PIXEL_RULE = pixel_rule(4, 1_280)
"""`resize_min_pixels` and `resize_max_pixels`."""
MAX_TOKENS = 8_192
"""The script has no limit of its own."""
INPUT_TYPES = {
    "search_document": "",
    "search_query": "",
    "classification": "",
    "clustering": "",
    "image": PICTURE_INSTRUCTION,
}
"""The training data has an instruction for each task, and none for all queries."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants; instructions stand as they are given.

    Raises:
        UnsupportedModelError: files are missing, damaged or in disagreement.
    """
    return Qwen2VLFiles.read(files, PIXEL_RULE).profile(
        name="vlm2vec",
        architecture="stock_vlm_plain",
        default_instruction=None,
        input_types=INPUT_TYPES,
        max_tokens=MAX_TOKENS,
        layout=bare_pads,
    )


def _is_vlm2vec(files: CheckpointFiles) -> bool:
    return files.is_called("vlm2vec")


FAMILY = Family(("qwen2_vl",), "VLM2Vec-V2, merged", make_profile, _is_vlm2vec)
