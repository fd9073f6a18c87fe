"""`POST /v1/tokenize`, `/v1/detokenize`, `/v1/check-api-key`, in Cohere's form."""

import msgspec
from litestar import MediaType, Response, post
from litestar.types import ASGIApp

from schemas.endpoints.cohere_tokens import (
    CohereCheckApiKeyResponse,
    CohereDetokenizeRequest,
    CohereDetokenizeResponse,
    CohereTokenizeRequest,
    CohereTokenizeResponse,
    CohereTokenMeta,
)
from service.fairness.threads import Steps
from service.front.served_model import ServedModel
from service.http.body import read_call
from service.http.request_context import AnyRequest
from service.http.routes.embed_v1 import V1
from service.http.routes.tokenize import MAX_DETOKENIZE_BYTES, STR_BYTES, TOKEN_BYTES, answer_in_thread, answer_text

META = CohereTokenMeta(api_version=V1)


@post("/v1/tokenize", status_code=200, request_max_body_size=MAX_DETOKENIZE_BYTES)
async def tokenize_text(request: AnyRequest) -> ASGIApp:
    """The tokens of a text alone."""
    with await read_call(request, CohereTokenizeRequest) as call:
        serving, text = call.serving, call.body.text
        online = serving.find(call.body.model, "prompt")
        hold = serving.answers.hold(len(text.encode()) * (TOKEN_BYTES + STR_BYTES), call.caller.tenant)
        return await answer_in_thread(serving, online, _tokens(text, online.model), len(text), hold)


@post("/v1/detokenize", status_code=200, request_max_body_size=MAX_DETOKENIZE_BYTES)
async def detokenize_text(request: AnyRequest) -> ASGIApp:
    """The text of token ids."""
    return await answer_text(
        request, CohereDetokenizeRequest, lambda text: CohereDetokenizeResponse(text=text, meta=META)
    )


@post("/v1/check-api-key", status_code=200)
async def check_api_key(request: AnyRequest) -> Response[bytes]:
    """Confirm the key: a request without a known one does not get here."""
    return Response(msgspec.json.encode(CohereCheckApiKeyResponse()), media_type=MediaType.JSON)


def _tokens(text: str, model: ServedModel) -> Steps[CohereTokenizeResponse]:
    yield
    token_ids = model.tokenizer.encode(text).ids
    return CohereTokenizeResponse(tokens=token_ids, token_strings=model.tokenizer.token_strs(token_ids), meta=META)
