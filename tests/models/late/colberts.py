"""Small random ColBERT models over texts, in the forms of sentence-transformers, PyLate and ColBERT itself."""

import json
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from transformers import AutoModel, PreTrainedTokenizerFast

from tests.models.text.checkpoints import RECIPES, SIZES
from tests.models.text.decoders import as_own_code

FAMILIES = ("bert", "distilbert", "eurobert", "gte", "modernbert", "nomic_bert", "roberta", "xlm_roberta")
DECODERS = (
    *("gemma", "gemma3_text", "lfm2", "lfm2, causal", "llama", "llama_bidirec", "ministral3", "mistral"),
    *("qwen2", "qwen3"),
)
WITHOUT_HEAD = ("qwen2", "qwen3")
"""Whose tokenizers put no token before a text."""
WIDTH, TOKEN_WIDTH = SIZES["hidden_size"], 24
MARKERS = ("[Q] ", "[D] ")
"""PyLate's, added to the tokenizer with their blank."""


@dataclass(frozen=True)
class Shape:
    """Treatment of a text by a checkpoint.

    Attributes:
        expansion: of queries, as sentence-transformers has it.
        lengths: `query_length` and `document_length`.
        prompts: of both sides.
        skiplist: tokens that are dropped.
        tasks: of which sides.
        dense: modules after the transformer, as `Dense` takes them.
        normalize: whether a Normalize module ends it.
        similarity: of the model.
    """

    expansion: dict[str, Any] | None = None
    lengths: tuple[int | None, int | None] = (None, None)
    prompts: dict[str, str] = field(default_factory=lambda: {"query": "query: ", "document": "passage: "})
    skiplist: Sequence[str] = tuple(string.punctuation)
    tasks: Sequence[str] = ("document",)
    dense: Sequence[dict[str, Any]] = ({"out_features": TOKEN_WIDTH},)
    normalize: bool = True
    similarity: str | None = None


def fixed(length: int, **others: Any) -> dict[str, Any]:
    return {"strategy": "fixed", "length": length, **others}


SHAPES = {
    "hidden masks": Shape(expansion=fixed(32), lengths=(None, 48)),
    "attended masks": Shape(expansion=fixed(20, attend=True), lengths=(None, 96)),
    "at least": Shape(expansion={"strategy": "min", "length": 24, "attend": False}, lengths=(64, None)),
    "other token": Shape(expansion=fixed(16, token="a"), prompts={}),
    "no masks": Shape(lengths=(24, 180), similarity="meanmaxsim"),
    "two projections, both sides skipped": Shape(
        expansion=fixed(32),
        tasks=("query", "document"),
        dense=(
            {"out_features": 48, "bias": True, "activation_function": torch.nn.GELU(), "use_residual": True},
            {"out_features": 48, "use_residual": True},
            {"out_features": TOKEN_WIDTH},
        ),
    ),
    "not normalized": Shape(expansion=fixed(32), normalize=False, skiplist=()),
}
"""By what they show."""


def stock(name: str, folder: Path, *, markers: Sequence[str] = (), is_special: bool = False) -> Path:
    """Write a bare encoder with its tokenizer.

    Args:
        name: one of `FAMILIES` or `DECODERS`.
        markers: added to the tokenizer as PyLate adds them.
        is_special: as sentence-transformers registers them.
    """
    recipe = RECIPES[name]
    names = recipe.names | ({"mask_token": "<|mask|>"} if name == "eurobert" else {})
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=recipe.tokenizer(), **names)
    if is_special:
        tokenizer.add_special_tokens({"additional_special_tokens": list(markers)})
    else:
        tokenizer.add_tokens(list(markers))
    model = AutoModel.from_config(recipe.config(SIZES | {"vocab_size": len(tokenizer)}))
    draw(model)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def native(name: str, folder: Path, shape: Shape, *, markers: Sequence[str] = ()) -> Path:
    """Write a checkpoint as `MultiVectorEncoder` saves it."""
    base = stock(name, folder.parent / f"{folder.name}-stock", markers=markers, is_special=True)
    query, document = shape.lengths
    lengths = {"query_length": query, "document_length": document, "query_expansion": shape.expansion}
    modules: list[torch.nn.Module] = [Transformer(str(base), max_seq_length=512, **lengths)]
    modules += dense_modules(shape.dense)
    modules.append(MultiVectorMask(list(shape.skiplist), skiplist_tasks=list(shape.tasks)))
    if shape.normalize:
        modules.append(Normalize(module_input_name="token_embeddings"))
    MultiVectorEncoder(
        modules=modules, prompts=shape.prompts, similarity_fn_name=shape.similarity, device="cpu"
    ).save_pretrained(str(folder))
    return released(name, folder)


def released(name: str, folder: Path) -> Path:
    """A folder with the released keys of its recipe."""
    for edit in RECIPES[name].released:
        edit(folder)
    return folder


def dense_modules(shapes: Sequence[dict[str, Any]]) -> list[torch.nn.Module]:
    modules: list[torch.nn.Module] = []
    width = WIDTH
    for shape in shapes:
        own = {"bias": False, "activation_function": torch.nn.Identity()} | shape
        modules.append(Dense(width, module_input_name="token_embeddings", **own))
        draw(modules[-1])
        width = shape["out_features"]
    return modules


def draw(module: torch.nn.Module) -> None:
    """Random weights that no release's initial ones are in: vectors of these are stored."""
    generator = torch.Generator().manual_seed(20261124)
    for _, parameter in sorted(module.named_parameters()):
        is_norm = parameter.ndim == 1 and bool((parameter == 1).all())
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.15 + is_norm


def pylate(name: str, folder: Path, *, is_typed: bool = True, **said: object) -> Path:
    """Write a checkpoint as PyLate 1.6 saves it.

    Args:
        is_typed: with `model_type`, as later releases write it.
        said: keys of config_sentence_transformers.json in place of those here; None leaves one out.
    """
    stock(name, folder, markers=MARKERS)
    (projection,) = dense_modules(({"out_features": TOKEN_WIDTH},))
    (folder / "1_Dense").mkdir()
    save_file(dict(projection.state_dict()), folder / "1_Dense" / "model.safetensors")
    kinds = ("sentence_transformers.models.Transformer", "pylate.models.Dense.Dense")
    keys: dict[str, object] = {
        "model_type": "ColBERT" if is_typed else None,
        "__version__": {"sentence_transformers": "5.3.0"},
        "prompts": {"query": "", "document": ""},
        "default_prompt_name": None,
        "similarity_fn_name": "MaxSim",
        "query_prefix": "[Q] ",
        "document_prefix": "[D] ",
        "query_length": 32,
        "document_length": 180,
        "attend_to_expansion_tokens": False,
        "skiplist_words": list(string.punctuation),
        "do_query_expansion": True,
    }
    files: dict[str, object] = {
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": kind}
            for i, (path, kind) in enumerate(zip(("", "1_Dense"), kinds, strict=True))
        ],
        "1_Dense/config.json": {
            "in_features": WIDTH,
            "out_features": TOKEN_WIDTH,
            "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
            "use_residual": False,
        },
        "sentence_bert_config.json": {"max_seq_length": 179, "do_lower_case": False},
        "config_sentence_transformers.json": {
            key: value for key, value in (keys | said).items() if value is not None or key == "default_prompt_name"
        },
    }
    for path, content in files.items():
        (folder / path).write_text(json.dumps(content))
    return released(name, folder)


def stanford(folder: Path, metadata: dict[str, object] | None) -> Path:
    """Write a BERT checkpoint as ColBERT itself has it: the projection among the weights, no `modules.json`."""
    stock("bert", folder, markers=())
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocab = tokenizer["model"]["vocab"]
    for i, old in enumerate(sorted(vocab, key=vocab.__getitem__)[-2:]):  # the last two words make room
        vocab[f"[unused{i}]"] = vocab.pop(old)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (projection,) = dense_modules(({"out_features": TOKEN_WIDTH},))
    weights = {f"bert.{key}": value for key, value in load_file(folder / "model.safetensors").items()}
    save_file(weights | dict(projection.state_dict()), folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["HF_ColBERT"]}))
    if metadata is not None:
        (folder / "artifact.metadata").write_text(json.dumps(metadata))
    return folder


def reference(folder: Path, **model: object) -> MultiVectorEncoder:
    """sentence-transformers on a checkpoint: padded batches, its own masks; `model` goes to `from_pretrained`."""
    made = MultiVectorEncoder(str(folder), device="cpu", model_kwargs=model)
    as_own_code(made, folder, clears=False)
    return made
