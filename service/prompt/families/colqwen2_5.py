"""ColQwen2.5 and ColQwen2 as colpali-engine saves them, an adapter over its base or merged; ColNomic too.

Every token has a vector, those of the template too. Positions see the image (M-RoPE), other than in transformers' form.

Source: colpali-engine 0.3.18 `ColQwen2_5`, `ColQwen2` and their processors; docs/notes/qwen3-vl-embedding.md.
"""

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.errors import UnsupportedModelError
from service.checkpoint.late.token_projection import CUSTOM, find_projection
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.page_profile import INPUT_TYPES, of_pages, query_ends, query_prefix
from service.prompt.profile.profile import Profile
from service.prompt.profile.qwen2_vl_files import Qwen2VLFiles, pixel_rule, processor_pixels
from service.prompt.templates.page_or_query import PageOrQuery

PIXEL_RULE = pixel_rule(4, 768)
"""Of the released preprocessor_config.json, should a checkpoint come without."""
MAX_TOKENS = 32_768
"""The engine has no limit of its own; this is what the decoder was trained for."""
QUERY_PREFIX = "Query: "
"""Of the releases of colpali-engine with which the models were trained; releases from 0.3.13 on have none."""


def is_late(files: CheckpointFiles) -> bool:
    """True where the projection of tokens is among the weights."""
    return find_projection(files.folder) is not None


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    Raises:
        UnsupportedModelError: files are missing, damaged or in disagreement.
        CheckpointError: the projection is no linear layer.
    """
    found = Qwen2VLFiles.read(files, processor_pixels(files, PIXEL_RULE))
    projection = find_projection(files.folder)
    if projection is None or projection.width != found.dimensions:
        raise UnsupportedModelError(
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


QUERIES = Difference(
    "queries of ColQwen2.5 and ColQwen2 as colpali-engine saves them",
    "colpali-engine: `Query: ` and ten end tokens; without `Query: ` since 0.3.13",
    '`Query: ` and ten; `"cenote": {"query_prefix": "", "query_end_tokens": 10}` in config.json sets both',
    "the models were trained with it; a checkpoint does not say which it was made with",
)

FAMILY = Family(
    model_types=("qwen2_5_vl", "qwen2_vl"),
    about="ColQwen2.5, ColNomic and ColQwen2 of colpali-engine, adapters or merged",
    make_profile=make_profile,
    is_of=is_late,
    rank=1,
    kind="late interaction",
    stock="Qwen2_5_VLModel, Qwen2VLModel and a linear layer",
    modalities="text or image (a query, a page)",
    pooling="none: 128 numbers for each token",
    prompt="`Query: ` and ten `<|endoftext|>`; `Describe the image.`",
    tests=("tests/models/late_pages/",),
    differences=(QUERIES,),
)
