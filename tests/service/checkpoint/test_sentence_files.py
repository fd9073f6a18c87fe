"""The files of sentence-transformers in all their forms, and what is not supported in them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import load_profile

CONFIG = {"model_type": "bert", "hidden_size": 32, "max_position_embeddings": 512, "architectures": ["BertModel"]}
TOKENIZER = {
    "added_tokens": [
        {"id": 0, "content": "[PAD]", "special": True},
        {"id": 1, "content": "[UNK]", "special": True},
        {"id": 2, "content": "[CLS]", "special": True},
        {"id": 3, "content": "[SEP]", "special": True},
    ],
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 1}},
}
TRANSFORMER = {"path": "", "type": "sentence_transformers.models.Transformer"}
POOLING = {"path": "1_Pooling", "type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling"}
NORMALIZE = {"path": "9_Normalize", "type": "sentence_transformers.models.Normalize"}
DENSE = {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}
Folder = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Write files by name; modules, pooling and Dense where they are given."""

    def folder(**files: Any) -> Path:
        contents = {"config.json": CONFIG | files.pop("config", {}), "tokenizer.json": TOKENIZER}
        if any("sentence" in name for name in files):  # read beside a modules.json alone
            files = {"modules": [TRANSFORMER, POOLING], "pooling": {"pooling_mode": "mean"}} | files
        names = {"modules": "modules.json", "pooling": "1_Pooling/config.json", "dense": "2_Dense/config.json"}
        contents |= {names.get(name, f"{name}.json"): content for name, content in files.items()}
        for name, content in contents.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(json.dumps(content))
        return tmp_path

    return folder


@pytest.mark.parametrize(
    ("pooling", "mode"),
    [
        ({"pooling_mode": "cls", "embedding_dimension": 32}, "cls"),
        ({"pooling_mode": ["lasttoken"]}, "last_token"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False, "word_embedding_dimension": 32}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_lasttoken": True}, "last_token"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False}, "mean"),
        ({"pooling_mode_mean_tokens": True, "include_prompt": True}, "mean"),
    ],
)
def test_both_forms_of_the_pooling_are_read(folder: Folder, pooling: dict[str, Any], mode: str) -> None:
    profile = load_profile(folder(modules=[TRANSFORMER, POOLING], pooling=pooling))
    assert (profile.pooling, profile.normalize) == (mode, False)


@pytest.mark.parametrize(
    "pooling",
    [
        {"pooling_mode": "max"},
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
        {"pooling_mode_mean_sqrt_len_tokens": True},
        {"pooling_mode": "mean", "include_prompt": False},
    ],
)
def test_other_poolings_stop_the_start(folder: Folder, pooling: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match=r"1_Pooling/config\.json .* supported"):
        load_profile(folder(modules=[TRANSFORMER, POOLING, NORMALIZE], pooling=pooling))


def test_without_modules_the_answer_is_that_of_sentence_transformers(folder: Folder) -> None:
    profile = load_profile(folder())
    assert (profile.pooling, profile.normalize, profile.dimensions, profile.max_tokens) == ("mean", False, 32, 512)
    causal = folder(config={"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]})
    assert load_profile(causal, "qwen3").pooling == "last_token"  # unnamed it may as well be a reranker
    two_sided = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "is_causal": False}
    assert load_profile(folder(config=two_sided), "llama").pooling == "mean"


def test_dense_modules_give_the_vector_its_length(folder: Folder) -> None:
    dense = {"in_features": 32, "out_features": 8, "bias": False, "activation_function": "torch.nn.Identity"}
    files = {"modules": [TRANSFORMER, POOLING, DENSE, NORMALIZE], "pooling": {"pooling_mode": "mean"}}
    profile = load_profile(folder(**files, dense=dense))
    assert (profile.dimensions, profile.matryoshka, profile.normalize) == (8, (8,), True)


@pytest.mark.parametrize(
    "change",
    [
        {"activation_function": "os.system"},
        {"activation_function": "torch.nn.modules.activation.Softmax"},
        {"scale": 2},
        {"module_input_name": "token_embeddings"},
        {"out_features": 0},
    ],
)
def test_a_dense_module_of_another_kind_stops_the_start(folder: Folder, change: dict[str, Any]) -> None:
    dense = {"in_features": 32, "out_features": 8} | change
    files = {"modules": [TRANSFORMER, POOLING, DENSE], "pooling": {"pooling_mode": "mean"}}
    with pytest.raises(CheckpointError, match=r"2_Dense/config\.json has " + next(iter(change))):
        load_profile(folder(**files, dense=dense))


@pytest.mark.parametrize(
    "modules",
    [
        [TRANSFORMER, {"path": "1_LayerNorm", "type": "sentence_transformers.models.LayerNorm"}],
        [TRANSFORMER, NORMALIZE, POOLING],
        [TRANSFORMER, POOLING, POOLING],
        [POOLING],
        [TRANSFORMER | {"path": "0_Transformer"}, POOLING],
        [TRANSFORMER, POOLING | {"path": "../elsewhere"}],
        [TRANSFORMER, POOLING | {"path": "/elsewhere"}],
        {"0": TRANSFORMER},
        [TRANSFORMER, POOLING | {"type": "pylate.models.Pooling"}],
        [TRANSFORMER, POOLING | {"type": "sentence_transformers.sparse_encoder.models.Pooling"}],
        [TRANSFORMER | {"type": "custom_st.Transformer"}, POOLING],
    ],
)
def test_other_modules_stop_the_start(folder: Folder, modules: object) -> None:
    with pytest.raises(CheckpointError, match=r"modules\.json"):
        load_profile(folder(modules=modules, pooling={"pooling_mode": "mean"}))


@pytest.mark.parametrize(
    ("dense", "said"),
    [("pylate.models.Dense.Dense", "'pylate.models.Dense.Dense'"), (DENSE["type"], "no Pooling"), (None, "no Pooling")],
)
def test_modules_without_pooling_are_no_mean(folder: Folder, dense: str | None, said: str) -> None:
    """PyLate's ColBERT is Transformer and Dense: a vector for each token, never their mean."""
    modules = [TRANSFORMER, *([{"path": "1_Dense", "type": dense}] if dense else [])]
    with pytest.raises(CheckpointError, match=rf"modules\.json has .*{said}"):
        load_profile(folder(modules=modules))


@pytest.mark.parametrize(
    "settings",
    [
        {"modality_config": {"text": {"method": "forward"}, "message": {"method": "forward"}}},
        {"transformer_task": "fill-mask"},
        {"processing_kwargs": {"text": {"add_special_tokens": False}}},
        {"query_length": 32},
    ],
)
def test_a_transformer_that_does_not_read_plain_text_stops_the_start(folder: Folder, settings: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match=r"sentence_bert_config\.json has " + next(iter(settings))):
        load_profile(folder(sentence_bert_config=settings))


def test_the_shortest_of_the_limits_holds(folder: Folder) -> None:
    assert load_profile(folder(sentence_bert_config={"max_seq_length": 256})).max_tokens == 256
    assert load_profile(folder(sentence_bert_config={"max_seq_length": 8192})).max_tokens == 512
    for name in ("sentence_bert_config.json", "modules.json"):
        (folder() / name).unlink()
    assert load_profile(folder(tokenizer_config={"model_max_length": 128})).max_tokens == 128
    assert load_profile(folder(tokenizer_config={"model_max_length": 1e30})).max_tokens == 512
    roberta = {"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}
    assert load_profile(folder(config=roberta)).max_tokens == 512


def test_prompts_become_input_types_and_the_default(folder: Folder) -> None:
    prompts = {"query": "query: ", "passage": "passage: ", "Clustering": "cluster: "}
    profile = load_profile(folder(config_sentence_transformers={"prompts": prompts, "default_prompt_name": "passage"}))
    roles = {
        "search_query": "query: ",
        "search_document": "passage: ",
        "classification": "",
        "clustering": "cluster: ",
        "image": "",
    }
    assert dict(profile.input_types) == prompts | roles
    assert profile.default_instruction == "passage: "
    with pytest.raises(CheckpointError, match=r"default_prompt_name 'other'; its prompts are query"):
        load_profile(folder(config_sentence_transformers={"prompts": prompts, "default_prompt_name": "other"}))


def test_shorter_vectors_are_offered_where_something_says_so(folder: Folder) -> None:
    assert load_profile(folder()).matryoshka == (32,)
    assert load_profile(folder(config={"is_matryoshka": True})).matryoshka == ()
    assert load_profile(folder(config={"matryoshka_dimensions": [8, 16]})).matryoshka == (8, 16, 32)
    gemma = {"model_type": "gemma3_text", "architectures": ["Gemma3TextModel"], "hidden_size": 768}
    assert load_profile(folder(config=gemma)).matryoshka == (128, 256, 512, 768)
    qwen = load_profile(folder(config={"model_type": "qwen3", "architectures": ["Qwen3Model"], "hidden_size": 1024}))
    assert (qwen.min_dimensions, qwen.matryoshka) == (32, ())


def test_special_tokens_are_protected_but_the_unknown_one(folder: Folder) -> None:
    assert load_profile(folder()).protected == (0, 2, 3)
