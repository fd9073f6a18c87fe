"""Adapters of late interaction: joined with their base in one folder, or refused with the reason."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from service.checkpoint.content_digest import content_digest
from service.checkpoint.hub import find_checkpoint
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.lora.adapter import JOINED
from service.errors import ModelError
from service.prompt.detect import load_profile
from tests.models.late.checkpoints import adapter, colqwen2_5
from tests.models.served import load

ROOT = Path(__file__).parents[3]
COMMIT = "9f2f7e7100000000000000000000000000000000"
Change = Callable[[dict[str, torch.Tensor]], object]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return colqwen2_5(tmp_path_factory.mktemp("base") / "colqwen2.5-base")


def test_an_adapter_and_its_base_are_one_folder_that_is_called_by_the_adapter(base: Path, tmp_path: Path) -> None:
    found = find_checkpoint(str(adapter(tmp_path / "colqwen2.5-v0.2", base)), None)
    assert found.name == "colqwen2.5-v0.2"
    assert found.folder.is_relative_to(tmp_path / "cache")
    assert (found.folder / "model.safetensors").resolve() == (base / "model.safetensors").resolve()
    assert load_profile(found.folder).name == "colqwen2.5"


@pytest.mark.parametrize("is_here", [True, False])
def test_adapters_of_the_hub_find_their_base_there(base: Path, tmp_path: Path, is_here: bool) -> None:
    folder = adapter(tmp_path / "adapter", base, base_model_name_or_path="owner/colqwen2.5-base")
    (folder / "config.json").write_text("{}")  # beside no weights: the base's counts
    for name, files in (("colqwen2.5-v0.2", folder), ("colqwen2.5-base", base))[: 1 + is_here]:
        place = tmp_path / f"home/hub/models--owner--{name}"
        shutil.copytree(files, place / "snapshots" / COMMIT)
        (place / "refs").mkdir()
        (place / "refs/main").write_text(COMMIT)
    environ = {**os.environ, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "service", "models", "owner/colqwen2.5-v0.2"]
    ran = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    if is_here:
        assert ran.returncode == 0, ran.stderr
        assert "owner/colqwen2.5-v0.2" in ran.stdout
        assert "multi_vector" in ran.stdout
    else:
        assert ran.returncode == 2
        assert "is an adapter, and its base cannot be had" in ran.stderr
        assert "owner/colqwen2.5-base" in ran.stderr


def test_the_same_files_are_joined_once_whoever_asks_first(base: Path, tmp_path: Path) -> None:
    folder = str(adapter(tmp_path / "adapter", base))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: find_checkpoint(folder, None).folder, range(8)))
    assert len(set(found)) == 1
    assert [path.name for path in found[0].parent.iterdir()] == [found[0].name]


def test_what_the_adapter_says_counts_in_both_fingerprints(base: Path, tmp_path: Path) -> None:
    one, other = (
        find_checkpoint(str(adapter(tmp_path / place / "adapter", base, lora_alpha=alpha)), None)
        for place, alpha in (("a", 12), ("b", 24))
    )
    assert one.fingerprint() != other.fingerprint()
    assert content_digest(one.folder, 1) != content_digest(other.folder, 1)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"use_dora": True}, "custom_text_proj .A, B.; by its keys it needs A, B, magnitude_vector"),
        ({"target_parameters": ["experts"]}, "target_parameters .*supported: none"),
        ({"something_new": 3}, "something_new 3, which is not known"),
        ({"peft_type": "LOHA"}, "peft_type 'LOHA'; supported: 'LORA'"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights 'pissa'"),
        ({"rank_pattern": {"q_proj": 8}}, "rank 8 for .*q_proj, whose tensors have the shapes"),
        ({"rank_pattern": 8}, "rank_pattern 8; an object"),
        ({"alpha_pattern": {"(": 8}}, "a name that is no pattern"),
        ({"lora_alpha": None}, "lora_alpha None; a number"),
        ({"target_modules": ["q_proj"]}, "LoRA of .*, which its target_modules"),
        ({"exclude_modules": ["q_proj"]}, "LoRA of .*q_proj, which its target_modules"),
        ({"r": 0}, "r 0"),
        ({"base_model_name_or_path": None}, "base_model_name_or_path None"),
        ({"base_model_name_or_path": "no-such-folder"}, "no folder here and no hub id"),
    ],
)
def test_an_adapter_of_another_kind_is_refused_by_what_it_says(
    base: Path, tmp_path: Path, said: dict[str, object], reason: str
) -> None:
    folder = adapter(tmp_path / "adapter", base, **said)
    with pytest.raises(CheckpointError, match=reason):
        find_checkpoint(str(folder), None)


def test_a_cache_that_cannot_be_written_is_named(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(CheckpointError, match="XDG_CACHE_HOME"):
        find_checkpoint(str(adapter(tmp_path / "adapter", base)), None)


def test_an_adapter_without_the_projection_leaves_it_as_it_is(base: Path, tmp_path: Path) -> None:
    folder = adapter(tmp_path / "adapter", base)
    path = folder / "adapter_model.safetensors"
    save_file({name: one for name, one in load_file(path).items() if "custom_text_proj" not in name}, path)
    ours, theirs = (load(one) for one in (find_checkpoint(str(folder), None).folder, base))
    assert torch.equal(*(model.heads["tokens"]._modules._weight for model in (ours, theirs)))


def _drop_half(tensors: dict[str, torch.Tensor]) -> None:
    del tensors["base_model.model.language_model.layers.0.mlp.up_proj.lora_B.weight"]


def _rename(tensors: dict[str, torch.Tensor]) -> None:
    for half in "AB":
        name = f"base_model.model.custom_text_proj.lora_{half}.weight"
        tensors[name.replace("custom_text_proj", "custom_text_proj.other")] = tensors.pop(name)


def _add_another(tensors: dict[str, torch.Tensor]) -> None:
    tensors["base_model.model.language_model.embed_tokens.lora_embedding_A"] = torch.ones(4, 512)


def _widen(tensors: dict[str, torch.Tensor]) -> None:
    tensors["base_model.model.custom_text_proj.lora_A.weight"] = torch.ones(4, 65)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_drop_half, r"up_proj .A.; by its keys it needs A, B"),
        (_rename, r"changes custom_text_proj.other; its base has nothing of this name"),
        (_add_another, "lora_embedding_A, which is neither LoRA of a linear layer nor"),
        (_widen, r"custom_text_proj in the shapes .*65"),
    ],
)
def test_tensors_that_do_not_fit_end_the_start(base: Path, tmp_path: Path, change: Change, reason: str) -> None:
    folder = adapter(tmp_path / "adapter", base)
    path = folder / "adapter_model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)
    with pytest.raises((CheckpointError, ModelError), match=reason):
        load(find_checkpoint(str(folder), None).folder)


def test_a_base_that_lacks_its_configuration_is_named(base: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(base, tmp_path / "base"))
    folder = adapter(tmp_path / "adapter", copy)
    (copy / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"no config\.json; it is the base of the adapter"):
        find_checkpoint(str(folder), None)


def test_scaling_by_the_ranks_root_is_known(base: Path, tmp_path: Path) -> None:
    found = find_checkpoint(str(adapter(tmp_path / "adapter", base, use_rslora=True)), None)
    plain = find_checkpoint(str(adapter(tmp_path / "plain", base, lora_alpha=24)), None)
    models = [load(one.folder) for one in (found, plain)]
    first, second = (torch.cat([model.stock_rows(probe) for probe in model.backbone.probes()]) for model in models)
    assert json.loads((found.folder / JOINED / "config.json").read_text())["r"] == 4  # its root is half of it
    assert torch.equal(first, second)
