"""`POST /v1/embeddings`."""

import base64
import time
from functools import partial
from typing import cast

import msgspec
from litestar import Response, post

from schemas.embeddings import Embedding, EmbeddingData, EmbeddingRequest, EmbeddingResponse, Usage
from schemas.rules import check_embedding_request
from service.errors import ServiceError
from service.front.job import Embedded, Outcome
from service.front.serving import Serving, serving_of
from service.http.answer import answer, float_list, observe
from service.http.body import announced_bytes, read_body
from service.http.errors import AnyRequest, error_body
from service.http.request_id import request_id
from service.http.tenant import tenant_of
from service.ipc.messages import OutputSpec


@post("/v1/embeddings", status_code=200)
async def create_embedding(request: AnyRequest) -> Response[bytes]:
    """One vector for each input, in OpenAI's form."""
    serving = serving_of(request.app)
    with serving.admission.body(announced_bytes(request, serving.settings.max_body_bytes)):
        return await _create(request, serving)


async def _create(request: AnyRequest, serving: Serving) -> Response[bytes]:
    body = await read_body(request, EmbeddingRequest, ignore_unknown=serving.ignores_unknown_fields)
    check_embedding_request(body, accepts_token_arrays=serving.accepts_token_arrays)
    online = serving.online()
    name = online.model.check_name(body.model)
    output = OutputSpec(dimensions=online.model.check_dimensions(body.dimensions, "dimensions"))
    embedded = await online.embedder.embed(online.reader.embedding_job(body, output, tenant_of(request)))
    observe(embedded)
    write = partial(_response, request_id(request.scope), name, embedded, body.encoding_format == "base64")
    return await answer(write, embedded)


def _response(id_: str, name: str, embedded: Embedded, is_base64: bool) -> EmbeddingResponse:
    return EmbeddingResponse(
        id=f"embd-{id_}",
        created=int(time.time()),
        model=name,
        data=[_entry(index, outcome, id_, is_base64) for index, outcome in enumerate(embedded.outcomes)],
        usage=_usage(embedded),
    )


def _entry(index: int, outcome: Outcome, id_: str, is_base64: bool) -> EmbeddingData:
    if isinstance(outcome, ServiceError):
        return EmbeddingData(index=index, embedding=None, truncated=False, error=error_body(outcome, id_))
    written = _written(outcome.vector.rows["float32"], is_base64)
    return EmbeddingData(index=index, embedding=written, truncated=outcome.prompt.truncated)


def _written(row: bytes, is_base64: bool) -> Embedding:
    return base64.b64encode(row).decode() if is_base64 else cast(list[float], msgspec.Raw(float_list(row)))


def _usage(embedded: Embedded) -> Usage:
    return Usage(
        prompt_tokens=embedded.num_tokens,
        total_tokens=embedded.num_tokens,
        num_inputs=len(embedded.outcomes),
        image_tokens=embedded.num_image_tokens,
        encoder_cache_hits=embedded.num_hits,
        encoder_cache_misses=embedded.num_misses,
        precomputed_images=embedded.num_precomputed,
    )
