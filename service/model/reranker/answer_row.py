"""The head of a judging reranker: rows of a language-model head, of which the rest is never read, or a classifier's.

Source: transformers 5.24 `PreTrainedModel.tie_weights`: a head in the file counts, though the configuration ties it.
"""

from pathlib import Path
from typing import Any, cast

import torch
from safetensors import safe_open

from service.checkpoint.answer_tokens import read_answer_tokens
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.reranker_kind import reranker_kind
from service.checkpoint.weight_files import list_weight_files
from service.errors import ModelError

HEAD, EMBEDDINGS, CLASSIFIER = "lm_head.weight", "embed_tokens.weight", "score.weight"
TIED = ("gemma3_text",)
"""Model types that are tied where config.json does not say."""


def load_answer_row(folder: Path, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """``head[yes] - head[no]`` or ``head[yes]``: its product with a hidden state is the logit of a pair.

    The head is `lm_head`, or the input embeddings where these are tied to it and the file has none. Of a classifier it
    is its only row.

    Args:
        dtype: the model's, to which the reference casts the row.

    Returns:
        `[width]`, float32, on the device.

    Raises:
        ModelError: the weights have no head, or several.

    Source: QwenLM/Qwen3-VL-Embedding at 8ce3aab, `get_binary_linear`; sentence-transformers 6.2, `LogitScore`.
    """
    files = CheckpointFiles(folder)
    if reranker_kind(files) == "classifier":
        path, name = _find(folder, CLASSIFIER)
        with safe_open(path, framework="pt") as weights:
            row = cast(torch.Tensor, weights.get_tensor(name))
        if len(row) != 1:
            raise ModelError("internal_error", f"{folder.name} has {name} with {len(row)} rows; a reranker's has one")
        return row[0].to(dtype).float().to(device)
    yes, no = read_answer_tokens(files)
    path, name = _head(folder, files.config)
    with safe_open(path, framework="pt") as weights:
        rows = weights.get_slice(name)
        taken = [
            cast(torch.Tensor, rows[token : token + 1])[0].to(dtype).float() for token in (yes, no) if token is not None
        ]
    row = taken[0] if no is None else taken[0] - taken[1]
    return row.to(dtype).float().to(device)


def _head(folder: Path, config: Any) -> tuple[Path, str]:
    """The file of the head, and its name there."""
    own = [name for name in _places(folder) if name.endswith(HEAD)]
    return _find(folder, HEAD if own or not _is_tied(config) else EMBEDDINGS)


def _find(folder: Path, end: str) -> tuple[Path, str]:
    """The file of the only tensor whose name ends so, and that name."""
    places = _places(folder)
    names = [name for name in places if name.endswith(end)]
    if len(names) != 1:
        raise ModelError(
            "internal_error", f"{folder.name} has {len(names)} tensors called {end}; one is needed for the head"
        )
    return places[names[0]], names[0]


def _places(folder: Path) -> dict[str, Path]:
    """The files of all tensors by their names."""
    places: dict[str, Path] = {}
    for path in list_weight_files(folder):
        with safe_open(path, framework="pt") as weights:
            places |= dict.fromkeys(weights.keys(), path)
    return places


def _is_tied(config: Any) -> bool:
    """As transformers reads it: the whole model's flag, or where that says nothing the decoder's."""
    flag = config.get("tie_word_embeddings")
    flag = config.get("text_config", {}).get("tie_word_embeddings") if flag is None else flag
    return config.get("model_type") in TIED if flag is None else bool(flag)
