"""GME-Qwen2-VL, 2B and 7B: ChatML that ends in `<|endoftext|>`, which is pooled; positions count plainly.

The embedder hands `inputs_embeds` to the decoder, which then cannot find images by token ids and counts 0, 1, 2,
... also through an image. Vectors of servers that number positions as Qwen2-VL does differ (vLLM #16406: cosine 0.96).

Source: `gme_inference.py` of the released checkpoints; mteb's wrapper; docs/notes/qwen3-vl-embedding.md.
"""

from service.checkpoint.config_files import CheckpointFiles
from service.media.resize.image_rule import TwoStepRule
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile, input_types
from service.prompt.profile.qwen2_vl_files import Qwen2VLFiles, pixel_rule
from service.prompt.templates.chatml import ChatML

DEFAULT_INSTRUCTION = "You are a helpful assistant."
QUERY_INSTRUCTION = "Find an image that matches the given text."
"""Of the model card's example. Documents keep the default, as `is_query=False` does."""
PIXEL_RULE = TwoStepRule(first=pixel_rule(4, 16_384), then=pixel_rule(4, 1_280))
"""The embedder's own resize, then its processor's with mteb's limits.

The released script gives its processor 256 tokens at least, and so enlarges thumbnails more.
"""
MAX_TOKENS = 1_800
"""The embedder's `max_length`."""
INPUT_TYPES = input_types(DEFAULT_INSTRUCTION, query=QUERY_INSTRUCTION)


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


FAMILY = Family(
    model_types=("qwen2_vl",),
    about="GME-Qwen2-VL 2B and 7B",
    make_profile=make_profile,
    named=("gme",),
    kind="vision-language",
    stock="Qwen2VLModel, plain positions",
    modalities="text, image",
    pooling="last token",
    prompt="ChatML with a system turn, `<|endoftext|>` behind it",
    tests=("tests/models/vlm/test_gme.py", "tests/models/vlm/test_gme_over_http.py"),
)
