"""ColModernVBERT: late interaction over pages and queries, a SigLIP tower over tiles and ModernBERT.

Every token has a vector, those of the template too, as in the reference, which masks padding and nothing else.

Source: transformers 5.23 `ColModernVBertForRetrieval` and `ColModernVBertProcessor`.
"""

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.late.image_block import ImageBlock
from service.checkpoint.late.tile_processor import VISION, TileProcessor, tile_tokens
from service.media.resize.tile_rule import TilePatches, TileRule
from service.prompt.piece import TextPiece, TokenPiece
from service.prompt.profile.family import Family
from service.prompt.profile.page_profile import INPUT_TYPES, of_pages
from service.prompt.profile.profile import ImageProfile, Profile
from service.prompt.templates.page_or_query import PageOrQuery

BEGIN, END = "<|begin_of_text|>", "<end_of_utterance>"
"""Where the vocabulary has no `BEGIN`, it is text."""
PAGE_PROMPT = f"{BEGIN}User:<image>Describe the image.{END}\nAssistant:"
IMAGE_ID = 50_407
"""Transformers' default for `<image>` where config.json has none."""


def make_profile(files: CheckpointFiles) -> Profile:
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


FAMILIES = {
    "colmodernvbert": Family(
        model_types=("colmodernvbert",),
        about="ColModernVBERT in transformers' form",
        make_profile=make_profile,
        kind="late interaction",
        stock="ColModernVBertForRetrieval",
        modalities="text or image (a query, a page)",
        pooling="none: 128 numbers for each token",
        prompt="a query and ten `<end_of_utterance>`; `Describe the image.`",
        tests=("tests/models/late/",),
    )
}
