"""transformers alone: ColQwen2's own processor, its own forward, its own MaxSim; and what colpali-engine makes of it.

Nothing of the service is here.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoModel, ColQwen2ForRetrieval, ColQwen2Processor, Qwen2VLImageProcessorPil

from tests.models.vlm.references import Reference

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


class EngineReference(Reference):
    """A checkpoint as colpali-engine runs it, composed of transformers' own modules: positions that see the image.

    LoRA is not merged: each of its layers adds ``scale · B(A(x))`` to what the base's layer gives.
    `colpali_engine_0_3_18.json` has vectors of the engine itself, for this and for the service.

    Source: colpali-engine 0.3.18 `ColQwen2_5`, `ColQwen2_5_Processor`.
    """

    PAGE = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Describe the image.<|im_end|><|endoftext|>"
    query_prefix = "Query: "
    suffix = "<|endoftext|>" * 10

    strips = False
    dimensions: int | None = None

    def __init__(self, folder: Path, adapter: Path | None = None) -> None:
        stock: Any = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        self.model = SimpleNamespace(model=stock)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.processor = Qwen2VLImageProcessorPil.from_pretrained(folder)
        self.image_token_id = stock.config.image_token_id
        tensors = load_file(folder / "model.safetensors")
        self.projection = torch.nn.Linear(*reversed(tensors["custom_text_proj.weight"].shape))
        self.projection.load_state_dict({name: tensors[f"custom_text_proj.{name}"] for name in ("weight", "bias")})
        if adapter is not None:
            self._adapt(adapter)

    def _adapt(self, adapter: Path) -> None:
        said = json.loads((adapter / "adapter_config.json").read_text())
        scale = said["lora_alpha"] / said["r"]
        halves = load_file(adapter / "adapter_model.safetensors")
        named = dict(self.model.model.named_modules()) | {"custom_text_proj": self.projection}
        for name in [name for name in halves if name.endswith(".lora_A.weight")]:
            layer = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
            layer = layer if layer in named else f"language_model.{layer.removeprefix('model.')}"
            down, up = halves[name], halves[name.replace("lora_A", "lora_B")]
            named[layer].register_forward_hook(
                lambda _, inputs, output, down=down, up=up: output + scale * (inputs[0] @ down.T @ up.T)
            )

    def queries(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Vectors of texts."""
        words = [text.strip() if self.strips else text for text in texts]
        return [self._vectors_of(self.query_prefix + text + self.suffix, []) for text in words]

    def pages(self, images: Sequence[Image.Image]) -> list[np.ndarray]:
        """Vectors of images."""
        return [self._vectors_of(self.PAGE, [image]) for image in images]

    def __call__(self, item: Item) -> np.ndarray:
        """Vectors of one item, `[tokens, 128]`."""
        return (self.queries([item]) if isinstance(item, str) else self.pages([item]))[0]

    def scores(self, queries: Sequence[np.ndarray], pages: Sequence[np.ndarray]) -> np.ndarray:
        """MaxSim, `[queries, pages]`."""
        return np.array([[(query @ page.T).max(1).sum() for page in pages] for query in queries])

    @torch.inference_mode()
    def _vectors_of(self, text: str, images: Sequence[Image.Image]) -> np.ndarray:
        _, states = self.states(text, images, plain_positions=False)
        vectors = self.projection(states)[:, : self.dimensions]
        return (vectors / vectors.norm(dim=-1, keepdim=True)).numpy()
