"""Bodies that must be refused, and the error that they give."""

import json

import msgspec
import pytest

from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.errors import RuleError
from schemas.parsing.decode import decode

TEXT = {"type": "text", "text": "a"}


def refusal(raw: bytes, type_: type[msgspec.Struct] = EmbeddingRequest, **options: bool) -> RuleError:
    with pytest.raises(RuleError) as caught:
        decode(raw, type_, **options)
    return caught.value


def refused(body: object, type_: type[msgspec.Struct] = EmbeddingRequest) -> RuleError:
    return refusal(json.dumps(body).encode(), type_)


def with_content(content: object) -> dict[str, object]:
    """A body whose second input has this content."""
    return {"model": "m", "inputs": [{"content": "a"}, {"content": content}]}
