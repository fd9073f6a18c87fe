"""Ops-MM-embedding-v1, 2B and 7B: GME's template over larger pictures, with positions that see the picture.

Source: `ops_mm_embedding_v1.py` of the released checkpoints; reference/qwen3-vl-embedding.md section 8.1.
"""

from collections.abc import Mapping

from service.prompt.chatml import ChatML
from service.prompt.checkpoint_files import CheckpointFiles
from service.prompt.family import Family
from service.prompt.profile import Profile
from service.prompt.qwen2_vl_files import Qwen2VLFiles, pixel_rule

INSTRUCTION = "You are a helpful assistant."
PIXEL_RULE = pixel_rule(256, 1_280)
"""Of the embedder's own resize, which leaves nothing to its processor's."""
MAX_TOKENS = 8_192
"""The embedder has no limit of its own."""
INPUT_TYPES: Mapping[str, str] = dict.fromkeys(
    ("search_document", "search_query", "classification", "clustering", "image"), INSTRUCTION
)


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


def _is_ops(files: CheckpointFiles) -> bool:
    return files.is_called("ops")


FAMILY = Family(("qwen2_vl",), "Ops-MM-embedding-v1 2B and 7B", make_profile, _is_ops)
