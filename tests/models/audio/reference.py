"""transformers alone: its tokenizer, its feature extractor, its `get_*_features`; its dice are loaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoFeatureExtractor, AutoTokenizer, ClapModel

from tests.models.audio.checkpoints import RATE_HZ


class Reference:
    """Reference vectors of a checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.extractor: Any = AutoFeatureExtractor.from_pretrained(folder)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model: Any = ClapModel.from_pretrained(folder).eval()

    def features(self, samples: NDArray[np.float32]) -> dict[str, Any]:
        """Of one audio file; of a long one those of the middle, wherever the extractor chooses at random."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(np.random, "choice", lambda run: run[len(run) // 2])
            patch.setattr(np.random, "randint", lambda low, high: (low + high - 1) // 2)
            found: dict[str, Any] = self.extractor(samples, sampling_rate=RATE_HZ, return_tensors="pt")
        return found

    @torch.inference_mode()
    def audios(self, audios: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """One at a time."""
        return np.concatenate([_unit(self.model.get_audio_features(**self.features(one))) for one in audios])

    @torch.inference_mode()
    def texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """All at once, padded."""
        inputs = self.tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
        return _unit(
            self.model.get_text_features(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        )


def _unit(found: Any) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = torch.nn.functional.normalize(found.pooler_output, dim=-1).numpy()
    return unit
