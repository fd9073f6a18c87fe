"""Model, revision and settings that a run's vectors depend on; part of every point's id, checked on resume."""

from typing import Any
from uuid import UUID, uuid5

import msgspec

from service.ingest.errors import IngestError

POINTS = UUID("7b1f2a0c-5f0e-5c51-9d38-0a4f6f2b9e11")
"""Namespace of point ids. Must never change, or runs could not be resumed."""


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every field changes vectors, so a ledger of another plan cannot be resumed."""

    model: str
    revision: str | None
    prompt_format: str
    pooling: str
    dtype: str
    dimensions: int
    normalize: bool
    min_pixels: int | None
    max_pixels: int | None
    truncate: bool

    def point_id(self, item: str, instruction: str | None) -> UUID:
        """UUIDv5 of item, instruction and plan: the same in every run, so that writing a point again replaces it."""
        return uuid5(POINTS, msgspec.json.encode([item, instruction, self]).decode())


def make_plan(card: dict[str, Any], dimensions: int | None, *, raw: bool, truncate: bool) -> Plan:
    """The plan for a model's entry of `/v1/models`; `dimensions` None is the model's own length.

    Raises:
        IngestError: the model gives several vectors for an item.
    """
    if card["max_vectors_per_input"] != 1:
        raise IngestError(f"the model {card['root']} gives one vector for each token; ingest needs one for each item")
    return Plan(
        model=card["root"],
        revision=card["revision"],
        prompt_format=card["prompt_format"],
        pooling=card["pooling"],
        dtype=card["dtype"],
        dimensions=dimensions or card["dimensions"],
        normalize=bool(card["normalize"]) and not raw,
        min_pixels=card["min_pixels"],
        max_pixels=card["max_pixels"],
        truncate=truncate,
    )


def differences(old: bytes, new: Plan) -> list[str]:
    """Fields that differ from the ledger's plan, as phrases: `dimensions was 256 and is 64`."""
    before = msgspec.json.decode(old, type=dict[str, Any])
    now = msgspec.to_builtins(new)
    return [
        f"{name} was {msgspec.json.encode(before.get(name)).decode()} and is {msgspec.json.encode(value).decode()}"
        for name, value in now.items()
        if before.get(name) != value
    ]
