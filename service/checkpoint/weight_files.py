"""Finds a checkpoint's tensors, and refuses those that cannot be served, by headers and the files beside them.

In: a folder. Out: nothing, or an error that says what is wrong and what to do. Imports no torch: `cenote models` asks
too.

Source: the safetensors format; transformers 5.23 `quantization_config`, `find_adapter_config_file`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from service.checkpoint.json_files import CheckpointError, read_object
from service.checkpoint.quantized.matrices import FLOATS, Matrix, StoredTensor, find_matrices
from service.checkpoint.quantized.settings import KEY, Quantization, read_quantization

ADAPTER, ADAPTER_WEIGHTS, TASKS = "adapter_config.json", "adapter_model.safetensors", "adapters"
"""Files of an adapter, and the folder of those of several tasks."""
OF_TASK = re.compile(r"(?P<layer>\.lora_[AB])\.(?P<task>[\w-]+)(?P<end>\.weight)$")
"""End of the name of a tensor that is of one task, where one file has those of all."""
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
QUANTIZED_NAMES: Mapping[str, str] = {
    "_scale_inv": "fp8",
    ".qweight": "GPTQ or AWQ",
    ".weight_packed": "compressed-tensors",
    ".absmax": "bitsandbytes",
    ".SCB": "bitsandbytes",
}
"""Ends of names that tensors have in quantized checkpoints, to the method."""
QUANTIZED_CONFIGS = (KEY, "compression_config")
QUANTIZED_FILES = {"quantize_config.json": "GPTQ", "quant_config.json": "AWQ"}
"""Files of older tools beside config.json."""


def check_weights(folder: Path) -> None:
    """Refuse weights that would be loaded in part, or wrongly; that there are none is `find_checkpoint`'s to refuse."""
    _refuse_adapter(folder)
    how = read_quantization(folder)
    _refuse_quantized(folder, is_read=how is not None)
    if how is not None:
        read_matrices(folder, how)
        return
    for path in list_weight_files(folder):
        header = read_header(path)
        for name, tensor in header.items():
            method = next((how for end, how in QUANTIZED_NAMES.items() if name.endswith(end)), None)
            if method is None and str(tensor.get("dtype", "")).startswith("F8"):
                method = "fp8"
            if method is not None:
                raise CheckpointError(f"{path} has the tensor {name}: {_quantized(method)}")


def read_matrices(folder: Path, how: Quantization) -> tuple[dict[str, Matrix], dict[str, StoredTensor]]:
    """See `find_matrices`."""
    headers = {path: read_header(path) for path in list_weight_files(folder)}
    tensors = {name: StoredTensor(path, name, one) for path, header in headers.items() for name, one in header.items()}
    matrices, others = find_matrices(tensors, how)
    if tensors and not matrices:
        raise CheckpointError(f"{folder / 'config.json'} has {KEY} of {how.method}, and no matrix is quantized by it")
    return matrices, others


def check_plain(path: Path, name: str, tensor: Mapping[str, Any]) -> None:
    """Refuse a quantized tensor where it is read by itself."""
    if tensor["dtype"] not in FLOATS:
        raise CheckpointError(
            f"{path} has {name} as {tensor['dtype']}: a matrix that is read beside the model has to be one of "
            f"{', '.join(FLOATS)}, not quantized"
        )


def list_weight_files(folder: Path) -> list[Path]:
    """Files that are loaded: the single one, or those that the index names."""
    if (folder / SINGLE).is_file():
        return [folder / SINGLE]
    if not (folder / INDEX).is_file():
        return []
    names = read_object(folder / INDEX).get("weight_map")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise CheckpointError(f"{folder / INDEX} has no object weight_map of file names")
    files = [folder / name for name in sorted({*names.values()})]
    if missing := [path.name for path in files if not path.is_file()]:
        raise CheckpointError(f"{folder} lacks {', '.join(missing[:3])}, which {INDEX} names: download it again")
    return files


def read_header(path: Path) -> dict[str, Any]:
    """Tensors of a safetensors file by name: `dtype`, `shape` and `data_offsets`."""
    num_bytes = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if num_bytes < 8 or length > num_bytes - 8:
            raise CheckpointError(
                f"{path} is no safetensors file, or is cut short: its header does not fit into its {num_bytes} bytes"
            )
        try:
            header = json.loads(file.read(length))
            tensors = {name: dict(tensor) for name, tensor in header.items() if name != "__metadata__"}
            end = max((int(tensor["data_offsets"][1]) for tensor in tensors.values()), default=0)
        except (ValueError, AttributeError, LookupError, TypeError) as error:
            raise CheckpointError(f"{path} is damaged: its header cannot be read") from error
    if num_bytes != 8 + length + end:
        raise CheckpointError(
            f"{path} has {num_bytes} bytes, and its header says {8 + length + end}: the safetensors file is cut "
            "short or damaged; download it again"
        )
    return tensors


def task_adapters(folder: Path) -> dict[str, Path]:
    """The tasks whose adapters stand beside the weights, each with the folder that has its adapter's files.

    jina-embeddings-v5-text has a folder for each; jina-embeddings-v4 one for all, where tensors' names have the task.
    """
    place = folder / TASKS
    if (place / ADAPTER).is_file() and (place / ADAPTER_WEIGHTS).is_file():
        found = {one["task"] for name in read_header(place / ADAPTER_WEIGHTS) if (one := OF_TASK.search(name))}
        return dict.fromkeys(sorted(found), place)
    return {path.parent.name: path.parent for path in sorted(place.glob(f"*/{ADAPTER}"))}


def _refuse_adapter(folder: Path) -> None:
    if tasks := task_adapters(folder):
        raise CheckpointError(
            f"{folder} has the adapters of its tasks beside its weights, and no vector is of these alone: choose one "
            f"by the model {folder}/{TASKS}/TASK; its tasks: {', '.join(tasks)}"
        )
    found = next((path for place in (folder, folder / TASKS) if (path := place / ADAPTER).is_file()), None)
    if found is None:
        return
    base = read_object(found).get("base_model_name_or_path")
    raise CheckpointError(
        f"{folder} has {found.relative_to(folder)}: an adapter (of {base!r}) is not applied here, and without it "
        "vectors would be others. Merge it with peft (`merge_and_unload`, then `save_pretrained`) and serve that, or "
        "remove the file if the weights have it merged already"
    )


def _refuse_quantized(folder: Path, *, is_read: bool) -> None:
    """Refuse settings elsewhere than where they are read; files of older tools count where config.json has none."""
    config = read_object(folder / "config.json") if (folder / "config.json").exists() else {}
    for place, found in _configs(config, "config.json"):
        if not is_read or place != f"{KEY} in config.json":
            method = found.get("quant_method") or found.get("format") or "of an unnamed method"
            raise CheckpointError(f"{folder} has {place}: {_quantized(str(method))}")
    for name, method in QUANTIZED_FILES.items():
        if not is_read and (folder / name).is_file():
            raise CheckpointError(f"{folder} has {name}: {_quantized(method)}")


def _configs(config: Mapping[str, Any], place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Settings of a quantization, of the whole model or of one of its parts."""
    for key, value in config.items():
        if isinstance(value, dict) and key in QUANTIZED_CONFIGS and value:
            yield f"{key} in {place}", value
        elif isinstance(value, dict):
            yield from _configs(value, f"{key} of {place}")


def _quantized(method: str) -> str:
    return (
        f"its weights are quantized ({method}), and config.json has no {KEY} that says how. Settings elsewhere are not "
        "read: move them there, or serve the checkpoint in float32, bfloat16 or float16 that it was made from"
    )
