"""Answers for the examples of the document, made of the wire types: a field has its own example unless stated here.

Vectors are shortened to a few components by `dimensions`, as in a real answer.
"""

from typing import Any, get_type_hints

import msgspec
from msgspec import UNSET, Meta

from schemas.base import Answer
from schemas.endpoints.cohere_tokens import (
    CohereCheckApiKeyResponse,
    CohereDetokenizeResponse,
    CohereTokenizeResponse,
)
from schemas.endpoints.embed import EmbedApiVersion, EmbedBilledUnits, EmbedImage, EmbedMeta, EmbedResponse, EmbedTokens
from schemas.endpoints.embed_v1 import EmbedByType, EmbedFloats
from schemas.endpoints.embeddings import EmbeddingData, EmbeddingResponse
from schemas.endpoints.health import Health
from schemas.endpoints.image_embeds import ImageEmbedsData, ImageEmbedsResponse, ImageEmbedsUsage
from schemas.endpoints.models import ModelCard
from schemas.endpoints.stream import EXAMPLE_ID, StreamEnd, StreamFailure, StreamVector
from schemas.endpoints.tokenize import DetokenizeResponse, TokenizeData, TokenizeResponse
from schemas.errors import ErrorBody
from schemas.usage import PromptTokensDetails, Usage
from service.openapi.examples.requests import COLORS, FEATURES_PART, QUERY, Examples

_SHORT = [0.5, -0.5, 0.5, 0.5]
_EIGHT = [0.5, -0.25, 0.5, 0.25, -0.25, 0.25, 0.25, -0.43301270]


def sample(type_: type[Answer], **values: Any) -> dict[str, Any]:
    """An answer as JSON: each field as given, or as in the first example of its type; optional ones only as given."""
    hints = get_type_hints(type_, include_extras=True)
    config, body = type_.__struct_config__, dict[str, Any]()
    if config.tag_field is not None:
        body[config.tag_field] = config.tag
    for field in msgspec.structs.fields(type_):
        if field.name in values:
            body[field.encode_name] = values.pop(field.name)
        elif field.default is not UNSET:
            body[field.encode_name] = _first_example(hints[field.name])
    if values:
        raise TypeError(f"{type_.__name__} has no fields {list(values)}")
    return body


def _first_example(hint: Any) -> Any:
    """The example that a field's description states; a field without one holds a struct, with its own examples."""
    stated = [meta.examples for meta in hint.__metadata__ if isinstance(meta, Meta) and meta.examples]
    return stated[-1][0] if stated else sample(hint.__origin__)


def named(name: str, summary: str, value: Any) -> Examples:
    """One example."""
    return {name: {"summary": summary, "value": value}}


def usage(tokens: int, num_inputs: int = 1) -> dict[str, Any]:
    """`usage` of a request with texts alone."""
    details = sample(PromptTokensDetails, text_tokens=tokens, image_tokens=0)
    counts = {"prompt_tokens": tokens, "total_tokens": tokens, "num_inputs": num_inputs}
    return sample(Usage, **counts, prompt_tokens_details=details, image_tokens=0, encoder_cache_hits=0)


def _embedding(embedding: list[float] | str) -> dict[str, Any]:
    data = [sample(EmbeddingData, embedding=embedding)]
    return sample(EmbeddingResponse, data=data, usage=usage(26))


EMBEDDINGS = named("float", "Numbers", _embedding(_SHORT)) | named(
    "base64", "Base64", _embedding("AAAAPwAAAL8AAAA/AAAAPw==")
)

RAW_EMBEDDINGS = named(
    "float16", "Four components in little-endian float16, each character a byte: 0.1, 0.1, 0.325, 0.525", "f.f.3538"
)

_FAILURE = sample(
    ErrorBody,
    message="line 8: expected one JSON object in UTF-8, got text that is malformed at byte 4",
    param=None,
    code="invalid_json",
    index=7,
)

STREAM_LINES = (
    named("vector", "Of a line that has its vector", sample(StreamVector, id=EXAMPLE_ID, embedding=_SHORT))
    | named("failure", "Of a line that is not JSON", sample(StreamFailure, error=_FAILURE))
    | named("end", "The last line", sample(StreamEnd, num_lines=8, num_answered=7, usage=usage(182, 8)))
)


def _meta(tokens: int, image_tokens: int, images: int, version: str = "2") -> dict[str, Any]:
    units = sample(EmbedBilledUnits, input_tokens=tokens, image_tokens=image_tokens, images=images)
    version_ = sample(EmbedApiVersion, version=version)
    return sample(EmbedMeta, api_version=version_, billed_units=units, tokens=sample(EmbedTokens), truncated_inputs=[])


_PNG = sample(EmbedImage, width=32, height=32, format="png")
_BY_TYPE = {"float": [_EIGHT], "ubinary": [[182]]}
_SPARSE = {
    "sparse": [{"indices": [1037, 2417, 10165], "values": [0.125, 1.5, 2.25]}],
    "sparse_tokens": [{"a": 0.125, "red": 1.5, "bicycle": 2.25}],
}
_PAGE = {
    "multi_float": [[_EIGHT, [0.25] * 6 + [0.75, -0.25]]],
    "multi_ubinary": [[[182], [254]]],
}

EMBED = (
    named("texts", "Of one text, in two formats", sample(EmbedResponse, embeddings=_BY_TYPE, meta=_meta(26, 0, 0)))
    | named(
        "images",
        "Of one image",
        sample(
            EmbedResponse,
            id="embd-6b1e9d02c7f34a58",
            embeddings={"float": [_SHORT]},
            texts=[],
            images=[_PNG],
            meta=_meta(21, 4, 1),
        ),
    )
    | named(
        "sparse",
        "Of one text, sparse in both forms",
        sample(EmbedResponse, embeddings=_SPARSE, meta=_meta(5, 0, 0)),
    )
    | named(
        "pages",
        "Of one page, two of its vectors shown",
        sample(
            EmbedResponse,
            id="embd-2c7d51e8a09b43f6",
            embeddings=_PAGE,
            texts=[],
            images=[_PNG],
            meta=_meta(12, 4, 1),
        ),
    )
)

EMBED_V1 = named("floats", "A bare list", sample(EmbedFloats, embeddings=[_SHORT], meta=_meta(26, 0, 0, "1"))) | named(
    "types", "By number format", sample(EmbedByType, embeddings=_BY_TYPE, meta=_meta(26, 0, 0, "1"))
)

_CONTENT_HASH = "9b74c9897bac770ffc029102a200c5de"
_FEATURES = sample(
    ImageEmbedsData,
    part=FEATURES_PART | {"uuid": f"img-{_CONTENT_HASH}"},
    content_hash=_CONTENT_HASH * 2,
    shape=[1, 768],
    dtype="float16",
)

IMAGE_EMBEDS = named(
    "image",
    "Of an image of one visual token",
    sample(ImageEmbedsResponse, data=[_FEATURES], usage=sample(ImageEmbedsUsage, image_tokens=1)),
)

_TOKENS = [1785, 1288, 198, 443]

TOKENIZE = named(
    "prompt",
    "The first four tokens of a prompt",
    sample(
        TokenizeResponse,
        count=4,
        tokens=_TOKENS,
        token_strs=["<|im_start|>", "system", "\n", "Represent"],
        data=[sample(TokenizeData, count=4, tokens=_TOKENS)],
    ),
)

DETOKENIZE = named("text", "Their text", sample(DetokenizeResponse, prompt="a red bicycle"))

_COHERE_META = {"api_version": sample(EmbedApiVersion, version="1")}

COHERE_TOKENIZE = named(
    "text",
    "Its six tokens",
    sample(
        CohereTokenizeResponse,
        tokens=[64, 392, 268, 582, 88, 415],
        token_strings=["a", " red", " b", "ic", "y", "cle"],
        meta=_COHERE_META,
    ),
)

COHERE_DETOKENIZE = named("text", "Their text", sample(CohereDetokenizeResponse, meta=_COHERE_META))

CHECKED_KEY = named("known", "A known key", sample(CohereCheckApiKeyResponse))

_DEFAULT = "Represent the user's input."

_CARD = sample(
    ModelCard,
    matryoshka_dimensions=[32, 64, 128, 256],
    default_instruction=_DEFAULT,
    input_types={
        "query": QUERY,
        "document": _DEFAULT,
        "colors": COLORS,
        "shapes": "Represent the shapes of the image.",
        "count": "Represent the number of objects in the image.",
        "positions": "Represent the positions of the objects in the image.",
        "search_document": _DEFAULT,
        "search_query": QUERY,
        "classification": _DEFAULT,
        "clustering": _DEFAULT,
        "image": _DEFAULT,
        "passage": _DEFAULT,
    },
    tail_token_ids=[1784],
    max_pixels=16384,
    dtype="float32",
    device="cpu",
)
"""The built-in model; a test compares it with what the server answers."""

MODEL_CARD = named("builtin", "The built-in model", _CARD)

MODEL_LIST = named("builtin", "One model", {"object": "list", "data": [_CARD], "models": [_CARD]})

HEALTHY = named("ok", "Requests are answered", sample(Health))
