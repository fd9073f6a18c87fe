"""`POST /embed`, `POST /embed_sparse` and `GET /info`, in the form of text-embeddings-inference (TEI).

Texts in, a list of vectors out.
"""

from typing import cast

import msgspec
from litestar import MediaType, Response, post
from litestar.types import ASGIApp

from schemas.endpoints.tei import (
    TeiEmbeddingKind,
    TeiEmbedRequest,
    TeiInfo,
    TeiModelType,
    TeiRerankerKind,
    TeiSparseRequest,
    TeiSparseVectors,
    TeiVectors,
)
from schemas.limits import MAX_INPUTS
from service import VERSION
from service.front.job import Job, JobInput, PromptOptions
from service.front.served_model import ServedModel
from service.front.serving.serving import serving_of
from service.front.tenant import Tenant
from service.http.answer_headers import TIMING_HEADERS
from service.http.examples import VECTOR, example, invalid, sample, undecodable
from service.http.request import AnyRequest, Call, reads
from service.http.responses.answer import answer, in_parts
from service.http.route import KEY_STATUSES, Route, read
from service.outputs.ask import OutputAsk
from service.outputs.dense import DenseAsk
from service.outputs.printing import NumberList
from service.outputs.sparse import SparsePairs, embed_sparse_ask
from service.prompt.conversation import Conversation
from service.prompt.truncation import Side, Truncation


@post("/embed", status_code=200)
@reads(TeiEmbedRequest)
async def embed_tei(call: Call[TeiEmbedRequest]) -> ASGIApp:
    """One vector for each text."""
    online = call.serving.find(None, "dense", "`/embed`", call.body)
    model, body = online.model, call.body
    if body.dimensions:
        model.check_dimensions(body.dimensions, "dimensions")
    ask = DenseAsk(
        dimensions=body.dimensions or model.profile.dimensions,
        normalize=model.profile.normalize if body.normalize is None else body.normalize,
    )
    job = _job(body, model, call.caller.tenant, ask)
    result = await online.embedder.embed(job, call.caller)
    vectors = [NumberList(one.vector.rows["float32"], "float32") for one in result.embedded]
    return await answer(call, result, lambda: in_parts(vectors), online.fingerprint)


@post("/embed_sparse", status_code=200)
@reads(TeiSparseRequest)
async def embed_sparse_tei(call: Call[TeiSparseRequest]) -> ASGIApp:
    """One sparse vector for each text."""
    online = call.serving.find(None, "sparse", "`/embed_sparse`", call.body)
    model = online.model
    ask = embed_sparse_ask(call.body, model.input_types, model.offer)
    job = _job(call.body, model, call.caller.tenant, ask)
    result = await online.embedder.embed(job, call.caller)
    return await answer(
        call, result, lambda: in_parts([SparsePairs(one.vector.rows) for one in result.embedded]), online.fingerprint
    )


@read("/info")
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
        model_type=TeiModelType(reranker=TeiRerankerKind()) if model.offer.is_reranker else kind,
        max_input_length=profile.max_tokens,
        max_client_batch_size=MAX_INPUTS,
        max_batch_tokens=settings.max_batch_tokens,
        max_batch_requests=settings.max_batch_requests,
        max_concurrent_requests=settings.max_queue_requests,
        version=VERSION,
    )
    return Response(msgspec.json.encode(info), media_type=MediaType.JSON)


def _job(body: TeiEmbedRequest | TeiSparseRequest, model: ServedModel, tenant: Tenant, ask: OutputAsk) -> Job:
    """The job of a request."""
    named = None if body.prompt_name is None else model.instruction_of(body.prompt_name, "prompt_name")
    options = PromptOptions(Conversation(named), is_named=True)
    inputs = (
        [JobInput("inputs", body.inputs, (), options)]
        if isinstance(body.inputs, str)
        else [JobInput(f"inputs[{i}]", text, (), options) for i, text in enumerate(body.inputs)]
    )
    side = cast(Side, (body.truncation_direction or "right").lower())
    return Job(
        inputs=inputs,
        truncation=Truncation(
            model.profile.max_tokens, None if body.truncate is False else side, how_to_cut="`truncate: true`"
        ),
        asks=(ask,),
        tenant=tenant,
        answer_bytes=len(inputs) * ask.bytes_each,
    )


_ERRORS = {400: invalid("invalid_request", "`inputs`: required, got nothing", "inputs"), 422: undecodable("images[3]")}

EMBED = Route(
    embed_tei,
    "embedTei",
    takes_timeout=True,
    summary="Vectors in TEI's form",
    description=(
        "For clients of text-embeddings-inference (TEI), such as `InferenceClient.feature_extraction` of "
        "huggingface_hub and LlamaIndex's `TextEmbeddingsInference`. The answer is a bare list; the vectors are "
        "those of `/v1/embeddings`."
    ),
    request=TeiEmbedRequest,
    response=TeiVectors,
    headers=TIMING_HEADERS,
    request_examples={
        "texts": example("Two texts", {"inputs": ["a red bicycle", "a green door"], "dimensions": 32}),
        "query": example(
            "A query, by the name of its prompt",
            {"inputs": ["something to ride"], "prompt_name": "query", "normalize": True, "truncate": True},
        ),
    },
    response_examples={"one": example("Of one text", [VECTOR])},
    error_examples=_ERRORS,
)

EMBED_SPARSE = Route(
    embed_sparse_tei,
    "embedSparseTei",
    takes_timeout=True,
    summary="Sparse vectors in TEI's form",
    description=(
        "Of a model whose `outputs` have `sparse`, such as SPLADE: for each text the entries of the vocabulary that "
        "have a weight. The weights are those of `/v2/embed` with `embedding_types: [sparse]`."
    ),
    request=TeiSparseRequest,
    response=TeiSparseVectors,
    headers=TIMING_HEADERS,
    request_examples={
        "texts": example("Two texts", {"inputs": ["a red bicycle", "a green door"]}),
        "query": example("A query", {"inputs": "something to ride", "prompt_name": "query"}),
    },
    response_examples={
        "one": example("Of one text", [[{"index": 2417, "value": 1.5}, {"index": 10165, "value": 2.25}]])
    },
    error_examples=_ERRORS,
)

INFO = Route(
    get_info,
    "getInfo",
    tag="Models",
    summary="The model, in TEI's words",
    description="What clients of text-embeddings-inference (TEI) ask before they send; `/v1/models` says more.",
    response=TeiInfo,
    error_statuses=KEY_STATUSES,
    response_examples={
        "builtin": example(
            "The built-in model", sample(TeiInfo, model_type=sample(TeiModelType, embedding=sample(TeiEmbeddingKind)))
        )
    },
)
