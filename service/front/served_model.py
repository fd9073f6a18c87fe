"""The model that this service answers for: its names, its profile, and how its prompts are built. Imports no torch."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from schemas.parsing.hints import shown
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.hub import PURPOSES, Checkpoint
from service.checkpoint.int8_range import Int8Range
from service.errors import InputError
from service.media.resize.image_rule import ImageRule
from service.outputs.ask import Offer, OutputAsk
from service.outputs.kinds import KINDS
from service.prompt.build import PromptBuilder
from service.prompt.detect import load_profile
from service.prompt.profile.calibration import load_calibration
from service.prompt.profile.profile import Profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer

SAME_INPUT_TYPES: Mapping[str, str] = {
    "query": "search_query",
    "document": "search_document",
    "passage": "search_document",
}
"""Names of Voyage's and NVIDIA's clients for Cohere's; a checkpoint's own prompts of these names come first."""


@dataclass(frozen=True)
class ServedModel:
    """Everything that the front knows of the model.

    Attributes:
        name: what answers and `/v1/models` call it.
        more_names: what else the operator calls it.
        canonical_name: the hub id, `builtin`, or the folder's name.
        fingerprint: changes when the model does, 32 bytes.
        int8_ranges: calibrated ranges that the checkpoint ships, by length of vector.
        num_embedded: token ids below have an embedding; a tokenizer may have more, added and never trained.
        created_s: when it was loaded, seconds since 1970.
    """

    name: str
    more_names: tuple[str, ...]
    canonical_name: str
    checkpoint: Checkpoint
    profile: Profile
    tokenizer: PromptTokenizer
    builder: PromptBuilder
    fingerprint: bytes
    int8_ranges: Mapping[int, Int8Range]
    num_embedded: int
    created_s: int = field(default_factory=lambda: int(time.time()))

    @property
    def alias(self) -> str:
        """A lower-case name that contains `embed`, or a reranker's `rerank`: some clients list no model without it."""
        base, word = self.name.rpartition("/")[2].lower(), "rerank" if self.offer.is_reranker else "embed"
        return base if word in base else f"{base}-{word}"

    @cached_property
    def names(self) -> list[str]:
        """Every name that a request may use, the served one first."""
        return list(dict.fromkeys([self.name, *self.more_names, self.canonical_name, self.alias]))

    @property
    def purpose(self) -> str:
        """What it is for, in a few words."""
        kind, taken = ("scores of pairs" if self.offer.is_reranker else "vectors"), ", ".join(self.profile.modalities)
        return PURPOSES.get(self.canonical_name, f"{kind}, of {taken}")

    @property
    def pixel_rule(self) -> ImageRule | None:
        """Rule by which images are resized; None for a model that reads text only."""
        images = self.profile.images
        return images.pixel_rule if images else None

    @cached_property
    def offer(self) -> Offer:
        """The outputs that it gives."""
        return self.profile.offer(self.name, self.tokenizer.num_ids, self.tokenizer.id_to_token)

    @property
    def own(self) -> type[OutputAsk]:
        """The kind of output that it gives first."""
        return KINDS[self.profile.outputs[0]]

    @cached_property
    def input_types(self) -> dict[str, str]:
        """Instruction by name, for every name that `input_type` may have."""
        own = self.profile.input_types
        same = {name: own[ours] for name, ours in SAME_INPUT_TYPES.items() if ours in own and name not in own}
        return {**own, **same}

    def instruction_of(self, input_type: str, param: str = "input_type") -> str:
        """The instruction that a request names in its field `param`.

        Raises:
            InputError: the model knows none of that name.
        """
        known = self.input_types
        if input_type not in known:
            names = ", ".join(known)
            message = f"`{param}`: got {shown(input_type) or 'an unknown name'}, {self.name} knows {names}"
            raise InputError("invalid_request", message, param=param)
        return known[input_type]

    def check_instruction(self, instruction: str) -> None:
        """Pass where there is none, or the model takes one.

        Raises:
            InputError: it was trained without.
        """
        if not self.profile.takes_instructions and instruction.strip():
            message = (
                f"`instruction`: got a text; {self.name} was trained without instructions and has no place for one"
            )
            raise InputError("invalid_request", message, param="instruction")

    def check_order(self) -> None:
        """Pass a request for parts as they are written.

        Raises:
            InputError: its prompts have a place for each kind of part, and no other.
        """
        if not self.profile.keeps_order:
            message = (
                f"`part_order`: got as_written, expected reference; {self.name} has the prompts of "
                f"{self.profile.name}, in which each kind of part has its place (`part_orders` of `/v1/models`)"
            )
            raise InputError("invalid_request", message, param="part_order")

    def check_dimensions(self, dimensions: int, param: str) -> None:
        """Pass a length that was asked for.

        Raises:
            InputError: the model does not offer vectors of this length.
        """
        profile = self.profile
        if dimensions != profile.dimensions and not profile.offers(dimensions):
            offered = (
                ", ".join(map(str, profile.matryoshka))
                if profile.matryoshka
                else f"any from {profile.min_dimensions} to {profile.dimensions}"
            )
            raise InputError(
                "invalid_dimensions", f"`{param}`: got {dimensions}; {self.name} offers {offered}", param=param
            )


def name_of(served_names: Sequence[str], canonical_name: str) -> str:
    """The name that answers have: the first that the operator gave, else the canonical one."""
    return served_names[0] if served_names else canonical_name


def load_served_model(
    checkpoint: Checkpoint, *, served_names: Sequence[str], strict_reference: bool, max_tokens: int, family: str = ""
) -> ServedModel:
    """Profile, tokenizer and prompt builder of a checkpoint; no weights.

    Args:
        served_names: what to call it, the first in answers; none keeps the canonical name.
        strict_reference: parse special tokens in user text.
        max_tokens: a lower limit than the model's own; 0 keeps the model's.
        family: whose prompts it takes; empty asks its files.

    Raises:
        CheckpointError: the checkpoint is of no family that this release serves, or ships ranges for int8 that
            do not fit it.
    """
    folder = Path(checkpoint.folder)
    profile = load_profile(folder, family)
    if max_tokens:
        profile = replace(profile, max_tokens=min(max_tokens, profile.max_tokens))
    tokenizer = PromptTokenizer(folder, lower_case=profile.lower_case, markers=profile.markers)
    return ServedModel(
        name=name_of(served_names, checkpoint.name),
        more_names=tuple(served_names[1:]),
        canonical_name=checkpoint.name,
        checkpoint=checkpoint,
        profile=profile,
        tokenizer=tokenizer,
        builder=PromptBuilder(profile, tokenizer, strict_reference),
        fingerprint=checkpoint.fingerprint(),
        int8_ranges=load_calibration(folder, profile),
        num_embedded=min(tokenizer.num_ids, CheckpointFiles(folder).num_embedded or tokenizer.num_ids),
    )
