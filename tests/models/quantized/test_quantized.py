"""Quantized checkpoints against what their own libraries dequantize them to; settings are obeyed or refused."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel

from service.checkpoint.json_files import CheckpointError
from service.errors import ModelError
from service.model.load import load_stock
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.folders.edits import Edit, put, tensors, turn, write
from tests.models.quantized.formats import FORMATS, WEIGHTS, dequantized, fp8, gptq, plain_checkpoint
from tests.models.reranker.checkpoints import make_cross_encoder, make_judge
from tests.models.served import Served, load
from tests.models.sparse.checkpoints import splade
from tests.models.text.checkpoints import reference
from tests.models.text.texts import TEXTS
from tests.models.vlm.checkpoints import qwen2_vl

KEY = "quantization_config"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint that others are made of."""
    return plain_checkpoint(tmp_path_factory.mktemp("qwen3") / "plain")


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "fp8": ("fp8", {}),
    "fp8, scales in bfloat16": ("fp8", {"dtype": torch.bfloat16}),
    "compressed-tensors by outputs": ("compressed-tensors", {}),
    "compressed-tensors by matrices, scales in bfloat16": (
        "compressed-tensors",
        {"strategy": "tensor", "dtype": torch.bfloat16},
    ),
    "compressed-tensors by blocks": ("compressed-tensors", {"strategy": "block", "block": (16, 32)}),
    "compressed-tensors by blocks beyond the last row, scales in bfloat16": (
        "compressed-tensors",
        {"strategy": "block", "block": (24, 64), "dtype": torch.bfloat16},
    ),
    "awq": ("awq", {}),
    "gptq": ("gptq", {}),
    "gptq of the second version": ("gptq", {"v2": True}),
    "gptq in the order of activations": ("gptq", {"act": True}),
    "gptq, 8 bits, one group": ("gptq", {"bits": 8, "size": -1}),
    "gptq, 2 bits": ("gptq", {"bits": 2}),
    "nf4": ("nf4", {}),
    "nf4, once, of bfloat16": ("nf4", {"double": False, "dtype": torch.bfloat16}),
    "nf4, stored as bfloat16": ("nf4", {"bnb_4bit_quant_storage": torch.bfloat16}),
}


@pytest.mark.parametrize("case", CASES)
def test_vectors_are_those_of_the_librarys_own_weights(case: str, plain: Path, tmp_path: Path) -> None:
    name, settings = CASES[case]
    folder = FORMATS[name](plain, tmp_path / "quantized", **settings)
    theirs = reference(dequantized(folder, plain)).encode(list(TEXTS[:20]), batch_size=8)
    served = Served(folder)
    ours = served.texts(TEXTS[:20])
    alone = np.concatenate([served.texts([text]) for text in TEXTS[:20:4]])
    assert np.abs(ours - theirs).max() <= TOLERANCE
    assert np.abs(alone - theirs[::4]).max() <= TOLERANCE
    lost = np.abs(ours - reference(plain).encode(list(TEXTS[:20]))).max()
    assert lost > 100 * TOLERANCE  # what a quantization loses is there


@pytest.fixture(scope="module")
def made(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder of each format, to be changed."""
    return cache(lambda name: FORMATS[name](plain, tmp_path_factory.mktemp(name) / "quantized"))


def setting(**keys: Any) -> Edit:
    """Keys of `quantization_config`."""
    return turn("config.json", lambda found: found | {KEY: found[KEY] | keys})


def group(**keys: Any) -> Edit:
    """Keys of the weights of compressed-tensors' group."""

    def change(found: Any) -> Any:
        found[KEY]["config_groups"]["group_0"]["weights"] |= keys
        return found

    return turn("config.json", change)


Q, K = "layers.0.self_attn.q_proj", "layers.0.self_attn.k_proj"
REFUSED: dict[str, dict[str, Edit]] = {
    "fp8": {
        "fmt 'e5m2'; supported: 'e4m3'": setting(fmt="e5m2"),
        "scale_fmt 'ue8m0'": setting(scale_fmt="ue8m0"),
        "modules_to_convert .*embed_tokens": setting(modules_to_convert=["embed_tokens"]),
        "weight_block_size 16; two positive integers": setting(weight_block_size=16),
        r"weight_scale_inv of shape \(4, 8\).*\(1, 1\) of": setting(weight_block_size=[128, 128]),
        r"weight_scale_inv of shape \(4, 8\).*\(1,\)": setting(weight_block_size=None),
        "something_new 1, which is not known here": setting(something_new=1),
        "config.json says is not quantized": setting(modules_to_not_convert=["layers.0"]),
        "no pattern": setting(ignored_layers=["("], modules_to_not_convert=None),
        "as F8_E4M3, without what fp8 stores": tensors(**{f"{Q}.weight_scale_inv": None}),
        "F8_E5M2": tensors(**{f"{Q}.weight": torch.ones(64, 32).to(torch.float8_e5m2)}),
        "no layers.0.self_attn.q_proj.weight$": tensors(**{f"{Q}.weight": None}),
        "x.qweight, which is not part": tensors(**{"x.qweight": torch.ones(2)}),
    },
    "compressed-tensors": {
        "format 'pack-quantized'; supported: 'float-quantized'": setting(format="pack-quantized"),
        "quantization_status 'initialized'": setting(quantization_status="initialized"),
        "sparsity_config": setting(sparsity_config={"format": "sparse-24-bitmask"}),
        "transform_config": setting(transform_config={"config_groups": {"R1": {}}}),
        r"group_0\.weights num_bits 4": group(num_bits=4),
        r"group_0\.weights type 'int'": group(type="int"),
        r"group_0\.weights symmetric False": group(symmetric=False),
        r"group_0\.weights strategy 'group'": group(strategy="group"),
        "block_structure None": group(strategy="block"),
        r"weight_scale of shape \(64, 1\).*\(2, \d\) of": group(strategy="block", block_structure=[32, 16]),
        r"weight_scale of shape \(64, 1\)": group(strategy="tensor"),
        "config.json says is not quantized": setting(ignore=["re:.*q_proj"]),
        "weight_zero_point": tensors(**{f"{Q}.weight_zero_point": torch.zeros(64, 1)}),
        "config_groups 3": setting(config_groups=3),
    },
    "awq": {
        "version 'gemv'; supported: 'gemm'": setting(version="gemv"),
        "backend 'llm-awq'": setting(backend="llm-awq"),
        "bits 8": setting(bits=8),
        "zero_point False": setting(zero_point=False),
        "group_size 0; -1 or": setting(group_size=0),
        r"scales of shape \(8, 64\) and F16; \(4, 64\)": setting(group_size=32),
        "q_proj.qweight and no .*q_proj.qzeros": tensors(**{f"{Q}.qzeros": None}),
    },
    "gptq": {
        "bits 3; 2, 4 or 8": setting(bits=3),
        "checkpoint_format 'marlin'": setting(checkpoint_format="marlin"),
        "dynamic": setting(dynamic={"+:.*down.*": {"bits": 8}}),
        "rotation 'hadamard'": setting(rotation="hadamard"),
        "pack_dtype 'int16'": setting(pack_dtype="int16"),
        "is_marlin_format True": setting(is_marlin_format=True),
        "without g_idx, and config.json has desc_act": lambda folder: [
            edit(folder) for edit in (setting(desc_act=True), tensors(**{f"{Q}.g_idx": None}))
        ],
        r"scales of shape \(8, 64\) and F16; \(4, 64\)": setting(bits=8),
    },
    "nf4": {
        "bnb_4bit_quant_type 'fp4'; supported: 'nf4'": setting(bnb_4bit_quant_type="fp4"),
        "load_in_8bit True": setting(load_in_8bit=True),
        "config.json says is not quantized": setting(llm_int8_skip_modules=["q_proj"]),
        "a part of what a double": tensors(**{f"{Q}.weight.nested_absmax": None}),
        "which is no state of bitsandbytes":
            tensors(**{f"{Q}.weight.quant_state.bitsandbytes__nf4": torch.ones(9, dtype=torch.uint8)}),
        "weight in 7 bytes": tensors(**{f"{Q}.weight": torch.ones(7, 1, dtype=torch.uint8)}),
    },
}  # fmt: skip


@pytest.mark.parametrize(("name", "says"), [(name, says) for name, rows in REFUSED.items() for says in rows])
def test_what_would_be_other_weights_is_refused_by_name(
    name: str, says: str, made: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(made(name), folder)
    load_profile(folder)
    REFUSED[name][says](folder)
    with pytest.raises(CheckpointError, match=says):
        load_profile(folder)


def test_groups_that_have_no_scales_end_the_start(made: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(made("gptq"), folder)
    tensors(**{f"{Q}.g_idx": torch.full((64,), 4, dtype=torch.int32)})(folder)
    with pytest.raises(ModelError, match=f"{Q}.g_idx of groups that have no scales"):
        load(folder)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_bias_of_zeros_that_a_layer_does_not_have_is_nothing(
    value: float, made: Callable[[str], Path], tmp_path: Path
) -> None:
    """AutoGPTQ gave each layer one."""
    folder = tmp_path / "changed"
    shutil.copytree(made("gptq"), folder)
    tensors(**{f"{Q}.bias": torch.full((64,), value)})(folder)
    if value:
        with pytest.raises(ModelError, match=f"tensors that its model does not know: {Q}.bias"):
            load(folder)
    else:
        load(folder)


def test_files_of_older_tools_do_not_count_beside_settings(made: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(made("gptq"), folder)
    write("quantize_config.json", {"bits": 8})(folder)
    load_profile(folder)
    put("config.json", **{KEY: None})(folder)
    with pytest.raises(CheckpointError, match=r"quantize_config\.json"):
        load_profile(folder)


WHOLE: dict[str, Callable[[Path], Path]] = {
    "gme, of vision and language": qwen2_vl,
    "a cross-encoder": lambda folder: make_cross_encoder("bert", folder),
    "sparse": lambda folder: splade("bert", folder),
}


@pytest.mark.parametrize("name", WHOLE)
def test_every_backbone_loads_by_the_same_door(name: str, tmp_path: Path) -> None:
    plain = WHOLE[name](tmp_path / "gme")
    folder = gptq(plain, tmp_path / "quantized", act=True)
    family = "gme_qwen2_vl" if name.startswith("gme") else None
    ours, theirs = (load(one, family).backbone for one in (folder, dequantized(folder, plain)))
    found, wanted = (dict(one.stock.state_dict()) for one in (ours, theirs))
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[key], wanted[key]) for key in found)
    plain_state = load(plain, family).backbone.stock.state_dict()
    assert any(not torch.equal(found[key], plain_state[key]) for key in found)


def test_a_matrix_that_is_read_beside_the_model_is_not_quantized(tmp_path: Path) -> None:
    """A judge's head is read by rows."""
    folder = fp8(make_judge(tmp_path / "plain", is_tied=False), tmp_path / "quantized")
    load_profile(folder, "qwen3_reranker")
    head = load_file(folder / WEIGHTS)["lm_head.weight"].to(torch.float8_e4m3fn)
    tensors(**{"lm_head.weight": head})(folder)
    with pytest.raises(CheckpointError, match=r"lm_head\.weight as F8_E4M3: a matrix that is read beside the model"):
        load_profile(folder, "qwen3_reranker")


def test_the_models_own_number_format_is_kept(made: Callable[[str], Path], tmp_path: Path) -> None:
    """On a GPU `auto` is the checkpoint's; where config.json says none, that of a tensor that is not quantized."""
    folder = tmp_path / "changed"
    shutil.copytree(made("awq"), folder)
    for said, dtype in (("bfloat16", torch.bfloat16), (None, torch.float32)):
        put("config.json", dtype=said)(folder)
        stock = load_stock(cast(Any, AutoModel), folder, torch.device("cpu"), None)
        assert {one.dtype for one in stock.parameters()} == {dtype}
