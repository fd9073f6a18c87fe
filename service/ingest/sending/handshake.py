"""Questions to the server before a run begins: which model, which limits, and the vector of a known text."""

from typing import Any

import numpy as np

from service.ingest.arguments import Options
from service.ingest.errors import IngestError
from service.ingest.item import Ask, SourceItem
from service.ingest.plan import Plan, make_plan
from service.ingest.sending.answers import model_card, read_vector
from service.ingest.sending.body import request_body
from service.ingest.sending.client import Client
from service.ingest.sending.sending import Bounds

BODY_SLACK_BYTES = 64 << 10
"""Margin between the estimated size of a batch and the server's limit."""
TEXT = "a pool of clear water"
MIN_COSINE = 0.99
"""bfloat16 and other batch sizes stay far above it, another fine-tuning far below."""


async def ask_plan(client: Client, options: Options) -> tuple[str, str, Plan, Bounds]:
    """The model's name and fingerprint, the plan of the run, and the limits of a request.

    Raises:
        IngestError: no such model, or it does not support the options.
    """
    card = model_card(await client.models(), options.model if options.server else None)
    client.fingerprint = card["fingerprint"]
    if options.instruction and not card["takes_instructions"]:
        raise IngestError(f"--instruction: the model {card['root']} takes none")
    plan = make_plan(card, options.dimensions, raw=options.raw, truncate=options.truncate)
    return card["id"], card["fingerprint"], plan, _bounds(card, options)


async def probe_vector(client: Client, model: str, plan: Plan) -> bytes:
    """The vector of `TEXT`, whose request becomes the client's `known_good`.

    Raises:
        IngestError: the server gives no vector.
        RefusedError: the settings are refused, for instance the dimensions.
    """
    ask = Ask(SourceItem("probe", b"", 0, TEXT), None, plan.point_id("probe", None))
    body = request_body([ask], {}, model, plan)
    (entry,) = (await client.embed(body, 1)).data
    if entry.error is not None:
        raise IngestError(f"the server refuses a text: {entry.error.code}: {entry.error.message}")
    client.known_good = body
    return read_vector(entry, plan.dimensions)


def check_probe(before: bytes | None, now: bytes) -> None:
    """Compare with the probe of the ledger's first run: older ledgers keep it instead of the model's fingerprint.

    Raises:
        IngestError: the vectors are of different models.
    """
    if before is None:
        return
    old, new = np.frombuffer(before, "<f4"), np.frombuffer(now, "<f4")
    cosine = float(old @ new / (np.linalg.norm(old) * np.linalg.norm(new)))
    if not cosine >= MIN_COSINE:
        raise IngestError(
            f"the model has changed under the same name: the vector of a known text has cosine {cosine:.3f} to that "
            f"of the ledger's first run, expected {MIN_COSINE} or more"
        )


def _bounds(card: dict[str, Any], options: Options) -> Bounds:
    return Bounds(
        num_inputs=min(options.batch_inputs, card["max_inputs"]),
        num_bytes=max(1, min(options.batch_bytes, card["max_body_bytes"] - BODY_SLACK_BYTES)),
        image_bytes=card["max_image_bytes"],
    )
