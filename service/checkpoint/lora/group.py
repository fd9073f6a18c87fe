"""Adapters that one engine can serve over one base: which do, and a folder of the base with all of them.

All that an engine reads besides the adapters has to be the same: weights by their files, others by their bytes. Plain
products alone are added beside weights; one with lengths of rows (DoRA) or with whole parameters is merged, by itself.
"""

import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

from service.checkpoint.json_files import read_object
from service.checkpoint.linked_folder import linked_folder
from service.checkpoint.lora.adapter import JOINED, Adapter, joined_adapter
from service.checkpoint.lora.joined import READ
from service.checkpoint.weight_files import TASKS, list_weight_files

GROUPED = "adapter_"
"""Beginning of the folders with adapters in the folder of a group; their places follow."""
PROMPTS = "config_sentence_transformers.json"
OF_PROMPTS = ("prompts", "default_prompt_name", "__version__")
"""Keys that the engine does not read."""
OF_FRONTS = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json"),
    *("chat_template.jinja", "chat_template.json"),
)
"""Files that the engines of these do not read."""
SHARED = (
    *("text_encoder", "projected", "colbert", "splade", "qwen3_vl"),
    *("stock_vlm_plain", "stock_vlm_mrope", "stock_vlm_mrope_of_image"),
)
"""Architectures of which it is proven; others may have a layer beside the stock module, or read one's weight."""


def shares_base(folder: Path, architecture: str) -> Hashable | None:
    """What checkpoints that may share an engine have in common; None for one that may not.

    Raises:
        CheckpointError: a file of it is damaged.
    """
    name = architecture.partition(":")[0]
    adapter = joined_adapter(folder)
    if name not in SHARED or (adapter is not None and not adapter.is_plain):
        return None
    own = {name: path for name, path in _files(folder).items() if path.name not in OF_FRONTS}
    return architecture, *((name, _content(path)) for name, path in sorted(own.items()))


def group_folder(folders: Sequence[Path]) -> Path:
    """A folder of links to the base of checkpoints that share it, and to the adapter of each, by its place.

    Raises:
        CheckpointError: it cannot be written.
    """
    links = _files(folders[0])
    for place, folder in enumerate(folders):
        if has_adapter(folder):
            links |= {f"{GROUPED}{place}/{path.name}": path for path in (folder / JOINED).iterdir()}
    return linked_folder({name: path.resolve() for name, path in links.items()}, "adapters")


def grouped_adapters(folder: Path) -> Mapping[int, Adapter]:
    """The adapters of a group's folder by their places; none of any other.

    Raises:
        CheckpointError: see `joined_adapter`.
    """
    found = {path.name: joined_adapter(folder, path.name) for path in folder.glob(f"{GROUPED}[0-9]*")}
    return {int(name.removeprefix(GROUPED)): one for name, one in found.items() if one is not None}


def _files(folder: Path) -> dict[str, Path]:
    """Files of the base and those that stand in their place, by name."""
    found = {path for pattern in READ for path in folder.glob(pattern) if path.is_file()} | {*list_weight_files(folder)}
    return {path.relative_to(folder).as_posix(): path for path in found if path.parent.name not in (JOINED, TASKS)}


def has_adapter(folder: Path) -> bool:
    """True of an adapter that was joined with its base."""
    return (folder / JOINED).is_dir()


def _content(path: Path) -> Hashable:
    if path.name == PROMPTS:
        return json.dumps({key: one for key, one in read_object(path).items() if key not in OF_PROMPTS}, sort_keys=True)
    return path.read_bytes() if path.suffix in (".json", ".jinja", ".txt", ".metadata") else path.resolve()
