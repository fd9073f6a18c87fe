"""ColQwen2 and ColQwen2.5: late interaction over pages and queries, in transformers' form and colpali-engine's.

Every token counts, those of the template too, as in the references, which mask padding and nothing else. Positions see
the image (M-RoPE) in colpali-engine's form alone, of which ColNomic is one.

Source: transformers 5.23 `ColQwen2ForRetrieval` and `ColQwen2Processor`; colpali-engine 0.3.18 `ColQwen2_5`, `ColQwen2`
and their processors; docs/notes/qwen3-vl-embedding.md.
"""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.late.token_projection import CUSTOM, find_projection
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.page_profile import INPUT_TYPES, of_pages, query_ends, query_prefix
from service.prompt.profile.profile import Profile
from service.prompt.profile.qwen2_vl_files import Qwen2VLFiles, pixel_rule, processor_pixels
from service.prompt.templates.page_or_query import PageOrQuery

PIXEL_RULE = pixel_rule(4, 1_280)
"""Of transformers' processor, where its files do not say; the released checkpoint says 768."""
MERGED_PIXEL_RULE = pixel_rule(4, 768)
"""Of the released preprocessor_config.json of colpali-engine's form, should a checkpoint come without."""
MAX_TOKENS = 32_768
"""Neither form has a limit of its own; this is what the decoder was trained for."""
QUERY_PREFIX = "Query: "
"""Of the releases of colpali-engine with which the models were trained; releases from 0.3.13 on have none."""
WHITE = (255, 255, 255)
"""Under what is transparent: transformers 5.23's processors lay every image on it."""
BACKBONES = ("qwen2_vl", "qwen2_5_vl")
"""Of ColQwen2 and of ColQwen2.5, which have one class in transformers."""


def make_native(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    Raises:
        CheckpointError: files are missing, damaged or in disagreement; or the decoder is none of
            `BACKBONES`.
    """
    inner = CheckpointFiles(files.folder, "vlm_config")
    if inner.model_type not in BACKBONES:
        raise CheckpointError(
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


def is_late(files: CheckpointFiles) -> bool:
    """True where the projection of tokens is among the weights."""
    return find_projection(files.folder) is not None


def make_merged(files: CheckpointFiles) -> Profile:
    """Likewise, of a checkpoint of colpali-engine.

    Raises:
        CheckpointError: files are missing, damaged or in disagreement, or the projection is no linear layer.
    """
    found = Qwen2VLFiles.read(files, processor_pixels(files, MERGED_PIXEL_RULE))
    projection = find_projection(files.folder)
    if projection is None or projection.width != found.dimensions:
        raise CheckpointError(
            f"{files.folder} has no linear layer {CUSTOM} over the decoder's {found.dimensions} numbers"
        )
    profile = found.profile(
        name="colqwen2.5" if files.model_type == "qwen2_5_vl" else "colqwen2",
        architecture="late_vlm",
        default_instruction=None,
        input_types=INPUT_TYPES,
        max_tokens=MAX_TOKENS,
        layout=PageOrQuery(found.tokens, query_prefix(files, QUERY_PREFIX), query_ends(files)),
    )
    return of_pages(profile, projection.dimensions, "stored")


PAGES = Difference(
    "ColQwen2 and ColQwen2.5 in transformers' form",
    "colpali-engine numbers a page's positions by M-RoPE and drops the alpha band; transformers counts plainly and "
    "lays pages on white",
    "as transformers",
    "each form has the vectors of what loads it; with the other positions vectors of a page are up to 0.04 off on the "
    "small checkpoint",
)

QUERIES = Difference(
    "queries of ColQwen2.5 and ColQwen2 as colpali-engine saves them",
    "colpali-engine: `Query: ` and ten end tokens; without `Query: ` since 0.3.13",
    '`Query: ` and ten; `"cenote": {"query_prefix": "", "query_end_tokens": 10}` in config.json sets both',
    "the models were trained with it; a checkpoint does not say which it was made with",
)

NATIVE = Family(
    model_types=("colqwen2",),
    about="ColQwen2 and ColQwen2.5 in transformers' form",
    make_profile=make_native,
    kind="late interaction",
    stock="ColQwen2ForRetrieval, plain positions",
    modalities="text or image (a query, a page)",
    pooling="none: 128 numbers for each token",
    prompt="`Query: ` and ten `<|endoftext|>`; `Describe the image.`",
    tests=("tests/models/late/",),
    differences=(PAGES,),
)

FAMILIES = {
    "colqwen2": NATIVE,
    "colqwen2_5": replace(
        NATIVE,
        model_types=("qwen2_5_vl", "qwen2_vl"),
        about="ColQwen2.5, ColNomic and ColQwen2 of colpali-engine, adapters or merged",
        make_profile=make_merged,
        is_of=is_late,
        rank=1,
        stock="Qwen2_5_VLModel, Qwen2VLModel and a linear layer",
        tests=("tests/models/late/",),
        differences=(QUERIES,),
    ),
}
