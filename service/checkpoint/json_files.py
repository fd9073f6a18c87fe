"""JSON files of a checkpoint's folder: objects, lists, and the keys of sentence-transformers' files that are known.

A key that is not known may change vectors in a release that knows it, as `activation_fn` and `use_residual` once did:
passed over, it would do so here in silence, so a file with another is refused. Left out are config.json, which
transformers reads itself, and tokenizer_config.json, which holds whatever a class was ever given, and of which
transformers reads what it knows (`tokenizer_settings.py`).

Source: sentence-transformers 6.2, `config_keys` of its modules, `_parse_model_config`, `Transformer.load_config`.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

MODEL = ("model_type", "prompts", "default_prompt_name", "similarity_fn_name", "truncate_dim")
"""Of config_sentence_transformers.json."""
ABOUT_MODEL = ("__version__", "requirements", "description", "base_model", "language", "license", "name", "version")
"""Keys there that are for people, or for a reader's own version."""
MODULE = ("idx", "name", "path", "type")
"""Of an entry of modules.json. `kwargs` names arguments of `encode` that a module is given, which no request has."""
POOLING = (
    *("embedding_dimension", "word_embedding_dimension", "pooling_mode", "include_prompt"),
    *("pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_mean_tokens"),
    *("pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"),
)
DENSE = (
    *("in_features", "out_features", "bias", "activation_function"),
    *("module_input_name", "module_output_name", "use_residual"),
)
NORMALIZE = ("module_input_name", "module_output_name")
TRANSFORMER = (
    *("transformer_task", "modality_config", "module_output_name", "processing_kwargs", "max_seq_length"),
    *("do_lower_case", "tokenizer_name_or_path", "query_length", "document_length", "query_expansion"),
    *("model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs"),
    *("unpad_inputs", "backend"),
)
"""Of sentence_bert_config.json and similar files; the last two say how the same numbers are computed."""
EMPTY: tuple[object, ...] = (None, "", [], {})


class CheckpointError(Exception):
    """A model's files cannot be had, are damaged, or are of a model that this release cannot serve rightly.

    The message says which file, and what was looked for. Raised at start, never for a request.
    """


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    value = _read(path)
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} is not a JSON object")
    return value


def read_list(path: Path) -> list[dict[str, Any]]:
    """A list of JSON objects from a file."""
    entries = _read(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise CheckpointError(f"{path} is not a list of objects")
    return entries


def _read(path: Path) -> object:
    try:
        value: object = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    return value


def is_inside(path: str) -> bool:
    """True for a relative path that does not lead out of its folder."""
    return not Path(path).is_absolute() and ".." not in Path(path).parts


def check_keys(place: str | Path, content: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse an object with another key, unless that is empty."""
    for key, value in content.items():
        if key not in known and value not in EMPTY:
            raise CheckpointError(
                f"{place} has {key} {value!r}, which is not known here and may change vectors; known: "
                f"{', '.join(known)}"
            )
