"""BGE-M3's heads for tokens beside its weights: `sparse_linear` and `colbert_linear`. Imports no torch.

Source: FlagEmbedding `M3Embedder`, which saves them as `.pt`; a `.safetensors` twin is taken first.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from service.checkpoint.config_files import token_text
from service.checkpoint.json_files import CheckpointError, read_object

HeadKind = Literal["sparse", "multi"]
HEADS: Mapping[HeadKind, str] = {"sparse": "sparse_linear", "multi": "colbert_linear"}
"""The kind of vector that a head gives, to its file's name."""
UNUSED = ("cls_token", "eos_token", "pad_token", "unk_token")
"""Tokens that have no place in a sparse vector, by their names in tokenizer_config.json."""


def find_heads(folder: Path) -> dict[HeadKind, Path]:
    """The files of the heads that are there."""
    found: dict[HeadKind, Path] = {}
    for kind, name in HEADS.items():
        places = (folder / f"{name}{end}" for end in (".safetensors", ".pt"))
        if place := next((one for one in places if one.is_file()), None):
            found[kind] = place
    return found


def unused_ids(folder: Path) -> frozenset[int]:
    """Ids that have no place in a sparse vector.

    Raises:
        CheckpointError: tokenizer_config.json names one that tokenizer.json has not.
    """
    config = read_object(folder / "tokenizer_config.json")
    names = [token_text(config.get(key)) for key in UNUSED]
    added = {one["content"]: int(one["id"]) for one in read_object(folder / "tokenizer.json").get("added_tokens", [])}
    if missing := [name for name in names if name is not None and name not in added]:
        raise CheckpointError(f"{folder / 'tokenizer_config.json'} names {missing[0]!r}, which tokenizer.json has not")
    return frozenset(added[name] for name in names if name is not None)
