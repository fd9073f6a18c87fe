"""Weights that would be loaded in part or wrongly are refused by what is beside them and in their headers."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from service.checkpoint.hub import find_checkpoint
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.weight_files import INDEX, check_weights
from service.prompt.detect import load_profile
from tests.conftest import ROOT

ORACLE = ROOT / "tests/models/golden/oracle/checkpoint"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ORACLE, tmp_path / "checkpoint"))


def config_of(**keys: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | keys))

    return change


def beside(name: str, **content: Any) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(json.dumps(content)) and None


def tensor(name: str, dtype: torch.dtype = torch.float32) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "model.safetensors"
        save_file(load_file(path) | {name: torch.zeros(4).to(dtype)}, path, {"format": "pt"})

    return change


def resized(to: int) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "model.safetensors"
        content = path.read_bytes()
        path.write_bytes(content[:to] if to < len(content) else content + bytes(8))

    return change


def without_a_shard(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / INDEX).write_text(json.dumps({"weight_map": shards}))


WRONG: dict[str, tuple[Callable[[Path], None], str]] = {
    "adapter": (
        beside("adapter_config.json", base_model_name_or_path="a/b"),
        r"adapter \(of 'a/b'\).*Merge it with peft",
    ),
    "fp8": (config_of(quantization_config={"quant_method": "fp8"}), "of fp8, and no matrix is quantized by it"),
    "gptq": (config_of(quantization_config={"quant_method": "gptq"}), "bits None; 2, 4 or 8 is needed"),
    "another": (
        config_of(quantization_config={"quant_method": "hqq"}),
        "quant_method 'hqq'.*supported: fp8.*made from",
    ),
    "no object": (config_of(quantization_config="awq"), "quant_method 'awq'"),
    "of a part": (config_of(text={"quantization_config": {"quant_method": "fp8"}}), "text of config.json.*fp8"),
    "compressed": (config_of(compression_config={"format": "int-quantized"}), r"quantized \(int-quantized\)"),
    "old gptq": (beside("quantize_config.json", bits=4), r"quantize_config\.json.*GPTQ"),
    "names of fp8": (tensor("layers.0.weight_scale_inv"), r"weight_scale_inv.*quantized \(fp8\)"),
    "numbers of fp8": (tensor("layers.0.weight", torch.float8_e4m3fn), r"layers\.0\.weight.*quantized \(fp8\)"),
    "names of gptq": (tensor("layers.0.qweight", torch.int32), r"quantized \(GPTQ or AWQ\)"),
    "names of compressed-tensors": (tensor("layers.0.weight_packed", torch.int32), r"compressed-tensors"),
    "names of bitsandbytes": (tensor("layers.0.weight.absmax"), r"bitsandbytes"),
    "cut short": (resized(100_000), r"100000 bytes, .* cut short"),
    "cut in the header": (resized(40), "cut short: its header does not fit into its 40 bytes"),
    "empty": (resized(0), "its 0 bytes"),
    "too long": (resized(1 << 40), "cut short or damaged"),
    "a shard is missing": (without_a_shard, "lacks model-00002-of-00002.safetensors"),
}


@pytest.mark.parametrize("name", WRONG)
def test_they_are_refused_by_name_and_with_what_to_do(folder: Path, name: str) -> None:
    change, said = WRONG[name]
    check_weights(folder)
    change(folder)
    with pytest.raises(CheckpointError, match=said):
        load_profile(find_checkpoint(str(folder), None).folder)


def test_an_adapter_alone_says_that_it_is_one(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"no config\.json, only adapter_config\.json.*adapter_model"):
        find_checkpoint(str(tmp_path), None)


def test_a_folder_around_the_model_says_which_of_its_folders_it_may_be(tmp_path: Path) -> None:
    shutil.copytree(ORACLE, tmp_path / "0_Transformer")
    with pytest.raises(CheckpointError, match=r"has no config\.json; its folder 0_Transformer has one"):
        find_checkpoint(str(tmp_path), None)


def test_settings_of_no_quantization_are_none(folder: Path) -> None:
    config_of(quantization_config=None)(folder)
    check_weights(folder)
