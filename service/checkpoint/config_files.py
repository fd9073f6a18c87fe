"""A checkpoint's files beside the weights; every error names the file and what is needed.

Loads no weights and runs nothing of the folder. Knows no family.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from service.checkpoint.json_files import CheckpointError, read_object
from service.checkpoint.released_config import in_native_names
from service.checkpoint.static_files import static_config

STEADY_ROPES = ("default", "linear", "llama3", "yarn", "proportional")
"""Types of rotary embeddings in which a token's rotation depends on its position alone."""
OF_IMAGES = "mrope"
"""Name in older files of vision-language models for `default` with positions in three rows."""

NAMES = "config_sentence_transformers.json"
"""The file of sentence-transformers that has prompts and what kind of model it is; PyLate's has more."""

IMAGES_ALONE = ("dinov2", "dinov2_with_registers", "dinov3_vit", "siglip_vision_model")
"""Model types that read no text, and so have no tokenizer."""
TOWERS = ("vision_config", "audio_config")
"""Parts whose positions are an image's or an audio file's own; no batch makes them longer."""


class CheckpointFiles:
    """A checkpoint's folder, read when asked.

    Attributes:
        part: the object of config.json that counts as the configuration, `outer.inner` of one within another; empty:
            all of it.
    """

    def __init__(self, folder: Path, part: str = "") -> None:
        self.folder = folder
        self.part = part

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """config.json, or its part; in transformers' names where its model's own code has others."""
        if self.part:
            outer, _, inner = self.part.rpartition(".")
            return CheckpointFiles(self.folder, outer).section(inner)
        return self._static or in_native_names(self.read_object("config.json"))

    @cached_property
    def _static(self) -> Mapping[str, Any]:
        return static_config(self.folder)

    @property
    def is_static(self) -> bool:
        """True of a table of rows, which reads tokenizer.json alone of all that is about tokens."""
        return bool(self._static)

    @property
    def model_type(self) -> object:
        """`model_type` of config.json."""
        return self.config.get("model_type")

    @property
    def reads_texts(self) -> bool:
        """False of models of images alone."""
        return self.model_type not in IMAGES_ALONE

    @property
    def needed(self) -> tuple[str, ...]:
        """Files that have to be there beside the weights."""
        if self.is_static:
            return ("tokenizer.json",)
        is_alone = (self.folder / "config.json").is_file() and not self.reads_texts
        return ("config.json",) if is_alone else ("config.json", "tokenizer.json")

    @property
    def num_embedded(self) -> int | None:
        """Number of token ids that have an embedding, by `vocab_size`; None where config.json does not say."""
        text = self.config.get("text_config")
        value = (text if isinstance(text, dict) else self.config).get("vocab_size")
        return value if type(value) is int and value > 0 else None

    @property
    def own(self) -> Mapping[str, Any]:
        """`cenote` of config.json, the checkpoint maker's settings for this service; empty where there is none."""
        own = self.config.get("cenote") or {}
        if not isinstance(own, dict):
            raise CheckpointError(
                f"config.json has cenote {own!r}; an object is needed, of family, max_pixels, query_end_tokens, "
                "query_prefix or unread_tensors"
            )
        return own

    def is_called(self, *words: str) -> bool:
        """True where a name of the checkpoint has a part that begins with one of these words.

        Its names are `_name_or_path`, `architectures` and `auto_map` of config.json, the folder's, and the hub's where
        the folder is a snapshot.
        """
        config, folder = self.config, self.folder
        hub = folder.parent.parent.name if folder.parent.name == "snapshots" else ""
        names = (config.get("_name_or_path"), config.get("architectures"), config.get("auto_map"), folder.name, hub)
        parts = re.split("[^a-z0-9]+", json.dumps(names).lower())
        return any(part.startswith(words) for part in parts)

    def read_object(self, name: str) -> dict[str, Any]:
        """A file that holds one JSON object."""
        return read_object(self.folder / name)

    def optional(self, name: str) -> Mapping[str, Any]:
        """A file that holds one JSON object; empty where there is none."""
        return self.read_object(name) if (self.folder / name).exists() else {}

    def processor(self) -> Mapping[str, Any]:
        """processor_config.json; empty where there is none."""
        return self.optional("processor_config.json")

    def section(self, name: str) -> Mapping[str, Any]:
        """An object of config.json."""
        section = self.config.get(name)
        if not isinstance(section, dict):
            raise CheckpointError(f"config.json has no object {name!r}")
        return section

    def special_tokens(self, names: Mapping[str, str]) -> dict[str, int]:
        """Ids of special tokens of tokenizer.json."""
        added = self.read_object("tokenizer.json").get("added_tokens", [])
        ids = {token["content"]: token["id"] for token in added if token.get("special")}
        if missing := [token for token in names.values() if token not in ids]:
            raise CheckpointError(f"{self.folder / 'tokenizer.json'} lacks the special tokens {', '.join(missing)}")
        return {name: ids[token] for name, token in names.items()}

    def prompts(self) -> Mapping[str, str]:
        """Named prompts of config_sentence_transformers.json, null as empty; none where there is no such file."""
        prompts = self.optional(NAMES).get("prompts") or {}
        if not isinstance(prompts, dict) or not all(isinstance(text, str | None) for text in prompts.values()):
            raise CheckpointError(f"{self.folder / NAMES} has prompts that are not an object of strings")
        return {name: text or "" for name, text in prompts.items()}

    def matryoshka(self, dimensions: int) -> tuple[int, ...] | None:
        """Lengths that config.json offers, ascending, `dimensions` the last; None where it says nothing.

        `matryoshka_dimensions` (a list) and `is_matryoshka` (a boolean; false offers the full length alone) are vLLM's.
        """
        offered = self.config.get("matryoshka_dimensions")
        if offered is None:
            return (dimensions,) if self.config.get("is_matryoshka") is False else None
        if not isinstance(offered, list) or not all(type(d) is int and 1 <= d <= dimensions for d in offered):
            raise CheckpointError(
                f"config.json has matryoshka_dimensions {offered!r}; a list of integers from 1 to {dimensions} is "
                "needed"
            )
        return tuple(sorted({*offered, dimensions}))


def positive(section: Mapping[str, Any], name: str, place: str | Path = "config.json") -> int:
    """A positive integer of an object in a file."""
    value = section.get(name)
    if type(value) is not int or value < 1:
        raise CheckpointError(f"{place} has {name} {value!r}; a positive integer is needed")
    return value


def token_text(token: object) -> str | None:
    """Text of a special token, which tokenizer_config.json has as a string or an object; None where it has none."""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None


def check_ropes(config: Mapping[str, Any]) -> None:
    """Refuse a rotary embedding of config.json or of a part that is not known, or that ties a vector to its batch."""
    for rope in _rope_types(config):
        if rope not in (*STEADY_ROPES, OF_IMAGES):
            raise CheckpointError(
                f"config.json has rope type {rope}; supported: {', '.join(STEADY_ROPES)}. With `dynamic`, `ntk` and "
                "`longrope` a vector would depend on the longest prompt of its batch"
            )


def _rope_types(config: Mapping[str, Any], *, is_rope: bool = False) -> Iterator[str]:
    if is_rope and isinstance(found := config.get("rope_type", config.get("type")), str):
        yield found
    for key, value in config.items():
        if isinstance(value, dict) and key not in TOWERS:
            yield from _rope_types(value, is_rope=is_rope or key in ("rope_scaling", "rope_parameters"))
