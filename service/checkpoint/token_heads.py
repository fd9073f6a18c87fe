"""Tokens that have no place in BGE-M3's sparse vectors."""

from pathlib import Path

from service.checkpoint.config_files import token_text
from service.checkpoint.json_files import CheckpointError, read_object

UNUSED = ("cls_token", "eos_token", "pad_token", "unk_token")
"""Tokens that have no place in a sparse vector, by their names in tokenizer_config.json."""


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
