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
from schemas.endpoints.embed import EmbedApiVersion
from service.fairness import Steps
from service.front.served_model import ServedModel
from service.http.examples import example, invalid, sample, to_builtin
from service.http.request import AnyRequest, Call, reads
from service.http.route import KEY_STATUSES, TOKEN_STATUSES, Route
from service.http.routes.embed_v1 import V1
from service.http.routes.tokenize import (
    BAD_TOKEN,
    MAX_DETOKENIZE_BYTES,
    STR_BYTES,
    TOKEN_BYTES,
    TOKENS_BODY,
    answer_in_thread,
    answer_text,
)

META = CohereTokenMeta(api_version=V1)


@post("/v1/tokenize", status_code=200, request_max_body_size=MAX_DETOKENIZE_BYTES)
@reads(CohereTokenizeRequest)
async def tokenize_text(call: Call[CohereTokenizeRequest]) -> ASGIApp:
    """The tokens of a text alone."""
    serving, text = call.serving, call.body.text
    online = serving.find(call.body.model, "prompt")
    lease = serving.answers.take_answer(len(text.encode()) * (TOKEN_BYTES + STR_BYTES), call.caller.tenant)
    return await answer_in_thread(serving, online, _tokens(text, online.model), len(text), lease)


@post("/v1/detokenize", status_code=200, request_max_body_size=MAX_DETOKENIZE_BYTES)
@reads(CohereDetokenizeRequest)
async def detokenize_text(call: Call[CohereDetokenizeRequest]) -> ASGIApp:
    """The text of token ids."""
    return await answer_text(call, lambda text: CohereDetokenizeResponse(text=text, meta=META))


@post("/v1/check-api-key", status_code=200)
async def check_api_key(request: AnyRequest) -> Response[bytes]:
    """Confirm the key: a request without a known one does not get here."""
    return Response(msgspec.json.encode(CohereCheckApiKeyResponse()), media_type=MediaType.JSON)


def _tokens(text: str, model: ServedModel) -> Steps[CohereTokenizeResponse]:
    yield
    token_ids = model.tokenizer.encode(text).ids
    return CohereTokenizeResponse(tokens=token_ids, token_strings=model.tokenizer.token_strs(token_ids), meta=META)


_META = {"api_version": sample(EmbedApiVersion, version="1")}

ROUTES = (
    Route(
        tokenize_text,
        "tokenizeText",
        takes_timeout=True,
        tag="Tokens",
        summary="The tokens of a text, in Cohere's form",
        description="The text alone, without template and end tokens; `/tokenize` has the tokens of a whole request.",
        request=CohereTokenizeRequest,
        response=CohereTokenizeResponse,
        error_statuses=TOKEN_STATUSES,
        request_examples={"text": to_builtin("A text", text="a red bicycle")},
        response_examples={
            "text": example(
                "Its six tokens",
                sample(
                    CohereTokenizeResponse,
                    tokens=TOKENS_BODY["value"]["tokens"],
                    token_strings=["a", " red", " b", "ic", "y", "cle"],
                    meta=_META,
                ),
            )
        },
        error_examples={400: invalid("invalid_request", "`text`: required, got nothing", "text")},
    ),
    Route(
        detokenize_text,
        "detokenizeText",
        takes_timeout=True,
        tag="Tokens",
        summary="The text of token ids, in Cohere's form",
        description="Special tokens are written out, as on `/detokenize`.",
        request=CohereDetokenizeRequest,
        response=CohereDetokenizeResponse,
        error_statuses=TOKEN_STATUSES,
        request_examples={"tokens": TOKENS_BODY},
        response_examples={"text": example("Their text", sample(CohereDetokenizeResponse, meta=_META))},
        error_examples={400: BAD_TOKEN},
    ),
    Route(
        check_api_key,
        "checkApiKey",
        tag="Models",
        summary="Is this key known?",
        description="Takes no body. An unknown key is answered 401; a server without keys accepts every key.",
        response=CohereCheckApiKeyResponse,
        error_statuses=KEY_STATUSES,
        response_examples={"known": example("A known key", sample(CohereCheckApiKeyResponse))},
    ),
)
