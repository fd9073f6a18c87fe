"""`POST /v1/embeddings`."""

import time
from typing import Any, cast

from litestar import post
from litestar.types import ASGIApp
from msgspec import UNSET

from schemas.endpoints.embeddings import Embedding, EmbeddingData, EmbeddingRequest, EmbeddingResponse
from schemas.parsing.rules import check_embedding_request
from service.errors import ServiceError
from service.front.job import EmbedResult
from service.http.answer_headers import TIMING_HEADERS
from service.http.errors import report_error
from service.http.examples import (
    COLORS,
    FEATURES_PART,
    IMAGE_PART,
    QUERY,
    TEXT_PART,
    VECTOR,
    example,
    sample,
    to_builtin,
    usage,
    user,
)
from service.http.request import Call, reads
from service.http.responses.answer import ANY, VARY, answer, in_parts, is_answered_raw, raw_answer
from service.http.route import Route
from service.outputs.chunks import chunk_places, embeddings_ask
from service.outputs.dense import VectorFormat


async def create_embedding(call: Call[EmbeddingRequest]) -> ASGIApp:
    """One vector for each input, in OpenAI's form."""
    serving, body = call.serving, call.body
    accepts_ids = serving.settings.token_arrays == "accept"  # noqa: S105  # not that kind of token
    check_embedding_request(body, accepts_token_arrays=accepts_ids)
    accept = call.context.headers.get(b"accept", b"")
    is_raw = accept not in ANY and is_answered_raw(accept, body)
    online = serving.find(body.model, "dense", "`/v1/embeddings`", body)
    name = body.model or online.model.name
    vector_format = VectorFormat.of(body)
    dimensions = body.dimensions or online.model.profile.dimensions
    if body.dimensions:
        online.model.check_dimensions(dimensions, "dimensions")
    ask = embeddings_ask(body, dimensions, online.model.offer)
    job = online.reader.embedding_job(body, (ask,), call.caller.tenant)
    id_ = call.context.id
    made_by = online.fingerprint_as_written if body.part_order == "as_written" else online.fingerprint
    result = await online.embedder.embed(job, call.caller)
    if is_raw:
        return await raw_answer(call, result, made_by, vector_format, ask.dimensions)
    return await answer(
        call, result, lambda: in_parts(embedding_response(id_, body, name, result, vector_format)), made_by, VARY
    )


handler = post("/v1/embeddings", status_code=200)(reads(EmbeddingRequest)(create_embedding))


def embedding_response(
    id_: str, body: EmbeddingRequest, name: str, result: EmbedResult, vector_format: VectorFormat
) -> EmbeddingResponse:
    """The answer in OpenAI's form, with the model's name as the request gave it."""
    places = chunk_places(body, [len(one.prompt.plan.ids) for one in result.embedded]) if body.late_chunking else []
    data = []
    for index, one in enumerate(result.inputs):
        if isinstance(one, ServiceError):
            data.append(EmbeddingData(index=index, embedding=None, truncated=False, error=report_error(one, id_)))
            continue
        vector = cast(Embedding, vector_format.json(one.vector.rows[vector_format.dtype]))  # printed when it is sent
        span = places[index] if places else UNSET
        data.append(EmbeddingData(index=index, embedding=vector, truncated=one.prompt.truncated, span=span))
    usage = result.counts.usage(result.num_inputs)
    return EmbeddingResponse(id=f"embd-{id_}", created=int(time.time()), model=name, data=data, usage=usage)


def _answer(vector: list[float] | str) -> dict[str, Any]:
    return sample(EmbeddingResponse, data=[sample(EmbeddingData, embedding=vector)], usage=usage(26))


ROUTE = Route(
    handler,
    "createEmbedding",
    takes_timeout=True,
    summary="Vectors in OpenAI's form",
    description=(
        "Exactly one of `input` (texts), `messages` (conversations) and `inputs` (items of text and images) "
        "holds what to embed. The same content gives the same vector in every form, and on `/v2/embed`. With "
        "`Accept: application/octet-stream` the answer is the bytes of the vectors alone, with headers in place "
        "of the JSON fields; errors are still JSON. Raw bytes have no place for the error of an item, so "
        "`on_error: per_item` is refused with them."
    ),
    request=EmbeddingRequest,
    response=EmbeddingResponse,
    headers=(*TIMING_HEADERS, "Vary"),
    request_examples={
        "text": to_builtin("One text", input="a red bicycle against a wall"),
        "texts": to_builtin("Many texts, short vectors", input=["a red bicycle", "a green door", ""], dimensions=64),
        "base64": to_builtin("A vector as base64", input=["a red bicycle"], encoding_format="base64"),
        "half": to_builtin(
            "Many texts, in half the bytes",
            input=["a red bicycle", "a green door"],
            encoding_format="base64",
            embed_dtype="float16",
            endianness="little",
            normalize=True,
        ),
        "query": to_builtin("A search query, by its instruction", input="something to ride", instruction=QUERY),
        "passages": to_builtin(
            "Passages for a search index, as Voyage's and NVIDIA's clients name them",
            input=["a red bicycle"],
            input_type="passage",
            truncate="END",
        ),
        "fused": to_builtin(
            "An image and a text in one vector, and the image alone",
            instruction=COLORS,
            inputs=[{"content": [IMAGE_PART, TEXT_PART]}, {"content": [IMAGE_PART]}],
        ),
        "precomputed": to_builtin(
            "An image sent as features, and a text", inputs=[{"content": [FEATURES_PART, TEXT_PART]}]
        ),
        "conversation": to_builtin(
            "One conversation, one vector",
            messages=[{"role": "system", "content": [{"type": "text", "text": QUERY}]}, user(IMAGE_PART, TEXT_PART)],
        ),
        "conversations": to_builtin("Two conversations, two vectors", messages=[[user(TEXT_PART)], [user(IMAGE_PART)]]),
    },
    response_examples={
        "float": example("Numbers", _answer(VECTOR)),
        "base64": example("Base64", _answer("AAAAPwAAAL8AAAA/AAAAPw==")),
    },
    raw_examples={
        "float16": example(
            "Four components in little-endian float16, each character a byte: 0.1, 0.1, 0.325, 0.525", "f.f.3538"
        )
    },
)
