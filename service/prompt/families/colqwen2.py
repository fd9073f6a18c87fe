"""ColQwen2 and ColQwen2.5 in transformers' form: late interaction over pages and queries.

Every token counts, those of the template too, as in the reference, which masks padding and nothing else.

Source: transformers 5.23 `ColQwen2ForRetrieval` and `ColQwen2Processor`; docs/notes/qwen3-vl-embedding.md.
"""

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.errors import UnsupportedModelError
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.page_profile import INPUT_TYPES, of_pages, query_prefix
from service.prompt.profile.profile import Profile
from service.prompt.profile.qwen2_vl_files import Qwen2VLFiles, pixel_rule, processor_pixels
from service.prompt.templates.page_or_query import PageOrQuery

PIXEL_RULE = pixel_rule(4, 1_280)
"""Of transformers' processor, where its files do not say; the released checkpoint says 768."""
MAX_TOKENS = 32_768
"""The processor has no limit of its own; this is what the decoder was trained for."""
QUERY_PREFIX = "Query: "
WHITE = (255, 255, 255)
"""Under what is transparent: transformers 5.23's processors lay every image on it."""
BACKBONES = ("qwen2_vl", "qwen2_5_vl")
"""Of ColQwen2 and of ColQwen2.5, which have one class in transformers."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    Raises:
        UnsupportedModelError: files are missing, damaged or in disagreement; or the decoder is none of
            `BACKBONES`.
    """
    inner = CheckpointFiles(files.folder, "vlm_config")
    if inner.model_type not in BACKBONES:
        raise UnsupportedModelError(
            f"config.json has a vlm_config of {inner.model_type!r}; supported: {' and '.join(map(repr, BACKBONES))}"
        )
    found = Qwen2VLFiles.read(inner, processor_pixels(files, PIXEL_RULE))
    dimensions = positive({"embedding_dim": 128, **files.config}, "embedding_dim")
    profile = found.profile(
        name="colqwen2",
        architecture="colqwen2",
        default_instruction=None,
        input_types=INPUT_TYPES,
        max_tokens=MAX_TOKENS,
        layout=PageOrQuery(found.tokens, query_prefix(files, QUERY_PREFIX), query_tail="\n"),
    )
    return of_pages(profile, dimensions, WHITE)


PAGES = Difference(
    "ColQwen2 and ColQwen2.5 in transformers' form",
    "colpali-engine numbers a page's positions by M-RoPE and drops the alpha band; transformers counts plainly and "
    "lays pages on white",
    "as transformers",
    "each form has the vectors of what loads it; with the other positions vectors of a page are up to 0.04 off on the "
    "small checkpoint",
)

FAMILY = Family(
    model_types=("colqwen2",),
    about="ColQwen2 and ColQwen2.5 in transformers' form",
    make_profile=make_profile,
    kind="late interaction",
    stock="ColQwen2ForRetrieval, plain positions",
    modalities="text or image (a query, a page)",
    pooling="none: 128 numbers for each token",
    prompt="`Query: ` and ten `<|endoftext|>`; `Describe the image.`",
    tests=("tests/models/late_interaction/", "tests/models/late_pages/"),
    differences=(PAGES,),
)
