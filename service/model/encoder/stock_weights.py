"""Where stock modules of BERT's architecture keep their weights: BERT, RoBERTa, XLM-R, CamemBERT and DistilBERT.

Their forwards are the same but for names. Others, and those with options that change the forward, have none here and
run as stock modules.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from transformers.modeling_utils import PreTrainedModel

ACTIVATION = "gelu"


@dataclass(frozen=True, slots=True)
class StockLayer:
    """The modules of one layer, in the order in which they run.

    Attributes:
        attention_norm: after its residual.
        output_norm: after its residual.
    """

    query_key_value: tuple[torch.nn.Linear, torch.nn.Linear, torch.nn.Linear]
    out: torch.nn.Linear
    attention_norm: torch.nn.LayerNorm
    widen: torch.nn.Linear
    narrow: torch.nn.Linear
    output_norm: torch.nn.LayerNorm

    @property
    def products(self) -> tuple[torch.nn.Linear, ...]:
        """All projections."""
        return *self.query_key_value, self.out, self.widen, self.narrow


@dataclass(frozen=True, slots=True)
class StockWeights:
    """All that a forward needs of a stock module.

    Attributes:
        words: `[vocabulary, width]`.
        positions: `[types · positions, width]`: the table of positions with a type's vector added, for each type.
        norm: of their sum.
    """

    words: torch.Tensor
    positions: torch.Tensor
    norm: torch.nn.LayerNorm
    layers: list[StockLayer]
    num_heads: int


def stock_weights(stock: PreTrainedModel) -> StockWeights | None:
    """The weights of a module of this architecture; None for any other.

    Source: transformers 5.23 `BertModel`, `RobertaModel`, `XLMRobertaModel`, `CamembertModel`, `DistilBertModel`.
    """
    read = _READERS.get(type(stock).__name__)
    return None if read is None else read(stock)


def _of_bert(stock: Any) -> StockWeights | None:
    config, embeddings = stock.config, stock.embeddings
    if config.hidden_act != ACTIVATION or config.is_decoder or config.add_cross_attention:
        return None
    types, positions = embeddings.token_type_embeddings.weight, embeddings.position_embeddings.weight
    layers = [
        StockLayer(
            (layer.attention.self.query, layer.attention.self.key, layer.attention.self.value),
            layer.attention.output.dense,
            layer.attention.output.LayerNorm,
            layer.intermediate.dense,
            layer.output.dense,
            layer.output.LayerNorm,
        )
        for layer in stock.encoder.layer
    ]
    words, norm = embeddings.word_embeddings.weight, embeddings.LayerNorm
    table = (types[:, None] + positions).flatten(0, 1)
    return StockWeights(words, table, norm, layers, config.num_attention_heads)


def _of_distilbert(stock: Any) -> StockWeights | None:
    config, embeddings = stock.config, stock.embeddings
    if config.activation != ACTIVATION:
        return None
    layers = [
        StockLayer(
            (layer.attention.q_lin, layer.attention.k_lin, layer.attention.v_lin),
            layer.attention.out_lin,
            layer.sa_layer_norm,
            layer.ffn.lin1,
            layer.ffn.lin2,
            layer.output_layer_norm,
        )
        for layer in stock.transformer.layer
    ]
    words, positions = embeddings.word_embeddings.weight, embeddings.position_embeddings.weight
    return StockWeights(words, positions, embeddings.LayerNorm, layers, config.n_heads)


_READERS: Mapping[str, Callable[[Any], StockWeights | None]] = {
    "BertModel": _of_bert,
    "RobertaModel": _of_bert,
    "XLMRobertaModel": _of_bert,
    "CamembertModel": _of_bert,
    "DistilBertModel": _of_distilbert,
}
"""By the class's own name: one that is derived from it may compute something else."""
