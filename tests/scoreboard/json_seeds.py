"""Bodies that are right, and words that make them wrong."""

import json

from schemas.base import Wire
from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embed_v1 import EmbedV1Request
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.image_embeds import ImageEmbedsRequest
from schemas.endpoints.rerank import AnyRerankRequest, RerankRequest
from schemas.endpoints.rerank_v2 import CohereRerankRequest
from schemas.endpoints.score import ScoreRequest
from schemas.endpoints.stream import StreamLine
from schemas.endpoints.tei import TeiEmbedRequest
from schemas.endpoints.tokenize import DetokenizeRequest, TokenizeRequest
from service.http.route_table import ROUTES

TYPES: tuple[type[Wire], ...] = (
    EmbeddingRequest, EmbedRequest, ImageEmbedsRequest, EmbedV1Request, TokenizeRequest, StreamLine,
    DetokenizeRequest, RerankRequest, CohereRerankRequest, AnyRerankRequest, ScoreRequest, TeiEmbedRequest,
)  # fmt: skip

MAX_SEED_BYTES = 2048

WORDS = (
    b"[", b"]", b"{", b"}", b'"', b",", b":", b"\\", b"null", b"true", b"NaN", b"Infinity", b"-", b"1e999", b"-0",
    b"1.0", b"9223372036854775808", b"9" * 5000, b"1" * 30, b'"\\ud800"', b'"\\u0000"', b"\xff", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b"\x00", b"[" * 2000, b'{"a":' * 500, b'"type":', b'"input":', b'"inputs":', b'"content":',
    b'"texts":', b'"query":', b'"documents":', b'"queries":', b'"text_2":', b'"truncate":',
    b'"messages":', b'"role":"tool"', b'"dimensions":0', b'"model":"' + b"x" * 300 + b'"', b'"image_url":{"url":""}',
    b'"uuid":"../.."', b'"`x`"', b'" - at `$.input`"', b"%s{}", b"0x7fffdeadbeef",
)  # fmt: skip


def seeds() -> list[tuple[str, bytes]]:
    """Every request example of the document with its path, long strings cut."""
    found = []
    for route in ROUTES:
        for example in route.request_examples.values():
            raw = json.dumps(_shortened(example["value"])).encode()
            if len(raw) <= MAX_SEED_BYTES:
                found.append((route.path.format(deployment="builtin"), raw))
    return found


def _shortened(value: object) -> object:
    if isinstance(value, dict):
        return {name: _shortened(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_shortened(one) for one in value]
    return value[:80] if isinstance(value, str) else value
