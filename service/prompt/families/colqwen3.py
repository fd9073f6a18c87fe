"""ColQwen3: late interaction over pages and queries on Qwen3-VL, in the forms of three makers, adapters too.

Every token has a vector, those of the template too; positions see the image.

Source: `service/checkpoint/late/token_projection.py` names the references.
"""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.late.token_projection import TOKENS_PIXELS, Form, find_projection, read_form
from service.media.resize.image_rule import PixelRule
from service.prompt.families.qwen3_vl import make_profile as make_embedder_profile
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.page_profile import INPUT_TYPES, of_pages, query_ends, query_prefix
from service.prompt.profile.profile import Profile
from service.prompt.profile.qwen2_vl_files import processor_pixels, special_tokens
from service.prompt.templates.page_or_query import PageOrQuery

PIXEL_RULE = PixelRule(factor=32, min_pixels=65_536, max_pixels=16_777_216, max_aspect=200)
"""Of transformers' processor for Qwen3-VL, where a checkpoint's files do not say."""
MAX_TOKENS = 32_768
"""Of Ops-Colqwen3; the others have no limit but the decoder's."""
HALVES = [0.5, 0.5, 0.5]


def is_late(files: CheckpointFiles) -> bool:
    """True where the files are of a form of their own, or the projection of tokens is among the weights."""
    return files.model_type != "qwen3_vl" or find_projection(files.folder) is not None


def make_profile(files: CheckpointFiles) -> Profile:
    """The embedder's profile, but for template, length, pages' sizes and output.

    Raises:
        CheckpointError: files are missing, damaged or in disagreement, or the projection is no linear layer.
    """
    form, projection = read_form(files)
    embedder = make_embedder_profile(files)
    assert embedder.images is not None
    layout = PageOrQuery.of_chat(
        special_tokens(files, {}),
        query_prefix(files, form.query_prefix),
        query_ends(files),
        strips=form.strips,
        answers=form.answers,
    )
    profile = replace(
        embedder,
        name="colqwen3",
        architecture="late_qwen3_vl",
        default_instruction=None,
        input_types=INPUT_TYPES,
        max_tokens=min(MAX_TOKENS, positive(files.section("text_config"), "max_position_embeddings")),
        modalities=("text", "image"),
        images=replace(embedder.images, pixel_rule=_pixel_rule(files, form), video_rule=None),
        layout=layout,
        expected_tail=None,
    )
    return of_pages(profile, projection.dimensions, "stored")


def _pixel_rule(files: CheckpointFiles, form: Form) -> PixelRule:
    """The processor's limits. Its normalization must be Qwen3-VL's."""
    said = files.processor().get("image_processor")
    said = said if isinstance(said, dict) else files.optional("preprocessor_config.json")
    for key in ("image_mean", "image_std"):
        if (numbers := said.get(key, HALVES)) != HALVES:
            raise CheckpointError(f"the processor's file has {key} {numbers!r}; supported: {HALVES}")
    found = processor_pixels(files, PIXEL_RULE)
    if not form.max_tokens:
        return found
    most = form.max_tokens * TOKENS_PIXELS
    return replace(found, min_pixels=min(found.min_pixels, most), max_pixels=most)


TOMORO = Difference(
    "tomoro-colqwen3: a text beside an image, videos",
    "the words stand after `Describe the image.`; a video is an item",
    "refused",
    "the model was trained on pages and queries; a page alone has the reference's vectors",
)

FAMILIES = {
    "colqwen3": Family(
        model_types=("colqwen3", "ops_colqwen3", "qwen3_vl"),
        about="ColQwen3: colpali-engine's (adapters or merged), tomoro-colqwen3-embed 4B and 8B, Ops-Colqwen3 4B",
        make_profile=make_profile,
        is_of=is_late,
        rank=2,
        kind="late interaction",
        stock="Qwen3VLModel and a linear layer",
        modalities="text or image (a query, a page)",
        pooling="none: 320 numbers for each token, or what the projection gives",
        prompt="a query and ten `<|endoftext|>` (Ops: `Query: `); `Describe the image.`",
        tests=("tests/models/late/",),
        differences=(TOMORO,),
    )
}
