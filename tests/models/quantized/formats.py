"""Small checkpoints in the formats of quantized weights, and what their own libraries dequantize them to.

Fine-grained float8 and compressed-tensors are written by their layout and dequantized by transformers and
compressed-tensors; NF4 is written and dequantized by bitsandbytes. gptqmodel does not install beside our torch, so AWQ
and GPTQ are packed by `WQLinear_GEMM.from_linear` of AutoAWQ 0.2.9 and `pack_original` of gptqmodel 7.7, and the
weights that these mean are known from before they are packed.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    BitsAndBytesConfig,
    CompressedTensorsConfig,
    FineGrainedFP8Config,
    PreTrainedTokenizerFast,
)

from tests.models.text.checkpoints import RECIPES, SIZES, randomize, sentence_transformer
from tests.models.weights import change_json

SIZES_64 = SIZES | {"hidden_size": 64, "intermediate_size": 128}
"""bitsandbytes 0.50 dequantizes a matrix wrongly on a processor whose rows end within a block of 64."""
Tensors = dict[str, torch.Tensor]
WEIGHTS = "model.safetensors"
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
FLOAT8_MAX = 448.0


def plain_checkpoint(folder: Path) -> Path:
    """A Qwen3-Embedding that others are made of."""
    recipe, stock = RECIPES["qwen3"], folder.parent / "stock"
    tokenizer = recipe.tokenizer()
    model = AutoModel.from_config(recipe.config(SIZES_64 | {"vocab_size": tokenizer.get_vocab_size()}))
    randomize(model)
    model.save_pretrained(stock)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **recipe.names).save_pretrained(stock)
    sentence_transformer(recipe, stock, 64).save_pretrained(str(folder))
    return folder


def copied(plain: Path, folder: Path, tensors: Tensors, settings: dict[str, Any]) -> Path:
    """A folder with other weights and settings of a quantization."""
    shutil.copytree(plain, folder)
    save_file({name: one.contiguous() for name, one in tensors.items()}, folder / WEIGHTS, {"format": "pt"})
    change_json(folder / "config.json", quantization_config=settings)
    return folder


OF_LAYERS = re.compile(r"(?:^|\.)(?:layers?|blocks)\.\d+\..*\.weight$")


def linear(tensors: Tensors) -> Iterator[tuple[str, torch.Tensor]]:
    """Modules of the layers that formats quantize, with their weights."""
    for name, weight in list(tensors.items()):
        if weight.ndim == 2 and OF_LAYERS.search(name):
            yield name.removesuffix(".weight"), tensors.pop(name)


def fp8(plain: Path, folder: Path, *, dtype: torch.dtype = torch.float32) -> Path:
    """DeepSeek's layout, as transformers writes it; one layer is not quantized. Returns the folder."""
    tensors, size, skipped = load_file(plain / WEIGHTS), 16, "layers.1.mlp.down_proj"
    for name, weight in linear(tensors):
        if name.endswith(skipped):
            tensors[f"{name}.weight"] = weight
            continue
        rows, columns = (one // size for one in weight.shape)
        blocks = weight.view(rows, size, columns, size)
        scales = (blocks.abs().amax((1, 3)) / FLOAT8_MAX).to(dtype)
        codes = (blocks / scales.float()[:, None, :, None]).to(torch.float8_e4m3fn)
        tensors |= {f"{name}.weight": codes.view(weight.shape), f"{name}.weight_scale_inv": scales}
        tensors[f"{name}.activation_scale"] = torch.tensor(3.0)
    return copied(plain, folder, tensors, {
        "quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
        "weight_block_size": [size, size], "modules_to_not_convert": ["lm_head", skipped],
    })  # fmt: skip


def compressed(
    plain: Path,
    folder: Path,
    *,
    strategy: str = "channel",
    dtype: torch.dtype = torch.float32,
    block: tuple[int, int] | None = None,
) -> Path:
    """llm-compressor's FP8, FP8_DYNAMIC and FP8_BLOCK: scales of matrices, outputs or blocks; activations too.

    Args:
        block: rows and columns, of which rows need not divide a matrix's.
    """
    tensors = load_file(plain / WEIGHTS)
    for name, weight in linear(tensors):
        largest = weight.abs().amax(1, keepdim=True) if strategy == "channel" else weight.abs().amax()[None]
        if block is not None:
            largest = torch.stack([
                torch.stack([one.abs().amax() for one in rows.split(block[1], 1)]) for rows in weight.split(block[0])
            ])  # fmt: skip
        scales = (largest / FLOAT8_MAX).to(dtype)
        spread = scales.float()
        if block is not None:
            spread = spread.repeat_interleave(block[0], 0)[: len(weight)].repeat_interleave(block[1], 1)
        codes = (weight / spread).clamp(-FLOAT8_MAX, FLOAT8_MAX).to(torch.float8_e4m3fn)
        tensors |= {f"{name}.weight": codes, f"{name}.weight_scale": scales}
        if strategy == "tensor":
            tensors[f"{name}.input_scale"] = torch.tensor([0.7])
    args = {"num_bits": 8, "type": "float", "symmetric": True, "observer": "minmax", "dynamic": False}
    inputs = {**args, "dynamic": True, "strategy": "token", "observer": None}
    group = {
        "targets": ["Linear"], "output_activations": None,
        "weights": {**args, "strategy": strategy, "block_structure": block and [*block]},
        "input_activations": {**args, "strategy": "tensor"} if strategy == "tensor" else inputs,
    }  # fmt: skip
    return copied(plain, folder, tensors, {
        "quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "format": "float-quantized",
        "ignore": ["lm_head", "re:.*norm"], "kv_cache_scheme": None, "quantization_status": "compressed",
        "global_compression_ratio": None,
    })  # fmt: skip


def grouped(weight: torch.Tensor, size: int, bits: int, groups: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Codes `[inputs, outputs]`, and zeros and scales `[groups, outputs]`, by which a matrix is rounded."""
    by_input, top = weight.T, 2**bits - 1
    low, high = (
        torch.stack([how(by_input[groups == one], 0) for one in range(int(groups.max()) + 1)])
        for how in (torch.amin, torch.amax)
    )
    scales = ((high - low) / top).half()
    zeros = (-low / scales.float()).round().clamp(1, top)
    codes = (by_input / scales.float()[groups] + zeros[groups]).round().clamp(0, top)
    return codes.int(), zeros.int(), scales


def meant(codes: torch.Tensor, zeros: torch.Tensor, scales: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
    """The weights that codes are of, in the scales' number format as kernels make them."""
    return ((codes - zeros[groups]) * scales[groups]).float().T.contiguous()


def awq(plain: Path, folder: Path) -> Path:
    """AutoAWQ's `gemm`; beside it stand the weights that it means."""
    tensors, size = load_file(plain / WEIGHTS), 16
    true = dict(tensors)
    for name, weight in linear(tensors):
        groups = torch.arange(weight.shape[1]) // size
        codes, zeros, scales = grouped(weight, size, 4, groups)
        true[f"{name}.weight"] = meant(codes, zeros, scales, groups)
        tensors |= {f"{name}.qweight": packed_awq(codes), f"{name}.qzeros": packed_awq(zeros), f"{name}.scales": scales}
    copied(plain, folder, tensors, {
        "quant_method": "awq", "bits": 4, "group_size": size, "zero_point": True, "version": "gemm",
        "modules_to_not_convert": None,
    })  # fmt: skip
    return meaning(folder, true)


def packed_awq(codes: torch.Tensor) -> torch.Tensor:
    """Eight outputs to a word, in AWQ's order."""
    words = torch.zeros(len(codes), codes.shape[1] // 8, dtype=torch.int32)
    for place, output in enumerate(AWQ_ORDER):
        words |= codes[:, output::8] << (4 * place)
    return words


def gptq(plain: Path, folder: Path, *, bits: int = 4, size: int = 16, v2: bool = False, act: bool = False) -> Path:
    """gptqmodel's layout; beside it stand the weights that it means. Zeros of the first version are one less."""
    tensors = load_file(plain / WEIGHTS)
    true, generator = dict(tensors), torch.Generator().manual_seed(3)
    for name, weight in linear(tensors):
        inputs = weight.shape[1]
        groups = torch.arange(inputs) // (size if size > 0 else inputs)
        if act:
            groups = groups[torch.randperm(inputs, generator=generator)]
        codes, zeros, scales = grouped(weight, size, bits, groups)
        true[f"{name}.weight"] = meant(codes, zeros, scales, groups)
        stored = zeros if v2 else zeros - 1
        tensors |= {f"{name}.qweight": packed(codes, bits), f"{name}.qzeros": packed(stored.T, bits).T}
        tensors |= {f"{name}.scales": scales, f"{name}.g_idx": groups.int()}
    copied(plain, folder, tensors, {
        "quant_method": "gptq", "bits": bits, "group_size": size, "desc_act": act, "sym": False, "lm_head": False,
        "checkpoint_format": "gptq_v2" if v2 else "gptq", "pack_dtype": "int32", "true_sequential": True,
        "meta": {"quantizer": ["gptqmodel:7.7.0"], "damp_percent": 0.1},
    })  # fmt: skip
    return meaning(folder, true)


def packed(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """Neighbouring rows to a word."""
    in_word = 32 // bits
    words = torch.zeros(len(codes) // in_word, codes.shape[1], dtype=torch.int64)
    for place in range(in_word):
        words |= codes[place::in_word].long() << (bits * place)
    return words.int()


def meaning(folder: Path, tensors: Tensors) -> Path:
    save_file(tensors, folder.parent / f"{folder.name}.meant")
    return folder


def nf4(plain: Path, folder: Path, *, double: bool = True, dtype: torch.dtype = torch.float32, **more: Any) -> Path:
    """What transformers saves by bitsandbytes itself, which keeps the number format that was quantized."""
    how = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=double,
        bnb_4bit_compute_dtype=dtype,
        **more,
    )
    shutil.copytree(plain, folder)
    AutoModel.from_pretrained(plain, quantization_config=how, dtype=dtype).save_pretrained(folder)
    return folder


FORMATS: dict[str, Callable[..., Path]] = {
    "fp8": fp8,
    "compressed-tensors": compressed,
    "awq": awq,
    "gptq": gptq,
    "nf4": nf4,
}


def dequantized(folder: Path, plain: Path) -> Path:
    """The plain checkpoint with the weights that a format's own library reads, in float32."""
    there = folder.parent / f"{folder.name}-dequantized"
    shutil.copytree(plain, there)
    known = folder.parent / f"{folder.name}.meant"
    tensors = load_file(known) if known.exists() else by_library(folder)
    save_file({name: one.contiguous() for name, one in tensors.items()}, there / WEIGHTS, {"format": "pt"})
    return there


def by_library(folder: Path) -> Tensors:
    method = json.loads((folder / "config.json").read_text())["quantization_config"]["quant_method"]
    if method == "bitsandbytes":
        model = AutoModel.from_pretrained(folder).dequantize(torch.float32)
    else:
        kind = FineGrainedFP8Config if method == "fp8" else CompressedTensorsConfig
        model = AutoModel.from_pretrained(
            folder, dtype=torch.float32, quantization_config=kind(dequantize=True), attn_implementation="eager"
        )
    return {name: one.detach().float().clone() for name, one in model.state_dict().items()}
