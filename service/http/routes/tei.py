"""`POST /embed`, `POST /embed_sparse` and `GET /info`, in the form of text-embeddings-inference (TEI).

Texts in, a list of vectors out.
"""

from collections.abc import Sequence
from typing import cast

import msgspec
from litestar import MediaType, Response, get, post
from litestar.types import ASGIApp

from schemas.endpoints.tei import (
    TeiEmbeddingKind,
    TeiEmbedRequest,
    TeiInfo,
    TeiModelType,
    TeiRerankerKind,
    TeiSparseRequest,
)
from schemas.limits import MAX_INPUTS
from service.front.job import EmbedResult, Job, JobInput, PromptOptions
from service.front.served_model import ServedModel
from service.front.serving.serving import serving_of
from service.front.tenant import Tenant
from service.http.body import read_call
from service.http.request_context import AnyRequest
from service.http.responses.answer import answer, observe
from service.http.responses.sparse_format import SparsePairs
from service.http.responses.vector_format import NumberList
from service.ipc.messages import OutputSpec
from service.ipc.sparse_row import SPARSE, expected_bytes
from service.openapi.document import API_VERSION
from service.prompt.truncation import Side, Truncation


@post("/embed", status_code=200)
async def embed_tei(request: AnyRequest) -> ASGIApp:
    """One vector for each text."""
    with await read_call(request, TeiEmbedRequest) as call:
        online = call.serving.find(None, "vector", "`/embed`")
        model, body = online.model, call.body
        output = OutputSpec(
            dimensions=model.check_dimensions(body.dimensions, "dimensions"),
            normalize=model.profile.normalize if body.normalize is None else body.normalize,
        )
        job = _job(body, model, call.caller.tenant, output)
        result = await online.embedder.embed(job, call.caller)
        observe(result, call.context)
        return await answer(call.serving.turns, lambda: _vectors(result), result, online.fingerprint)


@post("/embed_sparse", status_code=200)
async def embed_sparse_tei(request: AnyRequest) -> ASGIApp:
    """One sparse vector for each text."""
    with await read_call(request, TeiSparseRequest) as call:
        online = call.serving.find(None, "sparse", "`/embed_sparse`")
        model = online.model
        model.check_side(call.body.prompt_name, "prompt_name")  # an answer without room for a warning
        output = OutputSpec(dimensions=model.profile.dimensions, output_dtypes=(), normalize=False, is_sparse=True)
        job = _job(call.body, model, call.caller.tenant, output, online.reader.max_answer_bytes)
        result = await online.embedder.embed(job, call.caller)
        observe(result, call.context)
        return await answer(call.serving.turns, lambda: _sparse(result), result, online.fingerprint)


@get("/info")
async def get_info(request: AnyRequest) -> Response[bytes]:
    """The model and its limits."""
    serving = serving_of(request.app)
    online, settings = serving.main(), serving.settings
    model, profile = online.model, online.model.profile
    kind = TeiModelType(embedding=TeiEmbeddingKind(pooling=profile.pooling))
    info = TeiInfo(
        model_id=model.name,
        model_sha=model.checkpoint.revision,
        model_dtype=online.engine.dtype,
        model_type=kind if profile.scoring is None else TeiModelType(reranker=TeiRerankerKind()),
        max_input_length=profile.max_tokens,
        max_client_batch_size=MAX_INPUTS,
        max_batch_tokens=settings.max_batch_tokens,
        max_batch_requests=settings.max_batch_requests,
        max_concurrent_requests=settings.max_queue_requests,
        version=API_VERSION,
    )
    return Response(msgspec.json.encode(info), media_type=MediaType.JSON)


def _job(
    body: TeiEmbedRequest | TeiSparseRequest,
    model: ServedModel,
    tenant: Tenant,
    output: OutputSpec,
    max_answer_bytes: int = 0,
) -> Job:
    """The job of a request.

    Raises:
        InputError: the model has no such prompt.
    """
    options = PromptOptions(named_instruction=model.instruction_of(body.prompt_name, "prompt_name"))
    inputs = (
        [JobInput("inputs", body.inputs, (), options)]
        if isinstance(body.inputs, str)
        else [JobInput(f"inputs[{i}]", text, (), options) for i, text in enumerate(body.inputs)]
    )
    side = cast(Side, (body.truncation_direction or "right").lower())
    return Job(
        inputs=inputs,
        truncation=Truncation(model.profile.max_tokens, None if body.truncate is False else side),
        output=output,
        tenant=tenant,
        answer_bytes=len(inputs) * (output.vector_bytes + expected_bytes(output)),
        max_answer_bytes=max_answer_bytes,
    )


def _sparse(result: EmbedResult) -> Sequence[SparsePairs]:
    return [SparsePairs(one.vector.rows[SPARSE]) for one in result.embedded]


def _vectors(result: EmbedResult) -> Sequence[NumberList]:
    return [NumberList(one.vector.rows["float32"], "float32") for one in result.embedded]
