"""One folder of an adapter and its base, in the form of any other checkpoint.

peft's adapters are released over a base of their own. The engine merges the two when it loads them; everything else
reads one folder, `join`'s: the base's files, and in their place the adapter's where it has them.
"""

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from service.checkpoint.json_files import CheckpointError, read_object
from service.checkpoint.linked_folder import linked_folder
from service.checkpoint.lora.adapter import CONFIG, JOINED, TASK, WEIGHTS, read_adapter
from service.checkpoint.weight_files import ADAPTER, ADAPTER_WEIGHTS, TASKS, list_weight_files, task_adapters

READ = (
    *("*.json", "*.jinja", "*/*.json", "*/*.jinja", "*/*.safetensors"),
    *("artifact.metadata", "sparse_linear.pt", "colbert_linear.pt"),
)
"""Patterns of files of both, beside the weights."""
SENTENCE = ("modules.json", "config_sentence_transformers.json", "sentence_*_config.json", "*/*")
"""Files of sentence-transformers: all of them are the adapter's where it has the first, and else the base's."""


def base_of(folder: Path) -> tuple[str, str | None] | None:
    """The base's name or folder, and its revision, of an adapter that can be merged; None: it is none."""
    if not (folder / ADAPTER).is_file() or not (folder / ADAPTER_WEIGHTS).is_file():
        return None
    read_adapter(folder / ADAPTER, folder / ADAPTER_WEIGHTS)
    said = read_object(folder / ADAPTER)
    base, revision = said.get("base_model_name_or_path"), said.get("revision")
    if not isinstance(base, str) or not base or not isinstance(revision, str | None):
        raise CheckpointError(
            f"{folder / ADAPTER} has base_model_name_or_path {base!r} and revision {revision!r}; the base's hub id or "
            "folder is needed"
        )
    return base, revision


def join_task(base: Path, task: str) -> Path:
    """A checkpoint with the adapter of one of its own tasks; see `join`."""
    found = task_adapters(base)
    if task not in found:
        raise CheckpointError(f"{base} has no adapter of the task {task!r}; its tasks: {', '.join(found) or 'none'}")
    read_adapter(found[task] / ADAPTER, found[task] / ADAPTER_WEIGHTS, task)
    return join(found[task], base, task)


def join(adapter: Path, base: Path, task: str = "") -> Path:
    """A folder of links to both, see `linked_folder`; `task` is one of several that the adapter's file may have."""
    if (base / ADAPTER).is_file():
        raise CheckpointError(f"{base} has {ADAPTER} too, and is the base of the adapter {adapter}: one is merged")
    weights = list_weight_files(base)
    for path in (base / "config.json", *weights):
        if not path.is_file():
            raise CheckpointError(f"{base} has no {path.name}; it is the base of the adapter {adapter}")
    has_modules = (adapter / SENTENCE[0]).is_file()
    links = {name: path for name, path in _files(base) if not (has_modules and _is_sentence(name))}
    links |= {path.name: path for path in weights}
    links |= {name: path for name, path in _files(adapter) if has_modules or not _is_sentence(name)}
    links |= {f"{JOINED}/{CONFIG}": adapter / ADAPTER, f"{JOINED}/{WEIGHTS}": adapter / ADAPTER_WEIGHTS}
    links |= {f"{JOINED}/{TASK}-{task}": adapter / ADAPTER} if task else {}
    return linked_folder({name: path.resolve() for name, path in links.items()}, "adapters")


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Files beside the weights; config.json is the base's alone."""
    is_base = not (folder / ADAPTER).is_file()
    for path in (path for pattern in READ for path in folder.glob(pattern)):
        name = path.relative_to(folder).as_posix()
        is_of_task = path.parent == folder / TASKS
        if path.is_file() and not is_of_task and (is_base or name not in (ADAPTER, "config.json")):
            yield name, path


def _is_sentence(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in SENTENCE)
