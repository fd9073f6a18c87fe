"""The route table of the document: every operation of this release, by hand, in the order people read them.

A test of `service.http` proves that the server's routes and this table are equal.
"""

from schemas.embed import EmbedRequest, EmbedResponse
from schemas.embed_v1 import EmbedV1Request, EmbedV1Response
from schemas.embeddings import EmbeddingRequest, EmbeddingResponse
from schemas.errors import CohereErrorResponse
from schemas.image_embeds import ImageEmbedsRequest, ImageEmbedsResponse
from schemas.models import ModelCard, ModelList
from schemas.stream import StreamAnswer, StreamLine, StreamOptions
from schemas.tokenize import DetokenizeRequest, DetokenizeResponse, TokenizeRequest, TokenizeResponse
from service.openapi import (
    examples,
    examples_embed_v1,
    examples_image_embeds,
    examples_models,
    examples_stream,
    examples_tokens,
)
from service.openapi.route import KEY_STATUSES, Route
from service.openapi.routes_cohere import COHERE_ROUTES
from service.openapi.routes_plain import PLAIN_ROUTES

TAGS = {
    "Embeddings": "Turn texts, pictures and mixtures of them into vectors.",
    "Tokens": "See and count tokens without embedding them.",
    "Models": "What is served, and how requests to it are treated.",
    "Probes": "For orchestrators and monitoring.",
    "Pages": "For people.",
}
"""Groups of operations, with what each is for."""

TIMING_HEADERS = (
    *("x-model-fingerprint", "x-queue-time", "x-media-time", "x-inference-time", "x-total-time"),
    "x-encoder-cache",
)
"""Headers that every answer with vectors or features carries."""

RAW_HEADERS = (
    "x-embedding-shape",
    "x-embedding-dtype",
    "x-embedding-endianness",
    "x-embedding-truncated",
    "x-prompt-tokens",
)
"""Headers of raw answers, in place of what JSON says."""


EMBED_STATUSES = (400, 401, 404, 408, 409, 413, 414, 415, 422, 429, 431, 500, 502, 503, 504)
"""How a request for vectors can fail."""

ROUTES = (
    Route(
        method="POST",
        path="/v1/embeddings",
        operation_id="createEmbedding",
        takes_timeout=True,
        tag="Embeddings",
        summary="Vectors in OpenAI's form",
        description=(
            "Exactly one of `input` (texts), `messages` (conversations) and `inputs` (items of text and pictures) "
            "holds what to embed. The same content gives the same vector whichever form carries it, and the same as on "
            "`/v2/embed`. With `Accept: application/octet-stream` the answer is the bytes of the vectors and nothing "
            "else, and headers hold what JSON would say; errors are JSON all the same. Raw bytes have no place for the "
            "error of an item, so `on_error: per_item` is refused with them."
        ),
        request=EmbeddingRequest,
        response=EmbeddingResponse,
        error_statuses=EMBED_STATUSES,
        headers=(*TIMING_HEADERS, "Vary"),
        request_examples=examples.EMBEDDING_REQUESTS,
        response_examples=examples.EMBEDDING_RESPONSES,
        raw_examples=examples.RAW_EMBEDDINGS,
        error_examples=examples.ERRORS,
    ),
    Route(
        method="POST",
        path="/v1/embeddings/stream",
        operation_id="createEmbeddingStream",
        takes_timeout=True,
        tag="Embeddings",
        summary="Vectors of any number of lines, as they are done",
        description=(
            "The body is lines of JSON, one `StreamLine` each, and so is the answer, one `StreamAnswer` each, in the "
            "order in which they are done: `index` and `id` say which line an answer is of. Both schemas here are of "
            "one line. What holds for all lines stands in the query. The vectors are those of `/v1/embeddings`. The "
            "answer begins before the body has ended, and the body is read only as fast as answers are taken: send "
            "and read at the same time. A line that is malformed, too long or refused is answered by an error, and the "
            "stream goes on. The last line has `type` `end`; an answer without it was cut off. `X-Request-Timeout` "
            "counts for each line, from its reading."
        ),
        query=StreamOptions,
        request=StreamLine,
        request_media_type="application/x-ndjson",
        response=StreamAnswer,
        media_type="application/x-ndjson",
        error_statuses=(400, 401, 404, 414, 415, 429, 431, 500, 503),
        headers=("x-model-fingerprint", "x-total-time"),
        request_examples=examples_stream.STREAM_LINES,
        response_examples=examples_stream.STREAM_ANSWERS,
        error_examples=examples.ERRORS,
    ),
    Route(
        method="POST",
        path="/v2/embed",
        operation_id="embed",
        takes_timeout=True,
        tag="Embeddings",
        summary="Vectors in Cohere's form",
        description=(
            "Exactly one of `texts`, `images` and `inputs` holds what to embed. The answer has a list of vectors for "
            "each of `embedding_types`. A late-interaction model gives an item a vector for each token of its prompt; "
            "its types, `multi_float` and so on, have fields of their own."
        ),
        request=EmbedRequest,
        response=EmbedResponse,
        error=CohereErrorResponse,
        error_statuses=EMBED_STATUSES,
        headers=TIMING_HEADERS,
        request_examples=examples.EMBED_REQUESTS,
        response_examples=examples.EMBED_RESPONSES,
        error_examples=examples.COHERE_ERRORS,
    ),
    Route(
        method="POST",
        path="/v1/image_embeds",
        operation_id="createImageEmbeds",
        takes_timeout=True,
        tag="Embeddings",
        summary="Vision features of pictures",
        description=(
            "Runs the vision tower alone. Each entry's `part` goes into `messages` or `inputs` as it stands, under any "
            "instruction and as often as wanted: the vectors are those of the picture itself."
        ),
        request=ImageEmbedsRequest,
        response=ImageEmbedsResponse,
        error_statuses=EMBED_STATUSES,
        headers=TIMING_HEADERS,
        request_examples=examples_image_embeds.IMAGE_EMBEDS_REQUESTS,
        response_examples=examples_image_embeds.IMAGE_EMBEDS_RESPONSES,
        error_examples=examples.ERRORS,
    ),
    Route(
        method="POST",
        path="/v1/embed",
        operation_id="embedV1",
        takes_timeout=True,
        tag="Embeddings",
        summary="Vectors in Cohere's older form",
        description=(
            "For clients that speak Cohere's v1, such as the SDK's `Client` and LangChain's `CohereEmbeddings`. "
            "Exactly one of `texts` and `images` holds what to embed. Without `embedding_types` the answer is a bare "
            "list of vectors, else it is by number format, as on `/v2/embed`. The vectors are the same."
        ),
        request=EmbedV1Request,
        response=EmbedV1Response,
        error=CohereErrorResponse,
        error_statuses=EMBED_STATUSES,
        headers=TIMING_HEADERS,
        request_examples=examples_embed_v1.EMBED_V1_REQUESTS,
        response_examples=examples_embed_v1.EMBED_V1_RESPONSES,
        error_examples=examples_embed_v1.EMBED_V1_ERRORS,
    ),
    Route(
        method="POST",
        path="/tokenize",
        operation_id="tokenizeInputs",
        takes_timeout=True,
        tag="Tokens",
        summary="The tokens that a request would have",
        description=(
            "Exactly one of `prompt`, `input`, `messages` and `inputs` holds what to tokenize. The tokens are those "
            "that `/v1/embeddings` reads for the same fields, template, instruction and pictures included."
        ),
        request=TokenizeRequest,
        response=TokenizeResponse,
        error_statuses=EMBED_STATUSES,
        request_examples=examples_tokens.TOKENIZE_REQUESTS,
        response_examples=examples_tokens.TOKENIZE_RESPONSES,
        error_examples=examples_tokens.TOKENIZE_ERRORS,
    ),
    Route(
        method="POST",
        path="/detokenize",
        operation_id="detokenizeTokens",
        tag="Tokens",
        summary="The text of token ids",
        description="Special tokens are written out. The run of ids of a picture gives the name of that id as often.",
        request=DetokenizeRequest,
        response=DetokenizeResponse,
        error_statuses=(400, 401, 404, 408, 413, 414, 415, 429, 431, 500, 503),
        request_examples=examples_tokens.DETOKENIZE_REQUESTS,
        response_examples=examples_tokens.DETOKENIZE_RESPONSES,
        error_examples=examples_tokens.DETOKENIZE_ERRORS,
    ),
    *COHERE_ROUTES,
    Route(
        method="GET",
        path="/v1/models",
        operation_id="listModels",
        tag="Models",
        summary="The models, with their plans",
        description="Lists the canonical id and its aliases, each with the plan that requests to it follow.",
        response=ModelList,
        error_statuses=KEY_STATUSES,
        response_examples=examples_models.MODEL_LISTS,
        error_examples=examples.ERRORS,
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
        response_examples=examples_models.MODEL_CARDS,
        error_examples=examples.ERRORS,
    ),
    *PLAIN_ROUTES,
)
"""Every operation."""
