"""Questions to the server before a run begins: which model, which limits, and the vectors of a known text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from service.ingest.arguments import Options
from service.ingest.errors import IngestError
from service.ingest.item import Ask, SourceItem
from service.ingest.plan import Plan, make_layout, make_plan
from service.ingest.sending.answers import ItemError, embedders, model_card
from service.ingest.sending.client import Client
from service.ingest.sending.conversations import ChunkedTexts, Conversations
from service.ingest.sending.every_kind import EveryKind
from service.ingest.sending.sending import Bounds, RequestForm, TokenVectorSize
from service.ingest.vectors import DENSE_ALONE, Layout
from service.media.item import Patches
from service.media.video.video_rule import VideoRule

BODY_SLACK_BYTES = 64 << 10
"""Margin between the estimated size of a batch and the server's limit."""
PIXELS_PER_TOKEN = 28 * 28
"""Of the models that give images token vectors."""
MARKER_TOKENS = 8
"""At most, of prompts for other kinds of vector than dense ones; `/tokenize` counts those of dense ones."""
TEXT = "a pool of clear water"
MIN_COSINE = 0.99
"""bfloat16 and other batch sizes stay far above it, another fine-tuning far below."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """The agreement of a run and its server.

    Attributes:
        card: the model's entry of `/v1/models`; its id names it in requests.
        served: those of all embedders of the server.
        max_tokens: that the model reads of a text.
    """

    card: dict[str, Any]
    served: Sequence[dict[str, Any]]
    plan: Plan
    layout: Layout
    form: RequestForm
    bounds: Bounds
    max_tokens: int


async def agree(client: Client, options: Options, *, has_media: bool) -> Agreed:
    """Ask for the model, and agree on plan, form and limits of the requests."""
    served = embedders(await client.models())
    card = model_card(served, options.model if options.server else None, has_media=has_media)
    if options.instruction and not card["takes_instructions"]:
        raise IngestError(f"--instruction: the model {card['root']} takes none")
    plan = make_plan(card, options)
    form = form_of(card["id"], plan, truncate=options.truncate)
    client.fingerprint, client.path = card["fingerprint"], form.path
    bounds, layout = _bounds(card, plan, options), make_layout(card, plan)
    max_tokens = card["max_tokens"] - (0 if plan.outputs == DENSE_ALONE else MARKER_TOKENS)
    return Agreed(card, served, plan, layout, form, bounds, max_tokens)


def form_of(model: str, plan: Plan, *, truncate: bool) -> RequestForm:
    """The form of request for the vectors of `plan`.

    All take the same content and give the same dense vector. A conversation has an instruction of its own, so that all
    instructions of an image are one request; `EveryKind` has every kind of vector, of one forward; `ChunkedTexts` all
    chunks of a text, whichever are asked for.
    """
    if plan.late_chunking:
        return ChunkedTexts(model, plan, truncate=truncate)
    if plan.outputs == DENSE_ALONE:
        return Conversations(model, plan, truncate=truncate)
    return EveryKind(model, plan, truncate=truncate)


async def probe_vector(client: Client, agreed: Agreed) -> bytes:
    """The dense vector of `TEXT`, whose request becomes the client's `known_good`; empty of a run without dense ones.

    Raises:
        IngestError: the server gives no vector.
        RefusedError: the settings are refused, for instance the dimensions.
    """
    ask = Ask(SourceItem("probe", b"", 0, TEXT), None, agreed.plan.point_id("probe", None))
    body = agreed.form.body([ask], {})
    response = await client.embed(body)
    (entry,) = agreed.form.read(response.content, response.headers, [ask]).entries
    if isinstance(entry, ItemError):
        raise IngestError(f"the server refuses a text: {entry.code}: {entry.message}")
    client.known_good = body
    return entry.dense


def check_probe(before: bytes, now: bytes) -> None:
    """Compare with the probe of the ledger's first run: older ledgers keep it instead of the model's fingerprint."""
    old, new = np.frombuffer(before, "<f4"), np.frombuffer(now, "<f4")
    cosine = float(old @ new / (np.linalg.norm(old) * np.linalg.norm(new)))
    if not cosine >= MIN_COSINE:
        raise IngestError(
            f"the model has changed under the same name: the vector of a known text has cosine {cosine:.3f} to that "
            f"of the ledger's first run, expected {MIN_COSINE} or more"
        )


def _bounds(card: dict[str, Any], plan: Plan, options: Options) -> Bounds:
    token_vectors = TokenVectorSize(
        token_bytes=plan.dimensions * 16 // 3 if "multi" in plan.outputs else 0,  # float32 in base64
        max_tokens=card["max_tokens"],
        image_tokens=(card["max_pixels"] or 0) // PIXELS_PER_TOKEN,
    )
    return Bounds(
        num_inputs=min(options.batch_inputs, card["max_inputs"]),
        num_bytes=max(1, min(options.batch_bytes, card["max_body_bytes"] - BODY_SLACK_BYTES)),
        image_bytes=card["max_image_bytes"],
        max_pixels=card["max_pixels"] or 0,
        video_rule=video_rule(card),
        no_videos=f"the model {card['root']} takes {' and '.join(card['modalities'])}, no video"
        if card.get("max_video_frames") is None
        else f"the server does not say how {card['root']} samples videos: frame by frame, or it is of an older version",
        body_bytes=card["max_body_bytes"] - BODY_SLACK_BYTES,
        token_vectors=token_vectors,
    )


def video_rule(card: dict[str, Any]) -> VideoRule | None:
    """Return the rule by which a model's server samples videos; None where it takes none, or is too old to say."""
    if card.get("video_fps") is None:
        return None
    return VideoRule(
        max_frames=card["max_video_frames"],
        min_frames=card["min_video_frames"],
        fps=card["video_fps"],
        patches=Patches(card["video_size_factor"], 1),
        total_file_pixels=card["max_video_pixels"],
        min_frame_pixels=card["min_video_frame_pixels"],
        max_frame_pixels=card["max_video_frame_pixels"],
    )
