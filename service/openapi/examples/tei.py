"""Bodies and answers in the form of text-embeddings-inference (TEI) for the examples of the document."""

from typing import Any

from schemas.endpoints.tei import TeiEmbeddingKind, TeiInfo, TeiModelType
from service.openapi.examples.answers import named, sample
from service.openapi.examples.errors import EMBED_V1, cohere, invalid
from service.openapi.examples.requests import Examples

EMBED: Examples = {
    "texts": {"summary": "Two texts", "value": {"inputs": ["a red bicycle", "a green door"], "dimensions": 32}},
    "query": {
        "summary": "A query, by the name of its prompt",
        "value": {"inputs": ["something to ride"], "prompt_name": "query", "normalize": True, "truncate": True},
    },
}

VECTORS = named("one", "Of one text", [[0.5, -0.5, 0.5, 0.5]])

EMBED_SPARSE: Examples = {
    "texts": {"summary": "Two texts", "value": {"inputs": ["a red bicycle", "a green door"]}},
    "query": {"summary": "A query", "value": {"inputs": "something to ride", "prompt_name": "query"}},
}

SPARSE_VECTORS = named("one", "Of one text", [[{"index": 2417, "value": 1.5}, {"index": 10165, "value": 2.25}]])

_KIND = sample(TeiModelType, embedding=sample(TeiEmbeddingKind))

INFO = named("builtin", "The built-in model", sample(TeiInfo, model_type=_KIND))

ERRORS: dict[int, Any] = EMBED_V1 | {
    400: cohere(invalid("invalid_request", "`inputs`: required, got nothing", "inputs"))
}
