"""nomic-embed-multimodal 3B and 7B, colpali-engine's BiQwen2.5, the adapter merged: pages and queries, M-RoPE.

Source: illuin-tech/colpali, `BiQwen2_5` and `BiQwen2_5_Processor`; reference/qwen3-vl-embedding.md section 8.1.
"""

from collections.abc import Mapping

from service.prompt.checkpoint_files import CheckpointFiles
from service.prompt.family import Family
from service.prompt.profile import Profile, UnsupportedModelError
from service.prompt.qwen2_vl_files import Qwen2VLFiles, pixel_rule, processor_pixels
from service.prompt.visual_prompt import VisualPrompt

PIXEL_RULE = pixel_rule(4, 1_280)
"""Of transformers' processor, where preprocessor_config.json does not say: the engine lets it resize."""
MAX_TOKENS = 32_768
"""The engine has no limit of its own; this is what the decoder was trained for."""
NUM_QUERY_ENDS = 10
"""End tokens behind a query: releases 0.3.11 and later of the engine. When the models came out it was one; a merged
checkpoint that wants that says so with `cenote.query_end_tokens` of config.json."""
INPUT_TYPES: Mapping[str, str] = {
    "search_document": "",
    "search_query": "",
    "classification": "",
    "clustering": "",
    "image": "",
}
"""Texts are queries and pictures are pages, whatever they are for."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    Raises:
        UnsupportedModelError: files are missing, damaged or in disagreement.
    """
    found = Qwen2VLFiles.read(files, processor_pixels(files, PIXEL_RULE))
    num_ends = files.own.get("query_end_tokens", NUM_QUERY_ENDS)
    if type(num_ends) is not int or num_ends < 1:
        raise UnsupportedModelError(f"config.json has query_end_tokens {num_ends!r}; a positive integer is needed")
    return found.profile(
        name="nomic-embed-multimodal",
        architecture="stock_vlm_mrope",
        default_instruction=None,
        input_types=INPUT_TYPES,
        max_tokens=MAX_TOKENS,
        layout=VisualPrompt(found.tokens, num_ends),
    )


def _is_nomic(files: CheckpointFiles) -> bool:
    return files.is_called("nomic", "biqwen2")


FAMILY = Family(("qwen2_5_vl",), "nomic-embed-multimodal 3B and 7B, merged", make_profile, _is_nomic)
