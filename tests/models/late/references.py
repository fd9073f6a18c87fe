"""Vectors of queries and pages by the models' own code: transformers', and what colpali-engine makes of it.

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
from transformers import (
    AutoModel,
    ColModernVBertForRetrieval,
    ColModernVBertProcessor,
    ColPaliForRetrieval,
    ColPaliProcessor,
    ColQwen2ForRetrieval,
    ColQwen2Processor,
    Idefics3ImageProcessorPil,
    Idefics3Model,
    Idefics3Processor,
    PaliGemmaModel,
    PreTrainedTokenizerFast,
    Qwen2VLImageProcessorPil,
    SiglipImageProcessorPil,
)

from tests.models.late import engine_checkpoints
from tests.models.late.checkpoints import image_processor
from tests.models.vlm.references import Reference

Item = str | Image.Image
"""A query or a page."""


class PageReference:
    """Of queries and pages, each alone."""

    def queries(self, texts: Sequence[str]) -> list[np.ndarray]:
        raise NotImplementedError

    def pages(self, images: Sequence[Image.Image]) -> list[np.ndarray]:
        raise NotImplementedError

    def __call__(self, item: Item) -> np.ndarray:
        """Vectors of one item, `[tokens, dimensions]`."""
        return (self.queries([item]) if isinstance(item, str) else self.pages([item]))[0]

    def all(self, items: Sequence[Item]) -> list[np.ndarray]:
        """Of several, queries together and pages together where the reference pads them."""
        texts, pages = ([one for one in items if isinstance(one, str) is wanted] for wanted in (True, False))
        queries, shown = iter(self.queries(texts) if texts else ()), iter(self.pages(pages) if pages else ())
        return [next(queries if isinstance(item, str) else shown) for item in items]

    def scores(self, queries: Sequence[str], pages: Sequence[Image.Image]) -> np.ndarray:
        """MaxSim, `[queries, pages]`."""
        return max_sim(self.queries(queries), self.pages(pages))


def max_sim(queries: Sequence[np.ndarray], documents: Sequence[np.ndarray]) -> np.ndarray:
    """``sum_q max_d q · d``, `[queries, documents]`."""
    return np.array([[(query @ one.T).max(1).sum() for one in documents] for query in queries])


class HfReference(PageReference):
    """A checkpoint of transformers' form as its model card uses it: padded batches, those of padding left out."""

    model: Any
    processor: Any

    def queries(self, texts: Sequence[str]) -> list[np.ndarray]:
        return self._vectors(self.processor.process_queries(text=list(texts)))

    def pages(self, images: Sequence[Image.Image]) -> list[np.ndarray]:
        return self._vectors(self.processor.process_images(images=list(images)))

    @torch.inference_mode()
    def _vectors(self, inputs: dict[str, torch.Tensor]) -> list[np.ndarray]:
        embeddings, masks = self.model(**inputs).embeddings, inputs["attention_mask"].bool()
        return [row[mask].numpy() for row, mask in zip(embeddings, masks, strict=True)]


class ColQwen2Reference(HfReference):
    """`ColQwen2ForRetrieval`, and scores by its processor."""

    def __init__(self, folder: Path) -> None:
        self.model = ColQwen2ForRetrieval.from_pretrained(folder, dtype=torch.float32).eval()
        self.processor = ColQwen2Processor.from_pretrained(folder)

    def scores(self, queries: Sequence[str], pages: Sequence[Image.Image]) -> np.ndarray:
        asked, found = ([torch.tensor(one) for one in many] for many in (self.queries(queries), self.pages(pages)))
        scores: np.ndarray = self.processor.score_retrieval(asked, found).numpy()
        return scores


class ColModernVBertReference(HfReference):
    """`ColModernVBertForRetrieval`; pages one at a time."""

    def __init__(self, folder: Path) -> None:
        self.model = ColModernVBertForRetrieval.from_pretrained(folder, dtype=torch.float32).eval()
        self.processor = ColModernVBertProcessor.from_pretrained(folder, backend="pil")
        assert isinstance(self.processor.image_processor, Idefics3ImageProcessorPil)

    def pages(self, images: Sequence[Image.Image]) -> list[np.ndarray]:
        return [self._vectors(self.processor.process_images(images=[one]))[0] for one in images]


class ColPaliReference(HfReference):
    """`ColPaliForRetrieval`."""

    def __init__(self, folder: Path) -> None:
        self.model = ColPaliForRetrieval.from_pretrained(folder, dtype=torch.float32).eval()
        self.processor = ColPaliProcessor.from_pretrained(folder, backend="pil")
        assert isinstance(self.processor.image_processor, SiglipImageProcessorPil)


class EngineReference(Reference, PageReference):
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
        self._project(tensors, "custom_text_proj")
        if adapter is not None:
            self._adapt(adapter)

    def _project(self, tensors: dict[str, torch.Tensor], layer: str) -> None:
        self.layer = layer
        self.projection = torch.nn.Linear(*reversed(tensors[f"{layer}.weight"].shape))
        self.projection.load_state_dict({name: tensors[f"{layer}.{name}"] for name in ("weight", "bias")})

    def _adapt(self, adapter: Path) -> None:
        said = json.loads((adapter / "adapter_config.json").read_text())
        scale = said["lora_alpha"] / said["r"]
        halves = load_file(adapter / "adapter_model.safetensors")
        named = dict(self.model.model.named_modules()) | {self.layer: self.projection}
        for name in [name for name in halves if name.endswith(".lora_A.weight")]:
            layer = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
            layer = self.todays_name(layer, named)
            down, up = halves[name], halves[name.replace("lora_A", "lora_B")]
            named[layer].register_forward_hook(
                lambda _, inputs, output, down=down, up=up: output + scale * (inputs[0] @ down.T @ up.T)
            )

    def todays_name(self, layer: str, named: dict[str, Any]) -> str:
        return layer if layer in named else f"language_model.{layer.removeprefix('model.')}"

    def queries(self, texts: Sequence[str]) -> list[np.ndarray]:
        words = [text.strip() if self.strips else text for text in texts]
        return [self._vectors_of(self.query_prefix + text + self.suffix, []) for text in words]

    def pages(self, images: Sequence[Image.Image]) -> list[np.ndarray]:
        return [self._vectors_of(self.PAGE, [image]) for image in images]

    @torch.inference_mode()
    def _vectors_of(self, text: str, images: Sequence[Image.Image]) -> np.ndarray:
        _, states = self.states(text, images, plain_positions=False)
        vectors = self.projection(states)[:, : self.dimensions]
        return (vectors / vectors.norm(dim=-1, keepdim=True)).numpy()


class ColQwen3Reference(EngineReference):
    """colpali-engine's: queries without a prefix."""

    query_prefix = ""


class BothWaysReference(ColQwen3Reference):
    """ColQwen3.5 whose full attention sees what follows, as in vLLM where it says so; linear attention never does."""

    def __init__(self, folder: Path, adapter: Path | None = None) -> None:
        super().__init__(folder, adapter)
        decoder: Any = self.model.model.language_model
        decoder.config.is_causal = False
        decoder.set_attn_implementation("eager")  # `sdpa` is causal of what is not, without padding


class TomoroReference(ColQwen3Reference):
    """TomoroAI's processor: blanks at a query's ends are dropped, pages have up to 1,280 tokens whatever files say.

    Source: `processing_colqwen3.py`, `max_num_visual_tokens`.
    """

    strips = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.processor = image_processor(1280, factor=32)


class OpsReference(EngineReference):
    """mteb's `OpsColQwen3Wrapper`: `Query: `, the assistant's turn after a page, the first `dims` numbers."""

    PAGE = EngineReference.PAGE.replace("<|endoftext|>", "<|im_start|>assistant\n<|endoftext|>")
    dimensions = 256


class EnginesColPali(EngineReference):
    """`PaliGemmaModel` with every token a prefix, as the engine's inputs say or leave it; a prompt at a time."""

    PAGE = f"{'<image>' * 16}<bos><bos>Describe the image.\n"
    query_prefix, suffix = "<bos>Query: ", "<pad>" * 10

    def __init__(self, folder: Path, adapter: Path | None = None) -> None:
        tensors = load_file(folder / "model.safetensors")
        stock: Any = PaliGemmaModel(engine_checkpoints.paligemma()).eval()
        stock.load_state_dict({name: tensors[engine_checkpoints.released(name)] for name in stock.state_dict()})
        self.model = SimpleNamespace(model=stock)
        self.tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        self.processor = SiglipImageProcessorPil.from_pretrained(folder)
        self._project(tensors, "custom_text_proj")
        if adapter is not None:
            self._adapt(adapter)

    def todays_name(self, layer: str, named: dict[str, Any]) -> str:
        return layer if layer in named else layer.replace("model.language_model.model.", "language_model.")

    def states(self, text: str, images: Sequence[Image.Image], *, plain_positions: bool) -> Any:
        ids = self.tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
        seen = {"pixel_values": self.processor([one.convert("RGB") for one in images]).pixel_values} if images else {}
        seen = {name: torch.tensor(np.array(one)) for name, one in seen.items()}
        found = self.model.model(input_ids=ids, token_type_ids=torch.zeros_like(ids), use_cache=False, **seen)
        return ids, found.last_hidden_state[0]


class EnginesColSmol(EngineReference):
    """`Idefics3Model` and its own processor."""

    PAGE = "<|im_start|>User:<image>Describe the image.<end_of_utterance>\nAssistant:"
    suffix = "<end_of_utterance>" * 10

    def __init__(self, folder: Path, adapter: Path | None = None) -> None:
        tensors = load_file(folder / "model.safetensors")
        self.model = SimpleNamespace(model=Idefics3Model.from_pretrained(folder, dtype=torch.float32).eval())
        self.processor = Idefics3Processor.from_pretrained(folder, backend="pil")
        assert isinstance(self.processor.image_processor, Idefics3ImageProcessorPil)
        self._project(tensors, "linear")
        if adapter is not None:
            self._adapt(adapter)

    def todays_name(self, layer: str, named: dict[str, Any]) -> str:
        return layer.removeprefix("model.")

    def states(self, text: str, images: Sequence[Image.Image], *, plain_positions: bool) -> Any:
        seen = {"images": [one.convert("RGB") for one in images]} if images else {}
        inputs = self.processor(text=[text], return_tensors="pt", **seen)
        return None, self.model.model(**inputs, use_cache=False).last_hidden_state[0]
