"""Names in errors: the part of a client's name that may be repeated, and the name that was probably meant.

Fields and values of other servers' APIs are never accepted under their other name; the error names ours.

Source: vLLM 0.33.0, Cohere, Jina, Voyage and Gemini (docs/notes/api-contract.md).
"""

import difflib
import re
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
"""A field of another API, and the nearest field here; of several the first that the type has."""

RENAMED_VALUES: Final[dict[str, tuple[str, ...]]] = {
    "image": ("image_url",),
    "image_base64": ("image_url",),
    "input_image": ("image_url",),
    "input_text": ("text",),
    "video": ("video_url",),
    "audio": ("input_audio",),
    "developer": ("system",),
}
"""A value of another API, and the nearest value here; of several the first that is allowed."""

_MAX_NAME_CHARS = 64

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.+*_:/-]{0,62}[A-Za-z0-9*+_])?")
"""Of a model on a hub, a media type, an enumeration's value. No white space, no quote, nothing but ASCII."""

_KEY = re.compile(r"(?:sk|pk|rk|cen|hf|co)[-_]")
"""Prefixes of API keys, ours among them (`service.front.admission.api_keys`)."""


def shown(value: str) -> str | None:
    """A name as an error may repeat it, quoted; None for a text, a URL or a key, which no error repeats."""
    is_name = _NAME.fullmatch(value) and "//" not in value and _KEY.match(value) is None
    return f"'{value}'" if is_name else None


def meant_by(name: str, known: Sequence[str]) -> str | None:
    """The field of `known` that an unknown one was probably meant to be; None when nothing is near."""
    translated = next((ours for ours in RENAMED.get(name, ()) if ours in known), None)
    return translated or _nearest(name, known, cutoff=0.6)


def meant_value(value: str, known: Sequence[str]) -> str | None:
    """The value of `known` that another one was probably meant to be; None when nothing is near."""
    translated = next((ours for ours in RENAMED_VALUES.get(value, ()) if ours in known), None)
    other_case = next((ours for ours in known if ours.lower() == value.lower()), None)
    return translated or other_case or _nearest(value, known, cutoff=0.8)


def _nearest(name: str, known: Sequence[str], *, cutoff: float) -> str | None:
    return next(iter(difflib.get_close_matches(name[:_MAX_NAME_CHARS], known, n=1, cutoff=cutoff)), None)
