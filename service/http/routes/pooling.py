"""`POST /pooling`, in vLLM's form: a vector of each input, or of each of its tokens."""

import time
from collections.abc import Mapping
from typing import cast

from litestar import post
from litestar.types import ASGIApp

from schemas.dialects.vllm import read
from schemas.endpoints.embed_vectors import EmbeddingType
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.pooling import PoolingData, PoolingRequest, PoolingResponse, PoolingTask
from schemas.parsing.rules import check_pool_request
from service.errors import InputError
from service.front.job import EmbedResult
from service.front.served_model import ServedModel
from service.http.answer_headers import TIMING_HEADERS
from service.http.examples import TEXT_PART, VECTOR, example, missing, sample, to_builtin, usage, user
from service.http.request import Call, reads
from service.http.responses.answer import answer, in_parts
from service.http.route import Route
from service.outputs.ask import Wanted
from service.outputs.kinds import kind_of

TYPES: Mapping[PoolingTask, tuple[EmbeddingType, EmbeddingType]] = {
    "embed": ("float", "base64"),
    "token_embed": ("multi_float", "multi_base64"),
}
"""The types of `/v2/embed` that each task is, as numbers and as base64."""


@post("/pooling", status_code=200)
@reads(PoolingRequest)
async def pool(call: Call[PoolingRequest]) -> ASGIApp:
    """The vectors of each input, or of its tokens."""
    body = cast(EmbeddingRequest, read(call.body, EmbeddingRequest))
    check_pool_request(body)
    online = call.serving.find(body.model, "vectors", "`/pooling`")
    offer, dimensions = online.model.offer, body.dimensions or online.model.profile.dimensions
    if body.dimensions:
        online.model.check_dimensions(dimensions, "dimensions")
    type_ = TYPES[_task(call.body, online.model)][body.encoding_format == "base64"]
    normalize = offer.normalize if body.normalize is None else body.normalize
    ask = kind_of(type_).of(Wanted([type_], dimensions, normalize), offer)
    result = await online.embedder.embed(online.reader.embedding_job(body, (ask,), call.caller.tenant), call.caller)

    def respond() -> PoolingResponse:
        return PoolingResponse(
            id=f"pool-{call.context.id}",
            created=int(time.time()),
            model=body.model or online.model.name,
            data=_data(result, type_, dimensions, online.model),
            usage=result.counts.usage(result.num_inputs),
        )

    made_by = online.fingerprint_as_written if body.part_order == "as_written" else online.fingerprint
    return await answer(call, result, lambda: in_parts(respond()), made_by)


def _task(body: PoolingRequest, model: ServedModel) -> PoolingTask:
    """The task, if the model does it; without one the first that it does."""
    known: list[PoolingTask] = [task for task, types in TYPES.items() if kind_of(types[0]).output in model.offer.kinds]
    for task in known:
        if body.task in (task, None):
            return task
    got = body.task or "none"
    message = f"`task`: got {got}; {model.name} does {' and '.join(known) or 'neither embed nor token_embed'}"
    raise InputError("invalid_request", f"{message}; `/v2/embed` has every kind of vector", param="task")


def _data(result: EmbedResult, type_: EmbeddingType, dimensions: int, model: ServedModel) -> list[PoolingData]:
    kind = kind_of(type_)
    rows = [kind.json(one.vector.rows, type_, dimensions, model.offer) for one in result.embedded]
    return [PoolingData(index=index, data=cast("list[float]", row)) for index, row in enumerate(rows)]


ROUTE = Route(
    pool,
    "createPooling",
    takes_timeout=True,
    summary="Vectors in vLLM's form",
    description=(
        "vLLM's route for pooling models: `task` says whether an input has one vector or one for each token. The "
        "vectors are those of `/v1/embeddings` and of `multi_float` of `/v2/embed`."
    ),
    request=PoolingRequest,
    response=PoolingResponse,
    headers=TIMING_HEADERS,
    request_examples={
        "embed": to_builtin(
            "A vector of a conversation", task="embed", input=[user({"type": "text", "text": "a door"})]
        ),
        "messages": to_builtin("The same in `messages`", messages=[user(TEXT_PART)]),
    },
    response_examples={
        "embed": example(
            "Of one input", sample(PoolingResponse, data=[sample(PoolingData, data=VECTOR)], usage=usage(26))
        )
    },
    error_examples={400: missing("input", "messages", "inputs")},
)
