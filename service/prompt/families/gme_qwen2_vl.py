"""GME-Qwen2-VL, 2B and 7B: ChatML that ends in `<|endoftext|>`, which is pooled; positions count plainly.

The embedder hands `inputs_embeds` to the decoder, which then has no token ids to find pictures by and counts 0, 1, 2,
... also through a picture. Vectors of servers that number positions as Qwen2-VL does differ (vLLM #16406: cosine 0.96).

Source: `gme_inference.py` of the released checkpoints; mteb's wrapper; reference/qwen3-vl-embedding.md section 8.1.
"""

from collections.abc import Mapping

from service.media.twice_rule import TwiceRule
from service.prompt.chatml import ChatML
from service.prompt.checkpoint_files import CheckpointFiles
from service.prompt.family import Family
from service.prompt.profile import Profile
from service.prompt.qwen2_vl_files import Qwen2VLFiles, pixel_rule

DEFAULT_INSTRUCTION = "You are a helpful assistant."
QUERY_INSTRUCTION = "Find an image that matches the given text."
"""Of the model card's example. Documents keep the default, as `is_query=False` does."""
PIXEL_RULE = TwiceRule(first=pixel_rule(4, 16_384), then=pixel_rule(4, 1_280))
"""The embedder's own resize, then its processor's with mteb's limits.

The released script gives its processor 256 tokens at least, and so enlarges thumbnails more.
"""
MAX_TOKENS = 1_800
"""The embedder's `max_length`."""
INPUT_TYPES: Mapping[str, str] = {
    "search_document": DEFAULT_INSTRUCTION,
    "search_query": QUERY_INSTRUCTION,
    "classification": DEFAULT_INSTRUCTION,
    "clustering": DEFAULT_INSTRUCTION,
    "image": DEFAULT_INSTRUCTION,
}


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants; instructions stand as they are given.

    Shorter vectors are offered only where config.json says so: the models were not trained for them.

    Raises:
        UnsupportedModelError: files are missing, damaged or in disagreement.
    """
    found = Qwen2VLFiles.read(files, PIXEL_RULE)
    return found.profile(
        name="gme-qwen2-vl",
        architecture="stock_vlm_plain",
        default_instruction=DEFAULT_INSTRUCTION,
        input_types=INPUT_TYPES,
        max_tokens=MAX_TOKENS,
        layout=ChatML(found.tokens, DEFAULT_INSTRUCTION, punctuates=False, closing=(found.tokens.end_of_text,)),
    )


def _is_gme(files: CheckpointFiles) -> bool:
    return files.is_called("gme")


FAMILY = Family(("qwen2_vl",), "GME-Qwen2-VL 2B and 7B", make_profile, _is_gme)
