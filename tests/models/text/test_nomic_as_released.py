"""nomic-embed-text with the config.json it was released with: GPT-2's names, code of its own named, never run."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from transformers import NomicBertConfig, PreTrainedTokenizerFast

from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.served import Served
from tests.models.text.checkpoints import RECIPES, Recipe, make_checkpoint, reference
from tests.models.text.released import random_tensors, released, write_checkpoint
from tests.models.text.texts import TEXTS

CODE = "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert."
RELEASED: dict[str, Any] = {
    "activation_function": "swiglu",
    "architectures": ["NomicBertModel"],
    "auto_map": {"AutoModel": f"{CODE}NomicBertModel"},
    "causal": False,
    "layer_norm_epsilon": 1e-5,
    "max_trained_positions": 2048,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "model_type": "nomic_bert",
    "n_embd": 32,
    "n_head": 4,
    "n_inner": 48,
    "n_layer": 3,
    "n_positions": 8192,
    "prenorm": False,
    "qkv_proj_bias": False,
    "rotary_emb_base": 10_000,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "rotary_emb_scale_base": None,
    "rotary_scaling_factor": None,
    "type_vocab_size": 2,
    "use_rms_norm": False,
}
EXPERTS = RELEASED | {
    "activation_function": "gelu",
    "expert_choice_router": False,
    "ffn_div": 1,
    "mlp_fc1_bias": True,
    "mlp_fc2_bias": True,
    "moe_every_n_layers": 2,
    "moe_impl": "megablocks",
    "moe_normalize_expert_weights": False,
    "moe_top_k": 2,
    "n_positions": 2048,
    "num_experts": 8,
    "num_shared_experts": 0,
    "pad_token_id": 1,
    "qkv_proj_bias": True,
    "type_vocab_size": 1,
    "use_rms_norm": None,
}
"""As nomic-embed-text-v2-moe has it, but for its sizes."""
WIDTH, HEADS, INNER, LAYERS, NUM_EXPERTS = 32, 4, 48, 3, 8


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    own, rope = RECIPES["nomic_bert"], {"rope_type": "default", "rope_theta": 10_000}
    recipe = Recipe(
        lambda sizes: NomicBertConfig(**sizes, layer_norm_eps=1e-5, rope_parameters=rope), own.tokenizer, own.names
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(RECIPES, "nomic", recipe)
        return make_checkpoint("nomic", tmp_path_factory.mktemp("nomic") / "native")


def test_vectors_are_those_of_sentence_transformers_on_the_native_form(native: Path, tmp_path: Path) -> None:
    sizes = {"vocab_size": json.loads((native / "config.json").read_text())["vocab_size"]}
    qkv = "encoder.layers.0.attn.Wqkv.weight"
    served = Served(released(native, tmp_path / "released", RELEASED | sizes, has=qkv))
    assert (served.profile.name, served.profile.dimensions, served.profile.max_tokens) == ("nomic_bert", WIDTH, 512)
    assert np.abs(served.texts(TEXTS) - reference(native).encode(list(TEXTS))).max() <= TOLERANCE


def expert_shapes(num_tokens: int) -> dict[str, tuple[int, ...]]:
    """Tensors of nomic-embed-text-v2-moe by their released names: the second layer has experts."""
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (num_tokens, WIDTH),
        "embeddings.token_type_embeddings.weight": (1, WIDTH),
        "emb_ln.weight": (WIDTH,),
        "emb_ln.bias": (WIDTH,),
    }
    for place in range(LAYERS):
        at = f"encoder.layers.{place}."
        sizes = {"attn.Wqkv": (3 * WIDTH, WIDTH), "attn.out_proj": (WIDTH, WIDTH), "norm1": (WIDTH,), "norm2": (WIDTH,)}
        if place % 2 == 1:
            shapes[f"{at}mlp.router.layer.weight"] = (NUM_EXPERTS, WIDTH)
            shapes |= {f"{at}mlp.experts.mlp.{name}": (NUM_EXPERTS * INNER, WIDTH) for name in ("w1", "w2")}
            shapes[f"{at}mlp.experts.bias"] = (WIDTH,)
        else:
            sizes |= {"mlp.fc1": (INNER, WIDTH), "mlp.fc2": (WIDTH, INNER)}
        for name, shape in sizes.items():
            shapes |= {f"{at}{name}.weight": shape, f"{at}{name}.bias": shape[:1]}
    return shapes


def expert_vector(tensors: dict[str, torch.Tensor], ids: list[int]) -> np.ndarray:
    """The formula, one text and one token after the other."""

    def linear(name: str, x: torch.Tensor) -> torch.Tensor:
        return x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

    def norm(name: str, x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, x.shape[-1:], tensors[f"{name}.weight"], tensors[f"{name}.bias"], 1e-5)

    def rotate(x: torch.Tensor) -> torch.Tensor:
        half = x.shape[-1] // 2
        angles = torch.arange(len(x))[:, None] * 10_000.0 ** (-torch.arange(half) / half)
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        left, right = x[..., :half], x[..., half:]
        return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)

    def experts(at: str, x: torch.Tensor) -> torch.Tensor:
        rows = []
        for row in x:
            shares = (tensors[f"{at}router.layer.weight"] @ row).softmax(-1)
            out = tensors[f"{at}experts.bias"].clone()
            for one in shares.argsort(descending=True)[:2]:
                own = slice(one * INNER, (one + 1) * INNER)
                w1, w2 = (tensors[f"{at}experts.mlp.{name}"][own] for name in ("w1", "w2"))
                out += shares[one] * (functional.gelu(w1 @ row) @ w2)
            rows.append(out)
        return torch.stack(rows)

    x = tensors["embeddings.word_embeddings.weight"][ids] + tensors["embeddings.token_type_embeddings.weight"][0]
    x = norm("emb_ln", x)
    for place in range(LAYERS):
        at = f"encoder.layers.{place}."
        q, k, v = linear(f"{at}attn.Wqkv", x).view(len(ids), 3, HEADS, -1).unbind(1)
        scores = torch.einsum("ihd,jhd->hij", rotate(q), rotate(k)) / q.shape[-1] ** 0.5
        mixed = torch.einsum("hij,jhd->ihd", scores.softmax(-1), v).flatten(1)
        x = norm(f"{at}norm1", x + linear(f"{at}attn.out_proj", mixed))
        if place % 2 == 1:
            wide = experts(f"{at}mlp.", x)
        else:
            wide = linear(f"{at}mlp.fc2", functional.gelu(linear(f"{at}mlp.fc1", x)))
        x = norm(f"{at}norm2", x + wide)
    return functional.normalize(x.mean(0), dim=0).numpy()


def test_vectors_with_experts_are_those_of_the_formula_alone_and_in_a_batch(tmp_path: Path) -> None:
    recipe = RECIPES["xlm_roberta"]
    num_tokens = recipe.tokenizer().get_vocab_size()
    tensors = random_tensors(expert_shapes(num_tokens))
    sizes = {"vocab_size": num_tokens, "hidden_size": WIDTH}
    write_checkpoint(tmp_path / "moe", recipe, sizes, tensors)
    (tmp_path / "moe/config.json").write_text(json.dumps(EXPERTS | {"vocab_size": num_tokens}))
    served = Served(tmp_path / "moe")
    assert served.profile.name == "nomic_bert"
    assert served.model.backbone.is_packed
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path / "moe")
    wanted = np.stack([expert_vector(tensors, tokenizer(text)["input_ids"]) for text in TEXTS])
    assert np.abs(served.texts(TEXTS) - wanted).max() <= TOLERANCE
    alone = np.concatenate([served.texts([text]) for text in TEXTS[::6]])
    assert np.abs(alone - wanted[::6]).max() <= TOLERANCE


@pytest.mark.parametrize(
    ("base", "changed", "said"),
    [
        (RELEASED, {"num_experts": 8}, "activation_function 'swiglu'; supported .* 'gelu'"),
        (RELEASED, {"qkv_proj_bias": True}, "qkv_proj_bias True"),
        (RELEASED, {"prenorm": True}, "prenorm True"),
        (RELEASED, {"rotary_emb_fraction": 0.5}, r"rotary_emb_fraction 0\.5"),
        (RELEASED, {"rotary_emb_scale_base": 512}, "rotary_emb_scale_base 512"),
        (EXPERTS, {"moe_normalize_expert_weights": True}, "moe_normalize_expert_weights True"),
        (EXPERTS, {"num_shared_experts": 1}, "num_shared_experts 1"),
        (EXPERTS, {"expert_choice_router": True}, "expert_choice_router True"),
        (EXPERTS, {"mlp_fc1_bias": False}, "mlp_fc1_bias False"),
    ],
)
def test_what_is_not_computed_is_refused(
    native: Path, tmp_path: Path, base: dict[str, Any], changed: dict[str, Any], said: str
) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((native / name).read_bytes())
    (tmp_path / "config.json").write_text(json.dumps(base | changed))
    with pytest.raises(CheckpointError, match=said):
        load_profile(tmp_path)


def test_scaled_positions_are_offered_as_far_as_they_were_trained(native: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes((native / "tokenizer.json").read_bytes())
    (tmp_path / "config.json").write_text(json.dumps(RELEASED | {"rotary_scaling_factor": 2}))
    assert load_profile(tmp_path).max_tokens == 2048
