"""ColBERT's checkpoints with what is not served stop the start by name: other vectors would be silently wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.checkpoint.errors import CheckpointError, UnsupportedModelError
from service.prompt.detect import load_profile
from tests.models.late_interaction.colberts import SHAPES, TOKEN_WIDTH, Shape, fixed, native, pylate, stanford, stock
from tests.models.text.checkpoints import make_checkpoint

NAMES = "config_sentence_transformers.json"
POOLING = {"idx": 4, "name": "4", "path": "4_Pooling", "type": "sentence_transformers.models.HierarchicalTokenPooling"}


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    """A bare BERT, without any file of sentence-transformers."""
    make_checkpoint("bert", tmp_path / "checkpoint")
    return tmp_path / "checkpoint-stock"


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    return native("bert", tmp_path / "colbert", SHAPES["hidden masks"])


def write(folder: Path, name: str, content: object) -> None:
    (folder / name).write_text(json.dumps(content))


def change(folder: Path, name: str, **keys: object) -> None:
    write(folder, name, json.loads((folder / name).read_text()) | keys)


def test_files_without_modules_are_no_mean(ours: Path) -> None:
    (ours / "modules.json").unlink()
    with pytest.raises(UnsupportedModelError, match=r"model_type 'MultiVectorEncoder'.*modules\.json"):
        load_profile(ours)


@pytest.mark.parametrize("said", [{"model_type": "ColBERT"}, {"query_prefix": "[Q] "}, {"document_length": 180}])
def test_pylates_keys_without_modules(bert: Path, said: dict[str, object]) -> None:
    write(bert, NAMES, {"prompts": {}} | said)
    with pytest.raises(
        UnsupportedModelError, match=rf"config_sentence_transformers\.json has {next(iter(said))}.*each token"
    ):
        load_profile(bert)


def test_colberts_own_files_without_the_projection(bert: Path) -> None:
    change(bert, "config.json", architectures=["HF_ColBERT"])
    with pytest.raises(CheckpointError, match=r"no matrix linear\.weight"):
        load_profile(bert)


@pytest.mark.parametrize(
    ("name", "keys", "said"),
    [
        (NAMES, {"xtr_top_k": 5}, "xtr_top_k 5"),
        ("2_MultiVectorMask/config.json", {"keep_only_token_ids": [7]}, r"keep_only_token_ids \[7\]"),
        ("2_MultiVectorMask/config.json", {"skiplist_tasks": ["corpus"]}, "skiplist_tasks"),
        ("2_MultiVectorMask/config.json", {"skiplist_words": "!"}, "skiplist_words '!'"),
        ("3_Normalize/config.json", {"module_input_name": "sentence_embedding"}, "'sentence_embedding'"),
        ("1_Dense/config.json", {"module_input_name": "sentence_embedding"}, "module_input_name"),
        ("1_Dense/config.json", {"module_output_name": "projected"}, "module_output_name"),
        ("1_Dense/config.json", {"use_residual": "yes"}, "use_residual"),
        ("sentence_bert_config.json", {"query_expansion": {"strategy": "most", "length": 8}}, "query_expansion"),
        ("sentence_bert_config.json", {"query_expansion": fixed(0)}, "length of a late-interaction model is 0"),
        ("sentence_bert_config.json", {"query_expansion": fixed(32, token="[HM]")}, r"'\[HM\]'"),
        ("sentence_bert_config.json", {"query_expansion": fixed(4096)}, "1024 positions"),
        ("sentence_bert_config.json", {"query_length": 8}, "query_length is 8"),
        ("sentence_bert_config.json", {"document_length": "all"}, "document_length"),
        ("sentence_bert_config.json", {"processing_kwargs": {"text": {}}}, "processing_kwargs"),
    ],
)
def test_what_is_not_served_is_named(ours: Path, name: str, keys: dict[str, object], said: str) -> None:
    change(ours, name, **keys)
    with pytest.raises((CheckpointError, UnsupportedModelError), match=said):
        load_profile(ours)


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (lambda modules: [*modules, POOLING], "HierarchicalTokenPooling"),
        (lambda modules: [modules[0], modules[3], modules[1], modules[2]], "Transformer, Normalize, Dense"),
        (lambda modules: [*modules, modules[3]], "two modules of the name '3'"),
        (lambda modules: modules[1:], "Dense, MultiVectorMask, Normalize"),
        (lambda modules: [{**modules[0], "path": "0_Transformer"}, *modules[1:]], "a folder of its own"),
        (lambda modules: [modules[0], {**modules[1], "path": "../1_Dense"}], "not a folder below it"),
        (lambda modules: [modules[0], {**modules[1], "type": "xtr.Dense"}], "'xtr.Dense'"),
    ],
)
def test_other_modules_are_named(ours: Path, turn: Callable[[list[Any]], list[Any]], said: str) -> None:
    write(ours, "modules.json", turn(json.loads((ours / "modules.json").read_text())))
    with pytest.raises(CheckpointError, match=said):
        load_profile(ours)


def test_pylates_files_without_a_projection(tmp_path: Path) -> None:
    folder = pylate("bert", tmp_path / "colbert")
    modules = json.loads((folder / "modules.json").read_text())
    write(folder, "modules.json", modules[:1])
    with pytest.raises(CheckpointError, match="no Dense"):
        load_profile(folder)


def test_an_encoder_that_is_not_packed_or_causal(tmp_path: Path) -> None:
    for name in ("mpnet", "qwen3"):
        folder = stock(name, tmp_path / name)
        write(folder, NAMES, {"model_type": "ColBERT"})
        write(folder, "modules.json", [{"path": "", "type": "sentence_transformers.models.Transformer"}, DENSE])
        (folder / "1_Dense").mkdir()
        write(folder, "1_Dense/config.json", {"in_features": 32, "out_features": 8, "activation_function": IDENTITY})
        with pytest.raises(UnsupportedModelError, match=f"model_type '{name}'.*late interaction"):
            load_profile(folder)


IDENTITY = "torch.nn.modules.linear.Identity"
DENSE = {"path": "1_Dense", "type": "pylate.models.Dense.Dense"}


def test_a_family_that_is_named_gives_the_same_profile(ours: Path) -> None:
    found, named = load_profile(ours), load_profile(ours, "bert")
    assert (named.pooling, named.roles, named.architecture) == (found.pooling, found.roles, "colbert")


def test_lengths_end_at_the_encoders_positions(tmp_path: Path) -> None:
    profile = load_profile(pylate("xlm_roberta", tmp_path / "colbert", document_length=4000))
    assert (profile.roles["document"].max_tokens, profile.roles["query"].max_tokens) == (1022, 32)
    assert profile.max_tokens == 1022


def test_the_skiplist_drops_what_the_vocabulary_has(tmp_path: Path) -> None:
    shape = Shape(skiplist=("?", "no such token", "[UNK]"))
    profile = load_profile(native("bert", tmp_path / "colbert", shape))
    assert len(profile.roles["document"].skipped_ids) == 2
    assert not profile.roles["query"].skipped_ids
    assert profile.dimensions == TOKEN_WIDTH


def test_colberts_own_markers_are_no_words_of_a_client(tmp_path: Path) -> None:
    profile = load_profile(stanford(tmp_path / "colbert", None))
    assert profile.markers == ("[unused0]", "[unused1]")
    assert {one.token_id for side in profile.roles.values() for one in side.markers} < {*profile.protected}


def test_a_sentence_transformer_says_so_and_is_served(bert: Path) -> None:
    write(bert, NAMES, {"model_type": "SentenceTransformer", "prompts": {}})
    assert load_profile(bert).pooling == "mean"
