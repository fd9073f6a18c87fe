"""Finds checkpoints with the same vision tower, byte for byte, by their files. Imports no torch.

Source: the safetensors format; Qwen3-VL's `visual.*`, which transformers saves as `model.visual.*`.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from service.checkpoint.json_files import read_object
from service.checkpoint.lora.adapter import joined_adapter
from service.checkpoint.quantized.settings import KEY
from service.checkpoint.weight_files import list_weight_files, read_header

TOWER = "visual."
BLOCK_BYTES = 1 << 20


def same_towers(folders: Sequence[Path]) -> list[int]:
    """For each folder the first whose tower is the same: its own place where there is none before it, or no tower.

    Weights are read only of towers whose configurations and headers agree.

    Raises:
        CheckpointError: a file of weights is damaged.
        OSError: it cannot be read.
    """
    plans = [_plan(folder) for folder in folders]
    digests: dict[int, bytes] = {}
    first: list[int] = []
    for place, plan in enumerate(plans):
        alike = [other for other in range(place) if plan is not None and plans[other] == plan and first[other] == other]
        for one in (place, *alike) if alike else ():
            if one not in digests:
                digests[one] = _digest(folders[one])
        first.append(next((other for other in alike if digests[other] == digests[place]), place))
    return first


def _plan(folder: Path) -> tuple[str, list[tuple[str, str, list[int]]]] | None:
    """Configuration, and name, dtype and shape of each weight; None without a tower that is as its file has it."""
    tensors = sorted((name, one["dtype"], one["shape"]) for name, _, one in _tensors(folder))
    said, adapter = read_object(folder / "config.json"), joined_adapter(folder)
    if not tensors or not said.get("vision_config") or (adapter is not None and adapter.is_of(TOWER)):
        return None
    return json.dumps([said["vision_config"], said.get(KEY)], sort_keys=True), tensors


def _digest(folder: Path) -> bytes:
    """SHA-256 over the weights' names and bytes."""
    digest = hashlib.sha256()
    for name, path, tensor in sorted(_tensors(folder), key=lambda one: one[0]):
        digest.update(f"\0{name}\0".encode())
        begin, end = tensor["data_offsets"]
        with path.open("rb") as file:
            start = 8 + int.from_bytes(file.read(8), "little")
            file.seek(start + begin)
            left = end - begin
            while left and (block := file.read(min(left, BLOCK_BYTES))):
                digest.update(block)
                left -= len(block)
    return digest.digest()


def _tensors(folder: Path) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Name within the tower, file and header of each of its weights."""
    for path in list_weight_files(folder):
        for name, tensor in read_header(path).items():
            before, found, rest = name.partition(TOWER)
            if found and before in ("", "model."):
                yield rest, path, tensor
