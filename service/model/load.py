"""Weights from a folder: safetensors only, every tensor accounted for, no code from the checkpoint."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
from transformers.configuration_utils import PretrainedConfig
from transformers.modeling_utils import PreTrainedModel
from transformers.models.auto import auto_factory
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, AutoConfig

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.quantized.settings import read_quantization
from service.checkpoint.unread_tensors import unknown_tensors
from service.errors import ModelError
from service.model.lora import merge_adapter
from service.model.quantized.state import dequantized

logger = logging.getLogger("cenote.model")

M = TypeVar("M", bound=PreTrainedModel)

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def choose_device(name: str) -> torch.device:
    """The device called `name`; `auto` is the first CUDA device, or the CPU.

    Raises:
        ModelError: it names a CUDA device that is not there. Restarting would not bring it.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= (num_devices := torch.cuda.device_count()):
        reason = f"--device {name}: torch {torch.__version__} sees {num_devices} CUDA devices here"
        raise ModelError("internal_error", f"{reason}; --device cpu runs without one")
    return device


def choose_dtype(name: str, device: torch.device) -> torch.dtype | None:
    """The dtype called `name`; `auto` is float32 on the CPU and the checkpoint's own (None) elsewhere."""
    if name == "auto":
        return torch.float32 if device.type == "cpu" else None
    return DTYPES[name]


def load_stock(
    stock: type[M],
    folder: Path,
    device: torch.device,
    dtype: torch.dtype | None,
    *,
    attention: str | None = "sdpa",
    may_lack: str | None = None,
    elsewhere: Sequence[str] = (),
    config: PretrainedConfig | None = None,
    renamed: Mapping[str, str] | None = None,
    beside: Sequence[str] = (),
) -> M:
    """A stock module in evaluation mode on `device`; our own forwards run on its weights.

    Quantized weights are dequantized as they are loaded, and the adapter of a joined checkpoint is merged.

    The dtype is given to `from_pretrained` and never applied afterwards: `.to(dtype)` would round the rotary
    frequencies, which have to stay float32.

    Args:
        dtype: of the weights; None takes the checkpoint's own.
        attention: implementation of its attention; None takes the best that the class has.
        may_lack: beginning of the names of tensors that need not be there.
        elsewhere: names of tensors that other code reads.
        config: in the place of the checkpoint's own, whose `model_type` transformers does not know.
        renamed: patterns of tensors' names, to what replaces them.
        beside: see `merge_adapter`.

    Raises:
        ModelError: the checkpoint lacks tensors, has them in other shapes, or has some that the module does not know
            and that are not known to be harmless.

    Source: transformers 5.23 `PreTrainedModel.from_pretrained`; docs/notes/qwen3-vl-embedding.md.
    """
    config = _native_config(folder) if config is None else config
    more: dict[str, Any] = {} if config is None else {"config": config}
    if renamed is not None:
        more["key_mapping"] = dict(renamed)
    source: Path | None = folder
    if (how := read_quantization(folder)) is not None:
        config = config or _own_config(stock, folder)
        source, stock = None, _own_class(stock, config)
        state = dequantized(folder, how, config)
        more |= {"config": config, "state_dict": state.tensors}
        dtype, elsewhere = dtype or state.dtype, (*elsewhere, *state.zeros)
    loaded = stock.from_pretrained(
        source,
        dtype=dtype or "auto",
        use_safetensors=True,
        trust_remote_code=False,
        local_files_only=True,
        attn_implementation=attention,
        output_loading_info=True,
        **more,
    )
    model, report = cast(tuple[M, dict[str, Any]], loaded)
    _say_unread(sorted({*map(str, report["unexpected_keys"])} - {*elsewhere}), folder)
    missing = [key for key in report["missing_keys"] if may_lack is None or not key.startswith(may_lack)]
    if wrong := sorted(map(str, [*missing, *report["mismatched_keys"]])):
        reason = f"{folder.name} lacks {len(wrong)} tensors, or has them in another shape: {', '.join(wrong[:5])}"
        raise ModelError("internal_error", reason + _own_code(model.config))
    model.train(False)
    model.requires_grad_(False)
    torch.nn.Module.to(model, device)  # transformers' own `to` is untyped, and adds checks for quantized weights only
    merge_adapter(folder, model, beside)
    return model


def _native_config(folder: Path) -> PretrainedConfig | None:
    """The configuration of a config.json that is not in transformers' names; None for any other."""
    files = CheckpointFiles(folder)
    if files.config == files.read_object("config.json"):
        return None
    native: PretrainedConfig = CONFIG_MAPPING[files.config["model_type"]].from_dict(dict(files.config))
    return native


def _own_config(stock: type[PreTrainedModel], folder: Path) -> PretrainedConfig:
    reader: Any = AutoConfig if hasattr(stock, "_model_mapping") else stock.config_class
    return cast(PretrainedConfig, reader.from_pretrained(folder, trust_remote_code=False, local_files_only=True))


def _own_class(stock: type[M], config: PretrainedConfig) -> type[M]:
    """The class that an `Auto` one means, which needs a folder to find it."""
    mapping, factory = getattr(stock, "_model_mapping", None), cast(Any, auto_factory)
    return stock if mapping is None else cast(type[M], factory._get_model_class(config, mapping))


def _say_unread(names: Sequence[str], folder: Path) -> None:
    """Refuse or log tensors that the model does not read."""
    if told := unknown_tensors(names, folder):
        raise ModelError("internal_error", told)
    if names:
        logger.info("%d tensors are not read, heads and buffers: %s", len(names), ", ".join(names[:5]))


def _own_code(config: object) -> str:
    has_code = bool(getattr(config, "auto_map", None))
    return "; config.json names code of its own (auto_map), which is never run here" if has_code else ""
