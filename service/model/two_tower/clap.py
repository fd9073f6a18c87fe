"""CLAP: a text tower and an audio tower, each with a projection into one space.

Its features are its final vector, so that is what the encoder cache keeps. Stock modules do all of it but the
log-mel features, which are ours. A batch of one is what the reference is held to: where it fuses, its feature extractor
makes one item of each batch `is_longer` at random, and so of one item always that one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel, PreTrainedModel

from service.checkpoint.clap_features import ClapFeatures, read_clap_features
from service.model.backbone import Grid, Needs, Probe, Tower
from service.model.load import load_stock
from service.model.packed.packed_batch import PackedBatch
from service.model.states import States
from service.model.two_tower.clap_check import ClapCheck
from service.model.two_tower.clap_mel import ClapMel
from service.model.two_tower.single_items import by_length, split_items


class Clap:
    """A `Backbone` on a `ClapModel`."""

    def __init__(self, stock: PreTrainedModel, numbers: ClapFeatures) -> None:
        self.stock: Any = stock
        self.device = stock.device
        self.dtype = stock.dtype
        self.num_parameters = sum(parameter.numel() for parameter in stock.parameters())
        self.patch_size = 1  # an audio file has no sides
        self.placeholder_ids = {"audio": int(self.stock.config.text_config.vocab_size)}
        self.width = int(self.stock.config.projection_dim)
        self._numbers = numbers
        self._mel = ClapMel(numbers)
        self._check = ClapCheck(stock, numbers)

    @classmethod
    def load(cls, folder: Path, device: torch.device, dtype: torch.dtype | None) -> "Clap":
        """From a checkpoint's folder; see `load_stock`. How texts are pooled is the stock module's own."""
        stock = load_stock(cast(type[PreTrainedModel], AutoModel), folder, device, dtype, attention=None)
        return cls(stock, read_clap_features(folder))

    @property
    def tower(self) -> Tower:
        """The audio tower with its projection, and the numbers of the features."""
        modules = torch.nn.ModuleDict({"tower": self.stock.audio_model, "projection": self.stock.audio_projection})
        config = f"{self.stock.config.audio_config.to_json_string()}{asdict(self._numbers)}"
        return Tower(modules, config, self.width, self.dtype)

    def positions(self, num_tokens: int, placeholders: Iterable[tuple[int, Grid]]) -> NDArray[np.int64]:
        """`[1, num_tokens]`, from 0; the text tower counts its own."""
        return np.arange(num_tokens, dtype=np.int64)[None]

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """The audio's vector, `[1, hidden]`, from its samples, `[num_samples]`, float32."""
        features = torch.from_numpy(self._mel.features(pixels.numpy()))[None]
        is_longer = torch.tensor([[True]], device=self.device)
        vector: torch.Tensor = self.stock.get_audio_features(
            input_features=features.to(self.device, self.dtype), is_longer=is_longer
        ).pooler_output
        return vector.contiguous()

    @torch.inference_mode()
    def states(self, batch: PackedBatch, needs: Needs) -> States:
        """Final vectors: audio files' as they came; texts' by their tower, equal lengths together."""
        vectors, texts, rows = split_items(batch, self.width, self.device)
        if texts:
            groups, places = by_length(texts)
            found = [self.stock.get_text_features(input_ids=ids.to(self.device)).pooler_output for ids in groups]
            vectors[rows] = torch.cat(found)[places].float()
        return States(vectors, [1] * len(vectors))

    def probes(self) -> Sequence[Probe]:
        """An audio file, and texts of two lengths."""
        return self._check.probes()

    @torch.inference_mode()
    def stock_run(self, probe: Probe) -> States:
        """See `ClapCheck.vector`."""
        return States(self._check.vector(probe)[None], [1])

    def prepack(self) -> None:
        """Nothing: its stock layers run as they are."""
