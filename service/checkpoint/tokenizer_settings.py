"""Settings of the tokenizer from the files beside tokenizer.json: tokenizer_config.json, and what overrides it.

In: a checkpoint's files. Out: the arguments that transformers gives to the tokenizer's class, or an error that names
the file and the key. What the class makes of them is `service.prompt.tokenizer`'s.

Source: transformers 5.24 `PreTrainedTokenizerBase._from_pretrained`, `TokenizersBackend.__init__`.
"""

from collections.abc import Mapping
from typing import Any

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.sentence_settings import find_settings

CONFIG, SPECIALS = "tokenizer_config.json", "special_tokens_map.json"
LISTED = "added_tokens_decoder"
NO_LIMIT = 10**9
"""`model_max_length` of a tokenizer that has none is a number far beyond."""
COUNTS_FROM_PADDING = ("bert", "deberta-v2", "distilbert", "electra")
"""Model types whose positions count padding too: on the left of a text it would move the text's own."""

REPAIRED = "5."
"""Releases of transformers of whose tokenizer.json `fix_mistral_regex` changes nothing."""

QWENS_OWN = ["tokenization_qwen.Qwen2Tokenizer", "tokenization_qwen.Qwen2TokenizerFast"]
"""Classes that gte-Qwen2 and its fine-tunes bring along: Qwen2's with the end that `add_eos_token` asks for, which is
obeyed here anyway. transformers passes over them, too, where it may not run them."""


def tokenizer_settings(files: CheckpointFiles) -> dict[str, Any]:
    """The arguments of the tokenizer's class."""
    if files.is_static:
        return {}
    named = dict(files.optional(CONFIG))
    if LISTED not in named:
        named.update(files.optional(SPECIALS))
    return {**named, **find_settings(files).processor}


def max_length(files: CheckpointFiles) -> int | None:
    """Longest prompt of a text model by its settings; None where they say nothing."""
    settings = find_settings(files)
    if settings.content.get("max_seq_length") is not None:
        own = positive(settings.content, "max_seq_length", settings.name)
        if "model_max_length" not in settings.processor:
            return own
    return said_length(tokenizer_settings(files))


def said_length(named: Mapping[str, Any]) -> int | None:
    """Longest prompt by the arguments of a tokenizer; None where they say nothing."""
    limit = named.get("model_max_length", named.get("max_len"))
    return int(limit) if isinstance(limit, int | float) and 1 <= limit < NO_LIMIT else None


def check_tokenizer_settings(files: CheckpointFiles) -> None:
    """Refuse what would change the tokens of a text model, and is not obeyed."""
    named = tokenizer_settings(files)
    allowed: dict[str, tuple[object, ...]] = {"truncation_side": ("right",), "fix_mistral_regex": (False, None)}
    if str(files.optional("config.json").get("transformers_version")).startswith(REPAIRED):
        allowed["fix_mistral_regex"] = (False, None, True)
    if files.model_type in COUNTS_FROM_PADDING:
        allowed["padding_side"] = ("right",)
    for key, values in allowed.items():
        if named.get(key, values[0]) not in values:
            also = "; a request may ask for `truncation_side: left`" if key == "truncation_side" else ""
            refuse(files, key, named[key], f"supported: {values[0]!r}{also}")
    if "attention_mask" not in named.get("model_input_names", ["attention_mask"]):
        refuse(files, "model_input_names", named["model_input_names"], "attention_mask is needed, or padding counts")
    if (own := _own_classes(named)) and not (files.model_type == "qwen2" and own == QWENS_OWN):
        refuse(files, "auto_map", named["auto_map"], "code of a checkpoint is never run, and tokens may be others")


def refuse(files: CheckpointFiles, key: str, value: object, why: str) -> None:
    """Raise the error of a key, with the file that has it."""
    settings = find_settings(files)
    place = settings.name if key in settings.processor else CONFIG
    if place == CONFIG and key not in files.optional(CONFIG):
        place = SPECIALS
    raise CheckpointError(f"{place} has {key} {value!r}; {why}")


def _own_classes(named: Mapping[str, Any]) -> list[str]:
    """Classes that a folder brings for its tokenizer, without the repository that they are of; empty: none."""
    own = named.get("auto_map")
    found = own.get("AutoTokenizer") if isinstance(own, dict) else own
    listed = found if isinstance(found, list) else [found] if found else []
    return [str(one).rpartition("--")[2] for one in listed]
