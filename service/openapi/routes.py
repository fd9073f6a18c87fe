"""The route table of the document: every operation of this release, in reading order.

A test of `service.http` proves that the server's routes and this table are equal.
"""

from schemas.endpoints.cohere_tokens import (
    CohereCheckApiKeyResponse,
    CohereDetokenizeRequest,
    CohereDetokenizeResponse,
    CohereTokenizeRequest,
    CohereTokenizeResponse,
)
from schemas.endpoints.embed import EmbedRequest, EmbedResponse
from schemas.endpoints.embed_v1 import EmbedV1Request, EmbedV1Response
from schemas.endpoints.embeddings import EmbeddingRequest, EmbeddingResponse
from schemas.endpoints.image_embeds import ImageEmbedsRequest, ImageEmbedsResponse
from schemas.endpoints.models import ModelCard, ModelList
from schemas.endpoints.stream import StreamAnswer, StreamLine, StreamOptions
from schemas.endpoints.tokenize import DetokenizeRequest, DetokenizeResponse, TokenizeRequest, TokenizeResponse
from schemas.errors import CohereErrorResponse
from service.openapi import tei
from service.openapi.examples import answers, errors, requests
from service.openapi.parameters import TIMING_HEADERS
from service.openapi.route import KEY_STATUSES, TOKEN_STATUSES, Route, page, probe
from service.openapi.second_stage import SECOND_STAGE

TAGS = {
    "Embeddings": "Turn texts, images and mixtures of them into vectors.",
    "Scores": "Put documents in the order of their relevance to a query: the second stage of a search.",
    "Tokens": "See and count tokens without embedding them.",
    "Models": "What is served, and how requests to it are treated.",
    "Probes": "For orchestrators and monitoring.",
    "Pages": "For people.",
}
"""Groups of operations, with their purpose."""

LINES = "application/x-ndjson"

ROUTES = (
    Route(
        path="/v1/embeddings",
        operation_id="createEmbedding",
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
        request_examples=requests.EMBEDDINGS,
        response_examples=answers.EMBEDDINGS,
        raw_examples=answers.RAW_EMBEDDINGS,
    ),
    Route(
        path="/v1/embeddings/stream",
        operation_id="createEmbeddingStream",
        takes_timeout=True,
        summary="Vectors of any number of lines, as they are done",
        description=(
            "The body is lines of JSON, one `StreamLine` each; the answer is lines of JSON, one `StreamAnswer` each, "
            "in order of completion: `index` and `id` say which line an answer belongs to. Both schemas here are of "
            "one line. Options for all lines are query parameters. The vectors are those of `/v1/embeddings`. The "
            "answer begins before the body has ended, and the body is read only as fast as answers are taken: send "
            "and read at the same time. A line that is malformed, too long or refused is answered by an error, and the "
            "stream goes on. The last line has `type` `end`; an answer without it was cut off. `X-Request-Timeout` "
            "applies to each line, from when it was read."
        ),
        query=StreamOptions,
        request=StreamLine,
        request_media_type=LINES,
        response=StreamAnswer,
        media_type=LINES,
        error_statuses=(400, 401, 404, 414, 415, 429, 431, 500, 503),
        headers=("x-model-fingerprint", "x-total-time"),
        request_examples=requests.STREAM_LINES,
        response_examples=answers.STREAM_LINES,
    ),
    Route(
        path="/v2/embed",
        operation_id="embed",
        takes_timeout=True,
        summary="Vectors in Cohere's form",
        description=(
            "Exactly one of `texts`, `images` and `inputs` holds what to embed. The answer has a list of vectors for "
            "each of `embedding_types`. A late-interaction model has a vector for each token of an item's prompt; its "
            "types, `multi_float` and so on, have fields of their own."
        ),
        request=EmbedRequest,
        response=EmbedResponse,
        error=CohereErrorResponse,
        headers=TIMING_HEADERS,
        request_examples=requests.EMBED,
        response_examples=answers.EMBED,
        error_examples=errors.EMBED,
    ),
    Route(
        path="/v1/image_embeds",
        operation_id="createImageEmbeds",
        takes_timeout=True,
        summary="Vision features of images",
        description=(
            "Runs the vision tower alone. Each entry's `part` goes into `messages` or `inputs` as it stands, under any "
            "instruction and any number of times: the vectors are those of the image itself."
        ),
        request=ImageEmbedsRequest,
        response=ImageEmbedsResponse,
        headers=TIMING_HEADERS,
        request_examples=requests.IMAGE_EMBEDS,
        response_examples=answers.IMAGE_EMBEDS,
    ),
    Route(
        path="/v1/embed",
        operation_id="embedV1",
        takes_timeout=True,
        summary="Vectors in Cohere's older form",
        description=(
            "For clients of Cohere's v1, such as the SDK's `Client` and LangChain's `CohereEmbeddings`. Exactly one of "
            "`texts` and `images` holds what to embed. Without `embedding_types` the answer is a bare list of vectors, "
            "else lists by number format, as on `/v2/embed`. The vectors are the same."
        ),
        request=EmbedV1Request,
        response=EmbedV1Response,
        error=CohereErrorResponse,
        headers=TIMING_HEADERS,
        request_examples=requests.EMBED_V1,
        response_examples=answers.EMBED_V1,
        error_examples=errors.EMBED_V1,
    ),
    *SECOND_STAGE,
    tei.EMBED,
    tei.EMBED_SPARSE,
    Route(
        path="/tokenize",
        operation_id="tokenizeInputs",
        takes_timeout=True,
        tag="Tokens",
        summary="The tokens that a request would have",
        description=(
            "Exactly one of `prompt`, `input`, `messages` and `inputs` holds what to tokenize. The tokens are those "
            "that `/v1/embeddings` reads for the same fields, template, instruction and images included."
        ),
        request=TokenizeRequest,
        response=TokenizeResponse,
        request_examples=requests.TOKENIZE,
        response_examples=answers.TOKENIZE,
        error_examples=errors.TOKENIZE,
    ),
    Route(
        path="/detokenize",
        operation_id="detokenizeTokens",
        tag="Tokens",
        summary="The text of token ids",
        description="Special tokens are written out. Each image token of an image's run is written out too.",
        request=DetokenizeRequest,
        response=DetokenizeResponse,
        error_statuses=TOKEN_STATUSES,
        request_examples=requests.DETOKENIZE,
        response_examples=answers.DETOKENIZE,
        error_examples=errors.DETOKENIZE,
    ),
    Route(
        path="/v1/tokenize",
        operation_id="tokenizeText",
        takes_timeout=True,
        tag="Tokens",
        summary="The tokens of a text, in Cohere's form",
        description="The text alone, without template and end tokens; `/tokenize` has the tokens of a whole request.",
        request=CohereTokenizeRequest,
        response=CohereTokenizeResponse,
        error=CohereErrorResponse,
        error_statuses=TOKEN_STATUSES,
        request_examples=requests.COHERE_TOKENIZE,
        response_examples=answers.COHERE_TOKENIZE,
        error_examples=errors.COHERE_TOKENIZE,
    ),
    Route(
        path="/v1/detokenize",
        operation_id="detokenizeText",
        takes_timeout=True,
        tag="Tokens",
        summary="The text of token ids, in Cohere's form",
        description="Special tokens are written out, as on `/detokenize`.",
        request=CohereDetokenizeRequest,
        response=CohereDetokenizeResponse,
        error=CohereErrorResponse,
        error_statuses=TOKEN_STATUSES,
        request_examples=requests.DETOKENIZE,
        response_examples=answers.COHERE_DETOKENIZE,
        error_examples=errors.COHERE_DETOKENIZE,
    ),
    Route(
        path="/v1/check-api-key",
        operation_id="checkApiKey",
        tag="Models",
        summary="Is this key known?",
        description="Takes no body. An unknown key is answered 401; a server without keys accepts every key.",
        response=CohereCheckApiKeyResponse,
        error=CohereErrorResponse,
        error_statuses=KEY_STATUSES,
        response_examples=answers.CHECKED_KEY,
        error_examples=errors.EMBED,
    ),
    Route(
        method="GET",
        path="/v1/models",
        operation_id="listModels",
        tag="Models",
        summary="The models, with their plans",
        description="Lists the canonical id and its aliases, each with the plan that requests to it follow.",
        response=ModelList,
        error_statuses=KEY_STATUSES,
        response_examples=answers.MODEL_LIST,
    ),
    Route(
        method="GET",
        path="/v1/models/{model_id}",
        operation_id="getModel",
        tag="Models",
        summary="One model, with its plan",
        description="The plan: pooling, lengths offered, prompt layout, instructions by name, limits, revision.",
        response=ModelCard,
        error_statuses=(401, 404, *KEY_STATUSES[1:]),
        parameters={"model_id": "The model's id or an alias. It may hold slashes."},
        response_examples=answers.MODEL_CARD,
    ),
    tei.INFO,
    probe(
        "/livez",
        "getLiveness",
        "Is the process alive?",
        "200 as long as the front process answers, whatever the state of the model.",
        (),
    ),
    probe(
        "/readyz",
        "getReadiness",
        "Are requests answered correctly?",
        "200 only when the health probe's embedding has matched its known answer.",
        (503,),
    ),
    probe("/health", "getHealth", "The same as /readyz", "An alias of `/readyz`, for tools that look here.", (503,)),
    page(
        "/metrics",
        "getMetrics",
        "Metrics for Prometheus",
        "Counters and histograms named `cenote_*`, in Prometheus's text format.",
        "text/plain",
        tag="Probes",
        protected=False,
    ),
    page(
        "/openapi.json",
        "getOpenapi",
        "This document",
        "OpenAPI 3.1.0, byte for byte the file of the release.",
        "application/json",
    ),
    page(
        "/openapi-sdk.json",
        "getOpenapiSdk",
        "This document for client generators",
        "Its SDK profile, in OpenAPI 3.0.3: no unions of arrays. Byte for byte the file of the release.",
        "application/json",
    ),
    page(
        "/docs",
        "getDocs",
        "The reference, as a page",
        "Every operation, field, error and limit, with calls to copy. Needs no script and no other host.",
        "text/html",
    ),
    page(
        "/",
        "getPlayground",
        "The playground, as a page",
        "Images and texts under several instructions: their similarities, a map, what each size and "
        "number format costs, cache hits and times, and the request to copy. Needs no other host. The page and its "
        "files, below `/playground/`, are the same for everyone and need no key; the requests that they send do.",
        "text/html",
        protected=False,
    ),
)
"""Every operation."""
