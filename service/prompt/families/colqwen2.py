"""ColQwen2: late interaction over pages and queries; each token of a prompt has a vector of 128 numbers.

Every token counts, those of the template too, as in the reference, which masks padding and nothing else.

Source: transformers 5.23 `ColQwen2ForRetrieval` and `ColQwen2Processor`; reference/qwen3-vl-embedding.md section 8.1.
"""

from collections.abc import Mapping
from dataclasses import replace

from service.prompt.checkpoint_files import CheckpointFiles, positive
from service.prompt.family import Family
from service.prompt.page_or_query import PageOrQuery
from service.prompt.profile import MULTI_VECTOR, Profile, UnsupportedModelError
from service.prompt.qwen2_vl_files import Qwen2VLFiles, pixel_rule, processor_pixels

PIXEL_RULE = pixel_rule(4, 1_280)
"""Of transformers' processor, where its files do not say; the released checkpoint says 768."""
MAX_TOKENS = 32_768
"""The processor has no limit of its own; this is what the decoder was trained for."""
PAGE_PROMPT = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Describe the image.<|im_end|><|endoftext|>"
QUERY_PREFIX = "Query: "
WHITE = (255, 255, 255)
"""Under what is transparent: transformers 5.23's processors lay every picture on it."""
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
        UnsupportedModelError: files are missing, damaged or in disagreement; or the decoder is another than Qwen2-VL.
    """
    inner = CheckpointFiles(files.folder, "vlm_config")
    if inner.model_type != "qwen2_vl":
        raise UnsupportedModelError(f"config.json has a vlm_config of {inner.model_type!r}; supported: 'qwen2_vl'")
    found = Qwen2VLFiles.read(inner, processor_pixels(files, PIXEL_RULE))
    dimensions = positive({"embedding_dim": 128, **files.config}, "embedding_dim")
    profile = found.profile(
        name="colqwen2",
        architecture="colqwen2",
        default_instruction=None,
        input_types=INPUT_TYPES,
        max_tokens=MAX_TOKENS,
        layout=PageOrQuery(found.tokens, _query_prefix(files)),
    )
    return replace(
        profile,
        pooling=MULTI_VECTOR,
        dimensions=dimensions,
        min_dimensions=dimensions,
        matryoshka=(dimensions,),
        pictures=replace(found.pictures, background=WHITE),
        takes_instructions=False,
        mixes=False,
    )


def _query_prefix(files: CheckpointFiles) -> str:
    """What the processor puts in front of a query. Its other words are the family's, or the start ends."""
    said = files.processor()
    if (page := said.get("visual_prompt_prefix") or PAGE_PROMPT) != PAGE_PROMPT:
        raise UnsupportedModelError(
            f"processor_config.json has visual_prompt_prefix {page!r}; supported: {PAGE_PROMPT!r}"
        )
    prefix = said.get("query_prefix") or QUERY_PREFIX
    if not isinstance(prefix, str):
        raise UnsupportedModelError(f"processor_config.json has query_prefix {prefix!r}; a string is needed")
    return prefix


FAMILY = Family(("colqwen2",), "ColQwen2, late interaction", make_profile)
