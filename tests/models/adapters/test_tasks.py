"""Checkpoints with adapters of several tasks beside their weights: one is chosen by MODEL/adapters/TASK, and merged."""

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from service.checkpoint.content_digest import content_digest
from service.checkpoint.hub import canonical_name, find_checkpoint, is_hub_id
from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.adapters.test_adapters import trained
from tests.models.folders.edits import put, read, remove, write
from tests.models.quantized.formats import WEIGHTS
from tests.models.served import Served, load
from tests.models.text.checkpoints import make_checkpoint, reference
from tests.models.text.texts import TEXTS
from tests.models.vlm.checkpoints import qwen2_5_vl

SOME = list(TEXTS[:16])
V5_TASKS, V4_TASKS = ("classification", "retrieval"), ("code", "retrieval", "text-matching")
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
OWN = {
    "AutoConfig": "configuration_jina_embeddings_v5.JinaEmbeddingsV5Config",
    "AutoModel": "modeling_jina_embeddings_v5.JinaEmbeddingsV5Model",
}
SIDES = {"query": "Query: ", "document": "Document: "}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def v5(name: str, place: Path) -> tuple[Path, dict[str, Path]]:
    """jina-embeddings-v5-text's layout over Qwen3 or EuroBERT, and each task's merged model, sentence-transformers'."""
    base = make_checkpoint(name, place / "base")
    put("1_Pooling/config.json", pooling_mode="lasttoken")(base)
    put("config_sentence_transformers.json", prompts=SIDES)(base)
    folder, merged = place / "jina-embeddings-v5-text", {}
    shutil.copytree(base, folder)
    for rank, task in enumerate(V5_TASKS, 3):
        adapter, merged[task] = trained(base, place / task, r=rank, target_modules=PROJECTIONS)
        shutil.copytree(adapter, folder / "adapters" / task)
        put("adapters/" + task + "/adapter_config.json", base_model_name_or_path="jinaai/jina-embeddings-v5")(folder)
    remove("1_Pooling")(folder)
    write("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "custom_st.Transformer",
                            "kwargs": ["task", "truncate_dim"]}])(folder)  # fmt: skip
    put("config_sentence_transformers.json", default_prompt_name="document", model_type=None)(folder)
    put("config.json", model_type="jina_embeddings_v5", architectures=["JinaEmbeddingsV5Model"], auto_map=OWN,
        task_names=[*V5_TASKS], is_decoder=False if name == "eurobert" else None)(folder)  # fmt: skip
    return folder, merged


Made = Callable[[str], tuple[Path, dict[str, Path]]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return cache(lambda name: v5(name, tmp_path_factory.mktemp(name)))


@pytest.mark.parametrize("task", V5_TASKS)
@pytest.mark.parametrize("name", ["qwen3", "eurobert"])
def test_a_task_of_jina_v5_has_the_merged_models_vectors(name: str, task: str, made: Made) -> None:
    folder, merged = made(name)
    found = find_checkpoint(f"{folder}/adapters/{task}", None)
    assert found.name == f"jina-embeddings-v5-text/adapters/{task}" == canonical_name(f"{folder}/adapters/{task}/")
    served, stock = Served(found.folder), reference(merged[task])
    assert served.profile.name == "jina-embeddings-v5"
    for side, prefix in {None: SIDES["document"], SIDES["query"]: SIDES["query"]}.items():
        ours, theirs = served.texts(SOME, side), stock.encode(SOME, prompt=prefix, batch_size=8)
        alone = np.concatenate([served.texts([text], side) for text in SOME[::5]])
        assert max(np.abs(ours - theirs).max(), np.abs(alone - theirs[::5]).max()) <= TOLERANCE
    other = next(one for one in V5_TASKS if one != task)
    assert np.abs(ours - reference(merged[other]).encode(SOME, prompt=prefix)).max() > 100 * TOLERANCE


def test_without_a_choice_the_tasks_are_named(made: Made, tmp_path: Path) -> None:
    folder, _ = made("qwen3")
    with pytest.raises(CheckpointError, match=r"of its tasks .*/adapters/TASK; its tasks: classification, retrieval$"):
        load_profile(find_checkpoint(str(folder), None).folder)
    with pytest.raises(CheckpointError, match=r"no adapter of the task 'code'; its tasks: classification, retrieval"):
        find_checkpoint(f"{folder}/adapters/code", None)
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    write("modules.json", [*read(copy, "modules.json"), {"idx": 1, "name": "1", "path": "", "type": "x.Y"}])(copy)
    with pytest.raises(CheckpointError, match=r"modules\.json has kwargs \['task', 'truncate_dim'\]"):
        load_profile(find_checkpoint(f"{copy}/adapters/retrieval", None).folder)


def test_a_task_of_the_hub_is_named_behind_its_repository() -> None:
    assert is_hub_id("jinaai/jina-embeddings-v4/adapters/code")
    assert not is_hub_id("jinaai/jina-embeddings-v4/others/code")
    assert not is_hub_id("/models/v4/adapters/code")


def v4(folder: Path) -> dict[str, dict[str, torch.Tensor]]:
    """jina-embeddings-v4's layout: one adapter whose tensors have a task in their names. Returns merged weights."""
    qwen2_5_vl(folder)
    weights, generator = load_file(folder / WEIGHTS), torch.Generator().manual_seed(7)
    merged, lora = {task: dict(weights) for task in V4_TASKS}, {}
    layers = [name for name in weights if "language_model" in name and name.endswith("_proj.weight")]
    for name in layers or [name for name in weights if name.startswith("model.layers") and "_proj.weight" in name]:
        layer = name.removesuffix(".weight").replace("model.layers", "model.language_model.layers")
        for task in V4_TASKS:
            down, up = (torch.randn(shape, generator=generator) * 0.1 for shape in
                        ((4, weights[name].shape[1]), (len(weights[name]), 4)))  # fmt: skip
            lora |= {f"base_model.model.{layer}.lora_A.{task}.weight": down}
            lora |= {f"base_model.model.{layer}.lora_B.{task}.weight": up}
            merged[task][name] = weights[name] + 2 * up @ down
    for task in V4_TASKS:
        lora |= {f"base_model.model.multi_vector_projector.lora_A.{task}.weight": torch.ones(4, 64)}
        lora |= {f"base_model.model.multi_vector_projector.lora_B.{task}.weight": torch.ones(128, 4)}
    save_file(weights | {"multi_vector_projector.weight": torch.ones(128, 64)}, folder / WEIGHTS, {"format": "pt"})
    said = {
        "peft_type": "LORA", "task_type": "FEATURE_EXTRACTION", "r": 4, "lora_alpha": 8, "bias": "none",
        "base_model_name_or_path": "jinaai/jina-embeddings-v4", "exclude_modules": ".*visual.*",
        "init_lora_weights": "gaussian", "lora_dropout": 0.1, "inference_mode": True,
        "target_modules": "(.*(model).*(down_proj|gate_proj|up_proj|k_proj|q_proj|v_proj|o_proj).*$|"
                          ".*(single_vector_projector|multi_vector_projector).*$)",
    }  # fmt: skip
    write("adapters/adapter_config.json", said)(folder)
    save_file(lora, folder / "adapters" / "adapter_model.safetensors", {"format": "pt"})
    put("config.json", architectures=["JinaEmbeddingsV4Model"], task_names=[*V4_TASKS])(folder)
    return merged


def test_the_tasks_of_jina_v4_are_tensors_of_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "jina-embeddings-v4"
    merged = v4(folder)
    with pytest.raises(CheckpointError, match=r"of its tasks .*; its tasks: code, retrieval, text-matching$"):
        load_profile(folder)
    digests, plain = set(), Path(shutil.copytree(folder, tmp_path / "jina-embeddings-v4-merged"))
    remove("adapters")(plain)
    for task in V4_TASKS:
        found = find_checkpoint(f"{folder}/adapters/{task}", None)
        save_file(merged[task], plain / WEIGHTS, {"format": "pt"})
        ours, theirs = (load(one).backbone.stock.state_dict() for one in (found.folder, plain))
        assert max(float((ours[name] - theirs[name]).abs().max()) for name in theirs) <= 1e-6
        profile: Any = load_profile(found.folder)
        passage = "Query: " if task == "text-matching" else "Passage: "
        assert (profile.name, profile.input_types["search_document"]) == ("jina-embeddings-v4", passage)
        digests |= {found.fingerprint(), content_digest(found.folder, 1)}
    assert len(digests) == 2 * len(V4_TASKS)
    assert json.loads((found.folder / "joined_adapter" / "config.json").read_text())["r"] == 4
