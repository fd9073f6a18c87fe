"""`POST /v1/embed`, in Cohere's older form: v2's request with fewer fields, and v2's answer in another shape."""

from typing import cast

import msgspec
from litestar import post
from litestar.types import ASGIApp

from schemas.content.examples import EXAMPLE_IMAGE
from schemas.endpoints.embed import EmbedApiVersion, EmbedRequest, EmbedResponse
from schemas.endpoints.embed_v1 import EmbedByType, EmbedFloats, EmbedV1Request, EmbedV1Response
from schemas.parsing.rules import check_embed_v1_request
from service.http.answer_headers import TIMING_HEADERS
from service.http.examples import VECTOR, example, missing, sample, to_builtin, undecodable
from service.http.request import Call, reads
from service.http.responses.answer import answer, in_parts
from service.http.route import Route
from service.http.routes.embed import BY_TYPE, embed_inputs, embed_response, meta_example
from service.outputs.kinds import check_fits

V1 = EmbedApiVersion(version="1")


@post("/v1/embed", status_code=200)
@reads(EmbedV1Request)
async def embed_v1(call: Call[EmbedV1Request]) -> ASGIApp:
    """One vector for each input: a bare list, or by number format when formats are named."""
    body = call.body
    check_embed_v1_request(body)
    is_bare = body.embedding_types is None
    if is_bare:
        check_fits(call.serving.find(body.model, "vectors", body=body).model.offer, "dense", "a bare list")
    done = await embed_inputs(call, EmbedRequest(**msgspec.structs.asdict(body)))
    return await answer(
        call, done.result, lambda: in_parts(_response(embed_response(done), is_bare=is_bare)), done.fingerprint
    )


def _response(answer: EmbedResponse, *, is_bare: bool) -> EmbedV1Response:
    meta = msgspec.structs.replace(answer.meta, api_version=V1)
    if not is_bare:
        return EmbedByType(
            id=answer.id, embeddings=answer.embeddings, texts=answer.texts, images=answer.images, meta=meta
        )
    rows = cast(list[list[float]], answer.embeddings.float_)  # the one format of a request that names none
    return EmbedFloats(id=answer.id, embeddings=rows, texts=answer.texts, images=answer.images, meta=meta)


_META = meta_example(26, version="1")

ROUTE = Route(
    embed_v1,
    "embedV1",
    takes_timeout=True,
    summary="Vectors in Cohere's older form",
    description=(
        "For clients of Cohere's v1, such as the SDK's `Client` and LangChain's `CohereEmbeddings`. Exactly one of "
        "`texts` and `images` holds what to embed. Without `embedding_types` the answer is a bare list of vectors, "
        "else lists by number format, as on `/v2/embed`. The vectors are the same."
    ),
    request=EmbedV1Request,
    response=EmbedV1Response,
    headers=TIMING_HEADERS,
    request_examples={
        "texts": to_builtin("Queries", input_type="search_query", texts=["something to ride", "a way in"]),
        "types": to_builtin(
            "Documents, in two number formats",
            input_type="search_document",
            texts=["a red bicycle"],
            embedding_types=["float", "ubinary"],
            truncate="END",
        ),
        "images": to_builtin("An image", input_type="image", images=[EXAMPLE_IMAGE]),
    },
    response_examples={
        "floats": example("A bare list", sample(EmbedFloats, embeddings=[VECTOR], meta=_META)),
        "types": example("By number format", sample(EmbedByType, embeddings=BY_TYPE, meta=_META)),
    },
    error_examples={400: missing("texts", "images"), 422: undecodable("images[3]")},
)
