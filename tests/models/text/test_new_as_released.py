"""The hub's `new` (GTE v1.5, gte-multilingual, Arctic Embed M 2.0): its own keys and names of tensors, its rotation.

The reference is sentence-transformers on transformers' `gte` with the same weights; the frequencies of its rotation are
computed here, by the formula of the model's code.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from transformers import GteConfig
from transformers.models.gte.modeling_gte import GteRotaryEmbedding

from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.reranker.checkpoints import make_cross_encoder
from tests.models.served import Served
from tests.models.sparse.checkpoints import reference as sparse_reference
from tests.models.sparse.checkpoints import splade
from tests.models.text.checkpoints import RECIPES, Recipe, make_checkpoint, reference
from tests.models.text.released import released
from tests.models.text.texts import LONG, TEXTS

SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "type_vocab_size",
)
QKV = "encoder.layer.0.attention.qkv_proj.weight"
CODE = "Alibaba-NLP/new-impl--"
RELEASED: dict[str, Any] = {
    "architectures": ["NewModel"],
    "attention_probs_dropout_prob": 0.0,
    "auto_map": {"AutoConfig": f"{CODE}configuration.NewConfig", "AutoModel": f"{CODE}modeling.NewModel"},
    "classifier_dropout": 0.0,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "layer_norm_eps": 1e-12,
    "layer_norm_type": "layer_norm",
    "logn_attention_clip1": False,
    "logn_attention_scale": False,
    "max_position_embeddings": 8192,
    "model_type": "new",
    "pack_qkv": True,
    "pad_token_id": 1,
    "position_embedding_type": "rope",
    "rope_scaling": {"factor": 8.0, "type": "ntk"},
    "rope_theta": 20000,
    "torch_dtype": "float16",
    "unpad_inputs": False,
    "use_memory_efficient_attention": False,
}
"""As gte-multilingual-base has it, but for its sizes."""
FORMS: dict[str, dict[str, Any]] = {
    "gte-multilingual-base": {},
    "gte-base-en-v1.5": {"rope_theta": 500000, "rope_scaling": {"factor": 2.0, "type": "ntk"}, "type_vocab_size": 0},
    "arctic-embed-m-v2.0": {
        "architectures": ["GteModel"],
        "model_type": "gte",
        "rope_theta": 160000,
        "rope_scaling": None,
        "unpad_inputs": "true",
        "use_memory_efficient_attention": "true",
    },
}


def make(name: str, folder: Path) -> tuple[Path, SentenceTransformer]:
    """A folder of this form and its reference."""
    changed, own = FORMS[name], RECIPES["gte"]
    config = RELEASED | changed
    types, theta = changed.get("type_vocab_size", 1), config["rope_theta"]
    rope = {"rope_type": "default", "rope_theta": theta}
    recipe = Recipe(
        lambda sizes: GteConfig(**sizes, type_vocab_size=types, pad_token_id=1, rope_parameters=rope),
        own.tokenizer,
        own.names,
        pooling="cls",
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(RECIPES, name, recipe)
        native = make_checkpoint(name, folder / "native")
    theirs = reference(native)
    if config["rope_scaling"]:
        rotation = next(one for one in theirs.modules() if isinstance(one, GteRotaryEmbedding))
        factor, width = config["rope_scaling"]["factor"], 8
        places = np.arange(0, width, 2) / width
        rotation.inv_freq.copy_(torch.tensor((theta * factor) ** -places / factor ** (2 / width)))
    sizes = json.loads((native / "config.json").read_text())
    prefix = "new." if name == "gte-base-en-v1.5" else ""
    config |= {key: sizes[key] for key in SIZES}
    return released(native, folder / "released", config, has=QKV, prefix=prefix), theirs


@pytest.mark.parametrize("name", FORMS)
def test_vectors_are_those_of_transformers_gte(tmp_path: Path, name: str) -> None:
    folder, theirs = make(name, tmp_path)
    served = Served(folder)
    assert (served.profile.name, served.profile.max_tokens) == ("gte", 512)
    texts = [*TEXTS, " ".join(LONG)[:1200]]
    wanted = theirs.encode(texts, batch_size=16)
    assert np.abs(served.texts(texts, side="right") - wanted).max() <= TOLERANCE
    alone = np.concatenate([served.texts([text], side="right") for text in texts[::6]])
    assert np.abs(alone - wanted[::6]).max() <= TOLERANCE


def test_the_rotation_is_looked_at(tmp_path: Path) -> None:
    folder, theirs = make("gte-multilingual-base", tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"rope_scaling": None}))
    assert np.abs(Served(folder).texts(TEXTS) - theirs.encode(list(TEXTS))).max() > 100 * TOLERANCE


def test_sparse_weights_are_those_of_transformers_gte(tmp_path: Path) -> None:
    """OpenSearch's doc-v3-gte is a masked language model of this type."""
    native = splade("gte", tmp_path / "native")
    said = json.loads((native / "config.json").read_text())
    config = RELEASED | {"architectures": ["NewForMaskedLM"], "rope_scaling": None, "rope_theta": 160000}
    config |= {key: said[key] for key in SIZES}
    served = Served(released(native, tmp_path / "released", config, has="lm_head.norm.weight", prefix="new."))
    wanted = sparse_reference(native).encode(list(TEXTS), convert_to_sparse_tensor=False).numpy()
    assert np.abs(served.weights(served.text_prompts(TEXTS)) - wanted).max() <= TOLERANCE * wanted.max()


def test_scores_are_those_of_transformers_gte(tmp_path: Path) -> None:
    """gte-multilingual-reranker-base is a classifier of this type."""
    native = make_cross_encoder("gte", tmp_path / "native")
    said = json.loads((native / "config.json").read_text())
    config = RELEASED | {"architectures": ["NewForSequenceClassification"], "rope_scaling": None, "rope_theta": 160000}
    config |= {key: said[key] for key in SIZES} | {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    served = Served(released(native, tmp_path / "released", config, has="classifier.weight", prefix="new."))
    pairs = list(zip(TEXTS, TEXTS[::-1], strict=True))
    wanted = CrossEncoder(str(native), device="cpu").predict(pairs)
    assert np.abs(served.scores([served.pair(*pair) for pair in pairs]) - wanted).max() <= TOLERANCE


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"logn_attention_scale": True}, "logn_attention_scale True; supported .* False"),
        ({"layer_norm_type": "rms_norm"}, "layer_norm_type 'rms_norm'"),
        ({"pack_qkv": False}, "pack_qkv False"),
        ({"position_embedding_type": "absolute"}, "position_embedding_type 'absolute'; supported .* 'rope'"),
        ({"hidden_act": "relu"}, "hidden_act 'relu'"),
        ({"rope_scaling": {"type": "ntk", "factor": 8.0, "mixed_b": 0.6}}, "mixed_b"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling .* 'linear'"),
        ({"rope_scaling": {"type": "ntk", "factor": 1.0}}, "factor above 1"),
    ],
)
@pytest.mark.parametrize("model_type", ["new", "gte"])
def test_what_transformers_gte_does_not_read_is_refused(
    tmp_path: Path, model_type: str, changed: dict[str, Any], said: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(RELEASED | {"model_type": model_type} | changed))
    RECIPES["gte"].tokenizer().save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(CheckpointError, match=said):
        load_profile(tmp_path)
