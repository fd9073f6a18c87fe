"""LoRA adapters that peft makes, merged as they are loaded, against peft's own merged model."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoder, SentenceTransformer
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    T5EncoderModel,
)

from service.checkpoint.hub import find_checkpoint
from service.checkpoint.json_files import CheckpointError
from service.errors import ModelError
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.folders.bases import made
from tests.models.quantized.formats import WEIGHTS, nf4, plain_checkpoint
from tests.models.reranker.checkpoints import make_judge
from tests.models.served import Served, load
from tests.models.text.checkpoints import RECIPES, reference
from tests.models.text.texts import PAIRS, TEXTS

SOME = list(TEXTS[:16])
Base = Callable[[str], Path]


def trained(base: Path, folder: Path, kind: Any = AutoModel, *, seed: int = 11, **keys: Any) -> tuple[Path, Path]:
    """An adapter as peft saves it, with drawn weights, and the base with it merged by peft."""
    model = kind.from_pretrained(base, dtype=torch.float32)
    model.name_or_path = str(base)
    said = {"r": 4, "lora_alpha": 6, "target_modules": "all-linear", **keys}
    adapted: Any = get_peft_model(model, LoraConfig(**said))
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in adapted.named_parameters():
        if parameter.requires_grad and "lora_magnitude" not in name:
            parameter.data += torch.randn(parameter.shape, generator=generator) * 0.1
        elif parameter.requires_grad:
            parameter.data *= 1 + 0.2 * torch.rand(parameter.shape, generator=generator)
    adapted.save_pretrained(str(folder / "adapter"))
    merged = folder / "merged"
    shutil.copytree(base, merged)
    whole = adapted.merge_and_unload()
    whole.save_pretrained(merged)
    if kind in (AutoModelForCausalLM, AutoModelForMaskedLM):  # the body alone
        whole.base_model.save_pretrained(merged)
    shutil.copyfile(base / "config.json", merged / "config.json")
    beside = load_file(base / WEIGHTS) | load_file(merged / WEIGHTS)  # such as a projection that the class has not
    save_file(beside, merged / WEIGHTS, {"format": "pt"})
    return folder / "adapter", merged


def served(adapter: Path) -> Served:
    return Served(find_checkpoint(str(adapter), None).folder)


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_an_adapter_of_every_text_family_has_the_merged_models_vectors(name: str, base: Base, tmp_path: Path) -> None:
    adapter, merged = trained(base(name), tmp_path, T5EncoderModel if name == "t5" else AutoModel)
    ours, theirs = served(adapter).texts(SOME), reference(merged).encode(SOME, batch_size=8)
    assert np.abs(ours - theirs).max() <= TOLERANCE
    assert np.abs(ours - reference(base(name)).encode(SOME)).max() > 100 * TOLERANCE


LISTED = ["q_proj", "v_proj", "down_proj"]
KEYS: dict[str, tuple[str, dict[str, Any]]] = {
    "scaled by the rank's root": ("qwen3", {"use_rslora": True}),
    "ranks and scales by names": (
        "qwen3",
        {"rank_pattern": {"q_proj": 2, "layers.1.mlp.up_proj": 6}, "alpha_pattern": {r"layers\.[12]\..*v_proj": 20}},
    ),
    "DoRA": ("qwen3", {"use_dora": True}),
    "layers as a whole": ("qwen3", {"target_modules": LISTED, "modules_to_save": ["norm", "k_proj", "embed_tokens"]}),
    "all biases": ("bert", {"bias": "all"}),
    "biases of its layers": ("bert", {"bias": "lora_only"}),
    "some layers": ("bert", {"target_modules": ["query", "value"], "layers_to_transform": [0, 2]}),
    "one layer, by a pattern": (
        "bert",
        {"target_modules": ["query"], "layers_to_transform": 1, "layers_pattern": ["layer"]},
    ),
    "all but some": ("qwen3", {"exclude_modules": ["o_proj"]}),
    "by an expression": ("qwen3", {"target_modules": r".*\.(0|2)\.self_attn\.[qk]_proj"}),
    "transposed, which a linear layer is not": ("qwen3", {"target_modules": LISTED, "fan_in_fan_out": True}),
    "drawn otherwise": ("qwen3", {"init_lora_weights": "gaussian", "lora_dropout": 0.3}),
}


@pytest.mark.parametrize("case", KEYS)
def test_keys_are_obeyed(case: str, base: Base, tmp_path: Path) -> None:
    name, keys = KEYS[case]
    adapter, merged = trained(base(name), tmp_path, **keys)
    assert np.abs(served(adapter).texts(SOME) - reference(merged).encode(SOME)).max() <= TOLERANCE


@pytest.mark.parametrize(
    ("name", "kind", "task"),
    [("qwen3", AutoModelForCausalLM, "CAUSAL_LM"), ("bert", AutoModelForMaskedLM, "FEATURE_EXTRACTION")],
)
def test_one_that_was_trained_below_a_head_fits_the_body(
    name: str, kind: Any, task: str, base: Base, tmp_path: Path
) -> None:
    keys: dict[str, Any] = {"exclude_modules": r"cls\..*"} if name == "bert" else {}
    adapter, merged = trained(base(name), tmp_path, kind, task_type=task, **keys)
    assert np.abs(served(adapter).texts(SOME) - reference(merged).encode(SOME)).max() <= TOLERANCE


@pytest.mark.parametrize("has_modules", [True, False])
def test_files_of_sentence_transformers_are_the_adapters_or_the_bases(
    has_modules: bool, base: Base, tmp_path: Path
) -> None:
    """As sentence-transformers saves an adapter that it trained, with its own prompts; or as peft does, without.

    Its own `add_adapter` needs a newer peft than there is.
    """
    adapter, merged = trained(base("qwen3"), tmp_path)
    if has_modules:
        model = SentenceTransformer(str(merged), device="cpu", prompts={"query": "Ask: "})
        for folder in (adapter, merged):
            saved = tmp_path / "saved"
            model.save_pretrained(str(saved))
            (saved / "model.safetensors").unlink()
            shutil.copytree(saved, folder, dirs_exist_ok=True)
        (adapter / "config.json").unlink()
    ours, theirs = served(adapter), reference(merged)
    prompt = "Ask: " if has_modules else reference(base("qwen3")).prompts["query"]
    assert theirs.prompts["query"] == prompt
    queries = ours.texts(SOME, ours.profile.input_types["search_query"])
    assert np.abs(queries - theirs.encode_query(SOME)).max() <= TOLERANCE


def test_a_rerankers_head_is_the_adapters(tmp_path: Path) -> None:
    folder = made("bert pairs", tmp_path)
    adapter, merged = trained(folder, tmp_path, AutoModelForSequenceClassification, task_type="SEQ_CLS")
    assert "base_model.model.classifier.weight" in load_file(adapter / "adapter_model.safetensors")
    ours, pairs = served(adapter), list(zip(PAIRS[:6], PAIRS[6:12], strict=True))
    theirs = CrossEncoder(str(merged), device="cpu").predict(pairs)
    assert np.abs(ours.scores([ours.pair(*pair) for pair in pairs]) - theirs).max() <= TOLERANCE


@pytest.mark.parametrize(
    ("name", "family"),
    [("qwen2_vl", "gme_qwen2_vl"), ("colqwen2.5", None), ("colqwen3", None), ("splade", None), ("clip", None)],
)
def test_every_backbone_merges_by_the_same_door(name: str, family: str | None, tmp_path: Path) -> None:
    """Layer by layer, since not all of these load by `AutoModel` with all of their weights."""
    folder = made(name, tmp_path)
    adapter, _ = trained(folder, tmp_path, AutoModelForMaskedLM if name == "splade" else AutoModel)
    joined = find_checkpoint(str(adapter), None).folder
    ours, before = (load(one, family).backbone.stock.state_dict() for one in (joined, folder))
    tensors = load_file(adapter / "adapter_model.safetensors")
    layers = {one.split(".lora_")[0] for one in tensors}
    changed = [one for one in ours if not torch.equal(ours[one], before[one])]
    assert len(changed) == len([layer for layer in layers if ".cls." not in layer])
    for one in changed:
        (layer,) = (layer for layer in layers if f"{layer}.weight".endswith(f".{one}"))
        down, up = (tensors[f"{layer}.lora_{half}.weight"] for half in "AB")
        assert (ours[one] - before[one] - 1.5 * (up @ down)).abs().max() <= TOLERANCE


def judge(folder: Path) -> Path:
    return make_judge(folder, is_tied=True)


def test_rows_that_make_a_score_are_not_changed(tmp_path: Path) -> None:
    """They are read from the base's file."""
    keys = {"target_modules": LISTED, "modules_to_save": ["embed_tokens"], "task_type": "CAUSAL_LM"}
    adapter, _ = trained(judge(tmp_path / "base"), tmp_path, AutoModelForCausalLM, **keys)
    with pytest.raises(CheckpointError, match=r"an adapter that changes model\.embed_tokens, by whose rows pairs"):
        load_profile(find_checkpoint(str(adapter), None).folder, "qwen3_reranker")


def test_an_adapter_over_a_quantized_base_is_merged_into_what_that_means(tmp_path: Path) -> None:
    """QLoRA, whose base is named by its quantized folder; peft would round the sum again."""
    plain = plain_checkpoint(tmp_path / "plain")
    quantized = nf4(plain, tmp_path / "quantized")
    adapter, _ = trained(plain, tmp_path)
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"base_model_name_or_path": str(quantized)}))
    ours, before = (
        load(one).backbone.stock.state_dict() for one in (find_checkpoint(str(adapter), None).folder, quantized)
    )
    tensors, name = load_file(adapter / "adapter_model.safetensors"), "layers.0.mlp.up_proj"
    down, up = (tensors[f"base_model.model.{name}.lora_{half}.weight"] for half in "AB")
    wanted = before[f"{name}.weight"] + 1.5 * (up @ down)
    assert (ours[f"{name}.weight"] - wanted).abs().max() <= TOLERANCE


def test_the_base_of_an_adapter_is_none_itself(base: Base, tmp_path: Path) -> None:
    adapter, _ = trained(base("qwen3"), tmp_path, target_modules=LISTED)
    path = Path(shutil.copytree(adapter, tmp_path / "second")) / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"base_model_name_or_path": str(adapter)}))
    with pytest.raises(CheckpointError, match=r"adapter_config\.json too, and is the base of the adapter"):
        find_checkpoint(str(path.parent), None)


def added(tensors: dict[str, torch.Tensor], name: str, shape: Sequence[int]) -> None:
    tensors[name] = torch.ones(*shape)


@pytest.mark.parametrize(
    ("name", "shape", "says"),
    [
        ("base_model.model.score.weight", (1, 32), r"changes score\.weight; its base has nothing of this name"),
        ("base_model.model.norm.weight", (3,), r"norm\.weight in the shape \(3,\); its base has \(32,\)"),
        ("base_model.model.embed_tokens.lora_embedding_A", (4, 9), "neither LoRA of a linear layer nor among"),
        ("base_model.model.layers.0.mlp.up_proj.weight", (48, 32), r"nor among what adapter_config.json says"),
    ],
)
def test_what_does_not_fit_the_base_ends_the_start(
    name: str, shape: Sequence[int], says: str, base: Base, tmp_path: Path
) -> None:
    adapter, _ = trained(base("qwen3"), tmp_path, target_modules=LISTED, modules_to_save=["norm"])
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"modules_to_save": ["norm", "score"]}))
    weights = adapter / "adapter_model.safetensors"
    tensors = load_file(weights)
    added(tensors, name, shape)
    save_file(tensors, weights)
    with pytest.raises((CheckpointError, ModelError), match=says):
        load(find_checkpoint(str(adapter), None).folder)
