"""transformers alone: its tokenizer, image processor, feature extractor and model, in one padded batch.

`EmbeddingGemma2Processor` needs torchvision, so what it writes into a text is written here.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from transformers import AutoTokenizer, EmbeddingGemma2Model, Gemma4AudioFeatureExtractor
from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil


@dataclass(frozen=True)
class Frames:
    """A video, as the frames that are seen of it."""

    images: tuple[Image.Image, ...]


Part = str | Image.Image | NDArray[np.float32] | Frames
"""A text, an image, samples of audio, or a video."""


class Reference:
    """Reference vectors of a checkpoint."""

    def __init__(self, folder: Path) -> None:
        said = json.loads((folder / "processor_config.json").read_text())
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.image: Any = _visual(said["image_processor"])
        self.video: Any = _visual(said["video_processor"])
        self.extractor: Any = Gemma4AudioFeatureExtractor.from_pretrained(folder)
        self.model: Any = EmbeddingGemma2Model.from_pretrained(folder).eval()

    def __call__(self, *items: Sequence[Part], prefix: str = "", length: int = 0) -> NDArray[np.float32]:
        """Unit vectors, `[items, length]`, cut to a length first where one is given."""
        inputs = self.inputs(items, prefix)
        with torch.inference_mode():
            states = self.model(**inputs).last_hidden_state
        mask = inputs["attention_mask"][..., None]
        pooled = (states * mask).sum(1) / mask.sum(1)
        unit: NDArray[np.float32] = torch.nn.functional.normalize(pooled[:, : length or None], dim=-1).numpy()
        return unit

    def inputs(self, items: Sequence[Sequence[Part]], prefix: str) -> dict[str, Any]:
        """Of the model, all items in one batch."""
        images, frames, counts, audios, texts = [], [], [], [], []
        for parts in items:
            text = prefix
            for part in parts:
                if isinstance(part, str):
                    text += part
                elif isinstance(part, Frames):
                    seen = self.video(list(part.images), return_tensors="pt")
                    frames.append(seen)
                    counts.append(len(part.images))
                    text += "".join(_block("image", "video", num) for num in seen["num_soft_tokens_per_image"])
                elif isinstance(part, Image.Image):
                    images.append(self.image(part, return_tensors="pt"))
                    text += _block("image", "image", images[-1]["num_soft_tokens_per_image"][0])
                else:
                    mask = self.extractor([part], return_tensors="pt")["input_features_mask"][0]
                    audios.append(part)
                    text += _block("audio", "audio", mask[::2][::2].sum())
            texts.append(text)
        found: dict[str, Any] = dict(self.tokenizer(texts, padding=True, return_tensors="pt"))
        if images:
            found["pixel_values"] = torch.cat([one["pixel_values"] for one in images])
            found["image_position_ids"] = torch.cat([one["image_position_ids"] for one in images])
        if frames:
            found["pixel_values_videos"] = torch.cat([one["pixel_values"] for one in frames])
            found["video_position_ids"] = torch.cat([one["image_position_ids"] for one in frames])
            found["num_frames_per_video"] = torch.tensor(counts)
        if audios:
            found |= dict(self.extractor(audios, return_tensors="pt"))
        return found


def _visual(said: dict[str, Any]) -> Any:
    names = ("max_soft_tokens", "patch_size", "pooling_kernel_size", "resample", "do_normalize")
    return Gemma4ImageProcessorPil(**{name: said[name] for name in names})


def _block(begin: str, token: str, num: Any) -> str:
    return f"<|{begin}>{f'<|{token}|>' * int(num)}<{begin}|>"
