"""The profile of late interaction over pages and queries, which ColQwen2 and similar models share."""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.media.item import Background
from service.prompt.profile.profile import MULTI_VECTOR, Profile, input_types
from service.prompt.templates.page_or_query import NUM_QUERY_ENDS

PAGE_PROMPT = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Describe the image.<|im_end|><|endoftext|>"
INPUT_TYPES = input_types("")
"""Texts are queries and images are pages, whatever they are for."""


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


def query_ends(files: CheckpointFiles) -> int:
    """End tokens after a query: ten, or `cenote.query_end_tokens` of config.json."""
    return positive({"query_end_tokens": NUM_QUERY_ENDS, **files.own}, "query_end_tokens")


def query_prefix(files: CheckpointFiles, default: str) -> str:
    """Text before a query: `cenote.query_prefix` of config.json, else `query_prefix` of processor_config.json.

    Args:
        default: where neither says anything.

    Raises:
        CheckpointError: it is no text, or the processor's prompt of pages is another than `PAGE_PROMPT`.
    """
    said = files.processor()
    page, end = said.get("visual_prompt_prefix") or PAGE_PROMPT, said.get("visual_prompt_suffix") or ""
    if PAGE_PROMPT not in (page, f"{page}{end}"):
        raise CheckpointError(
            f"processor_config.json has visual_prompt_prefix {page!r} and visual_prompt_suffix {end!r}; supported, one "
            f"behind the other: {PAGE_PROMPT!r}"
        )
    own = files.own.get("query_prefix")
    prefix = (said.get("query_prefix") or default) if own is None else own
    if not isinstance(prefix, str):
        raise CheckpointError(f"{files.folder} has query_prefix {prefix!r}; a string is needed")
    return prefix
