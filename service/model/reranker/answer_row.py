"""The head of a judging reranker: rows of a language-model head, of which the rest is never read, or a classifier's."""

from pathlib import Path
from typing import cast

import torch
from safetensors import safe_open

from service.checkpoint.answer_head import find_answer_head
from service.checkpoint.answer_tokens import read_answer_tokens
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.reranker_kind import reranker_kind


def load_answer_row(folder: Path, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """``head[yes] - head[no]`` or ``head[yes]``: its product with a hidden state is the logit of a pair.

    Of a classifier it is the only row.

    Args:
        dtype: the model's, to which the reference casts the row.

    Returns:
        `[width]`, float32, on the device.

    Raises:
        CheckpointError: see `find_answer_head`.

    Source: QwenLM/Qwen3-VL-Embedding at 8ce3aab, `get_binary_linear`; sentence-transformers 6.2, `LogitScore`.
    """
    files = CheckpointFiles(folder)
    yes, no = (0, None) if reranker_kind(files) == "classifier" else read_answer_tokens(files)
    path, name = find_answer_head(files)
    with safe_open(path, framework="pt") as weights:
        rows = weights.get_slice(name)
        taken = [
            cast(torch.Tensor, rows[token : token + 1])[0].to(dtype).float() for token in (yes, no) if token is not None
        ]
    row = taken[0] if no is None else taken[0] - taken[1]
    return row.to(dtype).float().to(device)
