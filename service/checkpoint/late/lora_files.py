"""LoRA adapters of late interaction, released without their base: what their files say, and one folder with both.

ColQwen2.5 and similar models are released as peft's adapter over a base of their own. The engine merges the two when it
loads them; everything else reads one folder, `join`'s, which looks like any other checkpoint. Imports no torch.

Source: peft 0.20 `LoraConfig`; colpali-engine 0.3.18.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from service.checkpoint.json_files import CheckpointError, read_object
from service.checkpoint.late.token_projection import CUSTOM
from service.checkpoint.linked_folder import linked_folder
from service.checkpoint.weight_files import ADAPTER, INDEX, SINGLE, list_weight_files, read_header

ADAPTER_WEIGHTS = "adapter_model.safetensors"
JOINED = "joined_adapter"
"""Folder of a joined checkpoint that holds the adapter, as `config.json` and `model.safetensors`: names that count in
fingerprints, wherever they are."""
OF_THE_BASE = ("config.json",)
OF_THE_ADAPTER = ("tokenizer.json", "tokenizer_config.json", "preprocessor_config.json", "processor_config.json")
"""The base's, where the adapter has none."""
HARMLESS: Mapping[str, tuple[object, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "init_lora_weights": (True, False, None, "gaussian"),
    **dict.fromkeys(("alpha_pattern", "rank_pattern"), ({}, None)),
    **dict.fromkeys(("use_dora", "use_qalora", "fan_in_fan_out", "lora_bias"), (False, None)),
    **dict.fromkeys(("modules_to_save", "target_parameters", "trainable_token_indices", "layer_replication"), (None,)),
}
"""Keys of adapter_config.json by which an adapter could be more than `B @ A`, with the values that say it is not."""


def base_of(folder: Path) -> tuple[str, str | None] | None:
    """The base's name or folder, and its revision, of an adapter for late interaction; None: it is none.

    Raises:
        CheckpointError: it is one, and cannot be merged; or a file is damaged.
    """
    weights = folder / ADAPTER_WEIGHTS
    if not (folder / ADAPTER).is_file() or not weights.is_file():
        return None
    if not any(f".{CUSTOM}." in name for name in read_header(weights)):
        return None
    said = read_object(folder / ADAPTER)
    lora_scale(said, folder / ADAPTER)
    base, revision = said.get("base_model_name_or_path"), said.get("revision")
    if not isinstance(base, str) or not base or not isinstance(revision, str | None):
        raise CheckpointError(
            f"{folder / ADAPTER} has base_model_name_or_path {base!r} and revision {revision!r}; the base's hub id or "
            "folder is needed"
        )
    return base, revision


def lora_scale(said: Mapping[str, Any], path: Path) -> float:
    """By what ``B @ A`` is multiplied.

    Args:
        said: of adapter_config.json.
        path: of it, for errors.

    Raises:
        CheckpointError: the adapter is of another kind than plain LoRA.
    """
    for key, values in HARMLESS.items():
        if key in said and said[key] not in values:
            raise CheckpointError(
                f"{path} has {key} {said[key]!r}; supported: {' or '.join(map(repr, values))}. Merge it with peft "
                "(`merge_and_unload`, then `save_pretrained`) and serve that"
            )
    rank, alpha = said.get("r"), said.get("lora_alpha")
    if type(rank) is not int or rank < 1 or not isinstance(alpha, int | float):
        raise CheckpointError(f"{path} has r {rank!r} and lora_alpha {alpha!r}; a positive integer and a number needed")
    return float(alpha) / (rank**0.5 if said.get("use_rslora") is True else rank)


def join(adapter: Path, base: Path) -> Path:
    """A folder of links: the base's weights, the adapter's tokenizer, and the adapter; see `linked_folder`.

    Raises:
        CheckpointError: it cannot be written, or the base lacks files.
    """
    return linked_folder(dict(_links(adapter, base)), "adapters")


def _links(adapter: Path, base: Path) -> Iterator[tuple[str, Path]]:
    yield f"{JOINED}/config.json", (adapter / ADAPTER).resolve()
    yield f"{JOINED}/model.safetensors", (adapter / ADAPTER_WEIGHTS).resolve()
    index = [base / INDEX] if not (base / SINGLE).is_file() and (base / INDEX).is_file() else []
    for path in (*(base / name for name in OF_THE_BASE), *list_weight_files(base), *index):
        if not path.is_file():
            raise CheckpointError(f"{base} has no {path.name}; it is the base of the adapter {adapter}")
        yield path.name, path.resolve()
    for name in OF_THE_ADAPTER:
        if found := next((folder / name for folder in (adapter, base) if (folder / name).is_file()), None):
            yield name, found.resolve()
