"""Families on Qwen3.5 with images: WeMM-Embedding and ColQwen3.5.

WeMM's own code is known by its name and never run: it pools the last token, and qwen-vl-utils resizes its images before
its processor does.

Source: Tencent/WeMM-Embedding, `examples/`; qwen-vl-utils 0.0.14; transformers 5.24 `Qwen3_5Model`, `Qwen3VLProcessor`;
colpali-engine 0.3.18 `ColQwen3_5`, `ColQwen3_5Processor`; vLLM `ColQwen3_5Config`.
"""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.late.page_modules import read_projection
from service.checkpoint.late.token_projection import ATTENTION, CONTRACTS, CUSTOM, find_projection
from service.checkpoint.sentence_settings import check_sizes
from service.checkpoint.tokenizer_settings import max_length
from service.media.resize.image_rule import PixelRule, TwoStepRule
from service.media.video.video_rule import VideoRule
from service.prompt.families.pages import PIXEL_RULE
from service.prompt.families.qwen2_vl import COLQWEN2, GME, TRAINED_TOKENS, make_embedder
from service.prompt.profile.chat_templates import check_chat_template
from service.prompt.profile.family import Difference
from service.prompt.profile.page_profile import chat_layout, engines_background, of_pages, query_ends
from service.prompt.profile.profile import Profile
from service.prompt.profile.qwen2_vl_files import processor_pixels
from service.prompt.profile.text_profile import protected_tokens
from service.prompt.templates.chatml import ChatML, SpecialTokens

WEMM = "modeling_wemm_embedding.WeMMEmbedding"
"""Its `AutoModel` of `auto_map`."""
EMBEDDING = "<embedding>"
"""The token whose state is pooled, the last."""
MODEL_CLASS = "PackedQwen3_5Model"
FIRST_PIXELS = PixelRule(factor=32, min_pixels=4 * 32 * 32, max_pixels=16_384 * 32 * 32)
"""Of qwen-vl-utils."""
VIDEO = VideoRule(fps=2.0, max_frames=180, total_pixels=12_582_912, total_file_pixels=12_582_912)
"""Of qwen-vl-utils, with no more pixels than Qwen3.5's processor leaves as they are: 25,165,824 in all frames."""


def is_wemm(files: CheckpointFiles) -> bool:
    """True if the folder names the code of WeMM-Embedding."""
    own = files.config.get("auto_map")
    return isinstance(own, dict) and str(own.get("AutoModel")).rpartition("--")[2] == WEMM


def _layout(files: CheckpointFiles, tokens: SpecialTokens) -> ChatML:
    """The chat template of the folder, which must write what WeMM-Embedding's does."""
    (last,) = files.special_tokens({"last": EMBEDDING}).values()
    layout = ChatML(tokens, "", closing=(last,), answers=False, is_as_written=True)
    check_chat_template(files, layout, EMBEDDING)
    return layout


def make_wemm(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's files with qwen-vl-utils' numbers."""
    if any(prompts := files.prompts().values()):
        raise CheckpointError(f"{files.folder} has the prompts {[*prompts]}; supported of WeMM-Embedding: none")
    pixels = processor_pixels(files, PIXEL_RULE)
    check_sizes(files, pixels.min_pixels, pixels.max_pixels)
    profile = make_embedder(
        files,
        name="wemm-embedding",
        architecture=f"stock_vlm_of_videos:{MODEL_CLASS}",
        pixels=lambda _: TwoStepRule(first=FIRST_PIXELS, then=pixels),
        max_tokens=min(TRAINED_TOKENS, max_length(files) or TRAINED_TOKENS),
        layout=_layout,
    )
    assert profile.images is not None
    return replace(
        profile,
        modalities=("text", "image", "video"),
        images=replace(profile.images, background="reference", video_rule=VIDEO),
        protected=protected_tokens(files.read_object("tokenizer.json")),
        takes_instructions=False,
    )


def make_late(files: CheckpointFiles) -> Profile:
    """ColQwen3.5 of colpali-engine."""
    if "head_dims" in files.config:
        raise CheckpointError("config.json has head_dims: several heads, which EVIE's own code has; supported: one")
    width = positive(files.section("text_config"), "hidden_size")
    projection = read_projection(files, width, CUSTOM)
    if (size := files.config.get("dim", projection.dimensions)) != projection.dimensions:
        raise CheckpointError(f"config.json has dim {size}, but {CUSTOM} gives {projection.dimensions} numbers")
    if (said := files.config.get(ATTENTION)) not in (None, *CONTRACTS):
        raise CheckpointError(f"config.json has {ATTENTION} {said!r}; supported: {' and '.join(map(repr, CONTRACTS))}")
    profile = make_embedder(
        files,
        name="colqwen3.5",
        architecture=f"late_vlm:{MODEL_CLASS}",
        pixels=lambda files: processor_pixels(files, PIXEL_RULE),
        layout=lambda files, _tokens: chat_layout(files, "", query_ends(files)),
    )
    return of_pages(profile, projection.dimensions, engines_background(files))


LONG_VIDEOS = Difference(
    "WeMM-Embedding, videos of more than 25 million pixels in all frames, or of 90 seconds",
    "frames are resized a second time, by the processor; up to 768 are taken, two of each second",
    "resized once, to a size that the processor keeps; up to 180 are taken",
    "the second resize is torchvision's own; the makers measured the model with 64 frames",
)
ATTENTIONS = Difference(
    "ColQwen3.5 with `retrieval_attention_contract` in config.json",
    "colpali-engine attends as `is_causal` of text_config says and passes over the key; vLLM obeys it",
    "the key is obeyed",
    "it says how the model was trained, and there are checkpoints of both kinds",
)

FAMILIES = {
    "wemm_embedding": replace(
        GME,
        model_types=("qwen3_5",),
        about="WeMM-Embedding 2B, 4B and 9B",
        make_profile=make_wemm,
        named=(),
        is_of=is_wemm,
        rank=2,
        stock="Qwen3_5Model",
        modalities="text, image, video",
        prompt="a user turn and `<embedding>`, by its chat template",
        differences=(LONG_VIDEOS,),
    ),
    "colqwen3_5": replace(
        COLQWEN2,
        model_types=("qwen3_5",),
        about="ColQwen3.5 of colpali-engine, adapters or merged",
        make_profile=make_late,
        is_of=lambda files: find_projection(files.folder) is not None,
        rank=1,
        stock="Qwen3_5Model and a linear layer",
        pooling="none: 128 or 320 numbers for each token",
        prompt="a query and ten `<|endoftext|>`; `Describe the image.`",
        differences=(ATTENTIONS,),
    ),
}
