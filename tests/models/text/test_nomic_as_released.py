"""nomic-embed-text with the config.json it was released with: GPT-2's names, code of its own named, never run."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, NomicBertConfig, PreTrainedTokenizerFast

from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.text.checkpoints import BERT_TOKENS, Recipe, bert_names, randomize, sentence_transformer
from tests.models.text.conftest import ServedText
from tests.models.text.texts import TEXTS
from tests.models.text.tokenizers import word_piece

RELEASED: dict[str, Any] = {
    "activation_function": "swiglu",
    "architectures": ["NomicBertModel"],
    "auto_map": {"AutoModel": "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertModel"},
    "causal": False,
    "layer_norm_epsilon": 1e-12,
    "max_trained_positions": 2048,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "model_type": "nomic_bert",
    "n_embd": 768,
    "n_head": 12,
    "n_inner": 3072,
    "n_layer": 12,
    "n_positions": 8192,
    "prenorm": False,
    "qkv_proj_bias": False,
    "rotary_emb_base": 1000,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "rotary_scaling_factor": None,
    "type_vocab_size": 2,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One layer of the released width; all else as in the release."""
    made = tmp_path_factory.mktemp("nomic")
    stock, folder, tokenizer = made / "stock", made / "checkpoint", word_piece(BERT_TOKENS, "[CLS]", "[SEP]")
    sizes = {"vocab_size": tokenizer.get_vocab_size(), "num_hidden_layers": 1}
    torch.manual_seed(3)
    model = AutoModel.from_config(NomicBertConfig(**sizes))
    randomize(model)
    model.save_pretrained(stock)
    names = bert_names(BERT_TOKENS)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(stock)
    recipe = Recipe(lambda _: NomicBertConfig(), lambda: tokenizer, names, max_seq_length=8192)
    sentence_transformer(recipe, stock, 768).save_pretrained(str(folder))
    (folder / "config.json").write_text(json.dumps(RELEASED | sizes))
    return folder


def test_vectors_are_those_of_sentence_transformers(folder: Path) -> None:
    served = ServedText(folder)
    assert (served.profile.name, served.profile.dimensions, served.profile.max_tokens) == ("nomic_bert", 768, 8192)
    assert np.abs(served.texts(TEXTS) - served.reference.encode(list(TEXTS))).max() <= TOLERANCE


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"num_experts": 8}, "num_experts 8"),
        ({"rotary_emb_base": 10_000}, "rotary_emb_base 10000; supported .* 1000"),
        ({"n_embd": 1024}, "n_embd 1024"),
        ({"n_positions": 0}, "n_positions 0"),
    ],
)
def test_what_transformers_would_not_read_is_refused(
    folder: Path, tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "config.json").write_text(json.dumps(RELEASED | changed))
    with pytest.raises(CheckpointError, match=said):
        load_profile(tmp_path)


def test_scaled_positions_are_offered_as_far_as_they_were_trained(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    (tmp_path / "config.json").write_text(json.dumps(RELEASED | {"rotary_scaling_factor": 2}))
    assert load_profile(tmp_path).max_tokens == 2048
