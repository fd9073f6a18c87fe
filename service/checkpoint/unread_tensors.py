"""Tensors that a model does not read: heads and buffers change no vector, all others end the start.

The engine asks of what transformers has left over; the front, which has no class to ask, of names by headers, for types
whose bodies' names are known here.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.reranker_kind import reranker_kind
from service.checkpoint.weight_files import list_weight_files, read_header

HEADS = re.compile(
    r"(?:^|\.)(?:cls|lm_head|score|classifier|pre_classifier|qa_outputs|pooler|vocab_transform|vocab_layer_norm"
    r"|vocab_projector|multi_vector_projector|mask_predictions|discriminator_predictions|generator_predictions"
    r"|generator_lm_head)\."
)
"""Heads of masked and causal language models, of classifiers, readers and poolers; jina-v4's vectors for each token."""
MODERNBERT_HEAD = re.compile(r"^(?:head\.(?:dense|norm)|decoder)\.(?:weight|bias)$")
BUFFERS = re.compile(
    r"(?:^|\.)(?:position_ids|token_type_ids|inv_freq|original_inv_freq|cos_cached|sin_cached|relative_position_index"
    r"|masked_bias|num_batches_tracked)$"
)
"""Computed when a module is built; older releases of transformers saved it with the weights."""
KEY = "unread_tensors"
"""Of `cenote` in config.json: beginnings of names that may be dropped."""
BODIES: Mapping[object, re.Pattern[str]] = {
    **dict.fromkeys(
        ("bert", "camembert", "roberta", "xlm-roberta"),
        re.compile(r"(?:\w+\.)?(?:embeddings|encoder\.layer)\.|linear\.weight$"),
    ),
    **dict.fromkeys(
        ("gemma", "gemma2", "gemma3_text", "llama", "mistral", "ministral3", "qwen2", "qwen3"),
        re.compile(r"(?:model\.)?(?:embed_tokens|layers\.\d+|norm)\.|linear\.weight$"),
    ),
}
"""Beginnings of the names of a body's tensors by `model_type`, and a projection that other code reads."""


def refuse_unknown_tensors(files: CheckpointFiles) -> None:
    """Refuse, by names alone, weights that the engine would refuse: those of a model's own code under a stock type."""
    if (body := BODIES.get(files.model_type)) is None:
        return
    names = (name for path in list_weight_files(files.folder) for name in read_header(path))
    if told := unknown_tensors((name for name in names if not body.match(name)), files.folder):
        raise CheckpointError(told)


def unknown_tensors(names: Iterable[str], folder: Path) -> str:
    """The error of tensors that are not known to be harmless; empty: there are none.

    Heads of other tasks and buffers that are computed anew change no vector. Other tensors may make a checkpoint
    another model than its config.json says: an adapter, an expert, a scale.
    """
    files = CheckpointFiles(folder)
    own = files.optional("config.json").get("cenote")
    dropped = own.get(KEY) if isinstance(own, dict) else None
    begins = tuple(map(str, dropped)) if isinstance(dropped, list) else ()
    known = (HEADS, MODERNBERT_HEAD, BUFFERS)
    others = sorted(name for name in names if not (name.startswith(begins) or any(one.search(name) for one in known)))
    if not others:
        return ""
    told = f"{folder.name} has {len(others)} tensors that its model does not know: {', '.join(others[:5])}; "
    if reranker_kind(files) is not None:  # what makes a score of a pair is among them, or after
        return told + "a reranker's scores would be others without them"
    return (
        told + "its vectors may be others without them. If they may be dropped, say so in config.json: "
        '"cenote": {"unread_tensors": ["beginning of their names", ...]}'
    )
