"""What stands in a checkpoint's files beside the weights: every reading says which file and what is needed.

Loads no weights and runs nothing of the folder. Knows no family.
"""

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from service.prompt.profile import UnsupportedModelError


class CheckpointFiles:
    """A checkpoint's folder, read when asked.

    Attributes:
        folder: holds config.json and tokenizer.json.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """config.json.

        Raises:
            UnsupportedModelError: it is missing or damaged.
        """
        return self.read_object("config.json")

    @property
    def model_type(self) -> object:
        """What config.json calls the architecture."""
        return self.config.get("model_type")

    def read_object(self, name: str) -> dict[str, Any]:
        """A file that holds one JSON object.

        Raises:
            UnsupportedModelError: it is missing or damaged.
        """
        path = self.folder / name
        try:
            value = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise UnsupportedModelError(f"{path} cannot be read: {error}") from error
        if not isinstance(value, dict):
            raise UnsupportedModelError(f"{path} is not a JSON object")
        return value

    def section(self, name: str) -> Mapping[str, Any]:
        """An object of config.json.

        Raises:
            UnsupportedModelError: there is none of that name.
        """
        section = self.config.get(name)
        if not isinstance(section, dict):
            raise UnsupportedModelError(f"config.json has no object {name!r}")
        return section

    def special_tokens(self, names: Mapping[str, str]) -> dict[str, int]:
        """Ids of special tokens of tokenizer.json.

        Args:
            names: what they are wanted as, to their texts.

        Raises:
            UnsupportedModelError: one is missing.
        """
        added = self.read_object("tokenizer.json").get("added_tokens", [])
        ids = {token["content"]: token["id"] for token in added if token.get("special")}
        if missing := [token for token in names.values() if token not in ids]:
            raise UnsupportedModelError(
                f"{self.folder / 'tokenizer.json'} lacks the special tokens {', '.join(missing)}"
            )
        return {name: ids[token] for name, token in names.items()}

    def prompts(self) -> Mapping[str, str]:
        """Named prompts of config_sentence_transformers.json; none where there is no such file.

        Raises:
            UnsupportedModelError: they are not texts by name.
        """
        name = "config_sentence_transformers.json"
        if not (self.folder / name).exists():
            return {}
        prompts = self.read_object(name).get("prompts") or {}
        if not isinstance(prompts, dict) or not all(isinstance(text, str) for text in prompts.values()):
            raise UnsupportedModelError(f"{self.folder / name} has prompts that are not an object of strings")
        return prompts

    def matryoshka(self, dimensions: int) -> tuple[int, ...] | None:
        """Lengths that config.json offers, ascending; None where it says nothing.

        `matryoshka_dimensions` (a list) and `is_matryoshka` (a boolean; false offers the full length alone) are vLLM's.

        Args:
            dimensions: the full length; always offered.

        Raises:
            UnsupportedModelError: they are no lengths.
        """
        offered = self.config.get("matryoshka_dimensions")
        if offered is None:
            return (dimensions,) if self.config.get("is_matryoshka") is False else None
        if not isinstance(offered, list) or not all(type(d) is int and 1 <= d <= dimensions for d in offered):
            raise UnsupportedModelError(
                f"config.json has matryoshka_dimensions {offered!r}; a list of integers from 1 to {dimensions} is "
                "needed"
            )
        return tuple(sorted({*offered, dimensions}))


def positive(section: Mapping[str, Any], name: str) -> int:
    """A positive integer of a section.

    Raises:
        UnsupportedModelError: it is none.
    """
    value = section.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UnsupportedModelError(f"config.json has {name} {value!r}; a positive integer is needed")
    return value
