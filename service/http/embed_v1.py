"""`POST /v1/embed`, in Cohere's older form: v2's request with fewer fields, and v2's answer in another shape."""

from functools import partial
from typing import cast

import msgspec
from litestar import post

from schemas.embed import EmbedApiVersion, EmbedRequest, EmbedResponse
from schemas.embed_v1 import EmbedByType, EmbedFloats, EmbedV1Request, EmbedV1Response
from schemas.rules import check_embed_v1_request
from service.front.admission import Place
from service.front.serving import Serving, serving_of
from service.front.tenant import Caller
from service.http.body import announced_bytes, read_body
from service.http.caller import caller_of
from service.http.embed import answer_embed
from service.http.errors import AnyRequest
from service.http.reply import Reply

V1 = EmbedApiVersion(version="1")


@post("/v1/embed", status_code=200)
async def embed_v1(request: AnyRequest) -> Reply:
    """One vector for each input: a bare list, or by number format when formats are named."""
    serving = serving_of(request.app)
    caller = caller_of(request, serving.settings.request_timeout_s)
    with serving.admission.body(announced_bytes(request, serving.settings.max_body_bytes), caller.tenant) as room:
        return await _embed(request, serving, caller, room)


async def _embed(request: AnyRequest, serving: Serving, caller: Caller, room: Place) -> Reply:
    body = await read_body(request, EmbedV1Request, room, ignore_unknown=serving.ignores_unknown_fields)
    check_embed_v1_request(body)
    if body.embedding_types is None:
        serving.online().model.check_single_vector("a bare list")
    shape = partial(_response, is_bare=body.embedding_types is None)
    return await answer_embed(request, serving, caller, _as_v2(body), shape)


def _as_v2(body: EmbedV1Request) -> EmbedRequest:
    return EmbedRequest(
        model=body.model,
        input_type=body.input_type,
        texts=body.texts,
        images=body.images,
        embedding_types=body.embedding_types,
        truncate=body.truncate,
        image_background=body.image_background,
    )


def _response(answer: EmbedResponse, *, is_bare: bool) -> EmbedV1Response:
    meta = msgspec.structs.replace(answer.meta, api_version=V1)
    if not is_bare:
        return EmbedByType(
            id=answer.id, embeddings=answer.embeddings, texts=answer.texts, images=answer.images, meta=meta
        )
    rows = cast(list[list[float]], answer.embeddings.float_)  # the one format of a request that names none
    return EmbedFloats(id=answer.id, embeddings=rows, texts=answer.texts, images=answer.images, meta=meta)
