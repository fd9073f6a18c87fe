"""`POST /v1/embeddings`."""

import time
from functools import partial
from typing import cast

from litestar import post

from schemas.embeddings import Embedding, EmbeddingData, EmbeddingRequest, EmbeddingResponse
from schemas.rules import check_embedding_request
from service.errors import ServiceError
from service.front.admission import Place
from service.front.job import Embedded, Outcome
from service.front.served_model import ServedModel
from service.front.serving import Serving, serving_of
from service.front.tenant import Caller
from service.http.answer import answer, observe
from service.http.body import announced_bytes, read_body
from service.http.caller import caller_of
from service.http.errors import AnyRequest, error_body
from service.http.raw_answer import VARY, raw_answer, wants_raw
from service.http.reply import Reply
from service.http.request_id import request_id
from service.http.vector_format import VectorFormat
from service.ipc.messages import OutputSpec


@post("/v1/embeddings", status_code=200)
async def create_embedding(request: AnyRequest) -> Reply:
    """One vector for each input, in OpenAI's form."""
    serving = serving_of(request.app)
    caller = caller_of(request, serving.settings.request_timeout_s)
    with serving.admission.body(announced_bytes(request, serving.settings.max_body_bytes), caller.tenant) as room:
        return await _create(request, serving, caller, room)


async def _create(request: AnyRequest, serving: Serving, caller: Caller, room: Place) -> Reply:
    body = await read_body(request, EmbeddingRequest, room, ignore_unknown=serving.ignores_unknown_fields)
    check_embedding_request(body, accepts_token_arrays=serving.accepts_token_arrays)
    is_raw = wants_raw(request.headers.getall("accept", []), body)
    online = serving.online()
    name = online.model.check_name(body.model)
    online.model.check_single_vector("`/v1/embeddings`")
    vector_format = VectorFormat.of(body)
    output = output_spec(body, vector_format, online.model)
    embedded = await online.embedder.embed(online.reader.embedding_job(body, output, caller.tenant), caller)
    observe(embedded, request.scope)
    if is_raw:
        return raw_answer(serving.turns, embedded, online.fingerprint, vector_format, output.dimensions)
    write = partial(embedding_response, request_id(request.scope), name, embedded, vector_format)
    return await answer(serving.turns, write, embedded, online.fingerprint, VARY)


def output_spec(body: EmbeddingRequest, vector_format: VectorFormat, model: ServedModel) -> OutputSpec:
    """What the engine is asked for.

    Args:
        body: the request.
        vector_format: what it comes to.
        model: which is asked.

    Raises:
        InputError: the model does not offer vectors of that length.
    """
    return OutputSpec(
        dimensions=model.check_dimensions(body.dimensions, "dimensions"),
        kinds=(vector_format.dtype,),
        normalize=model.profile.normalize if body.normalize is None else body.normalize,
    )


def embedding_response(id_: str, name: str, embedded: Embedded, vector_format: VectorFormat) -> EmbeddingResponse:
    """The answer in OpenAI's form, with vectors that print themselves.

    Args:
        id_: the request id.
        name: the model's name as the request gave it.
        embedded: what became of each input; vectors in the format's dtype.
        vector_format: how vectors are written.
    """
    return EmbeddingResponse(
        id=f"embd-{id_}",
        created=int(time.time()),
        model=name,
        data=[_entry(index, outcome, id_, vector_format) for index, outcome in enumerate(embedded.outcomes)],
        usage=embedded.counts.usage(len(embedded.outcomes)),
    )


def _entry(index: int, outcome: Outcome, id_: str, vector_format: VectorFormat) -> EmbeddingData:
    if isinstance(outcome, ServiceError):
        return EmbeddingData(index=index, embedding=None, truncated=False, error=error_body(outcome, id_))
    written = cast(Embedding, vector_format.json(outcome.vector.rows[vector_format.dtype]))
    return EmbeddingData(index=index, embedding=written, truncated=outcome.prompt.truncated)
