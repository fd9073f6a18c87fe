"""`POST /v1/embed`, in Cohere's older form: v2's request with fewer fields, and v2's answer in another shape."""

from typing import cast

import msgspec
from litestar import post
from litestar.types import ASGIApp

from schemas.endpoints.embed import EmbedApiVersion, EmbedRequest, EmbedResponse
from schemas.endpoints.embed_v1 import EmbedByType, EmbedFloats, EmbedV1Request, EmbedV1Response
from schemas.parsing.rules import check_embed_v1_request
from service.http.body import read_call
from service.http.request_context import AnyRequest
from service.http.responses.answer import answer
from service.http.routes.embed import embed_inputs, embed_response

V1 = EmbedApiVersion(version="1")


@post("/v1/embed", status_code=200)
async def embed_v1(request: AnyRequest) -> ASGIApp:
    """One vector for each input: a bare list, or by number format when formats are named."""
    with await read_call(request, EmbedV1Request) as call:
        body = call.body
        check_embed_v1_request(body)
        is_bare = body.embedding_types is None
        if is_bare:
            call.serving.find(body.model, "vectors").model.check_single_vector("a bare list")
        as_v2 = EmbedRequest(
            model=body.model,
            input_type=body.input_type,
            texts=body.texts,
            images=body.images,
            embedding_types=body.embedding_types,
            truncate=body.truncate,
            image_background=body.image_background,
        )
        done = await embed_inputs(call, as_v2)
        return await answer(
            call.serving.turns,
            lambda: _response(embed_response(done), is_bare=is_bare),
            done.result,
            done.fingerprint,
        )


def _response(answer: EmbedResponse, *, is_bare: bool) -> EmbedV1Response:
    meta = msgspec.structs.replace(answer.meta, api_version=V1)
    if not is_bare:
        return EmbedByType(
            id=answer.id, embeddings=answer.embeddings, texts=answer.texts, images=answer.images, meta=meta
        )
    rows = cast(list[list[float]], answer.embeddings.float_)  # the one format of a request that names none
    return EmbedFloats(id=answer.id, embeddings=rows, texts=answer.texts, images=answer.images, meta=meta)
