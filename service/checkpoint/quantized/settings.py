"""`quantization_config` of config.json: every key is obeyed, known to change no weight, or refused by name.

Weights alone are dequantized, when they are loaded. What quantized activations or a quantized cache of keys would have
lost is not imitated: a served vector is the dequantized model's. Imports no torch.

Source: transformers 5.24 `utils/quantization_config.py`; compressed-tensors 0.20 `QuantizationConfig`,
`QuantizationArgs`; gptqmodel 7.7 `QuantizeConfig`; AutoAWQ 0.2.9 `AwqConfig`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.checkpoint.json_files import EMPTY, CheckpointError, check_keys, read_object

KEY = "quantization_config"
FORMATS = ("float-quantized", "naive-quantized")
"""Of compressed-tensors: one float8 number for each weight, and scales."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """How the matrices of a checkpoint are stored.

    Attributes:
        method: `quant_method`.
        bits: of a weight.
        group_size: weights of an output that share a scale; 0: all of it.
        blocks: forms that scales may have: a matrix's `()`, an output's `(1, 0)`, or rows and columns of a block.
        zero_offset: added to stored zeros.
        needs_groups: the group of each input is stored, since it is not by order.
        plain: patterns of modules' names that are not quantized.
    """

    method: str
    bits: int = 8
    group_size: int = 0
    blocks: tuple[tuple[int, ...], ...] = ()
    zero_offset: int = 0
    needs_groups: bool = False
    plain: tuple[str, ...] = ()

    def skips(self, module: str) -> bool:
        """True for a module that the settings say is not quantized.

        Source: transformers `should_convert_module`; compressed-tensors `match_name`.
        """
        if self.method == "compressed-tensors":
            ends = (re.match(one[3:], module) if one.startswith("re:") else one == module for one in self.plain)
            return any(ends)
        boundary = r"(?:(?<=\.)|(?=\.|$))"
        return any(re.match(f"(?:{one}){boundary}", module) or module.endswith(one) for one in self.plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Method:
    """Keys of a method.

    Attributes:
        read: obeyed by `make`.
        fixed: with the values that are supported.
        free: of how weights were chosen, or of how others compute with them.
        defaults: of keys that are missing.
    """

    make: Callable[[Mapping[str, Any], str], Quantization]
    read: tuple[str, ...]
    fixed: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    free: tuple[str, ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)


def read_quantization(folder: Path) -> Quantization | None:
    """How a checkpoint's weights are quantized, or None."""
    path = folder / "config.json"
    config = (read_object(path) if path.exists() else {}).get(KEY) or {}
    if not config:
        return None
    place = f"{path} has in {KEY}"
    if not isinstance(config, dict) or (name := _name(config)) not in METHODS:
        method = config.get("quant_method") if isinstance(config, dict) else config
        raise CheckpointError(
            f"{path} has {KEY} with quant_method {method!r}: weights that are quantized so are not read; supported: "
            f"{', '.join(METHODS)}. Serve the checkpoint in float32, bfloat16 or float16 that it was made from"
        )
    method = METHODS[name]
    config = {**method.defaults, **config}
    check_keys(place, config, ("quant_method", *method.read, *method.fixed, *method.free))
    _check_values(place, config, method.fixed)
    return method.make(config, place)


def _name(config: Mapping[str, Any]) -> str:
    """The method, which bitsandbytes' older files do not name."""
    in_4bit = config.get("load_in_4bit") or config.get("load_in_8bit")
    return str(config.get("quant_method") or ("bitsandbytes" if in_4bit else ""))


def _check_values(place: str, config: Mapping[str, Any], fixed: Mapping[str, tuple[object, ...]]) -> None:
    for key, values in fixed.items():
        value = config.get(key)
        value = value.lower() if isinstance(value, str) else value
        if value not in EMPTY and value not in values:
            supported = " or ".join(map(repr, values)) or "none"
            raise CheckpointError(f"{place} {key} {config[key]!r}; supported: {supported}")


def _whole(config: Mapping[str, Any], place: str, key: str, allowed: Callable[[int], bool], needed: str) -> int:
    value = config.get(key)
    if type(value) is not int or not allowed(value):
        raise CheckpointError(f"{place} {key} {value!r}; {needed} is needed")
    return value


def _patterns(config: Mapping[str, Any], place: str, *keys: str) -> tuple[str, ...]:
    """Names of modules under one of these keys, as regular expressions."""
    for key in keys:
        value = config.get(key) or []
        try:
            if not isinstance(value, list) or not all(re.compile(str(one)) for one in value):
                raise CheckpointError(f"{place} {key} {value!r}; a list of names is needed")
        except re.error as error:
            raise CheckpointError(f"{place} {key} {value!r}, of which one is no pattern: {error}") from error
        if value:
            return tuple(map(str, value))
    return ()


def _block(value: object, place: str, key: str) -> tuple[int, ...]:
    """Rows and columns that share a scale."""
    is_pair = isinstance(value, list) and len(value) == 2 and all(type(one) is int and one > 0 for one in value)
    if not isinstance(value, list) or not is_pair:
        raise CheckpointError(f"{place} {key} {value!r}; two positive integers are needed")
    return tuple(value)


def _fine_grained(config: Mapping[str, Any], place: str) -> Quantization:
    size = config["weight_block_size"]
    block = () if size is None else _block(size, place, "weight_block_size")
    plain = _patterns(config, place, "modules_to_not_convert", "ignored_layers")
    return Quantization("fp8", blocks=(block,), plain=plain)


def _compressed_tensors(config: Mapping[str, Any], place: str) -> Quantization:
    groups = config.get("config_groups")
    if not isinstance(groups, dict) or not all(isinstance(group, dict) for group in groups.values()):
        raise CheckpointError(f"{place} config_groups {groups!r}; an object of groups is needed")
    blocks = {_group(group, f"{place} config_groups.{name}") for name, group in groups.items() if group.get("weights")}
    return Quantization("compressed-tensors", blocks=tuple(blocks), plain=_patterns(config, place, "ignore"))


def _group(group: Mapping[str, Any], place: str) -> tuple[int, ...]:
    """The form of a group's scales. Its targets are those that have some."""
    check_keys(place, group, ("targets", "weights", "input_activations", "output_activations", "format"))
    _check_values(place, group, {"format": FORMATS})
    args = group["weights"]
    known = (*OF_WEIGHTS, "observer", "observer_kwargs", "scale_dtype", "zp_dtype", "block_structure", "group_size")
    check_keys(f"{place}.weights", args, known)
    _check_values(f"{place}.weights", {"type": "int", "num_bits": 8, "symmetric": True, **args}, OF_WEIGHTS)
    strategy = str(args.get("strategy") or ("channel" if args.get("group_size") == -1 else "tensor")).lower()
    if strategy == "block":
        return _block(args.get("block_structure"), f"{place}.weights", "block_structure")
    return (1, 0) if strategy == "channel" else ()


OF_WEIGHTS: Mapping[str, tuple[object, ...]] = {
    "type": ("float",),
    "num_bits": (8,),
    "symmetric": (True,),
    "dynamic": (False,),
    "strategy": ("tensor", "channel", "block"),
    "actorder": (False, "weight", "static"),
}


def _awq(config: Mapping[str, Any], place: str) -> Quantization:
    size = _whole(config, place, "group_size", lambda one: one == -1 or one > 0, "-1 or a positive integer")
    plain = _patterns(config, place, "modules_to_not_convert")
    return Quantization("awq", bits=4, group_size=max(size, 0), plain=plain)


def _gptq(config: Mapping[str, Any], place: str) -> Quantization:
    bits = _whole(config, place, "bits", lambda one: one in (2, 4, 8), "2, 4 or 8")
    size = _whole(config, place, "group_size", lambda one: one == -1 or one > 0, "-1 or a positive integer")
    of_file = str(config.get("checkpoint_format") or config.get("format") or "gptq").lower()
    return Quantization(
        "gptq",
        bits=bits,
        group_size=max(size, 0),
        zero_offset=int(of_file == "gptq"),
        needs_groups=bool(config.get("desc_act")),
    )


def _bitsandbytes(config: Mapping[str, Any], place: str) -> Quantization:
    return Quantization("bitsandbytes", bits=4, plain=_patterns(config, place, "llm_int8_skip_modules"))


GPTQ_FREE = (
    *("sym", "lm_head", "true_sequential", "static_groups", "damp_percent", "damp_auto_increment", "dataset"),
    *("tokenizer", "model_name_or_path", "model_file_base_name", "model_seqlen", "batch_size", "pad_token_id"),
    *("block_name_to_quantize", "module_name_preceding_first_block", "modules_in_block_to_quantize"),
    *("use_exllama", "disable_exllama", "exllama_config", "use_cuda_fp16", "max_input_length", "backend"),
    *("cache_block_outputs", "cache_examples_on_gpu", "meta", "mse", "act_group_aware", "gptaq", "foem", "hessian"),
)
OF_GPTQMODEL: Mapping[str, tuple[object, ...]] = {
    **dict.fromkeys(("dynamic", "rotation", "adapter", "activation"), ()),
    "is_marlin_format": (False,),
    "pack_dtype": ("int32",),
}
"""Keys of gptqmodel by which a matrix may be stored in another way than the others."""
METHODS: Mapping[str, _Method] = {
    "fp8": _Method(
        make=_fine_grained,
        read=("weight_block_size", "modules_to_not_convert", "ignored_layers"),
        fixed={"fmt": ("e4m3",), "scale_fmt": ("float",), "expert_dtype": ("fp8",), "modules_to_convert": ()},
        free=("activation_scheme", "dequantize"),
        defaults={"weight_block_size": [128, 128]},
    ),
    "compressed-tensors": _Method(
        make=_compressed_tensors,
        read=("config_groups", "ignore"),
        fixed={
            "format": FORMATS,
            "quantization_status": ("compressed", "frozen"),
            **dict.fromkeys(("sparsity_config", "transform_config", "moe_sparsity_config"), ()),
        },
        free=(
            *("kv_cache_scheme", "global_compression_ratio", "version"),
            *("run_compressed", "dequantize", "use_optimized_inference"),
        ),
        defaults={"format": "fakequant"},
    ),
    "awq": _Method(
        make=_awq,
        read=("group_size", "modules_to_not_convert"),
        fixed={
            "bits": (4,),
            "zero_point": (True,),
            **dict.fromkeys(("version", "format", "checkpoint_format"), ("gemm",)),
            "method": ("awq",),
            "desc_act": (False,),
            **OF_GPTQMODEL,
            "backend": ("auto", "autoawq"),
        },
        free=("do_fuse", "fuse_max_seq_len", "modules_to_fuse", "exllama_config", "sym", "lm_head", "meta"),
        defaults={"bits": 4, "group_size": 128, "version": "gemm", "zero_point": True},
    ),
    "gptq": _Method(
        make=_gptq,
        read=("bits", "group_size", "desc_act"),
        fixed={
            **dict.fromkeys(("format", "checkpoint_format"), ("gptq", "gptq_v2")),
            "method": ("gptq",),
            **OF_GPTQMODEL,
        },
        free=GPTQ_FREE,
        defaults={"group_size": 128},
    ),
    "bitsandbytes": _Method(
        make=_bitsandbytes,
        read=("llm_int8_skip_modules",),
        fixed={
            **dict.fromkeys(("load_in_4bit", "_load_in_4bit"), (True,)),
            **dict.fromkeys(("load_in_8bit", "_load_in_8bit"), (False,)),
            "bnb_4bit_quant_type": ("nf4",),
        },
        free=(
            *("bnb_4bit_compute_dtype", "bnb_4bit_use_double_quant", "bnb_4bit_quant_storage", "llm_int8_threshold"),
            *("llm_int8_enable_fp32_cpu_offload", "llm_int8_has_fp16_weight"),
        ),
        defaults={"bnb_4bit_quant_type": "fp4"},
    ),
}
"""By `quant_method`."""
