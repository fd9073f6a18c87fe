"""adapter_config.json of a LoRA: every key is obeyed, known to change no weight, or refused by name.

Source: peft 0.21 `LoraConfig`, `check_target_module_exists`, `_set_trainable`, `get_pattern_key`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.checkpoint.json_files import EMPTY, CheckpointError, check_keys

FIXED: Mapping[str, tuple[object, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none", "all", "lora_only"),
    "init_lora_weights": (True, False, "gaussian", "orthogonal", "eva"),
    **dict.fromkeys(("use_qalora", "lora_bias", "ensure_weight_tying"), (False,)),
    **dict.fromkeys(("target_parameters", "trainable_token_indices", "layer_replication", "megatron_config"), ()),
    **dict.fromkeys(("alora_invocation_tokens", "loftq_config", "corda_config", "lora_ga_config"), ()),
    **dict.fromkeys(("use_bdlora", "arrow_config", "kasa_config", "velora_config", "monteclora_config"), ()),
}
"""By which an adapter could be more than a product added to a weight, with the values that say it is not."""
READ = (
    *("r", "lora_alpha", "use_rslora", "rank_pattern", "alpha_pattern", "use_dora", "modules_to_save"),
    *("target_modules", "exclude_modules", "layers_to_transform", "layers_pattern"),
)
FREE = (
    *("base_model_name_or_path", "revision", "task_type", "auto_mapping", "peft_version", "inference_mode"),
    *("lora_dropout", "eva_config", "qalora_group_size", "megatron_core", "runtime_config"),
    "fan_in_fan_out",
)
"""The last is of layers with transposed weights; peft drops it for linear layers, the only ones that are merged."""
MERGE_IT = "Merge it with peft (`merge_and_unload`, then `save_pretrained`) and serve that"


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """What adapter_config.json, checked, says of layers, by the names of the model that it was trained on."""

    said: Mapping[str, Any]
    path: Path

    @classmethod
    def of(cls, said: Mapping[str, Any], path: Path) -> "LoraSettings":
        """Check the keys: none makes the adapter another kind than plain LoRA or DoRA, and each is known."""
        check_keys(path, {key: one for key, one in said.items() if one is not False}, (*READ, *FIXED, *FREE))
        for key, values in FIXED.items():
            if said.get(key) not in EMPTY and said[key] not in values:
                supported = " or ".join(map(repr, values)) or "none"
                raise CheckpointError(f"{path} has {key} {said[key]!r}; supported: {supported}. {MERGE_IT}")
        for key in ("rank_pattern", "alpha_pattern"):
            if not isinstance(said.get(key) or {}, dict):
                raise CheckpointError(f"{path} has {key} {said[key]!r}; an object of numbers by names is needed")
        settings = cls(said, path)
        settings.scale("")
        return settings

    @property
    def is_dora(self) -> bool:
        """Whether merged rows have lengths of their own."""
        return self.said.get("use_dora") is True

    def rank(self, layer: str) -> int:
        """Inner size of a layer's product, a positive integer."""
        value = self._number("rank_pattern", "r", layer)
        if type(value) is not int or value < 1:
            raise CheckpointError(f"{self.path} has r {value!r}; a positive integer is needed")
        return value

    def scale(self, layer: str) -> float:
        """By what ``B @ A`` is multiplied."""
        rank, alpha = self.rank(layer), self._number("alpha_pattern", "lora_alpha", layer)
        if type(alpha) not in (int, float):
            raise CheckpointError(f"{self.path} has lora_alpha {alpha!r}; a number is needed")
        return float(alpha) / (rank**0.5 if self.said.get("use_rslora") is True else rank)

    def _number(self, patterns: str, key: str, layer: str) -> Any:
        """A number of a layer: of the first pattern that ends its name, else everybody's."""
        found = self.said.get(patterns) or {}
        return next((one for name, one in found.items() if self._fits(rf"(.*\.)?({name})$", layer)), self.said.get(key))

    def saves(self, name: str) -> bool:
        """True for a parameter that the adapter has whole: a bias, or one of a module whose name ends so."""
        is_bias = name.endswith(".bias") and self.said.get("bias") not in (None, "none")
        return is_bias or any(self._fits(rf".*{re.escape(one)}\.", name) for one in self._whole)

    @property
    def _whole(self) -> list[str]:
        return list(map(str, self.said.get("modules_to_save") or []))

    def targets(self, layer: str) -> bool:
        """True for a layer that has a product."""
        is_whole = any(self._fits(rf"(^|.*\.){one}($|\..*)", layer) for one in self._whole)
        if is_whole or self._is_named("exclude_modules", layer):
            return False
        wanted = self.said.get("target_modules")
        if wanted in (None, "all-linear"):
            return True
        return self._is_named("target_modules", layer) and (isinstance(wanted, str) or self._has_layer_index(layer))

    def _is_named(self, key: str, layer: str) -> bool:
        names = self.said.get(key) or ()
        if isinstance(names, str):
            return self._fits(f"(?:{names})$", layer)
        return any(layer == name or layer.endswith(f".{name}") for name in names)

    def _has_layer_index(self, layer: str) -> bool:
        wanted, patterns = self.said.get("layers_to_transform"), self.said.get("layers_pattern")
        if wanted in EMPTY:
            return True
        names = [patterns] if isinstance(patterns, str) else patterns
        forms = [rf"(?:^|.*?\.){one}\.(\d+)\." for one in names] if names else [r".*?\.[^.]*\.(\d+)\."]
        found = next((index for form in forms if (index := re.match(form, layer))), None)
        return found is not None and int(found[1]) in (wanted if isinstance(wanted, list) else [wanted])

    def _fits(self, pattern: str, name: str) -> bool:
        try:
            return re.match(pattern, name) is not None
        except re.error as error:
            raise CheckpointError(f"{self.path} has a name that is no pattern ({error}): {pattern!r}") from error
