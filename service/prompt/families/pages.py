"""Late interaction over pages and queries: ColQwen3, in the forms of three makers, and ColModernVBERT.

Every token has a vector, those of the template too, as in the references, which mask padding and nothing else. ColQwen3
is Qwen3-VL, whose positions see the image; ColModernVBERT a SigLIP tower over tiles and ModernBERT. ColQwen2 stands
with Qwen2-VL's families.

Source: `service/checkpoint/late/token_projection.py` names ColQwen3's; transformers 5.23 `ColModernVBertForRetrieval`
and `ColModernVBertProcessor`.
"""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.late.image_block import ImageBlock
from service.checkpoint.late.tile_processor import VISION, TileProcessor, tile_tokens
from service.checkpoint.late.token_projection import TOKENS_PIXELS, Form, find_projection, read_form
from service.media.resize.image_rule import PixelRule
from service.media.resize.tile_rule import TilePatches, TileRule
from service.prompt.families.qwen3_vl import make_profile as make_embedder_profile
from service.prompt.piece import TextPiece, TokenPiece
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.page_profile import INPUT_TYPES, of_pages, query_ends, query_prefix
from service.prompt.profile.profile import ImageProfile, Profile
from service.prompt.profile.qwen2_vl_files import processor_pixels, special_tokens
from service.prompt.templates.page_or_query import PageOrQuery

BEGIN, END = "<|begin_of_text|>", "<end_of_utterance>"
"""Where the vocabulary has no `BEGIN`, it is text."""
PAGE_PROMPT = f"{BEGIN}User:<image>Describe the image.{END}\nAssistant:"
IMAGE_ID = 50_407
"""Transformers' default for `<image>` where config.json has none."""
PIXEL_RULE = PixelRule(factor=32, min_pixels=65_536, max_pixels=16_777_216, max_aspect=200)
"""Of transformers' processor for Qwen3-VL, where a checkpoint's files do not say."""
MAX_TOKENS = 32_768
"""Of Ops-Colqwen3; the others have no limit but the decoder's."""
HALVES = [0.5, 0.5, 0.5]


def make_colmodernvbert(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    Raises:
        CheckpointError: files are missing, damaged or in disagreement; or tower or encoder are others.
    """
    inner = CheckpointFiles(files.folder, "vlm_config")
    text = inner.section("text_config")
    types = (inner.model_type, text.get("model_type"), inner.section("vision_config").get("model_type"))
    if types != ("modernvbert", "modernbert", "siglip_vision_model"):
        raise CheckpointError(
            f"config.json has a vlm_config of {types[0]!r} with {types[1]!r} and {types[2]!r}; supported: "
            "'modernvbert' with 'modernbert' and 'siglip_vision_model'"
        )
    processor = TileProcessor.read(files)
    _check_sizes(files, inner, processor)
    block = ImageBlock.read(files.folder, -(-processor.longest // processor.tile))
    tokens = {token["content"]: token["id"] for token in files.read_object("tokenizer.json").get("added_tokens", [])}
    image_id = inner.config.get("image_token_id", IMAGE_ID)
    if END not in tokens or image_id != block.image:
        raise CheckpointError(
            f"config.json has image_token_id {image_id!r}, and tokenizer.json numbers "
            f"<image> {block.image} and {END} {tokens.get(END)}"
        )
    width, dimensions = positive(text, "hidden_size"), positive({"embedding_dim": 128, **files.config}, "embedding_dim")
    patches = TilePatches(
        patch_size=processor.tile,
        tile_tokens=tile_tokens(files.folder),
        line_tokens=len(block.line),
        last_line_tokens=len(block.last_line),
    )
    rule = TileRule(tile=processor.tile, longest=processor.longest, resample=processor.resample, patches=patches)
    num_ids = positive(text, "vocab_size")
    begin = (TokenPiece(tokens[BEGIN]), TextPiece("User:")) if BEGIN in tokens else (TextPiece(f"{BEGIN}User:"),)
    profile = Profile(
        name="colmodernvbert",
        architecture="colmodernvbert",
        default_instruction=None,
        input_types=INPUT_TYPES,
        pooling="mean",
        normalize=True,
        dimensions=width,
        min_dimensions=width,
        matryoshka=(),
        max_tokens=positive(text, "max_position_embeddings"),
        modalities=("text", "image"),
        images=ImageProfile(pixel_rule=rule, feature_width=width, image_pad=block.image, video_pad=num_ids),
        protected=(block.image, block.fake, tokens[END]),
        layout=PageOrQuery(
            before=begin,
            after=(TextPiece("Describe the image."), TokenPiece(tokens[END]), TextPiece("\nAssistant:")),
            query_prefix=_query_prefix(files),
            query_end=tokens[END],
        ),
    )
    return of_pages(profile, dimensions, "stored")


def _check_sizes(files: CheckpointFiles, inner: CheckpointFiles, processor: TileProcessor) -> None:
    side = {**VISION, **inner.section("vision_config")}["image_size"]
    said = files.processor().get("image_seq_len")
    if side != processor.tile or said not in (None, tile_tokens(files.folder)):
        raise CheckpointError(
            f"the processor's files have tiles of {processor.tile} pixels and image_seq_len {said!r}; config.json has "
            f"image_size {side!r}, which are {tile_tokens(files.folder)} tokens"
        )


def _query_prefix(files: CheckpointFiles) -> str:
    said = files.processor()
    if (page := said.get("visual_prompt_prefix") or PAGE_PROMPT) != PAGE_PROMPT:
        raise CheckpointError(f"processor_config.json has visual_prompt_prefix {page!r}; supported: {PAGE_PROMPT!r}")
    prefix = said.get("query_prefix") or ""
    if not isinstance(prefix, str):
        raise CheckpointError(f"processor_config.json has query_prefix {prefix!r}; a string is needed")
    return prefix


def is_late(files: CheckpointFiles) -> bool:
    """True where the files are of a form of their own, or the projection of tokens is among the weights."""
    return files.model_type != "qwen3_vl" or find_projection(files.folder) is not None


def make_colqwen3(files: CheckpointFiles) -> Profile:
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
    "colmodernvbert": Family(
        model_types=("colmodernvbert",),
        about="ColModernVBERT in transformers' form",
        make_profile=make_colmodernvbert,
        kind="late interaction",
        stock="ColModernVBertForRetrieval",
        modalities="text or image (a query, a page)",
        pooling="none: 128 numbers for each token",
        prompt="a query and ten `<end_of_utterance>`; `Describe the image.`",
        tests=("tests/models/late/",),
    ),
    "colqwen3": Family(
        model_types=("colqwen3", "ops_colqwen3", "qwen3_vl"),
        about="ColQwen3: colpali-engine's (adapters or merged), tomoro-colqwen3-embed 4B and 8B, Ops-Colqwen3 4B",
        make_profile=make_colqwen3,
        is_of=is_late,
        rank=2,
        kind="late interaction",
        stock="Qwen3VLModel and a linear layer",
        modalities="text or image (a query, a page)",
        pooling="none: 320 numbers for each token, or what the projection gives",
        prompt="a query and ten `<|endoftext|>` (Ops: `Query: `); `Describe the image.`",
        tests=("tests/models/late/",),
        differences=(TOMORO,),
    ),
}
