"""The profile of late interaction over pages and queries, which ColQwen2 and similar models share."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.late.page_modules import has_dense, read_prompts
from service.checkpoint.late.token_projection import Form
from service.media.item import Background
from service.media.resize.image_rule import ImageRule
from service.prompt.profile.profile import MULTI_VECTOR, ImageProfile, Profile, input_types
from service.prompt.profile.tower_profile import WHITE
from service.prompt.templates.page_or_query import PageOrQuery

END = "<|endoftext|>"
PAGE_PROMPT = f"<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Describe the image.<|im_end|>{END}"
NUM_QUERY_ENDS = 10
"""End tokens after a query, with which the models were trained to expand it."""
PLAIN = Form()
INPUT_TYPES = input_types("")
"""Texts are queries and images are pages, whatever they are for."""


def make_pages(
    name: str,
    architecture: str,
    text: Mapping[str, Any],
    *,
    rule: ImageRule,
    image_pad: int,
    protected: tuple[int, ...],
    layout: PageOrQuery,
    dimensions: int,
    background: Background,
) -> Profile:
    """The profile of a model of pages that is no embedder otherwise.

    Args:
        text: of config.json: its text model.
        rule: of images, which the placeholder `image_pad` stands for.
        protected: see `Profile`; so are the others.
        dimensions: see `of_pages`; so is `background`.
    """
    width, num_ids = positive(text, "hidden_size"), positive(text, "vocab_size")
    profile = Profile(
        name=name,
        architecture=architecture,
        default_instruction=None,
        input_types=INPUT_TYPES,
        pooling="mean",
        normalize=True,
        dimensions=width,
        min_dimensions=width,
        matryoshka=(),
        max_tokens=positive(text, "max_position_embeddings"),
        modalities=("text", "image"),
        images=ImageProfile(pixel_rule=rule, feature_width=width, image_pad=image_pad, video_pad=num_ids),
        protected=protected,
        layout=layout,
    )
    return of_pages(profile, dimensions, background)


def page_layout(
    files: CheckpointFiles,
    page: str,
    query: tuple[str, str],
    *,
    image: str = "<image>",
    around: tuple[str, str] = ("", ""),
    strips: bool = False,
) -> PageOrQuery:
    """The template by what a processor writes; by the folder's chat template, where sentence-transformers reads one.

    Args:
        page: with `image` in it.
        query: before and after the text.
        around: what the model's processor writes around the text after an image, whoever wrote that.
        strips: see `PageOrQuery`.
    """
    before, _, after = page.partition(image)
    (before, after), query = read_prompts(files, image, ((before, after), query))
    added = {token["content"]: token["id"] for token in files.read_object("tokenizer.json").get("added_tokens", [])}
    return PageOrQuery.of_texts(added, (before, around[0] + after + around[1]), query, strips=strips)


def chat_layout(
    files: CheckpointFiles, prefix: str, num_ends: int = NUM_QUERY_ENDS, *, tail: str = "", form: Form = PLAIN
) -> PageOrQuery:
    """That of ColQwen2 and similar models; see `query_prefix`.

    Args:
        prefix: before a query, where the files say nothing.
        num_ends: of `<|endoftext|>` after a query, before `tail`.
    """
    page = PAGE_PROMPT.replace(END, f"<|im_start|>assistant\n{END}") if form.answers else PAGE_PROMPT
    query = (query_prefix(files, prefix), END * num_ends + tail)
    return page_layout(files, page, query, image="<|image_pad|>", strips=form.strips)


def of_pages(profile: Profile, dimensions: int, background: Background) -> Profile:
    """The profile of a decoder, made one of pages and queries: each token of a prompt has a vector.

    Args:
        dimensions: numbers of a vector.
        background: under what is transparent in an image.
    """
    assert profile.images is not None
    return replace(
        profile,
        pooling=MULTI_VECTOR,
        outputs=("multi",),
        dimensions=dimensions,
        min_dimensions=dimensions,
        matryoshka=(dimensions,),
        images=replace(profile.images, background=background),
        takes_instructions=False,
        mixes=False,
    )


def engines_background(files: CheckpointFiles) -> Background:
    """The alpha band is dropped by colpali-engine; pages are white below it where sentence-transformers reads them."""
    return WHITE if has_dense(files.folder) else "stored"


def query_ends(files: CheckpointFiles) -> int:
    """End tokens after a query: ten, or `cenote.query_end_tokens` of config.json."""
    return positive({"query_end_tokens": NUM_QUERY_ENDS, **files.own}, "query_end_tokens")


def query_prefix(files: CheckpointFiles, default: str, page: str = PAGE_PROMPT) -> str:
    """Text before a query: `cenote.query_prefix` of config.json, else `query_prefix` of processor_config.json.

    Args:
        default: where neither says anything.
        page: the only prompt of pages that the processor's file may have.
    """
    said = files.processor()
    begin, end = said.get("visual_prompt_prefix") or page, said.get("visual_prompt_suffix") or ""
    if page not in (begin, f"{begin}{end}"):
        raise CheckpointError(
            f"processor_config.json has visual_prompt_prefix {begin!r} and visual_prompt_suffix {end!r}; supported, "
            f"one behind the other: {page!r}"
        )
    own = files.own.get("query_prefix")
    prefix = (said.get("query_prefix") or default) if own is None else own
    if not isinstance(prefix, str):
        raise CheckpointError(f"{files.folder} has query_prefix {prefix!r}; a string is needed")
    return prefix
