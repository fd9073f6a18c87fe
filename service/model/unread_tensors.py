"""Tensors of a checkpoint that its model has no place for: which are harmless, and which stop the start.

Heads of other tasks and buffers that are computed anew change no vector. Anything else may be what makes this
checkpoint another model than its config.json says: an adapter, an expert, a scale.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

HEADS = re.compile(
    r"(?:^|\.)(?:cls|lm_head|score|classifier|pre_classifier|qa_outputs|pooler|vocab_transform|vocab_layer_norm"
    r"|vocab_projector|multi_vector_projector)\."
)
"""Heads of masked and causal language models, of classifiers, readers and poolers; jina-v4's vectors for each token."""
MODERNBERT_HEAD = re.compile(r"^(?:head\.(?:dense|norm)|decoder)\.(?:weight|bias)$")
BUFFERS = re.compile(
    r"(?:^|\.)(?:position_ids|token_type_ids|inv_freq|original_inv_freq|cos_cached|sin_cached|relative_position_index"
    r"|masked_bias|num_batches_tracked)$"
)
"""What modules compute when they are made; older releases of transformers saved it with the weights."""
KEY = "unread_tensors"
"""Of `cenote` in config.json: beginnings of names that may be dropped."""


def surprising(names: Iterable[str], folder: Path) -> list[str]:
    """Of tensors that a model does not know those that are not known to be harmless, sorted.

    Args:
        names: of the tensors.
        folder: the checkpoint, whose config.json may say `"cenote": {"unread_tensors": ["beginning", ...]}`.
    """
    path = folder / "config.json"
    own = json.loads(path.read_bytes()).get("cenote") if path.exists() else None
    dropped = own.get(KEY) if isinstance(own, dict) else None
    begins = tuple(map(str, dropped)) if isinstance(dropped, list) else ()
    kinds = (HEADS, MODERNBERT_HEAD, BUFFERS)
    return sorted(name for name in names if not (name.startswith(begins) or any(kind.search(name) for kind in kinds)))
