"""jina-embeddings-v2 by its released tensors: ALiBi and gated layers, against the formula, one text after the other."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from transformers import PreTrainedTokenizerFast

from service.checkpoint.json_files import CheckpointError
from service.model.stock.alibi_bert import alibi_slopes
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.served import Served
from tests.models.text.checkpoints import RECIPES
from tests.models.text.released import random_tensors, write_checkpoint
from tests.models.text.texts import LONG, TEXTS

WIDTH, HEADS, INNER, LAYERS = 48, 6, 40, 2
CODE = "jinaai/jina-bert-implementation--modeling_bert."
RELEASED: dict[str, Any] = {
    "_name_or_path": "jinaai/jina-bert-implementation",
    "architectures": ["JinaBertForMaskedLM"],
    "attention_probs_dropout_prob": 0.0,
    "attn_implementation": "torch",
    "auto_map": {"AutoModel": f"{CODE}JinaBertModel"},
    "classifier_dropout": None,
    "emb_pooler": "mean",
    "feed_forward_type": "geglu",
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": WIDTH,
    "intermediate_size": INNER,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 8192,
    "model_type": "bert",
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "pad_token_id": 0,
    "position_embedding_type": "alibi",
    "torch_dtype": "float32",
    "type_vocab_size": 2,
    "use_cache": True,
}
"""As jina-embeddings-v2-base-en has it, but for its sizes."""


def shapes(num_tokens: int, *, of_code: bool) -> dict[str, tuple[int, ...]]:
    """Tensors by their released names."""
    square, line = (WIDTH, WIDTH), (WIDTH,)
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (num_tokens, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "pooler.dense.weight": square,
    }
    sizes = {"embeddings.LayerNorm": line}
    for place in range(LAYERS):
        at = f"encoder.layer.{place}."
        sizes |= {f"{at}attention.self.{name}": square for name in ("query", "key", "value")}
        sizes |= {f"{at}attention.output.dense": square, f"{at}attention.output.LayerNorm": line}
        if of_code:
            sizes |= {f"{at}attention.self.layer_norm_{name}": line for name in "qk"}
            sizes |= {f"{at}layer_norm_1": line, f"{at}layer_norm_2": line, f"{at}mlp.down_layer": (WIDTH, INNER)}
            found[f"{at}mlp.up_gated_layer.weight"] = (2 * INNER, WIDTH)
        else:
            sizes |= {f"{at}mlp.wo": (WIDTH, INNER), f"{at}mlp.layernorm": line}
            found[f"{at}mlp.gated_layers.weight"] = (2 * INNER, WIDTH)
    for name, shape in sizes.items():
        found |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return found


def vector(tensors: dict[str, torch.Tensor], ids: list[int], *, of_code: bool) -> np.ndarray:
    """The formula of one text."""

    def linear(name: str, x: torch.Tensor) -> torch.Tensor:
        return x @ tensors[f"{name}.weight"].T + tensors.get(f"{name}.bias", torch.zeros(1))

    def norm(name: str, x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, x.shape[-1:], tensors[f"{name}.weight"], tensors[f"{name}.bias"], 1e-12)

    slopes = torch.tensor([1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8])  # of 4 heads, and two of 8
    distance = (torch.arange(len(ids))[:, None] - torch.arange(len(ids))).abs()
    x = tensors["embeddings.word_embeddings.weight"][ids] + tensors["embeddings.token_type_embeddings.weight"][0]
    x = norm("embeddings.LayerNorm", x)
    for place in range(LAYERS):
        at = f"encoder.layer.{place}."
        q, k, v = (linear(f"{at}attention.self.{name}", x) for name in ("query", "key", "value"))
        if of_code:
            q, k = norm(f"{at}attention.self.layer_norm_q", q), norm(f"{at}attention.self.layer_norm_k", k)
        q, k, v = (one.view(len(ids), HEADS, -1) for one in (q, k, v))
        scores = torch.einsum("ihd,jhd->hij", q, k) / q.shape[-1] ** 0.5 - slopes[:, None, None] * distance
        mixed = torch.einsum("hij,jhd->ihd", scores.softmax(-1), v).flatten(1)
        own = norm(f"{at}attention.output.LayerNorm", linear(f"{at}attention.output.dense", mixed) + x)
        if of_code:
            x = norm(f"{at}layer_norm_1", own + x)
            wide = linear(f"{at}mlp.up_gated_layer", x)
            made = linear(f"{at}mlp.down_layer", wide[:, :INNER] * functional.gelu(wide[:, INNER:]))
            x = norm(f"{at}layer_norm_2", made + x)
        else:
            wide = linear(f"{at}mlp.gated_layers", own)
            made = linear(f"{at}mlp.wo", functional.gelu(wide[:, :INNER]) * wide[:, INNER:])
            x = norm(f"{at}mlp.layernorm", made + own)
    return functional.normalize(x.mean(0), dim=0).numpy()


@pytest.mark.parametrize("of_code", [False, True])
def test_vectors_are_those_of_the_formula_alone_and_in_a_batch(tmp_path: Path, of_code: bool) -> None:
    recipe = RECIPES["roberta" if of_code else "bert"]
    num_tokens = recipe.tokenizer().get_vocab_size()
    tensors = random_tensors(shapes(num_tokens, of_code=of_code))
    prefix = "bert." if of_code else ""  # both are found
    write_checkpoint(
        tmp_path / "jina",
        recipe,
        RELEASED | {"vocab_size": num_tokens},
        {prefix + name: tensor for name, tensor in tensors.items()},
    )
    served, tokenizer = Served(tmp_path / "jina"), PreTrainedTokenizerFast.from_pretrained(tmp_path / "jina")
    assert (served.profile.name, served.profile.max_tokens) == ("jina_bert", 512)
    texts = [*TEXTS, " ".join(LONG)]  # the last is longer than a block of queries
    rows = [tokenizer(text, truncation=True, max_length=512)["input_ids"] for text in texts]
    assert len(rows[-1]) > 256
    wanted = np.stack([vector(tensors, ids, of_code=of_code) for ids in rows])
    assert np.abs(served.texts(texts, side="right") - wanted).max() <= TOLERANCE
    alone = np.concatenate([served.texts([text], side="right") for text in texts[::6]])
    assert np.abs(alone - wanted[::6]).max() <= TOLERANCE


def test_slopes_are_the_papers() -> None:
    assert alibi_slopes(8) == [2.0**-power for power in range(1, 9)]
    assert alibi_slopes(12) == [*alibi_slopes(8), 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"feed_forward_type": "reglu"}, "feed_forward_type 'reglu'; supported .* 'geglu'"),
        ({"feed_forward_type": "original"}, "feed_forward_type 'original'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type 'relative_key'; .* absolute, alibi"),
        ({"model_type": "roberta"}, "position_embedding_type 'alibi'; supported .* absolute"),
    ],
)
def test_what_is_not_computed_is_refused(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(RELEASED | changed))
    RECIPES["bert"].tokenizer().save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(CheckpointError, match=said):
        load_profile(tmp_path)
