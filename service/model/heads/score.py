"""The logit of a pair from a reranker's pooled state: one row of a language-model head, or a classifier's modules.

Source: transformers 5.24, the forward of each classifier.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import safe_open
from torch.nn import GELU, ReLU
from transformers.activations import ACT2FN
from transformers.modeling_utils import PreTrainedModel

from service.checkpoint.answer_tokens import find_answer_head, read_answer_tokens, read_temperature
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.reranker_kind import reranker_kind
from service.model.heads.dense_modules import Dense, DenseModules


def answer_modules(folder: Path, device: torch.device, dtype: torch.dtype) -> DenseModules:
    """The product of a state with the row that `load_answer_row` gives, over a temperature."""
    row = load_answer_row(folder, device, dtype) / read_temperature(CheckpointFiles(folder))
    return DenseModules([Dense(row[None], None, "Identity")], len(row))


def load_answer_row(folder: Path, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """``head[yes] - head[no]`` or ``head[yes]``, whose product with a hidden state is the logit of a pair.

    Of a classifier it is the only row. The rest of the head is never read.

    Args:
        dtype: the model's, to which the reference casts the row.

    Returns:
        `[width]`, float32, on the device.

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


MODULES: Mapping[str, Callable[[Any], Sequence[torch.nn.Module]]] = {
    "ModernBertForSequenceClassification": lambda whole: (whole.head, whole.classifier),
    "DebertaV2ForSequenceClassification": lambda whole: (
        whole.pooler.dense,
        ACT2FN[whole.config.pooler_hidden_act],
        whole.classifier,
    ),
    "DistilBertForSequenceClassification": lambda whole: (whole.pre_classifier, ReLU(), whole.classifier),
    "EuroBertForSequenceClassification": lambda whole: (whole.dense, GELU(), whole.classifier),
}
"""Behind the encoder, in order and without dropout, of classes with others than `_found` names."""


class ClassifierModules:
    """`Modules`: those of a stock classifier, in float32."""

    hidden_size = 1
    does_nothing = False

    def __init__(self, whole: PreTrainedModel) -> None:
        """Copy the modules of `whole`, a classifier of one label."""
        own = MODULES.get(type(whole).__name__)
        modules = _found(whole) if own is None else own(whole)
        self._modules = [deepcopy(module).float() for module in modules]
        self._takes_sequence = own is None and not isinstance(modules[0], torch.nn.Linear)
        self.num_parameters = sum(one.numel() for module in self._modules for one in module.parameters())

    def __call__(self, vectors: torch.Tensor) -> torch.Tensor:
        """`[rows, width]` to `[rows, 1]`, float32."""
        states = vectors[:, None] if self._takes_sequence else vectors
        for module in self._modules:
            states = cast(torch.Tensor, module(states))
        return states


def _found(whole: Any) -> Sequence[torch.nn.Module]:
    """A decoder's `score`; an encoder's pooler, where it has one, and `classifier`.

    A pooler and a classifier that is no linear layer are given a sequence, and read its first token.
    """
    if (score := getattr(whole, "score", None)) is not None:
        return (score,)
    pooler, classifier = getattr(whole.base_model, "pooler", None), whole.classifier
    return (pooler, classifier) if pooler is not None and type(classifier) is torch.nn.Linear else (classifier,)
