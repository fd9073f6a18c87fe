"""One text's vector: a request that is known to be answered when the server is well.

Ledgers of older versions keep it in place of the model's fingerprint, to say whether the model is still the same.
"""

import numpy as np

from service.ingest.answers import read_vector
from service.ingest.body import request_body
from service.ingest.client import Client
from service.ingest.errors import IngestError
from service.ingest.item import Ask, Item
from service.ingest.plan import Plan

TEXT = "a pool of clear water"
MIN_COSINE = 0.99
"""bfloat16 and other batches stay far above it, another fine-tuning far below."""


async def probe_vector(client: Client, model: str, plan: Plan) -> bytes:
    """The vector of `TEXT`, whose request the client keeps as one that is answered when the server is well.

    Raises:
        IngestError: the server has none.
        RefusedError: the settings are refused: the length, for instance.
    """
    ask = Ask(Item("probe", b"", 0, TEXT), None, plan.point_id("probe", None))
    body = request_body([ask], {}, model, plan)
    (entry,) = (await client.embed(body, 1)).data
    if entry.error is not None:
        raise IngestError(f"the server refuses a text: {entry.error.code}: {entry.error.message}")
    client.known_good = body
    return read_vector(entry, plan.dimensions)


def check_probe(before: bytes | None, now: bytes) -> None:
    """Compare with the one of the ledger's first run.

    Raises:
        IngestError: they are not of one model.
    """
    if before is None:
        return
    old, new = np.frombuffer(before, "<f4"), np.frombuffer(now, "<f4")
    cosine = float(old @ new / (np.linalg.norm(old) * np.linalg.norm(new)))
    if not cosine >= MIN_COSINE:
        raise IngestError(
            f"the model is another one under the same name: a known text's vector has cosine {cosine:.3f} to that "
            f"of the ledger's first run, expected {MIN_COSINE} or more"
        )
