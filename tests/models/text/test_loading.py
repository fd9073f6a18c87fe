"""Text checkpoints that are not as they must be end the start with the reason; what nothing reads may be missing."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.sentence_settings import SETTINGS
from service.errors import ModelError
from service.model.architectures import load_model
from service.model.model import Model
from service.prompt.profile.text_profile import make_text_profile
from tests.conftest import TOLERANCE
from tests.models.text.conftest import ServedText
from tests.models.text.texts import LONG

Copy = Callable[[str], Path]


@pytest.fixture
def copy(served: Callable[[str], ServedText], tmp_path: Path) -> Copy:
    def copy(name: str) -> Path:
        source = served(name).folder
        for path in filter(Path.is_file, source.rglob("*")):
            target = tmp_path / path.relative_to(source)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes())
        return tmp_path

    return copy


def load(folder: Path) -> Model:
    return load_model("text_encoder", folder, torch.device("cpu"), torch.float32, "mean")


def without(path: Path, part: str) -> int:
    tensors = load_file(path)
    kept = {name: tensor for name, tensor in tensors.items() if part not in name}
    save_file(kept, path, metadata={"format": "pt"})
    return len(tensors) - len(kept)


def test_only_attention_that_cannot_be_replaced_runs_by_equal_lengths(served: Callable[[str], ServedText]) -> None:
    packed = {
        name: served(name).runner._model.backbone.is_packed
        for name in ("bert", "electra", "llama", "mpnet", "deberta", "t5")
    }
    assert packed == {"bert": True, "electra": True, "llama": True, "mpnet": False, "deberta": False, "t5": False}


HEADS = {
    "bert": ["BertForPreTraining", "BertForQuestionAnswering"],
    "xlm_roberta": ["XLMRobertaForMaskedLM", "XLMRobertaForSequenceClassification"],
    "roberta": ["RobertaForMaskedLM"],
    "mpnet": ["MPNetForMaskedLM"],
    "distilbert": ["DistilBertForMaskedLM", "DistilBertForSequenceClassification", "DistilBertForQuestionAnswering"],
    "modernbert": ["ModernBertForMaskedLM", "ModernBertForSequenceClassification"],
    "nomic_bert": ["NomicBertForMaskedLM"],
    "camembert": ["CamembertForMaskedLM"],
    "deberta": ["DebertaV2ForMaskedLM"],
    "electra": ["ElectraForPreTraining", "ElectraForMaskedLM"],
    "gte": ["GteForMaskedLM"],
    "jina_embeddings_v3": ["JinaEmbeddingsV3ForMaskedLM"],
    "eurobert": ["EuroBertForMaskedLM"],
    "qwen3": ["Qwen3ForCausalLM", "Qwen3ForSequenceClassification"],
    "llama": ["LlamaForCausalLM"],
    "mistral": ["MistralForCausalLM"],
    "gemma3_text": ["Gemma3ForCausalLM"],
    "gemma": ["GemmaForCausalLM"],
    "gemma2": ["Gemma2ForCausalLM"],
    "lfm2, causal": ["Lfm2ForCausalLM"],
    "ministral3": ["Ministral3ForCausalLM"],
    "qwen2": ["Qwen2ForCausalLM"],
    "qwen3_5_text": ["Qwen3_5ForCausalLM"],
}
"""Classes whose checkpoints have more tensors than the family's model reads."""


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, kinds in HEADS.items() for kind in kinds])
def test_heads_of_other_tasks_are_not_missed(
    copy: Copy, tmp_path_factory: pytest.TempPathFactory, name: str, kind: str
) -> None:
    if (stock := getattr(transformers, kind, None)) is None:
        pytest.skip(f"transformers has no {kind}")
    folder, other = copy(name), tmp_path_factory.mktemp("head")
    config = AutoConfig.from_pretrained(folder)
    config.tie_word_embeddings = False
    stock(config).save_pretrained(other)
    shutil.copyfile(other / "model.safetensors", folder / "model.safetensors")
    assert load(folder).own.hidden_size == 32


def test_tensors_that_the_model_does_not_know_end_the_start(copy: Copy) -> None:
    folder = copy("bert")
    path, config = folder / "model.safetensors", folder / "config.json"
    save_file(
        load_file(path) | {"mlp.dense.weight": torch.zeros(2), "x.lora_A": torch.zeros(2)}, path, {"format": "pt"}
    )
    with pytest.raises(ModelError, match=r"2 tensors that its model does not know: mlp\.dense\.weight, x\.lora_A"):
        load(folder)
    own = {"cenote": {"unread_tensors": ["mlp.", "x.lora_"]}}
    config.write_text(json.dumps(json.loads(config.read_text()) | own))
    assert load(folder).own.hidden_size == 32


def test_relative_positions_go_beyond_the_last_that_config_json_names(copy: Copy) -> None:
    folder = copy("deberta")
    for name, said in {"config.json": ("max_position_embeddings", 64), SETTINGS[0]: ("max_seq_length", 128)}.items():
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(content | dict([said])))
    served = ServedText(folder)
    texts = [" ".join(LONG), "short"]
    assert served.profile.max_tokens == 128
    assert np.abs(served.texts(texts, side="right") - served.reference.encode(texts)).max() <= TOLERANCE


def test_a_family_may_name_the_class_the_pooling_and_the_prompts(copy: Copy) -> None:
    """A model type that transformers does not know, with weights of a class that it has."""
    folder = copy("bert")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "made_up"}))
    profile = make_text_profile(
        CheckpointFiles(folder), name="made-up", pooling="cls", prompts={"query": "q: "}, model_class="BertModel"
    )
    assert (profile.pooling, profile.input_types["search_query"]) == ("cls", "q: ")
    assert profile.default_instruction is None
    model = load_model(profile.architecture, folder, torch.device("cpu"), torch.float32, "cls")
    assert type(model.backbone.stock).__name__ == "BertModel"
