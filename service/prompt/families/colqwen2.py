"""ColQwen2: late interaction over pages and queries; each token of a prompt has a vector of 128 numbers.

Every token counts, those of the template too, as in the reference, which masks padding and nothing else.

Source: transformers 5.23 `ColQwen2ForRetrieval` and `ColQwen2Processor`; docs/notes/qwen3-vl-embedding.md.
"""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.errors import UnsupportedModelError
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import MULTI_VECTOR, Profile, input_types
from service.prompt.profile.qwen2_vl_files import Qwen2VLFiles, pixel_rule, processor_pixels
from service.prompt.templates.page_or_query import PageOrQuery

PIXEL_RULE = pixel_rule(4, 1_280)
"""Of transformers' processor, where its files do not say; the released checkpoint says 768."""
MAX_TOKENS = 32_768
"""The processor has no limit of its own; this is what the decoder was trained for."""
PAGE_PROMPT = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Describe the image.<|im_end|><|endoftext|>"
QUERY_PREFIX = "Query: "
WHITE = (255, 255, 255)
"""Under what is transparent: transformers 5.23's processors lay every image on it."""
INPUT_TYPES = input_types("")
"""Texts are queries and images are pages, whatever they are for."""


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
        images=replace(found.images, background=WHITE),
        takes_instructions=False,
        mixes=False,
    )


def _query_prefix(files: CheckpointFiles) -> str:
    """The processor's prefix of a query. Its page prompt must be the family's."""
    said = files.processor()
    if (page := said.get("visual_prompt_prefix") or PAGE_PROMPT) != PAGE_PROMPT:
        raise UnsupportedModelError(
            f"processor_config.json has visual_prompt_prefix {page!r}; supported: {PAGE_PROMPT!r}"
        )
    prefix = said.get("query_prefix") or QUERY_PREFIX
    if not isinstance(prefix, str):
        raise UnsupportedModelError(f"processor_config.json has query_prefix {prefix!r}; a string is needed")
    return prefix


PAGES = Difference(
    "ColQwen2",
    "colpali-engine numbers a page's positions by M-RoPE and drops the alpha band; transformers counts plainly and "
    "lays pages on white",
    "as transformers",
    "its checkpoints are the ones that load; with the other positions vectors of a page are up to 0.04 off on the "
    "small checkpoint",
)

FAMILY = Family(
    model_types=("colqwen2",),
    about="ColQwen2, late interaction",
    make_profile=make_profile,
    kind="late interaction",
    stock="ColQwen2ForRetrieval, plain positions",
    modalities="text or image (a query, a page)",
    pooling="none: 128 numbers for each token",
    prompt="`Query: ` and ten `<|endoftext|>`; `Describe the image.`",
    tests=("tests/models/late_interaction/",),
    differences=(PAGES,),
)
