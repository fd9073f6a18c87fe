"""Which rotary embeddings can be served: those in which a token's rotation depends on its position alone."""

from collections.abc import Iterator, Mapping
from typing import Any

from service.model.checkpoint_error import CheckpointError

STEADY_ROPES = ("default", "linear", "llama3", "yarn", "proportional")
"""Rotary embeddings that do not depend on the longest prompt of a batch."""
OF_PICTURES = "mrope"
"""What older files of vision-language models call `default` with positions in three rows."""

TOWERS = ("vision_config", "audio_config")
"""Parts whose positions are a picture's or a sound's own; no batch makes them longer."""


def check_ropes(config: Mapping[str, Any]) -> None:
    """Refuse a rotary embedding that would make a vector depend on its batch, or that is not known.

    Args:
        config: config.json; parts of it are looked at too.

    Raises:
        CheckpointError: it has one of another type.
    """
    for rope in _rope_types(config):
        if rope not in (*STEADY_ROPES, OF_PICTURES):
            raise CheckpointError(
                f"config.json has rope type {rope}; supported: {', '.join(STEADY_ROPES)}. With `dynamic`, `ntk` and "
                "`longrope` a vector would depend on the longest prompt of its batch"
            )


def _rope_types(config: Mapping[str, Any], *, is_rope: bool = False) -> Iterator[str]:
    if is_rope and isinstance(found := config.get("rope_type", config.get("type")), str):
        yield found
    for key, value in config.items():
        if isinstance(value, dict) and key not in TOWERS:
            yield from _rope_types(value, is_rope=is_rope or key in ("rope_scaling", "rope_parameters"))
