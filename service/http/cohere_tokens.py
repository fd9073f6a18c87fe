"""`POST /v1/tokenize`, `/v1/detokenize`, `/v1/check-api-key`, in Cohere's form."""

from collections.abc import Sequence

import msgspec
from litestar import MediaType, Response, post

from schemas.cohere_tokens import (
    CohereCheckApiKeyResponse,
    CohereDetokenizeRequest,
    CohereDetokenizeResponse,
    CohereTokenizeRequest,
    CohereTokenizeResponse,
    CohereTokenMeta,
)
from service.fairness.threads import Steps
from service.front.served_model import ServedModel
from service.front.serving import serving_of
from service.http.body import announced_bytes, read_body
from service.http.caller import caller_of
from service.http.embed_v1 import V1
from service.http.errors import AnyRequest
from service.http.reply import Reply
from service.http.tokenize import MAX_DETOKENIZE_BYTES, STR_BYTES, TOKEN_BYTES, check_ids, written_aside
from service.prompt.token_strs import token_strs

META = CohereTokenMeta(api_version=V1)


@post("/v1/tokenize", status_code=200, request_max_body_size=MAX_DETOKENIZE_BYTES)
async def tokenize_text(request: AnyRequest) -> Reply:
    """The tokens of a text alone."""
    serving = serving_of(request.app)
    caller = caller_of(request, serving.settings.request_timeout_s)
    with serving.admission.body(announced_bytes(request, MAX_DETOKENIZE_BYTES), caller.tenant) as room:
        body = await read_body(request, CohereTokenizeRequest, room, ignore_unknown=serving.ignores_unknown_fields)
        model = serving.online().model
        model.check_name(body.model)
        hold = serving.answers.hold(len(body.text.encode()) * (TOKEN_BYTES + STR_BYTES), caller.tenant)
        return await written_aside(serving, _tokens(body.text, model), len(body.text), hold)


@post("/v1/detokenize", status_code=200, request_max_body_size=MAX_DETOKENIZE_BYTES)
async def detokenize_text(request: AnyRequest) -> Reply:
    """The text of token ids."""
    serving = serving_of(request.app)
    caller = caller_of(request, serving.settings.request_timeout_s)
    with serving.admission.body(announced_bytes(request, MAX_DETOKENIZE_BYTES), caller.tenant) as room:
        body = await read_body(request, CohereDetokenizeRequest, room, ignore_unknown=serving.ignores_unknown_fields)
        model = serving.online().model
        model.check_name(body.model)
        check_ids(body.tokens, model.tokenizer.num_ids)
        hold = serving.answers.hold(len(body.tokens) * STR_BYTES, caller.tenant)
        return await written_aside(serving, _text(body.tokens, model), len(body.tokens), hold)


@post("/v1/check-api-key", status_code=200)
async def check_api_key(request: AnyRequest) -> Response[bytes]:
    """That the key is known: without one nobody gets here."""
    return Response(msgspec.json.encode(CohereCheckApiKeyResponse()), media_type=MediaType.JSON)


def _text(token_ids: Sequence[int], model: ServedModel) -> Steps[CohereDetokenizeResponse]:
    yield
    return CohereDetokenizeResponse(text=model.tokenizer.decode(token_ids), meta=META)


def _tokens(text: str, model: ServedModel) -> Steps[CohereTokenizeResponse]:
    yield
    token_ids = model.tokenizer.encode(text).ids
    return CohereTokenizeResponse(tokens=token_ids, token_strings=token_strs(model.tokenizer, token_ids), meta=META)
