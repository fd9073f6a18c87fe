"""Jina's `/v1/embeddings`: items with one medium each, `task`, `normalized`, `embedding_type`.

Source: Jina's API reference, `jina-embeddings-v4` and v5 (docs/notes/api-contract.md).
"""

from typing import Annotated, Any

from msgspec import Meta

from schemas.base import Wire
from schemas.content.examples import EXAMPLE_IMAGE
from schemas.dialects.dialect import Dialect, OtherEmbeddingRequest, as_own, refuse
from schemas.dialects.items import MediaInput, sources_of

TASKS = {
    "retrieval.query": "query",
    "code.query": "query",
    "nl2code.query": "query",
    "retrieval.passage": "document",
    "code.passage": "document",
    "nl2code.passage": "document",
    "separation": "clustering",
}
"""Jina's tasks, and the `input_type` that each is here; another name is looked for among the model's own."""

FORMATS = ("float", "base64")


class JinaEmbeddingRequest(OtherEmbeddingRequest, frozen=True, kw_only=True):
    """`/v1/embeddings` with Jina's fields."""

    input: Annotated[
        MediaInput | None,
        Meta(
            description="Items, each an object with `text`, `image`, `video` or `audio`; strings may stand among them.",
            examples=[[{"text": "a red bicycle"}, {"image": EXAMPLE_IMAGE}]],
        ),
    ] = None
    task: Annotated[
        str | None,
        Meta(
            description="What the vectors are for: `retrieval.query` and `code.query` are `input_type: query`, "
            "`retrieval.passage` and `code.passage` are `document`, `separation` is `clustering`; any other is looked "
            "for among the names that `/v1/models` lists, and refused where it is none. Not beside `input_type`.",
            examples=["retrieval.query"],
        ),
    ] = None
    normalized: Annotated[bool | None, Meta(description="`normalize` of this server.", examples=[True])] = None
    embedding_type: Annotated[
        str | None,
        Meta(
            description="`encoding_format` of this server: `float` or `base64`. Bits are on `/v2/embed`.",
            examples=["float"],
        ),
    ] = None
    truncate: Annotated[
        bool | None, Meta(description="Whether a text over the model's limit is cut.", examples=[True])
    ] = None
    return_multivector: Annotated[
        bool | None,
        Meta(description="Only false: vectors of tokens are on `/v2/embed`, as `multi_float`.", examples=[False]),
    ] = None


def read(body: JinaEmbeddingRequest, own: type[Wire]) -> Wire:
    """The same request in our fields.

    Raises:
        RuleError: a field says the same twice, or asks for what this route does not give.
    """
    if body.return_multivector:
        refuse("return_multivector", "expected false, got true; `embedding_types: [multi_float]` of /v2/embed has them")
    changes: dict[str, Any] = sources_of(body.input) | {"truncate": None}
    if body.truncate is not None:
        changes["truncation"] = body.truncate
    if body.task is not None:
        _check_alone(body, "task", "input_type")
        changes["input_type"] = TASKS.get(body.task, body.task)
    if body.normalized is not None:
        _check_alone(body, "normalized", "normalize")
        changes["normalize"] = body.normalized
    if body.embedding_type is not None:
        _check_alone(body, "embedding_type", "encoding_format")
        if body.embedding_type not in FORMATS:
            refuse("embedding_type", f"expected one of {', '.join(FORMATS)}, got another; /v2/embed gives bits")
        changes["encoding_format"] = body.embedding_type
    return as_own(body, own, **changes)


def _check_alone(body: JinaEmbeddingRequest, theirs: str, ours: str) -> None:
    if getattr(body, ours) is not None:
        refuse(theirs, f"got `{ours}` beside it, which says the same; send one of them", "conflicting_input")


DIALECT = Dialect(
    name="Jina",
    about="Items with `text` or `image` in `input`; `task`, `normalized`, `embedding_type`.",
    body=JinaEmbeddingRequest,
    tells=lambda shape: bool(shape.fields & {"task", "normalized", "embedding_type", "return_multivector"}),
    read=read,
    example={
        "model": "builtin",
        "task": "retrieval.passage",
        "normalized": True,
        "embedding_type": "float",
        "truncate": True,
        "input": [{"text": "a red bicycle"}, {"image": EXAMPLE_IMAGE}],
    },
)
