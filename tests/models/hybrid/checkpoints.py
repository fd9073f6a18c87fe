"""A small random BGE-M3, and what FlagEmbedding's formulas give on transformers' own module. No service is here."""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoTokenizer, XLMRobertaModel

from tests.models.text.checkpoints import RECIPES, SIZES, make_checkpoint, sentence_transformer

Vectors = tuple[torch.Tensor, dict[int, float], torch.Tensor]
"""Dense, sparse, and of tokens."""


def bge_m3(folder: Path, *, is_pickled: bool = True) -> Path:
    """Write a checkpoint: XLM-R, CLS, Normalize, and both heads."""
    recipe, stock = RECIPES["xlm_roberta"], folder.parent / f"{folder.name}-stock"
    make_checkpoint("xlm_roberta", folder)
    changed = type(recipe)(recipe.config, recipe.tokenizer, recipe.names, pooling="cls")
    sentence_transformer(changed, stock, SIZES["hidden_size"]).save_pretrained(str(folder))
    generator, width = torch.Generator().manual_seed(11), SIZES["hidden_size"]
    for name, size in (("sparse_linear", 1), ("colbert_linear", width)):
        weight = torch.randn(size, width, generator=generator) * 0.3
        tensors = {"weight": weight, "bias": torch.randn(size, generator=generator) * 0.1}
        if is_pickled:
            torch.save(tensors, folder / f"{name}.pt")
        else:
            save_file(tensors, folder / f"{name}.safetensors")
    return folder


class Reference:
    """The formulas of `M3Embedder`, one text at a time."""

    def __init__(self, folder: Path) -> None:
        self._model = XLMRobertaModel.from_pretrained(folder, attn_implementation="eager").eval()
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._heads = [torch.load(folder / f"{name}_linear.pt", weights_only=True) for name in ("sparse", "colbert")]

    @torch.inference_mode()
    def __call__(self, text: str) -> Vectors:
        inputs = self._tokenizer(text, return_tensors="pt", truncation=True, max_length=512)
        hidden = self._model(**inputs).last_hidden_state[0]
        sparse, colbert = (hidden @ head["weight"].T + head["bias"] for head in self._heads)
        unused = {self._tokenizer.convert_tokens_to_ids(token) for token in ("<s>", "</s>", "<pad>", "<unk>")}
        weights: dict[int, float] = {}
        for token_id, weight in zip(inputs["input_ids"][0].tolist(), sparse[:, 0].relu().tolist(), strict=True):
            if weight > 0 and token_id not in unused:
                weights[token_id] = max(weight, weights.get(token_id, 0.0))
        normalize = torch.nn.functional.normalize
        return normalize(hidden[0], dim=-1), weights, normalize(colbert[1:], dim=-1)

    def all(self, texts: Sequence[str]) -> list[Vectors]:
        return [self(text) for text in texts]
