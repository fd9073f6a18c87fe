"""Late interaction over pages and queries: ColQwen3, in the forms of three makers, ColModernVBERT and ColSmol.

Every token has a vector, those of the template too, as in the references, which mask padding and nothing else. ColQwen3
is Qwen3-VL, whose positions see the image; ColModernVBERT and ColSmol see tiles by a SigLIP tower, before ModernBERT or
a causal Llama. ColQwen2 stands with Qwen2-VL's families, ColPali in a module of its own.

Source: `service/checkpoint/late/token_projection.py` names ColQwen3's; transformers 5.23 `ColModernVBertForRetrieval`
and `ColModernVBertProcessor`; colpali-engine 0.3.18 `ColIdefics3` and `ColIdefics3Processor`.
"""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.late.image_block import ImageBlock
from service.checkpoint.late.page_modules import read_projection
from service.checkpoint.late.tile_processor import TOWERS, TileProcessor, inner_files, tile_tokens
from service.checkpoint.late.token_projection import LINEAR, TOKENS_PIXELS, Form, find_projection, read_form
from service.media.resize.image_rule import PixelRule
from service.media.resize.tile_rule import TilePatches, TileRule
from service.prompt.families.qwen3_vl import make_profile as make_embedder_profile
from service.prompt.profile.family import Difference, page_family
from service.prompt.profile.page_profile import (
    INPUT_TYPES,
    NUM_QUERY_ENDS,
    chat_layout,
    engines_background,
    make_pages,
    of_pages,
    page_layout,
    query_ends,
    query_prefix,
)
from service.prompt.profile.profile import Profile
from service.prompt.profile.qwen2_vl_files import processor_pixels

END = "<end_of_utterance>"
PAGE_PROMPT, SMOL_PROMPT = (
    f"{begin}User:<image>Describe the image.{END}\nAssistant:" for begin in ("<|begin_of_text|>", "<|im_start|>")
)
"""Where the vocabulary has not the token that they begin with, it is text."""
IMAGE_IDS = {"modernvbert": 50_407, "idefics3": 128_257}
"""Transformers' defaults for `<image>` where config.json has none."""
PIXEL_RULE = PixelRule(factor=32, min_pixels=65_536, max_pixels=16_777_216, max_aspect=200)
"""Of transformers' processor for Qwen3-VL, where a checkpoint's files do not say."""
MAX_TOKENS = 32_768
"""Of Ops-Colqwen3; the others have no limit but the decoder's."""
HALVES = [0.5, 0.5, 0.5]


def make_colmodernvbert(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants."""
    inner = check_parts(files, "modernvbert", "modernbert", "siglip_vision_model")
    dimensions = positive({"embedding_dim": 128, **files.config}, "embedding_dim")
    return _tiled(files, inner, "colmodernvbert", PAGE_PROMPT, _query_prefix(files), dimensions=dimensions)


def make_colsmol(files: CheckpointFiles) -> Profile:
    """The same of ColSmol, adapters or merged."""
    inner = check_parts(files, "idefics3", "llama", "idefics3_vision", "idefics3", None)
    projection = read_projection(files, positive(inner.section("text_config"), "hidden_size"), LINEAR)
    prefix, num_ends = query_prefix(files, "Query: ", SMOL_PROMPT), query_ends(files)
    return _tiled(
        files, inner, "late_idefics3", SMOL_PROMPT, prefix, num_ends=num_ends, dimensions=projection.dimensions
    )


def check_parts(files: CheckpointFiles, model: str, text: str, *towers: object) -> CheckpointFiles:
    """The files whose config.json has the parts, which are of these types."""
    inner = inner_files(files.folder)
    text_type, tower = (inner.section(f"{part}_config").get("model_type") for part in ("text", "vision"))
    if (inner.model_type, text_type) != (model, text) or tower not in towers:
        raise CheckpointError(
            f"config.json has a {inner.part or 'model'} of {inner.model_type!r} with {text_type!r} and {tower!r}; "
            f"supported: {model!r} with {text!r} and {towers[0]!r}"
        )
    return inner


def _tiled(
    files: CheckpointFiles,
    inner: CheckpointFiles,
    architecture: str,
    page: str,
    prefix: str,
    *,
    num_ends: int = NUM_QUERY_ENDS,
    dimensions: int,
) -> Profile:
    """The profile of a model that sees tiles.

    Args:
        page: its prompt.
        prefix: of a query, which ends in `num_ends` of `END`.
    """
    text, processor = inner.section("text_config"), TileProcessor.read(files)
    _check_sizes(files, inner, processor)
    block = ImageBlock.read(files.folder, -(-processor.longest // processor.tile))
    tokens = {token["content"]: token["id"] for token in files.read_object("tokenizer.json").get("added_tokens", [])}
    image_id = inner.config.get("image_token_id", IMAGE_IDS[str(inner.model_type)])
    if END not in tokens or image_id != block.image:
        raise CheckpointError(
            f"config.json has image_token_id {image_id!r}, and tokenizer.json numbers "
            f"<image> {block.image} and {END} {tokens.get(END)}"
        )
    patches = TilePatches(
        patch_size=processor.tile,
        tile_tokens=tile_tokens(files.folder),
        line_tokens=len(block.line),
        last_line_tokens=len(block.last_line),
    )
    rule = TileRule(tile=processor.tile, longest=processor.longest, resample=processor.resample, patches=patches)
    return make_pages(
        "colsmol" if page == SMOL_PROMPT else "colmodernvbert",
        architecture,
        text,
        rule=rule,
        image_pad=block.image,
        protected=(block.image, block.fake, tokens[END]),
        layout=page_layout(files, page, (prefix, END * num_ends)),
        dimensions=dimensions,
        background=engines_background(files),
    )


def _check_sizes(files: CheckpointFiles, inner: CheckpointFiles, processor: TileProcessor) -> None:
    side = {**TOWERS[str(inner.model_type)], **inner.section("vision_config")}["image_size"]
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
    """The embedder's profile, but for template, length, pages' sizes and output."""
    form, projection = read_form(files)
    embedder = make_embedder_profile(files)
    assert embedder.images is not None
    profile = replace(
        embedder,
        name="colqwen3",
        architecture="late_qwen3_vl",
        default_instruction=None,
        input_types=INPUT_TYPES,
        max_tokens=min(MAX_TOKENS, positive(files.section("text_config"), "max_position_embeddings")),
        modalities=("text", "image"),
        images=replace(embedder.images, pixel_rule=_pixel_rule(files, form), video_rule=None),
        layout=chat_layout(files, form.query_prefix, query_ends(files), form=form),
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


QUERIES = Difference(
    "queries of ColSmol and ColPali as colpali-engine saves them, pages of ColSmol",
    "colpali-engine: `Query: `, ten end tokens and a newline up to 0.3.10; no newline since 0.3.11, no `Query: ` since "
    "0.3.13; ColSmol's words before the image up to 0.3.8. sentence-transformers' files have the first of them",
    "by those files where they are; else queries as ColQwen2.5's, set by the same keys (`query_prefix` empty is "
    "0.3.18's), and pages as in 0.3.18",
    "one form for all of colpali-engine's; a checkpoint without files of sentence-transformers does not say its own",
)
TOMORO = Difference(
    "tomoro-colqwen3: a text beside an image, videos",
    "the words stand after `Describe the image.`; a video is an item",
    "refused",
    "the model was trained on pages and queries; a page alone has the reference's vectors",
)

FAMILIES = {
    "colmodernvbert": page_family(
        model_types=("colmodernvbert",),
        about="ColModernVBERT in transformers' form",
        make_profile=make_colmodernvbert,
        stock="ColModernVBertForRetrieval",
        prompt="a query and ten `<end_of_utterance>`; `Describe the image.`",
    ),
    "colsmol": page_family(
        model_types=("idefics3",),
        about="ColSmol 256M and 500M, ColSmolVLM, of colpali-engine, adapters or merged",
        make_profile=make_colsmol,
        stock="Idefics3Model and a linear layer",
        prompt="`Query: ` and ten `<end_of_utterance>`; `Describe the image.`",
        differences=(QUERIES,),
    ),
    "colqwen3": page_family(
        model_types=("colqwen3", "ops_colqwen3", "qwen3_vl"),
        about="ColQwen3: colpali-engine's (adapters or merged), tomoro-colqwen3-embed 4B and 8B, Ops-Colqwen3 4B",
        make_profile=make_colqwen3,
        is_of=is_late,
        rank=2,
        stock="Qwen3VLModel and a linear layer",
        pooling="none: 320 numbers for each token, or what the projection gives",
        prompt="a query and ten `<|endoftext|>` (Ops: `Query: `); `Describe the image.`",
        differences=(TOMORO,),
    ),
}
