"""ColPali: PaliGemma over pages and queries, in transformers' form and as colpali-engine saves it.

A page is one square of the tower's size, `<image>` for each of its patches, then `<bos>` and `Describe the image.`;
every token of a prompt attends to all of them, and each has a vector. colpali-engine's processor writes `<bos>` before
the words, and transformers' PaliGemma one more.

Source: transformers 5.24 `ColPaliForRetrieval`, `ColPaliProcessor`, `PaliGemmaConfig`; colpali-engine 0.3.18 `ColPali`,
`ColPaliProcessor`.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from service.checkpoint.config_files import CheckpointFiles, positive, token_text
from service.checkpoint.image_processor import processor_class, read_image_processor, read_scaling, read_square
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.late.page_modules import read_projection
from service.checkpoint.late.token_projection import CUSTOM
from service.media.item import Background
from service.media.resize.tower_rule import SquareRule
from service.prompt.families.pages import QUERIES, check_parts
from service.prompt.profile.family import page_family
from service.prompt.profile.page_profile import (
    NUM_QUERY_ENDS,
    engines_background,
    make_pages,
    page_layout,
    query_ends,
    query_prefix,
)
from service.prompt.profile.profile import Profile
from service.prompt.profile.tower_profile import WHITE

PARTS = ("paligemma", "gemma", "siglip_vision_model")
TEXT: Mapping[str, Any] = {"hidden_size": 2_048, "max_position_embeddings": 8_192}
VISION: Mapping[str, Any] = {"image_size": 224, "patch_size": 14}
IMAGE_ID = 256_000
"""Transformers' defaults, where config.json does not say."""
SCALING = (1 / 255, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
WORDS = "Describe the image."
ENGINES_PAGE = f"<image><bos>{WORDS}"


def make_native(files: CheckpointFiles) -> Profile:
    """ColPali in transformers' form, whose processor's file may have other words."""
    said = {"visual_prompt_prefix": WORDS, "query_prefix": "Question: ", **files.processor()}
    words, prefix = said["visual_prompt_prefix"], said["query_prefix"]
    if not isinstance(words, str) or not isinstance(prefix, str):
        raise CheckpointError(
            f"processor_config.json has visual_prompt_prefix {words!r} and query_prefix {prefix!r}; strings are needed"
        )
    dimensions = positive({"embedding_dim": 128, **files.config}, "embedding_dim")
    return _pages(files, "colpali", f"<image>{words}", prefix, NUM_QUERY_ENDS, dimensions, WHITE, "\n")


def make_merged(files: CheckpointFiles) -> Profile:
    """ColPali of colpali-engine, adapters or merged."""
    width = positive({**TEXT, **files.section("text_config")}, "hidden_size")
    prefix, found = query_prefix(files, "Query: ", ENGINES_PAGE), read_projection(files, width, CUSTOM)
    background = engines_background(files)
    return _pages(files, "late_paligemma", ENGINES_PAGE, prefix, query_ends(files), found.dimensions, background)


def _pages(
    files: CheckpointFiles,
    architecture: str,
    page: str,
    prefix: str,
    num_ends: int,
    dimensions: int,
    background: Background,
    tail: str = "",
) -> Profile:
    """The profile of either form: a page's prompt, and what stands around a query; see `make_pages`."""
    inner = check_parts(files, *PARTS)
    text, vision = {**TEXT, **inner.section("text_config")}, {**VISION, **inner.section("vision_config")}
    if text.get("use_bidirectional_attention") is False:
        raise CheckpointError("config.json has use_bidirectional_attention false; supported: true, as ColPali has it")
    said, num_ids = files.optional("tokenizer_config.json"), positive(text, "vocab_size")
    begin, pad = (token_text(said.get(f"{key}_token")) or f"<{key}>" for key in ("bos", "pad"))
    ids = files.special_tokens({token: token for token in (begin, pad, "<image>")})
    image_id = inner.config.get("image_token_index", inner.config.get("image_token_id", IMAGE_ID))
    if image_id != ids["<image>"] or image_id >= num_ids:
        raise CheckpointError(
            f"config.json has image_token_index {image_id!r} and vocab_size {num_ids}; tokenizer.json numbers <image> "
            f"{ids['<image>']}, which has to be the first, and below the second"
        )
    return make_pages(
        "colpali",
        architecture,
        text,
        rule=_rule(files, vision),
        image_pad=image_id,
        protected=tuple(ids.values()),
        layout=page_layout(files, page, (begin + prefix, pad * num_ends + tail), around=(begin, "\n")),
        dimensions=dimensions,
        background=background,
    )


def _rule(files: CheckpointFiles, vision: Mapping[str, Any]) -> SquareRule:
    """The square of the tower's size, in its patches."""
    kind = processor_class(files.folder)
    found, scaling, patch = read_square(files.folder, kind), read_scaling(files.folder, kind), vision["patch_size"]
    num = read_image_processor(files.folder, kind).get("image_seq_length")
    if (found.side, num, found.is_squashed) != (vision["image_size"], (found.side // patch) ** 2, True):
        raise CheckpointError(
            f"the image processor's file has images of {found.side} pixels and image_seq_length {num!r}; config.json "
            f"has image_size {vision['image_size']!r} in patches of {patch!r}"
        )
    if (scaling.factor, scaling.mean, scaling.std) != SCALING:
        raise CheckpointError(f"the image processor's file scales by {scaling}; supported: {SCALING}")
    return SquareRule(**asdict(found) | {"patch_size": patch})


NATIVE = page_family(
    model_types=("colpali",),
    about="ColPali 1.2 and 1.3 in transformers' form",
    make_profile=make_native,
    stock="ColPaliForRetrieval",
    prompt="`Question: ` and ten `<pad>`; `Describe the image.`",
)
FAMILIES = {
    "colpali": NATIVE,
    "colpali_engine": replace(
        NATIVE,
        model_types=("paligemma",),
        about="ColPali of colpali-engine, adapters or merged",
        make_profile=make_merged,
        stock="PaliGemmaModel and a linear layer",
        prompt="`Query: ` and ten `<pad>`; `Describe the image.`",
        differences=(QUERIES,),
    ),
}
