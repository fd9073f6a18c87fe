"""The head of a judging reranker: two rows of a language-model head, of which the rest is never read."""

from pathlib import Path
from typing import Any, cast

import torch
from safetensors import safe_open

from service.checkpoint.answer_tokens import read_answer_tokens
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.weight_files import list_weight_files
from service.errors import ModelError

HEAD, EMBEDDINGS = "lm_head.weight", "embed_tokens.weight"


def load_answer_row(folder: Path, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """``head[yes] - head[no]``: its product with a hidden state is the difference of both logits.

    The head is `lm_head`, or the input embeddings where these are tied to it.

    Args:
        dtype: the model's, to which the reference casts the row.

    Returns:
        `[width]`, float32, on the device.

    Raises:
        ModelError: the weights have neither, or the embeddings twice.

    Source: QwenLM/Qwen3-VL-Embedding at 8ce3aab, `get_binary_linear`.
    """
    files = CheckpointFiles(folder)
    tokens = read_answer_tokens(files)
    path, name = _head(folder, is_tied=_is_tied(files.config))
    with safe_open(path, framework="pt") as weights:
        rows = weights.get_slice(name)
        yes, no = (cast(torch.Tensor, rows[token : token + 1])[0].to(dtype).float() for token in tokens)
    return (yes - no).to(dtype).float().to(device)


def _head(folder: Path, *, is_tied: bool) -> tuple[Path, str]:
    """The file of the head, and its name there."""
    places: dict[str, Path] = {}
    for path in list_weight_files(folder):
        with safe_open(path, framework="pt") as weights:
            places |= dict.fromkeys(weights.keys(), path)
    if HEAD in places and not is_tied:
        return places[HEAD], HEAD
    names = [name for name in places if name.endswith(EMBEDDINGS)]
    if len(names) != 1:
        raise ModelError(
            "internal_error", f"{folder.name} has {len(names)} tensors called {EMBEDDINGS}; one is needed for the head"
        )
    return places[names[0]], names[0]


def _is_tied(config: Any) -> bool:
    """As transformers reads it: the whole model's flag, or where that says nothing the decoder's."""
    flag = config.get("tie_word_embeddings")
    return bool(config.get("text_config", {}).get("tie_word_embeddings") if flag is None else flag)
