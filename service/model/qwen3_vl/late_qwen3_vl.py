"""ColQwen3 as the engine runs it: Qwen3-VL's tower and decoder, and a projection of each token's hidden state."""

import json
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen3VLConfig, Qwen3VLModel

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.late.colqwen3_files import read_form
from service.model.embedding_model import Probe
from service.model.load import load_stock
from service.model.packed.packed_batch import PackedBatch
from service.model.qwen3_vl.qwen3_vl import Qwen3VLEmbedding
from service.model.stock.lora import merge_adapter
from service.model.stock.token_linear import load_projection

BARE = {r"^(?:vlm\.|qwen3vl\.)?(?:model\.)?(?=visual\.|language_model\.)": ""}
"""Names of tensors in the makers' own forms, to the stock module's."""


class LateQwen3VL(Qwen3VLEmbedding):
    """An `EmbeddingModel` whose profile's pooling is `multi_vector`.

    Args:
        projection: of hidden states to the numbers of a vector.
    """

    def __init__(self, stock: Qwen3VLModel, projection: torch.nn.Linear) -> None:
        super().__init__(stock)
        self.projection = projection
        self.hidden_size = projection.out_features
        self.num_parameters += sum(parameter.numel() for parameter in projection.parameters())

    @classmethod
    def load_whole(cls, folder: Path, device: torch.device, dtype: torch.dtype | None) -> "LateQwen3VL":
        """From a checkpoint's folder, its adapter merged where it has one; see `load_stock`."""
        _, found = read_form(CheckpointFiles(folder))
        stock = load_stock(
            Qwen3VLModel, folder, device, dtype, elsewhere=found.tensors, config=_config(folder), renamed=BARE
        )
        projection = load_projection(found, device, stock.dtype)
        merge_adapter(folder, stock, {found.name: projection})
        return cls(stock, projection)

    @torch.inference_mode()
    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """``projection(decoder(batch))``, `[total_tokens, 320]`: template, text and visual tokens alike."""
        vectors: torch.Tensor = self.projection(self.language.forward(batch))
        return vectors.float()

    @torch.inference_mode()
    def stock_vector(self, probe: Probe) -> torch.Tensor:
        """The projection over the stock module's own forward."""
        vectors: torch.Tensor = self.projection(self.stock_states(probe))
        return vectors


def _config(folder: Path) -> Qwen3VLConfig:
    """config.json, whatever `model_type` it has: the makers' are Qwen3-VL's with a key more."""
    said: dict[str, Any] = json.loads((folder / "config.json").read_bytes())
    config: Qwen3VLConfig = Qwen3VLConfig.from_dict({**said, "model_type": "qwen3_vl"})
    return config
