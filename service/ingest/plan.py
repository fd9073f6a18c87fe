"""Model, revision and settings that a run's vectors depend on; part of every point's id, checked on resume."""

from typing import Any
from uuid import UUID, uuid5

import msgspec

from service.ingest.arguments import Options
from service.ingest.errors import IngestError
from service.ingest.files.source_file import PageContent
from service.ingest.vectors import DENSE_ALONE, Layout, VectorKind

POINTS = UUID("7b1f2a0c-5f0e-5c51-9d38-0a4f6f2b9e11")
"""Namespace of point ids. Must never change, or runs could not be resumed."""


LEFT_OUT = {
    "outputs": list(DENSE_ALONE),
    "pages": "image",
    "chunk_chars": None,
    "chunk_overlap": 0,
    "chunk_tokens": None,
    "late_chunking": False,
    "segment_s": None,
}
"""Fields that a plan's JSON lacks, as messages show their defaults."""


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Every field but `truncate` changes vectors, so a ledger of another plan cannot be resumed.

    A default stays out of the plan's JSON, and so ids of points are those of versions that lacked the field. `truncate`
    is a part of the ids alone: that of the run that made the ledger, of older versions. A text that fits has the same
    vector either way.
    """

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
    outputs: tuple[VectorKind, ...] = DENSE_ALONE
    pages: PageContent = "image"
    chunk_chars: int = 0
    chunk_overlap: int = 0
    late_chunking: bool = False
    chunk_tokens: int = 0
    segment_s: float = 0  # an integer: msgspec leaves out what is the very default, and no other 0.0 is

    def point_id(self, item: str, instruction: str | None) -> UUID:
        """UUIDv5 of item, instruction and plan: the same in every run, so that writing a point again replaces it."""
        return uuid5(POINTS, msgspec.json.encode([item, instruction, self]).decode())


def make_plan(card: dict[str, Any], options: Options) -> Plan:
    """The plan for a model's entry of `/v1/models`; without `--dimensions` it has the model's own length."""
    outputs = options.outputs
    offered = card.get("outputs", ["dense"])  # servers of older versions have no others
    if lacked := [kind for kind in outputs if kind not in offered]:
        raise IngestError(
            f"--outputs {','.join(outputs)}: the model {card['root']} has no {' and no '.join(lacked)} vectors; its "
            f"outputs are {','.join(offered)}"
        )
    if options.late_chunking and not card.get("late_chunking"):
        raise IngestError(
            f"--late-chunking: the model {card['root']} pools by {card['pooling']} and does not offer it; it is for "
            "dense models that pool by mean"
        )
    return Plan(
        model=card["root"],
        revision=card["revision"],
        prompt_format=card["prompt_format"],
        pooling=card["pooling"],
        dtype=card["dtype"],
        dimensions=options.dimensions or card["dimensions"],
        normalize=bool(card["normalize"]) and not options.raw,
        min_pixels=card["min_pixels"],
        max_pixels=card["max_pixels"],
        truncate=False,
        outputs=outputs,
        pages=options.pages if options.pages != "auto" else "image" if card["max_pixels"] else "text",
        chunk_chars=options.chunk_chars,
        chunk_overlap=options.chunk_overlap,
        chunk_tokens=options.chunk_tokens,
        late_chunking=options.late_chunking,
        segment_s=options.segment_s,
    )


def make_layout(card: dict[str, Any], plan: Plan) -> Layout:
    """The layout of a sink for the vectors of `plan`."""
    by_dot = card.get("scoring") == "dot" and not card["normalize"]
    return Layout(plan.outputs, plan.dimensions, card.get("sparse_dimensions") or 0, by_dot)


def with_ids_of(plan: Plan, ledger: bytes | None) -> Plan:
    """The plan under which points have the ids that they have in a ledger, by the plan that is in it."""
    return plan if ledger is None else msgspec.structs.replace(plan, truncate=_fields(ledger).get("truncate") is True)


def differences(old: bytes, new: Plan) -> list[str]:
    """Fields that differ from the ledger's plan, as phrases: `dimensions was 256 and is 64`."""
    before, now = (LEFT_OUT | _fields(one) for one in (old, msgspec.json.encode(new)))
    return [
        f"{name} was {msgspec.json.encode(before.get(name)).decode()} and is {msgspec.json.encode(value).decode()}"
        for name, value in now.items()
        if before.get(name) != value and name != "truncate"
    ]


def _fields(plan: bytes) -> dict[str, Any]:
    """The fields of a plan's JSON, which may be of another version."""
    return msgspec.json.decode(plan, type=dict[str, Any])
