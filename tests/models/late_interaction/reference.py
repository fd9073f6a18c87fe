"""transformers alone: ColQwen2's own processor, its own forward, its own MaxSim. Nothing of the service is here."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from transformers import ColQwen2ForRetrieval, ColQwen2Processor

Item = str | Image.Image
"""A query or a page."""


class ColQwen2Reference:
    """A checkpoint as the model card uses it."""

    def __init__(self, folder: Path) -> None:
        self.model = ColQwen2ForRetrieval.from_pretrained(folder, dtype=torch.float32).eval()
        self.processor = ColQwen2Processor.from_pretrained(folder)

    def queries(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Vectors of texts in one padded batch, those of padding left out."""
        return self._vectors(self.processor.process_queries(text=list(texts)))

    def pages(self, images: Sequence[Image.Image]) -> list[np.ndarray]:
        """Vectors of images in one padded batch, those of padding left out."""
        return self._vectors(self.processor.process_images(images=list(images)))

    def __call__(self, item: Item) -> np.ndarray:
        """Vectors of one item, `[tokens, 128]`."""
        return (self.queries([item]) if isinstance(item, str) else self.pages([item]))[0]

    def scores(self, queries: Sequence[np.ndarray], pages: Sequence[np.ndarray]) -> np.ndarray:
        """MaxSim, `[queries, pages]`."""
        asked, found = ([torch.tensor(one) for one in many] for many in (queries, pages))
        return self.processor.score_retrieval(asked, found).numpy()

    @torch.inference_mode()
    def _vectors(self, inputs: dict[str, torch.Tensor]) -> list[np.ndarray]:
        embeddings = self.model(**inputs).embeddings
        masks = inputs["attention_mask"].bool()
        return [row[mask].numpy() for row, mask in zip(embeddings, masks, strict=True)]
