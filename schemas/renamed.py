"""What fields and values of other servers' APIs are called here: for the hint in a refusal, never to take them.

In: an unknown name and the names that are known where it stood. Out: the one that was probably meant.

Source: vLLM 0.33.0, Cohere, Jina, Voyage and Gemini (shared/reference/api-contract.md, sections 1, 2 and 4).
"""

import difflib
from collections.abc import Sequence
from typing import Final

RENAMED: Final[dict[str, tuple[str, ...]]] = {
    "use_activation": ("normalize",),
    "media_io_kwargs": ("image_background",),
    "chat_template_kwargs": ("instruction",),
    "prompt_name": ("input_type", "instruction"),
    "task": ("input_type", "instruction"),
    "input_type": ("instruction",),
    "output_dimension": ("dimensions",),
    "output_dimensionality": ("dimensions", "output_dimension"),
    "dimensions": ("output_dimension",),
    "encoding_format": ("embedding_types",),
    "embedding_type": ("embedding_types", "embed_dtype"),
    "embedding_types": ("embed_dtype",),
    "output_dtype": ("embedding_types", "embed_dtype"),
    "truncate": ("truncate_prompt_tokens",),
    "truncation": ("truncate", "truncate_prompt_tokens"),
    "truncate_prompt_tokens": ("max_tokens",),
}
"""A name elsewhere, and what comes nearest to it here; of several the first that is known."""

RENAMED_VALUES: Final[dict[str, tuple[str, ...]]] = {
    "image": ("image_url",),
    "image_base64": ("image_url",),
    "input_image": ("image_url",),
    "input_text": ("text",),
    "video": ("video_url",),
    "audio": ("input_audio",),
    "developer": ("system",),
}
"""A value elsewhere, and what comes nearest to it here; of several the first that is known."""

_MAX_NAME_CHARS = 64


def meant_by(name: str, known: Sequence[str]) -> str | None:
    """The known field that an unknown one was probably meant to be.

    Args:
        name: of the unknown field, however long.
        known: the fields that may stand there.

    Returns:
        One of `known`; None when nothing is near.
    """
    translated = next((ours for ours in RENAMED.get(name, ()) if ours in known), None)
    return translated or next(iter(difflib.get_close_matches(name[:_MAX_NAME_CHARS], known, n=1)), None)


def meant_value(value: str, known: Sequence[str]) -> str | None:
    """The known value that another one was probably meant to be; a matter of case alone is seen.

    Args:
        value: which none of the known ones is.
        known: what may stand there.
    """
    translated = next((ours for ours in RENAMED_VALUES.get(value, ()) if ours in known), None)
    same = next((ours for ours in known if ours.lower() == value.lower()), None)
    return (
        translated
        or same
        or next(iter(difflib.get_close_matches(value[:_MAX_NAME_CHARS], known, n=1, cutoff=0.8)), None)
    )
