"""Small random SPLADE models of every family, saved by sentence-transformers or as its older releases did."""

import json
from pathlib import Path

import torch
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Router, Transformer
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling
from transformers import AutoModelForMaskedLM, PreTrainedTokenizerFast

from tests.models.text.checkpoints import RECIPES, SIZES, randomize

FAMILIES = ("bert", "distilbert", "gte", "modernbert")
LIFTS = {"bert": -0.6, "distilbert": -0.6, "gte": -0.6, "modernbert": -2.0}
"""On every logit's bias, so that a random model's vectors are sparse."""
DOCUMENT, QUERIES = "document_0_Transformer", "query_0_SparseStaticEmbedding"
"""Folders of the transformer and of the table of a checkpoint with two sides."""


def splade(name: str, folder: Path, strategy: str = "max", activation: str = "relu", *, is_old: bool = False) -> Path:
    """Write a checkpoint.

    Args:
        name: one of `FAMILIES`.
        folder: where to write; it is made.
        is_old: as releases before 6 name its modules.
    """
    transformer = _stock_transformer(name, folder.parent / f"{folder.name}-stock")
    SparseEncoder(
        modules=[transformer, SpladePooling(strategy, activation)], prompts={"query": "query: "}, device="cpu"
    ).save_pretrained(str(folder))
    if is_old:
        _as_before(folder)
    return folder


def _stock_transformer(name: str, stock: Path) -> Transformer:
    recipe = RECIPES[name]
    tokenizer = recipe.tokenizer()
    torch.manual_seed(20261123)
    model = AutoModelForMaskedLM.from_config(recipe.config(SIZES | {"vocab_size": tokenizer.get_vocab_size()}))
    randomize(model)
    with torch.no_grad():
        model.get_output_embeddings().bias.add_(LIFTS[name])
    model.save_pretrained(stock)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **recipe.names).save_pretrained(stock)
    return Transformer(str(stock), max_seq_length=256, transformer_task="fill-mask")


def _as_before(folder: Path) -> None:
    package = "sentence_transformers.sparse_encoder.models"
    modules = json.loads((folder / "modules.json").read_text())
    for module, kind in zip(modules, ("MLMTransformer", "SpladePooling"), strict=True):
        module["type"] = f"{package}.{kind}"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 256, "do_lower_case": False}))


def reference(folder: Path) -> SparseEncoder:
    """sentence-transformers on a checkpoint: padded batches, plain attention, all logits at once."""
    return SparseEncoder(str(folder), device="cpu", model_kwargs={"attn_implementation": "eager"})


def inference_free(name: str, folder: Path, *, at_root: bool = False, prompts: dict[str, str] | None = None) -> Path:
    """Write a checkpoint whose queries are weighed by a table, in the form of OpenSearch's.

    Args:
        name: one of `FAMILIES`.
        folder: where to write; it is made.
        at_root: the transformer lies beside modules.json, as in the released ones, and not in a folder of its own.
        prompts: of both sides.
    """
    transformer = _stock_transformer(name, folder.parent / f"{folder.name}-stock")
    size = transformer.tokenizer.vocab_size
    generator = torch.Generator().manual_seed(7)
    weights = torch.rand(size, generator=generator) * 6 * (torch.rand(size, generator=generator) > 0.1)
    queries = SparseStaticEmbedding(transformer.tokenizer, weights, frozen=True)
    router = Router.for_query_document([queries], [transformer, SpladePooling("max", "log1p_relu")])
    SparseEncoder(modules=[router], prompts=prompts, device="cpu").save_pretrained(str(folder))
    if at_root:
        _as_released(folder)
    return folder


def _as_released(folder: Path) -> None:
    own = folder / DOCUMENT
    for path in own.iterdir():
        path.rename(folder / path.name)
    own.rmdir()
    router = json.loads((folder / "router_config.json").read_text())
    router["types"][""] = router["types"].pop(DOCUMENT)
    router["structure"]["document"][0] = ""
    (folder / "router_config.json").write_text(json.dumps(router))
