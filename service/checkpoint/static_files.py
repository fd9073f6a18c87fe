"""Static embeddings: a table with a row for each token, as model2vec and sentence-transformers save it.

In: a folder. Out: what config.json says, or would say, of it in transformers' names; an error that names file and key.
Imports no torch and reads no tensor.

Source: model2vec 0.10 `load_pretrained`, `StaticModel`; sentence-transformers 6.2 `StaticEmbedding.load`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from service.checkpoint.json_files import CheckpointError, check_keys, is_inside, read_list, read_object
from service.checkpoint.linked_folder import linked_folder
from service.checkpoint.weight_files import SINGLE, read_header

MODEL2VEC = "model2vec"
"""`model_type` of config.json in the one form."""
MODULE = "StaticEmbedding"
"""First module of the other form, which has no config.json; also its `model_type` here."""
TABLES = ("embedding.weight", "embeddings")
ALSO = ("mapping", "weights")
"""Names of the table; beside the second may stand the row of each token, and its weight."""
MOST_TOKENS, MODEL2VEC_TOKENS = 1 << 15, 512
"""Longest text where the files set no limit, as sentence-transformers has none; model2vec's default."""
KEYS = (
    *("model_type", "architectures", "tokenizer_name", "apply_pca", "apply_zipf", "sif_coefficient", "hidden_dim"),
    *("seq_length", "pooling", "embedding_dtype", "vocabulary_quantization", "normalize", "max_length"),
    *("cenote", "matryoshka_dimensions", "is_matryoshka"),
)
"""Of model2vec's config.json: `normalize` and `max_length` change vectors, the others say how the table was made."""


def static_config(folder: Path) -> Mapping[str, Any]:
    """The keys that describe a static model: those of its config.json, and the sizes of its table; else empty."""
    own = read_object(folder / "config.json") if (folder / "config.json").is_file() else {}
    if own.get("model_type") == MODEL2VEC:
        check_keys(folder / "config.json", own, KEYS)
        kind, limit = MODEL2VEC, own.get("max_length", MODEL2VEC_TOKENS)
    elif _module(folder):
        written = read_object(folder / "tokenizer.json") if (folder / "tokenizer.json").is_file() else {}
        kind, limit = MODULE, (written.get("truncation") or {}).get("max_length")
    else:
        return {}
    if limit is not None and (type(limit) is not int or limit < 1):
        raise CheckpointError(f"{folder} has max_length {limit!r}; a positive integer or null is needed")
    num_ids, width = _sizes(folder / SINGLE, TABLES if kind == MODULE else TABLES[1:])
    sizes = {"vocab_size": num_ids, "hidden_size": width, "max_position_embeddings": limit or MOST_TOKENS}
    return {**own, "model_type": kind, **sizes}


def beside(folder: Path) -> Path:
    """The checkpoint as one whose table lies beside `modules.json`; others as they are."""
    place = folder / str(_module(folder).get("path") or ".")
    if place == folder or (folder / SINGLE).is_file() or not place.is_dir():
        return folder
    return linked_folder(dict(_links(folder, place)), "static")


def _module(folder: Path) -> Mapping[str, Any]:
    """The first entry of modules.json if it is a StaticEmbedding; else empty."""
    path = folder / "modules.json"
    first = next(iter(read_list(path)), {}) if path.is_file() else {}
    is_static = str(first.get("type", "")).rpartition(".")[2] == MODULE and is_inside(str(first.get("path") or ""))
    return first if is_static else {}


def _sizes(path: Path, tables: tuple[str, ...]) -> tuple[int, int]:
    """How many tokens have a row, and its numbers."""
    if not path.is_file():
        raise CheckpointError(f"{path} is not there; a static model's table is in one file of this name")
    shapes = {name: one["shape"] for name, one in read_header(path).items()}
    table = next((name for name in tables if name in shapes), "")
    more = ALSO if table == TABLES[1] else ()
    others = [name for name in shapes if name not in (table, *more)]
    if not table or others or len(shapes[table]) != 2:
        raise CheckpointError(f"{path} has tensors {shapes}; supported: {' or '.join(tables)}, of model2vec {ALSO}")
    num_ids = shapes.get("mapping", shapes[table])[0]
    if any(shapes[name] != [num_ids] for name in more if name in shapes):
        raise CheckpointError(f"{path} has tensors {shapes}; mapping and weights are one number for each token")
    return num_ids, shapes[table][1]


def _links(folder: Path, place: Path) -> Iterator[tuple[str, Path]]:
    """All that is read of it: files of the folder, of its other modules, and the table's with its tokenizer."""
    for path in (*folder.glob("*.json"), *folder.glob("*/*"), *place.glob("*")):
        if path.is_file():
            inner = path.parent not in (folder, place)
            yield f"{path.parent.name}/{path.name}" if inner else path.name, path.resolve()
