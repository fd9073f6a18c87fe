"""CLAP: a text tower and an audio tower, each with a projection into one space.

Its features are its final vector, so that is what the encoder cache keeps. Stock modules do all of it but the
log-mel features, which are ours. A batch of one is what the reference is held to: where it fuses, its feature extractor
makes one item of each batch `is_longer` at random, and so of one item always that one.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch
from transformers.modeling_utils import PreTrainedModel

from service.checkpoint.clap_features import ClapFeatures
from service.model.backbone import Backbone, Needs, Probe, Tower
from service.model.packed.packed_batch import PackedBatch
from service.model.states import States
from service.model.two_tower.clap_check import ClapCheck
from service.model.two_tower.clap_mel import ClapMel
from service.model.two_tower.tower_texts import by_length, split_items


class Clap(Backbone):
    """A `Backbone` on a `ClapModel`."""

    def __init__(self, stock: PreTrainedModel, numbers: ClapFeatures) -> None:
        super().__init__(stock)
        self.stock: Any = stock
        self.placeholder_ids = {"audio": int(self.stock.config.text_config.vocab_size)}
        self.width = int(self.stock.config.projection_dim)
        self._numbers = numbers
        self._mel = ClapMel(numbers)
        self._check = ClapCheck(stock, numbers)

    @property
    def tower(self) -> Tower:
        """The audio tower with its projection, and the numbers of the features."""
        modules = torch.nn.ModuleDict({"tower": self.stock.audio_model, "projection": self.stock.audio_projection})
        config = f"{self.stock.config.audio_config.to_json_string()}{asdict(self._numbers)}"
        return Tower(modules, config, self.width, self.dtype)

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
