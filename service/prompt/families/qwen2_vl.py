"""Families on Qwen2-VL and Qwen2.5-VL: GME, Ops-MM, VLM2Vec, nomic-embed-multimodal, jina-embeddings-v4, ColQwen2.

They differ in template, image sizes and positions. GME hands `inputs_embeds` to the decoder, which then cannot find
images by token ids and counts 0, 1, 2, ... through an image, too; vectors of servers that number positions as Qwen2-VL
does differ (vLLM #16406: cosine 0.96). VLM2Vec's script finds images by the `<|vision_start|>` before them, and its
prompts have none: it counts likewise. The others have M-RoPE positions, ColQwen2 in colpali-engine's form alone, of
which ColNomic is one. Of ColQwen2 every token counts, those of the template too, as in the references, which mask
padding and nothing else.

Source: `gme_inference.py` and `ops_mm_embedding_v1.py` of the released checkpoints; mteb's wrapper;
TIGER-AI-Lab/VLM2Vec, `src/model/processor.py`, `src/arguments.py`, its `get_rope_index`; colpali-engine 0.3.18
`BiQwen2_5`, `ColQwen2_5`, `ColQwen2` and their processors; transformers 5.23 `ColQwen2ForRetrieval` and
`ColQwen2Processor`; jinaai/jina-embeddings-v4 and its `-vllm-retrieval`, `-vllm-text-matching`, `-vllm-code`
checkpoints; docs/notes/qwen3-vl-embedding.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.late.page_modules import read_projection
from service.checkpoint.late.token_projection import CUSTOM, find_projection
from service.checkpoint.lora.adapter import JOINED, chosen_task
from service.media.resize.image_rule import ImageRule, TwoStepRule
from service.prompt.conversation import Conversation
from service.prompt.piece import Piece
from service.prompt.profile.family import Difference, Family, page_family
from service.prompt.profile.page_profile import INPUT_TYPES, chat_layout, engines_background, of_pages, query_ends
from service.prompt.profile.profile import ImageProfile, Profile, input_types
from service.prompt.profile.qwen2_vl_files import check_patches, pixel_rule, processor_pixels, special_tokens
from service.prompt.profile.tower_profile import WHITE
from service.prompt.templates.chatml import ChatML, SpecialTokens
from service.prompt.templates.visual_prompt import IMAGE_INSTRUCTION, TextOrImage, VisualPrompt, bare_pads

Layout = Callable[[Conversation], Sequence[Piece]]
INSTRUCTION = "You are a helpful assistant."
"""GME's and Ops-MM's, whose instructions stand as they are given."""
GME_PIXELS = TwoStepRule(first=pixel_rule(4, 16_384), then=pixel_rule(4, 1_280))
"""GME's own resize, then its processor's with mteb's limits.

The released script gives its processor 256 tokens at least, and so enlarges thumbnails more.
"""
TRAINED_TOKENS = 32_768
"""What the decoder was trained for, where a family has no limit of its own; of jina-embeddings-v4 `text_max_length`."""
JINA_QUERY, JINA_PASSAGE = "Query: ", "Passage: "
JINA_MATRYOSHKA = (128, 256, 512, 1_024)
"""Lengths of the model card, below the full one."""
PAGE_PIXELS = pixel_rule(4, 1_280)
"""Of transformers' processor, where a checkpoint's files do not say; the released ColQwen2 says 768."""
RELEASED_PIXELS = pixel_rule(4, 768)
"""Of the preprocessor_config.json that jina-embeddings-v4 and ColQwen2.5 come with, should a checkpoint have none."""
QUERY_PREFIX = "Query: "
"""Of the releases of colpali-engine with which the models were trained; releases from 0.3.13 on have none."""
BACKBONES = ("qwen2_vl", "qwen2_5_vl")
"""Of ColQwen2 and of ColQwen2.5, which have one class in transformers."""


def make_embedder(
    files: CheckpointFiles,
    *,
    name: str,
    architecture: str,
    pixels: Callable[[CheckpointFiles], ImageRule],
    layout: Callable[[CheckpointFiles, SpecialTokens], Layout],
    max_tokens: int = TRAINED_TOKENS,
    types: Mapping[str, str] = INPUT_TYPES,
    instruction: str | None = None,
) -> Profile:
    """Join a checkpoint's numbers with a family's constants: the last token is pooled, and its vector normalized.

    Shorter vectors are offered only where config.json says so: but for Jina's the models were not trained for them.

    Args:
        files: released ones have the decoder's fields at the top of config.json, newer ones in `text_config`.
        types: the checkpoint's own prompts add names and never change these.
    """
    rule, text = pixels(files), files.section("text_config") if "text_config" in files.config else files.config
    check_patches(files.section("vision_config"), rule)
    tokens, dimensions = special_tokens(files), positive(text, "hidden_size")
    matryoshka = files.matryoshka(dimensions) or ()
    least = 1 if files.config.get("is_matryoshka") is True else dimensions
    return Profile(
        name=name,
        architecture=architecture,
        default_instruction=instruction,
        input_types={**files.prompts(), **types},
        pooling="last_token",
        normalize=True,
        dimensions=dimensions,
        min_dimensions=matryoshka[0] if matryoshka else least,
        matryoshka=matryoshka,
        max_tokens=min(max_tokens, positive(text, "max_position_embeddings")),
        modalities=("text", "image"),
        images=ImageProfile(
            pixel_rule=rule,
            background="stored",  # the embedders convert to RGB and drop the alpha band
            feature_width=dimensions,
            image_pad=tokens.image_pad,
            video_pad=tokens.video_pad,
        ),
        protected=astuple(tokens),
        layout=layout(files, tokens),
    )


def chat(_: CheckpointFiles, tokens: SpecialTokens) -> ChatML:
    """Qwen2-VL's chat template with `<|endoftext|>` after it, which is pooled."""
    return ChatML(tokens, INSTRUCTION, punctuates=False, closing=(tokens.end_of_text,))


def make_jina(files: CheckpointFiles) -> Profile:
    """See `make_embedder`; means over an image's tokens or a text's, never both.

    Each task is released merged, too; of that for matching texts a passage is read as a query.
    """
    passage = JINA_QUERY if chosen_task(files.folder / JOINED) == "text-matching" else JINA_PASSAGE
    profile = make_embedder(
        files,
        name="jina-embeddings-v4",
        architecture="stock_vlm_mrope_of_image",
        pixels=lambda files: processor_pixels(files, RELEASED_PIXELS),
        types=input_types(JINA_QUERY, document=passage, image=""),
        layout=lambda _, tokens: TextOrImage(tokens, (JINA_QUERY, JINA_PASSAGE)),
        instruction=JINA_QUERY,
    )
    full = profile.dimensions
    offered = profile.matryoshka or tuple(sorted({*(length for length in JINA_MATRYOSHKA if length < full), full}))
    return replace(profile, pooling="mean", mixes=False, matryoshka=offered, min_dimensions=offered[0])


def make_native(files: CheckpointFiles) -> Profile:
    """ColQwen2 in transformers' form: positions count plainly through an image, and pages lie on white."""
    inner = CheckpointFiles(files.folder, "vlm_config")
    if inner.model_type not in BACKBONES:
        raise CheckpointError(
            f"config.json has a vlm_config of {inner.model_type!r}; supported: {' and '.join(map(repr, BACKBONES))}"
        )
    profile = make_embedder(
        inner,
        name="colqwen2",
        architecture="colqwen2",
        pixels=lambda _: processor_pixels(files, PAGE_PIXELS),
        layout=lambda _files, _tokens: chat_layout(files, QUERY_PREFIX, tail="\n"),
    )
    return of_pages(profile, positive({"embedding_dim": 128, **files.config}, "embedding_dim"), WHITE)


def make_merged(files: CheckpointFiles) -> Profile:
    """ColQwen2 and ColQwen2.5 of colpali-engine."""
    profile = make_embedder(
        files,
        name="colqwen2.5" if files.model_type == "qwen2_5_vl" else "colqwen2",
        architecture="late_vlm",
        pixels=lambda files: processor_pixels(files, RELEASED_PIXELS),
        layout=lambda files, _tokens: chat_layout(files, QUERY_PREFIX, query_ends(files)),
    )
    return of_pages(profile, read_projection(files, profile.dimensions, CUSTOM).dimensions, engines_background(files))


NOMIC_QUERIES = Difference(
    "nomic-embed-multimodal's queries",
    "colpali-engine: `Query: ` and one end token at first, ten in 0.3.11 and 0.3.12, no `Query: ` since 0.3.13",
    "`Query: ` and ten; `cenote.query_end_tokens` of config.json sets the number",
    "one form for all; a checkpoint does not say which one it was made with",
)
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
GME = Family(
    model_types=("qwen2_vl",),
    about="GME-Qwen2-VL 2B and 7B",
    make_profile=partial(
        make_embedder,
        name="gme-qwen2-vl",
        architecture="stock_vlm_plain",
        pixels=lambda _: GME_PIXELS,
        max_tokens=1_800,  # the embedder's `max_length`
        # the query's is of the model card's example; documents keep the default, as `is_query=False` does
        types=input_types(INSTRUCTION, query="Find an image that matches the given text."),
        layout=chat,
        instruction=INSTRUCTION,
    ),
    named=("gme",),
    kind="vision-language",
    stock="Qwen2VLModel, plain positions",
    modalities="text, image",
    pooling="last token",
    prompt="ChatML with a system turn, `<|endoftext|>` after it",
    tests=("tests/models/vlm/",),
)
COLQWEN2 = page_family(
    model_types=("colqwen2",),
    about="ColQwen2 and ColQwen2.5 in transformers' form",
    make_profile=make_native,
    stock="ColQwen2ForRetrieval, plain positions",
    prompt="`Query: ` and ten `<|endoftext|>`; `Describe the image.`",
    differences=(PAGES,),
)

FAMILIES = {
    "gme_qwen2_vl": GME,
    "ops_mm_embedding": replace(
        GME,
        about="Ops-MM-embedding-v1 2B and 7B",
        make_profile=partial(
            make_embedder,
            name="ops-mm-embedding",
            architecture="stock_vlm_mrope",
            pixels=lambda _: pixel_rule(256, 1_280),  # Ops-MM's own resize, which leaves nothing to its processor's
            max_tokens=8_192,  # Ops-MM has no limit of its own
            types=input_types(INSTRUCTION),
            layout=chat,
            instruction=INSTRUCTION,
        ),
        named=("ops",),
        stock="Qwen2VLModel",
        prompt="GME's, over larger images",
    ),
    "vlm2vec": replace(  # the LoRA merged; the last token of the text is pooled
        GME,
        about="VLM2Vec-V2, merged",
        make_profile=partial(
            make_embedder,
            name="vlm2vec",
            architecture="stock_vlm_plain",
            pixels=lambda _: pixel_rule(4, 1_280),  # `resize_min_pixels` and `resize_max_pixels`
            max_tokens=8_192,  # the script has no limit of its own
            # the training data has an instruction for each task, and none for all queries
            types=input_types("", image=IMAGE_INSTRUCTION),
            layout=lambda _files, _tokens: bare_pads,
        ),
        named=("vlm2vec",),
        prompt="image, instruction, text; no template",
    ),
    "nomic_multimodal": replace(  # colpali-engine's BiQwen2.5, which lets transformers' processor resize
        GME,
        model_types=("qwen2_5_vl",),
        about="nomic-embed-multimodal 3B and 7B",
        make_profile=partial(
            make_embedder,
            name="nomic-embed-multimodal",
            architecture="stock_vlm_mrope",
            pixels=lambda files: processor_pixels(files, PAGE_PIXELS),
            layout=lambda files, tokens: VisualPrompt(tokens, query_ends(files)),
        ),
        named=("nomic", "biqwen2"),
        stock="Qwen2_5_VLModel",
        prompt="`Describe the image.`, `Query: `",
        differences=(NOMIC_QUERIES,),
    ),
    "jina_v4": replace(
        GME,
        model_types=("qwen2_5_vl",),
        about="jina-embeddings-v4, a merged task or one of MODEL/adapters/TASK",
        make_profile=make_jina,
        named=("jina",),
        stock="Qwen2_5_VLModel",
        modalities="text; image, never together",
        pooling="mean of the image's tokens, or the text's",
        prompt="`Query: `, `Passage: `; a turn for an image",
    ),
    "colqwen2": COLQWEN2,
    "colqwen2_5": replace(
        COLQWEN2,
        model_types=("qwen2_5_vl", "qwen2_vl"),
        about="ColQwen2.5, ColNomic and ColQwen2 of colpali-engine, adapters or merged",
        make_profile=make_merged,
        is_of=lambda files: find_projection(files.folder) is not None,
        rank=1,
        stock="Qwen2_5_VLModel, Qwen2VLModel and a linear layer",
        differences=(QUERIES,),
    ),
}
