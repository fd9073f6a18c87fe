"""What Cohere's client asks beside its vectors. Part of the table in `routes`."""

from schemas.cohere_tokens import (
    CohereCheckApiKeyResponse,
    CohereDetokenizeRequest,
    CohereDetokenizeResponse,
    CohereTokenizeRequest,
    CohereTokenizeResponse,
)
from schemas.errors import CohereErrorResponse
from service.openapi import examples_tokens
from service.openapi.examples import COHERE_ERRORS
from service.openapi.route import KEY_STATUSES, Route

_STATUSES = (400, 401, 404, 408, 413, 414, 415, 429, 431, 500, 503)

COHERE_ROUTES = (
    Route(
        method="POST",
        path="/v1/tokenize",
        operation_id="tokenizeText",
        takes_timeout=True,
        tag="Tokens",
        summary="The tokens of a text, in Cohere's form",
        description="The text alone, without template and end tokens; `/tokenize` tells what a request reads of it.",
        request=CohereTokenizeRequest,
        response=CohereTokenizeResponse,
        error=CohereErrorResponse,
        error_statuses=_STATUSES,
        request_examples=examples_tokens.COHERE_TOKENIZE_REQUESTS,
        response_examples=examples_tokens.COHERE_TOKENIZE_RESPONSES,
        error_examples=examples_tokens.COHERE_TOKENIZE_ERRORS,
    ),
    Route(
        method="POST",
        path="/v1/detokenize",
        operation_id="detokenizeText",
        takes_timeout=True,
        tag="Tokens",
        summary="The text of token ids, in Cohere's form",
        description="Special tokens are written out, as on `/detokenize`.",
        request=CohereDetokenizeRequest,
        response=CohereDetokenizeResponse,
        error=CohereErrorResponse,
        error_statuses=_STATUSES,
        request_examples=examples_tokens.DETOKENIZE_REQUESTS,
        response_examples=examples_tokens.COHERE_DETOKENIZE_RESPONSES,
        error_examples=examples_tokens.COHERE_DETOKENIZE_ERRORS,
    ),
    Route(
        method="POST",
        path="/v1/check-api-key",
        operation_id="checkApiKey",
        tag="Models",
        summary="Is this key known?",
        description="Takes no body. A key that is not known is answered 401; a server without keys knows every one.",
        response=CohereCheckApiKeyResponse,
        error=CohereErrorResponse,
        error_statuses=KEY_STATUSES,
        response_examples=examples_tokens.CHECKED_KEYS,
        error_examples=COHERE_ERRORS,
    ),
)
"""Every operation of Cohere's that gives no vectors."""
