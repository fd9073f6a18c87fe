"""The profile of a decoder that embeds: what its files say of masks and pooling, and refusals of what they leave open.

Source: transformers 5.24 `masking_utils.create_causal_mask`, which reads `is_causal`; the released code of
`LlamaBidirectionalModel` and NVIDIA's retriever, which read `pooling`.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.reranker_kind import architecture, module_kinds
from service.checkpoint.sentence_files import Pooling
from service.prompt.profile.profile import MULTI_VECTOR, Profile
from service.prompt.profile.text_profile import make_text_profile

POOLINGS: Mapping[object, Pooling] = {"avg": "mean", "cls": "cls", "last": "last_token"}
"""Values of `pooling` in config.json."""
BOTH_WAYS, CAUSAL = "use_bidirectional_attention", "is_causal"
READS_BOTH_WAYS = "gemma3_text"
"""The model type whose mask in transformers follows `use_bidirectional_attention`; all others' follow `is_causal`."""


def make_decoder_profile(files: CheckpointFiles, *, is_known: bool = False, **options: Any) -> Profile:
    """See `make_text_profile`, which takes the options.

    Args:
        is_known: the class that config.json names is known to attend in both directions, whatever it says beside.
    """
    if not is_known:
        check_direction(files)
    profile = make_text_profile(files, **options)
    said = files.config.get("pooling")
    if said is None or profile.pooling == MULTI_VECTOR:
        return profile
    if not isinstance(said, str) or said not in POOLINGS:
        raise CheckpointError(f"config.json has pooling {said!r}; supported: {', '.join(map(str, POOLINGS))}")
    if module_kinds(files) and profile.pooling != POOLINGS[said]:
        raise CheckpointError(
            f"config.json has pooling {said!r}, and the Pooling of modules.json is {profile.pooling!r}; they have to "
            "be the same"
        )
    return replace(profile, pooling=POOLINGS[said])


def check_direction(files: CheckpointFiles, auto: str = "AutoModel") -> None:
    """Refuse a folder whose own code may have another mask than transformers' class, or a flag that it half reads.

    Args:
        auto: name in `auto_map` under which its model is loaded.
    """
    config = files.config
    is_causal, own = config.get(CAUSAL), config.get("auto_map")
    if not isinstance(is_causal, bool | None):
        raise CheckpointError(f"config.json has {CAUSAL} {is_causal!r}; true or false is needed")
    reads_both_ways = files.model_type == READS_BOTH_WAYS and config.get(BOTH_WAYS) is not None
    of_own = own.get(auto) if isinstance(own, dict) else None
    if of_own is None and not _is_stock(files):
        of_own = architecture(files)
    if of_own is not None and is_causal is None and not reads_both_ways:
        raise CheckpointError(
            f"config.json names code of its own for {auto} ({of_own!r}), which is never run here, and has "
            f"no {CAUSAL}: whether tokens see those after them is not known. Say so there: false for both directions"
        )
    if config.get(BOTH_WAYS) and is_causal is not False and not reads_both_ways:
        raise CheckpointError(
            f"config.json has {BOTH_WAYS} {config[BOTH_WAYS]!r} and {CAUSAL} {is_causal!r}: the mask of "
            f"{files.model_type} follows {CAUSAL} alone; both have to say the same"
        )


def _is_stock(files: CheckpointFiles) -> bool:
    """True if config.json names one of transformers' classes of its model type, such as `Qwen3ForCausalLM`, or none."""
    name, model_type = (str(one).lower().replace("_", "") for one in (architecture(files), files.model_type))
    return (
        not name or re.fullmatch(rf"{re.escape(model_type.removesuffix('text'))}(text)?(model|for.+)", name) is not None
    )
