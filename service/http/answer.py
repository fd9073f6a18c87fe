"""Answers with vectors: printed while they are sent when they are large, with headers that say where the time went."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from litestar import MediaType

from service import metrics
from service.errors import ServiceError
from service.front.job import Embedded
from service.front.turns import Turns
from service.http.exchange import TENANT, told_of
from service.http.late import in_parts
from service.http.reply import Reply, reply
from service.http.tenant_counts import TENANTS
from service.stages import note_inside, stage

FINGERPRINT = "x-model-fingerprint"
MAX_VECTORS_ON_LOOP = 64
"""The entries of more are made in a thread; their vectors are printed later and elsewhere."""


async def answer(
    turns: Turns,
    write: Callable[[], msgspec.Struct],
    embedded: Embedded,
    fingerprint: str,
    headers: dict[str, str] | None = None,
    *,
    in_thread: bool = False,
) -> Reply:
    """What `write` makes, as JSON, with the headers of DESIGN.md section 3: fingerprint, times and cache.

    Args:
        turns: of the service.
        write: makes the response; all that can fail is done here.
        embedded: what it is about.
        fingerprint: of the model.
        headers: more of them.
        in_thread: `write` takes long whatever the number of inputs.
    """
    is_large = in_thread or len(embedded.outcomes) > MAX_VECTORS_ON_LOOP
    with stage("write"):
        parts = await asyncio.to_thread(lambda: in_parts(write())) if is_large else in_parts(write())
        return reply(turns, parts, facts(embedded, fingerprint) | (headers or {}), MediaType.JSON, embedded.hold)


def facts(embedded: Embedded, fingerprint: str) -> dict[str, str]:
    """Headers: which model it was, where the time went, and what the encoder cache had."""
    return {
        FINGERPRINT: fingerprint,
        "x-media-time": f"{embedded.media_ms:.1f}",
        "x-queue-time": f"{embedded.queue_ms:.1f}",
        "x-inference-time": f"{embedded.inference_ms:.1f}",
        "x-encoder-cache": f"hit={embedded.counts.num_hits}, miss={embedded.counts.num_misses}",
    }


def observe(embedded: Embedded, scope: Mapping[str, Any]) -> None:
    """Tell a request's line what it was, and count it: the latter once it is answered, for that can wait.

    Args:
        embedded: what became of its inputs.
        scope: of the request.
    """
    told = told_of(scope)
    told |= {
        "inputs": len(embedded.outcomes),
        "tokens": embedded.counts.num_tokens,
        "cache_hits": embedded.counts.num_hits,
        "cache_misses": embedded.counts.num_misses,
        "batch": embedded.num_batched,
    }
    if num_failed := len(embedded.outcomes) - len(embedded.answered):
        told["failed"] = num_failed
        told["code"] = next(one.code for one in embedded.outcomes if isinstance(one, ServiceError))
    note_inside("queue", embedded.queue_ms)
    note_inside("inference", embedded.inference_ms)
    asyncio.get_running_loop().call_soon(_count, embedded, told.get(TENANT))


def _count(embedded: Embedded, tenant: object) -> None:
    if isinstance(tenant, str):
        TENANTS.embedded(tenant, len(embedded.outcomes), embedded.counts.num_tokens)
    metrics.INPUTS.observe(len(embedded.outcomes))
    metrics.PRECOMPUTED.inc(embedded.counts.num_precomputed)
    metrics.TRUNCATED.inc(embedded.counts.num_truncated)
