"""Embedders on Qwen2-VL's chat template with `<|endoftext|>` after it, which is pooled: GME and Ops-MM, 2B and 7B.

GME hands `inputs_embeds` to the decoder, which then cannot find images by token ids and counts 0, 1, 2, ... through an
image, too. Vectors of servers that number positions as Qwen2-VL does differ (vLLM #16406: cosine 0.96). Ops-MM has
larger images, and M-RoPE positions.

Source: `gme_inference.py` and `ops_mm_embedding_v1.py` of the released checkpoints; mteb's wrapper;
docs/notes/qwen3-vl-embedding.md.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from service.checkpoint.config_files import CheckpointFiles
from service.media.resize.image_rule import ImageRule, TwoStepRule
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile, input_types
from service.prompt.profile.qwen2_vl_files import Qwen2VLFiles, pixel_rule
from service.prompt.templates.chatml import ChatML

INSTRUCTION = "You are a helpful assistant."

GME_PIXELS = TwoStepRule(first=pixel_rule(4, 16_384), then=pixel_rule(4, 1_280))
"""GME's own resize, then its processor's with mteb's limits.

The released script gives its processor 256 tokens at least, and so enlarges thumbnails more.
"""
GME_MAX_TOKENS = 1_800
"""The embedder's `max_length`."""
GME_INPUT_TYPES = input_types(INSTRUCTION, query="Find an image that matches the given text.")
"""The query's is of the model card's example. Documents keep the default, as `is_query=False` does."""

OPS_PIXELS = pixel_rule(256, 1_280)
"""Of Ops-MM's own resize, which leaves nothing to its processor's."""
OPS_MAX_TOKENS = 8_192
"""Ops-MM has no limit of its own."""


def make_chat_profile(
    files: CheckpointFiles,
    *,
    name: str,
    architecture: str,
    pixels: ImageRule,
    max_tokens: int,
    types: Mapping[str, str],
) -> Profile:
    """Join a checkpoint's numbers with a family's constants; instructions stand as they are given.

    Shorter vectors are offered only where config.json says so: the models were not trained for them.

    Raises:
        CheckpointError: files are missing, damaged or in disagreement.
    """
    found = Qwen2VLFiles.read(files, pixels)
    return found.profile(
        name=name,
        architecture=architecture,
        default_instruction=INSTRUCTION,
        input_types=types,
        max_tokens=max_tokens,
        layout=ChatML(found.tokens, INSTRUCTION, punctuates=False, closing=(found.tokens.end_of_text,)),
    )


GME = Family(
    model_types=("qwen2_vl",),
    about="GME-Qwen2-VL 2B and 7B",
    make_profile=partial(
        make_chat_profile,
        name="gme-qwen2-vl",
        architecture="stock_vlm_plain",
        pixels=GME_PIXELS,
        max_tokens=GME_MAX_TOKENS,
        types=GME_INPUT_TYPES,
    ),
    named=("gme",),
    kind="vision-language",
    stock="Qwen2VLModel, plain positions",
    modalities="text, image",
    pooling="last token",
    prompt="ChatML with a system turn, `<|endoftext|>` after it",
    tests=("tests/models/vlm/",),
)

FAMILIES = {
    "gme_qwen2_vl": GME,
    "ops_mm_embedding": replace(
        GME,
        about="Ops-MM-embedding-v1 2B and 7B",
        make_profile=partial(
            make_chat_profile,
            name="ops-mm-embedding",
            architecture="stock_vlm_mrope",
            pixels=OPS_PIXELS,
            max_tokens=OPS_MAX_TOKENS,
            types=input_types(INSTRUCTION),
        ),
        named=("ops",),
        stock="Qwen2VLModel",
        prompt="GME's, over larger images",
        tests=("tests/models/vlm/",),
    ),
}
