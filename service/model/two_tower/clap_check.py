"""The other side of CLAP's known-answer check: the stock module fed by transformers' own feature extractor.

Texts with padding and its mask, audio by `ClapFeatureExtractor`: nothing is shared with `Clap` but the weights. The
audio files are shorter than the tower takes at once, since the extractor takes parts of longer ones at random.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.modeling_utils import PreTrainedModel

from service.checkpoint.clap_features import ClapFeatures
from service.model.backbone import Probe
from service.model.two_tower.two_tower_check import TEXT_LENGTHS, padded_text
from service.outputs.plan import TokenPlan


class ClapCheck:
    """Probes, and their vectors by the stock module."""

    def __init__(self, stock: PreTrainedModel, numbers: ClapFeatures) -> None:
        self._stock: Any = stock
        self._text: Any = self._stock.config.text_config
        self._numbers = numbers

    def probes(self) -> Sequence[Probe]:
        """An audio file that is repeated and padded, and texts of two lengths, one of them twice."""
        times = np.arange(self._numbers.max_samples * 2 // 5) / self._numbers.sampling_rate
        samples = 0.4 * np.sin(2 * np.pi * (200 + 150 * times) * times) + 0.1 * np.sin(2 * np.pi * 900 * times)
        audio = Probe(
            TokenPlan([int(self._text.vocab_size)]),
            samples=samples.astype(np.float32),
            num_tokens=1,
            grid_thw=(1, 1, 1),
        )
        return [audio, *(Probe(TokenPlan(self._token_ids(i, length))) for i, length in enumerate(TEXT_LENGTHS))]

    def vector(self, probe: Probe) -> torch.Tensor:
        """The raw vector of a probe, `[hidden]`."""
        pad, samples = int(self._text.pad_token_id), probe.samples
        found = padded_text(self._stock, probe.plan.ids, pad) if samples is None else self._audio_output(samples)
        vector: torch.Tensor = found.pooler_output[0]
        return vector

    def _token_ids(self, first: int, num_tokens: int) -> list[int]:
        """Ids none of which is padding, by which the stock module would count positions."""
        pad, num_ids = int(self._text.pad_token_id), int(self._text.vocab_size)
        words = [4 + (first * 5 + place * 7) % (num_ids - 5) for place in range(num_tokens)]
        return [word + 1 if word == pad else word for word in words]

    def _audio_output(self, samples: NDArray[np.float32]) -> Any:
        from transformers.models.clap.feature_extraction_clap import ClapFeatureExtractor

        extractor: Any = ClapFeatureExtractor(**asdict(self._numbers))
        inputs = extractor(samples, sampling_rate=self._numbers.sampling_rate, return_tensors="pt")
        features = inputs["input_features"].to(self._stock.device, self._stock.dtype)
        is_longer = inputs["is_longer"].to(self._stock.device)
        return self._stock.get_audio_features(input_features=features, is_longer=is_longer)
