"""What is done to embedders' folders: words added in one file of two, modules of older releases, a Dense module."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers.base.modules import Dense

from tests.models.folders.folders import read, write

MODULES, TOKENIZER = "modules.json", "tokenizer_config.json"


def added(token_id: int, content: str, **flags: bool) -> dict[str, Any]:
    return {"id": token_id, "content": content, "single_word": False, "lstrip": False, "rstrip": False} | flags


def listed(*tokens: dict[str, Any]) -> dict[str, Any]:
    """`added_tokens_decoder` of tokenizer_config.json."""
    every = {str(one["id"]): {key: value for key, value in one.items() if key != "id"} for one in tokens}
    return {"added_tokens_decoder": every}


SPECIALS = [
    added(i, f"[{name}]", normalized=False, special=True) for i, name in enumerate(("PAD", "UNK", "CLS", "SEP", "MASK"))
]
WORDS = ("kitten", "bread")
"""Words that two rows of the embedding are for, behind the vocabulary."""


def with_rows(folder: Path) -> None:
    """Two more rows of the embedding, for added words."""
    tensors = load_file(folder / "model.safetensors")
    name = next(one for one in tensors if one.endswith("word_embeddings.weight"))
    more = torch.randn(2, tensors[name].shape[1], generator=torch.Generator().manual_seed(1))
    save_file(tensors | {name: torch.cat([tensors[name], more])}, folder / "model.safetensors", {"format": "pt"})
    config = read(folder, "config.json")
    write(folder, "config.json", config | {"vocab_size": config["vocab_size"] + 2})


def listing(place: str, *, is_special: bool = False, first: int = 0) -> Callable[[Path], None]:
    """Added words that one file has and the other has not."""

    def change(folder: Path) -> None:
        with_rows(folder)
        tokenizer = read(folder, "tokenizer.json")
        start = len(tokenizer["model"]["vocab"]) + first
        words = [added(start + i, word, normalized=not is_special, special=is_special) for i, word in enumerate(WORDS)]
        if place == "tokenizer.json":
            write(folder, place, tokenizer | {"added_tokens": [*tokenizer["added_tokens"], *words]})
        elif place == "added_tokens.json":
            write(folder, place, {one["content"]: one["id"] for one in words})
        else:
            write(folder, place, read(folder, place) | listed(*tokenizer["added_tokens"], *words))

    return change


def stripping(folder: Path) -> None:
    """Added words of both files, by one of which they take the blanks around them."""
    listing("tokenizer.json")(folder)
    tokenizer = read(folder, "tokenizer.json")
    words = [
        one | {"lstrip": True, "rstrip": True} if one["content"] in WORDS else one for one in tokenizer["added_tokens"]
    ]
    write(folder, TOKENIZER, read(folder, TOKENIZER) | listed(*words))


def without_normalize_file(folder: Path) -> None:
    """As released before sentence-transformers 5.4: git keeps no empty folder."""
    (folder / "2_Normalize" / "config.json").unlink()
    (folder / "2_Normalize").rmdir()


def old_names(folder: Path) -> None:
    """Modules by their import paths before release 6, and the pooling's switches."""
    kinds = ("Transformer", "Pooling", "Normalize")
    entries = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    write(folder, MODULES, entries)
    switches = {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    write(folder, "1_Pooling/config.json", switches)
    without_normalize_file(folder)


def with_dense(**config: Any) -> Callable[[Path], None]:
    """A Dense module in front of Normalize."""

    def change(folder: Path) -> None:
        torch.manual_seed(3)
        (folder / "2_Dense").mkdir()
        Dense(32, activation_function=torch.nn.GELU(), **config).save(str(folder / "2_Dense"))
        entries = json.loads((folder / MODULES).read_text())
        dense = {"idx": 2, "name": "dense", "path": "2_Dense", "type": "sentence_transformers.base.modules.dense.Dense"}
        write(folder, MODULES, [*entries[:2], dense, *entries[2:]])

    return change
