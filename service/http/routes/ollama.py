"""`POST /api/embed` and `/api/embeddings`, in Ollama's form."""

import time
from typing import Any, cast

from litestar import post
from litestar.types import ASGIApp
from msgspec.structs import replace

from schemas.content.examples import EXAMPLE_IMAGE
from schemas.dialects.items import sources_of
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.ollama import (
    OllamaEmbeddingsRequest,
    OllamaEmbeddingsResponse,
    OllamaEmbedRequest,
    OllamaEmbedResponse,
)
from schemas.fields import Truncate
from schemas.parsing.rules import check_embedding_request
from service.errors import InputError, ServiceError
from service.front.job import EmbedResult
from service.front.serving.model_serving import Online
from service.http.answer_headers import TIMING_HEADERS
from service.http.examples import VECTOR, example, invalid, sample
from service.http.request import Call, reads
from service.http.responses.answer import answer, in_parts
from service.http.route import Route
from service.outputs.chunks import embeddings_ask
from service.outputs.printing import NumberList

LATEST = ":latest"
"""The tag that Ollama's clients add to a name."""

CUT = "`truncate: true`"


@post("/api/embed", status_code=200)
@reads(OllamaEmbedRequest)
async def embed_ollama(call: Call[OllamaEmbedRequest]) -> ASGIApp:
    """One vector for each input."""
    began_s, body = time.perf_counter(), call.body
    online = _find(call)
    cut: Truncate = "END" if body.truncate is not False else "NONE"
    same = EmbeddingRequest(**sources_of(body.input), dimensions=body.dimensions, truncate=cut)
    result = await _embed(call, online, same, body.options or {})

    def respond() -> OllamaEmbedResponse:
        return OllamaEmbedResponse(
            model=body.model or online.model.name,
            embeddings=_vectors(result),
            total_duration=int((time.perf_counter() - began_s) * 1e9),
            prompt_eval_count=result.counts.num_tokens,
        )

    return await answer(call, result, lambda: in_parts(respond()), online.fingerprint)


@post("/api/embeddings", status_code=200)
@reads(OllamaEmbeddingsRequest)
async def create_ollama_embedding(call: Call[OllamaEmbeddingsRequest]) -> ASGIApp:
    """The vector of one text."""
    online = _find(call)
    same = EmbeddingRequest(input=call.body.prompt, truncate="END")
    try:
        result = await _embed(call, online, same, call.body.options or {})
    except ServiceError as error:
        if error.param == "input":
            error.param, error.message = "prompt", error.message.replace("`input`", "`prompt`", 1)
        raise
    return await answer(
        call,
        result,
        lambda: in_parts(OllamaEmbeddingsResponse(embedding=_vectors(result)[0])),
        online.fingerprint,
    )


def _find(call: Call[Any]) -> Online:
    name = call.body.model
    return call.serving.find(name.removesuffix(LATEST) if name else None, "dense", "Ollama's routes")


async def _embed(call: Call[Any], online: Online, same: EmbeddingRequest, options: dict[str, Any]) -> EmbedResult:
    check_embedding_request(same)
    dimensions = same.dimensions or online.model.profile.dimensions
    if same.dimensions:
        online.model.check_dimensions(dimensions, "dimensions")
    ask = embeddings_ask(same, dimensions, online.model.offer)
    job = online.reader.embedding_job(same, (ask,), call.caller.tenant)
    most = min(_num_ctx(options) or job.truncation.max_tokens, job.truncation.max_tokens)
    job = replace(
        job, truncation=replace(job.truncation, max_tokens=most, limit_name="options.num_ctx", how_to_cut=CUT)
    )
    return await online.embedder.embed(job, call.caller)


def _num_ctx(options: dict[str, Any]) -> int | None:
    most = options.get("num_ctx")
    if most is None or (type(most) is int and most > 0):
        return most
    param = "options.num_ctx"
    raise InputError("invalid_request", f"`{param}`: expected an integer >= 1, got another value", param=param)


def _vectors(result: EmbedResult) -> list[list[float]]:
    rows = [NumberList(one.vector.rows["float32"], "float32") for one in result.embedded]
    return cast("list[list[float]]", rows)  # printed when they are sent


_ERRORS = {400: invalid("invalid_request", "`input`: required, got nothing", "input")}

ROUTES = (
    Route(
        embed_ollama,
        "embedOllama",
        takes_timeout=True,
        summary="Vectors in Ollama's form",
        description=(
            "For clients of Ollama. The vectors are those of `/v1/embeddings`; `options` and `keep_alive` are "
            "read as their descriptions say. Its other routes, which load models and generate text, are not here."
        ),
        request=OllamaEmbedRequest,
        response=OllamaEmbedResponse,
        headers=TIMING_HEADERS,
        request_examples={
            "texts": example(
                "Two texts",
                {
                    "model": "builtin",
                    "input": [{"text": "a red bicycle"}, {"text": "a green door"}],
                    "truncate": True,
                    "dimensions": 64,
                    "options": {"num_ctx": 2048},
                    "keep_alive": "5m",
                },
            ),
            "image": example("An image", {"input": [{"image": EXAMPLE_IMAGE}]}),
        },
        response_examples={"one": example("Of one text", sample(OllamaEmbedResponse, embeddings=[VECTOR]))},
        error_examples=_ERRORS,
    ),
    Route(
        create_ollama_embedding,
        "createOllamaEmbedding",
        takes_timeout=True,
        summary="A vector in Ollama's older form",
        description="One text in `prompt`, for clients of Ollama that call its older route.",
        request=OllamaEmbeddingsRequest,
        response=OllamaEmbeddingsResponse,
        headers=TIMING_HEADERS,
        request_examples={"text": example("A text", {"model": "builtin", "prompt": "a red bicycle"})},
        response_examples={"one": example("Of one text", sample(OllamaEmbeddingsResponse, embedding=VECTOR))},
        error_examples=_ERRORS,
    ),
)
