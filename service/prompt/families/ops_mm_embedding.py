"""Ops-MM-embedding-v1, 2B and 7B: GME's template over larger images, with M-RoPE positions.

Source: `ops_mm_embedding_v1.py` of the released checkpoints; docs/notes/qwen3-vl-embedding.md.
"""

from service.checkpoint.config_files import CheckpointFiles
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile, input_types
from service.prompt.profile.qwen2_vl_files import Qwen2VLFiles, pixel_rule
from service.prompt.templates.chatml import ChatML

INSTRUCTION = "You are a helpful assistant."
PIXEL_RULE = pixel_rule(256, 1_280)
"""Of the embedder's own resize, which leaves nothing to its processor's."""
MAX_TOKENS = 8_192
"""The embedder has no limit of its own."""
INPUT_TYPES = input_types(INSTRUCTION)


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants; instructions stand as they are given.

    Raises:
        UnsupportedModelError: files are missing, damaged or in disagreement.
    """
    found = Qwen2VLFiles.read(files, PIXEL_RULE)
    return found.profile(
        name="ops-mm-embedding",
        architecture="stock_vlm_mrope",
        default_instruction=INSTRUCTION,
        input_types=INPUT_TYPES,
        max_tokens=MAX_TOKENS,
        layout=ChatML(found.tokens, INSTRUCTION, punctuates=False, closing=(found.tokens.end_of_text,)),
    )


FAMILY = Family(
    model_types=("qwen2_vl",),
    about="Ops-MM-embedding-v1 2B and 7B",
    make_profile=make_profile,
    named=("ops",),
    kind="vision-language",
    stock="Qwen2VLModel",
    modalities="text, image",
    pooling="last token",
    prompt="GME's, over larger images",
    tests=("tests/models/vlm/test_ops_mm.py",),
)
