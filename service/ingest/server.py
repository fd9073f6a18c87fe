"""What a run knows of its server: the model's card, and what it takes."""

from typing import Any

from service.ingest.answers import model_card
from service.ingest.arguments import Options
from service.ingest.client import Client
from service.ingest.errors import IngestError
from service.ingest.plan import Plan, make_plan
from service.ingest.sending import Bounds

BODY_SLACK_BYTES = 64 << 10
"""Between what a batch is thought to take and the server's limit."""


async def ask_plan(client: Client, options: Options) -> tuple[str, str, Plan, Bounds]:
    """The model's name and fingerprint, what else vectors depend on, and how large requests may be.

    Raises:
        IngestError: no such model, or it does not take what is asked for.
    """
    card = model_card(await client.models(), options.model if options.server else None)
    client.fingerprint = card["fingerprint"]
    if options.instruction and not card["takes_instructions"]:
        raise IngestError(f"--instruction: the model {card['root']} takes none")
    plan = make_plan(card, options.dimensions, raw=options.raw, truncate=options.truncate)
    return card["id"], card["fingerprint"], plan, _bounds(card, options)


def _bounds(card: dict[str, Any], options: Options) -> Bounds:
    return Bounds(
        num_inputs=min(options.batch_inputs, card["max_inputs"]),
        num_bytes=max(1, min(options.batch_bytes, card["max_body_bytes"] - BODY_SLACK_BYTES)),
        picture_bytes=card["max_image_bytes"],
    )
