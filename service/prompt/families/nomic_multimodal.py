"""nomic-embed-multimodal 3B and 7B, colpali-engine's BiQwen2.5, the adapter merged: pages and queries, M-RoPE.

Source: illuin-tech/colpali, `BiQwen2_5` and `BiQwen2_5_Processor`; docs/notes/qwen3-vl-embedding.md.
"""

from service.checkpoint.config_files import CheckpointFiles
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.page_profile import query_ends
from service.prompt.profile.profile import Profile, input_types
from service.prompt.profile.qwen2_vl_files import Qwen2VLFiles, pixel_rule, processor_pixels
from service.prompt.templates.visual_prompt import VisualPrompt

PIXEL_RULE = pixel_rule(4, 1_280)
"""Of transformers' processor, where preprocessor_config.json does not say: the engine lets it resize."""
MAX_TOKENS = 32_768
"""The engine has no limit of its own; this is what the decoder was trained for."""
INPUT_TYPES = input_types("")
"""Texts are queries and images are pages, whatever they are for."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    Raises:
        CheckpointError: files are missing, damaged or in disagreement.
    """
    found = Qwen2VLFiles.read(files, processor_pixels(files, PIXEL_RULE))
    return found.profile(
        name="nomic-embed-multimodal",
        architecture="stock_vlm_mrope",
        default_instruction=None,
        input_types=INPUT_TYPES,
        max_tokens=MAX_TOKENS,
        layout=VisualPrompt(found.tokens, query_ends(files)),
    )


QUERIES = Difference(
    "nomic-embed-multimodal's queries",
    "colpali-engine: `Query: ` and one end token at first, ten in 0.3.11 and 0.3.12, no `Query: ` since 0.3.13",
    "`Query: ` and ten; `cenote.query_end_tokens` of config.json sets the number",
    "one form for all; a checkpoint does not say which one it was made with",
)

FAMILIES = {
    "nomic_multimodal": Family(
        model_types=("qwen2_5_vl",),
        about="nomic-embed-multimodal 3B and 7B, merged",
        make_profile=make_profile,
        named=("nomic", "biqwen2"),
        kind="vision-language",
        stock="Qwen2_5_VLModel",
        modalities="text, image",
        pooling="last token",
        prompt="`Describe the image.`, `Query: `",
        tests=("tests/models/vlm/",),
        differences=(QUERIES,),
    )
}
