"""The heads of transformers' classifiers, over pooled vectors: what turns a cross-encoder's hidden state into a logit.

Source: transformers 5.24, the forward of each class.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

import torch
from torch.nn import GELU, ReLU
from transformers import PreTrainedModel

Modules = Callable[[Any], Sequence[torch.nn.Module]]


def _of_pooler(whole: Any) -> Sequence[torch.nn.Module]:
    return whole.base_model.pooler, whole.classifier


def _of_sequence(whole: Any) -> Sequence[torch.nn.Module]:
    return (whole.classifier,)


def _of_score(whole: Any) -> Sequence[torch.nn.Module]:
    return (whole.score,)


MODULES: Mapping[str, Modules] = {
    **dict.fromkeys(
        ("BertForSequenceClassification", "GteForSequenceClassification", "NomicBertForSequenceClassification"),
        _of_pooler,
    ),
    **dict.fromkeys(
        (
            "RobertaForSequenceClassification",
            "XLMRobertaForSequenceClassification",
            "MPNetForSequenceClassification",
            "JinaEmbeddingsV3ForSequenceClassification",
        ),
        _of_sequence,
    ),
    "ModernBertForSequenceClassification": lambda whole: (whole.head, whole.classifier),
    "DistilBertForSequenceClassification": lambda whole: (whole.pre_classifier, ReLU(), whole.classifier),
    "EuroBertForSequenceClassification": lambda whole: (whole.dense, GELU(), whole.classifier),
    **dict.fromkeys(
        (
            "Qwen3ForSequenceClassification",
            "LlamaForSequenceClassification",
            "MistralForSequenceClassification",
            "Gemma3TextForSequenceClassification",
        ),
        _of_score,
    ),
}
"""By class the modules behind the encoder, in order, dropout left out."""
OF_SEQUENCES = (_of_pooler, _of_sequence)
"""Those whose first module is given a sequence, and reads its first token."""


class ClassifierHead:
    """A `Head`: the stock modules behind the pooled vector, in float32."""

    hidden_size = 1

    def __init__(self, whole: PreTrainedModel) -> None:
        """Copy the modules of `whole`, a classifier of one of the classes in `MODULES`."""
        modules = MODULES[type(whole).__name__]
        self._modules = [deepcopy(module).float() for module in modules(whole)]
        self._takes_sequence = modules in OF_SEQUENCES
        self.num_parameters = sum(one.numel() for module in self._modules for one in module.parameters())

    def __call__(self, vectors: torch.Tensor) -> torch.Tensor:
        """`[rows, width]` to `[rows, 1]`, float32."""
        states = vectors[:, None] if self._takes_sequence else vectors
        for module in self._modules:
            states = cast(torch.Tensor, module(states))
        return states
