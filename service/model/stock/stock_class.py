"""The class that loads a model's weights, by its name: transformers' or one of ours.

A module is imported when a model of it is loaded: each has the layers of one family, and costs a start up to 60 ms.
"""

from importlib import import_module
from typing import cast

from transformers.modeling_utils import PreTrainedModel

OURS = "service.model.stock.own_classes"
MODULES = {
    "auto.modeling_auto": ("AutoModel", "AutoModelForMaskedLM", "AutoModelForSequenceClassification"),
    "colmodernvbert.modeling_colmodernvbert": ("ColModernVBertForRetrieval",),
    "colpali.modeling_colpali": ("ColPaliForRetrieval",),
    "colqwen2.modeling_colqwen2": ("ColQwen2ForRetrieval",),
    "embedding_gemma2.modeling_embedding_gemma2": ("EmbeddingGemma2Model",),
    "qwen2_5_omni.modeling_qwen2_5_omni": ("Qwen2_5OmniThinkerModel",),
    "qwen3_vl.modeling_qwen3_vl": ("Qwen3VLModel",),
    "t5.modeling_t5": ("T5EncoderModel",),
}
"""Of `transformers.models`; of a class that is neither here nor ours transformers itself is asked, which is slower."""

HOMES = {name: f"transformers.models.{module}" for module, names in MODULES.items() for name in names}


def stock_class(name: str) -> type[PreTrainedModel]:
    """The class called `name`.

    Raises:
        ImportError: this release of transformers has no such class.
    """
    module = import_module(HOMES.get(name, OURS))
    found = getattr(module, name, None) or getattr(import_module("transformers"), name, None)
    if found is None:
        raise ImportError(f"transformers has no {name}")
    return cast(type[PreTrainedModel], found)
