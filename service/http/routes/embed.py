"""`POST /v2/embed`, in Cohere's form: vectors in every number format of `embedding_types`.

A `multi_` type is its twin with a vector for each token; `sparse` and `sparse_tokens` weigh vocabulary entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from litestar import post
from litestar.types import ASGIApp
from msgspec import UNSET

from schemas.content.examples import EXAMPLE_IMAGE
from schemas.endpoints.embed import (
    EmbedApiVersion,
    EmbedBilledUnits,
    EmbedImage,
    EmbedMeta,
    EmbedRequest,
    EmbedResponse,
    EmbedTokens,
)
from schemas.endpoints.embed_vectors import EmbeddingType, EmbedVectors
from schemas.parsing.rules import check_embed_request
from service.errors import InputError, ServiceError
from service.front.inputs.token_pooling import check_pooling
from service.front.job import EmbeddedInput, EmbedResult, InputResult
from service.front.served_model import ServedModel
from service.front.serving.fingerprint import fingerprint_in_order
from service.http.answer_headers import TIMING_HEADERS
from service.http.body import Call, read_call
from service.http.errors import report_error
from service.http.examples import IMAGE_PART, TEXT_PART, VECTOR, body, example, missing, sample
from service.http.request_context import AnyRequest
from service.http.responses.answer import answer, observe
from service.http.responses.embedding_types import MULTI, embedding_types, output_kind
from service.http.responses.sparse_format import SparseObject, SparseTokens
from service.http.responses.vector_format import Base64String, DeferredValue, NumberList, NumberLists
from service.http.route import Route
from service.ipc.messages import NumberFormat, OutputSpec
from service.ipc.sparse_row import MULTI_ROW, SPARSE
from service.ipc.vectors import Row

AS_DOCUMENTS = "there was no `input_type`: the inputs were embedded as documents; queries are weighed by a table"


@post("/v2/embed", status_code=200)
async def embed(request: AnyRequest) -> ASGIApp:
    """One vector for each input, in every number format asked for."""
    with await read_call(request, EmbedRequest) as call:
        check_embed_request(call.body)
        done = await embed_inputs(call, call.body)
        return await answer(call.serving.turns, lambda: embed_response(done), done.result, done.fingerprint)


@dataclass(frozen=True, slots=True)
class EmbeddedRequest:
    """A request in Cohere's form whose inputs have been embedded.

    Attributes:
        id: of the request.
        types: to answer in, each once.
        dimensions: of each vector.
        model: which made the vectors.
        fingerprint: of the model.
    """

    id: str
    body: EmbedRequest
    types: list[EmbeddingType]
    dimensions: int
    result: EmbedResult
    model: ServedModel
    fingerprint: str


async def embed_inputs(call: Call[Any], body: EmbedRequest) -> EmbeddedRequest:
    """Embed what `body` holds, which is the call's own or made of it, for this route and `/v1/embed`.

    Raises:
        ServiceError: an input is at fault, or the service cannot take it now.
    """
    online, caller = call.serving.find(body.model, "vectors"), call.caller
    model = online.model
    types = embedding_types(body.embedding_types, model)
    output = _output(body, types, model)
    named = model.instruction_of(body.input_type)  # which Cohere's clients always send: an instruction goes before it
    check_pooling(model, body.pool_factor, named)
    job = online.reader.embed_job(body, named if body.instruction is None else body.instruction, output, caller.tenant)
    result = await online.embedder.embed(job, caller)
    observe(result, call.context)
    made_by = fingerprint_in_order(online.fingerprint, body.part_order)
    return EmbeddedRequest(call.context.id, body, types, output.dimensions, result, model, made_by)


def embed_response(done: EmbeddedRequest) -> EmbedResponse:
    """The answer of `/v2/embed`."""
    results, answered = done.result.inputs, done.result.embedded
    texts = done.body.texts or []
    if len(answered) < len(results):  # JSON cannot hold a failed text that has half a character
        texts = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    vectors: dict[str, Any] = {}
    for kind in done.types:
        name = "float_" if kind == "float" else kind
        vectors[name] = [_json(_row(one, kind), kind, done) for one in results]
    return EmbedResponse(
        id=f"embd-{done.id}",
        embeddings=EmbedVectors(**vectors),
        texts=texts,
        images=_images(answered) or UNSET,
        errors=[report_error(one, done.id) for one in results if isinstance(one, ServiceError)] or UNSET,
        meta=_meta(done),
    )


def _output(body: EmbedRequest, types: list[EmbeddingType], model: ServedModel) -> OutputSpec:
    dimensions = model.check_dimensions(body.output_dimension, "output_dimension")
    if dimensions % 8 and any(map(_is_packed, types)):
        raise InputError(
            "invalid_dimensions",
            f"`output_dimension`: got {dimensions}; binary and ubinary pack 8 dimensions a byte: send a multiple of 8",
            param="output_dimension",
        )
    is_beside = "dense" in model.outputs
    of_tokens: list[EmbeddingType] = [kind for kind in types if kind.startswith(MULTI) and is_beside]
    own: list[EmbeddingType] = [kind for kind in types if not _is_sparse(kind) and kind not in of_tokens]
    return OutputSpec(
        dimensions=dimensions,
        output_dtypes=_formats(own),
        token_dtypes=_formats(of_tokens),
        normalize=model.profile.normalize,
        is_sparse=any(map(_is_sparse, types)),
        pool_factor=body.pool_factor or 1.0,
    )


def _is_sparse(kind: EmbeddingType) -> bool:
    return output_kind(kind) == "sparse"


def _is_packed(kind: EmbeddingType) -> bool:
    return kind.endswith("binary")  # eight components share a byte


def _formats(kinds: Sequence[EmbeddingType]) -> tuple[NumberFormat, ...]:
    distinct: dict[NumberFormat, None] = {_engine_kind(kind): None for kind in kinds}
    return tuple(distinct)


def _engine_kind(kind: EmbeddingType) -> NumberFormat:
    """The engine's number format of a type."""
    plain = kind.removeprefix(MULTI)
    return "float32" if plain in ("float", "base64") else cast(NumberFormat, plain)


def _row(one: InputResult, kind: EmbeddingType) -> Row:
    """A vector's bytes; none where the input failed, so that its list is empty and all lists stay parallel."""
    if isinstance(one, ServiceError):
        return b""
    rows, name = one.vector.rows, SPARSE if _is_sparse(kind) else _engine_kind(kind)
    return rows[MULTI_ROW + name if kind.startswith(MULTI) and MULTI_ROW + name in rows else name]


def _json(row: Row, kind: EmbeddingType, done: EmbeddedRequest) -> DeferredValue:
    if _is_sparse(kind):
        return SparseObject(row) if kind == SPARSE else SparseTokens(row, done.model.tokenizer.id_to_token)
    if kind.endswith("base64"):
        return Base64String(row)
    if not kind.startswith(MULTI):
        return NumberList(row, _engine_kind(kind))
    return NumberLists(row, _engine_kind(kind), done.dimensions // 8 if _is_packed(kind) else done.dimensions)


def _images(answered: Sequence[EmbeddedInput]) -> list[EmbedImage]:
    items = (placeholder.item for one in answered for placeholder in one.prompt.placeholders)
    sent = [item.sent_as for item in items if item.kind == "image"]  # Cohere's clients know no videos
    return [EmbedImage(width=one.width, height=one.height, format=one.format, bit_depth=24) for one in sent]


def _meta(done: EmbeddedRequest) -> EmbedMeta:
    result, counts = done.result, done.result.counts
    cut = [i for i, one in enumerate(result.inputs) if isinstance(one, EmbeddedInput) and one.prompt.truncated]
    warnings = [f"the text of inputs {', '.join(map(str, cut))} was cut to fit"] if cut else []
    if done.model.looks_queries_up and done.body.input_type is None:
        warnings.append(AS_DOCUMENTS)
    return EmbedMeta(
        billed_units=EmbedBilledUnits(
            input_tokens=counts.num_tokens - counts.num_visual_tokens,
            image_tokens=counts.num_visual_tokens,
            images=counts.num_images,
        ),
        tokens=EmbedTokens(input_tokens=counts.num_tokens),
        truncated_inputs=cut,
        warnings=warnings or UNSET,
    )


def meta_example(tokens: int, image_tokens: int = 0, images: int = 0, version: str = "2") -> dict[str, Any]:
    """`meta` of an answer in Cohere's form."""
    units = sample(EmbedBilledUnits, input_tokens=tokens, image_tokens=image_tokens, images=images)
    version_ = sample(EmbedApiVersion, version=version)
    return sample(EmbedMeta, api_version=version_, billed_units=units, tokens=sample(EmbedTokens), truncated_inputs=[])


_EIGHT = [0.5, -0.25, 0.5, 0.25, -0.25, 0.25, 0.25, -0.43301270]
BY_TYPE = {"float": [_EIGHT], "ubinary": [[182]]}
_SPARSE = {
    "sparse": [{"indices": [1037, 2417, 10165], "values": [0.125, 1.5, 2.25]}],
    "sparse_tokens": [{"a": 0.125, "red": 1.5, "bicycle": 2.25}],
}
_PAGE = {
    "multi_float": [[_EIGHT, [0.25] * 6 + [0.75, -0.25]]],
    "multi_ubinary": [[[182], [254]]],
}
_OF_IMAGE = {
    "texts": [],
    "images": [sample(EmbedImage, width=32, height=32, format="png")],
}

ROUTE = Route(
    embed,
    "embed",
    takes_timeout=True,
    summary="Vectors in Cohere's form",
    description=(
        "Exactly one of `texts`, `images` and `inputs` holds what to embed. The answer has a list of vectors for "
        "each of `embedding_types`. A late-interaction model has a vector for each token of an item's prompt; its "
        "types, `multi_float` and so on, have fields of their own."
    ),
    request=EmbedRequest,
    response=EmbedResponse,
    headers=TIMING_HEADERS,
    request_examples={
        "texts": body(
            "Documents for a search index",
            input_type="search_document",
            texts=["a red bicycle", "a green door"],
            embedding_types=["float", "ubinary"],
            output_dimension=64,
            truncate="END",
        ),
        "images": body("Images", input_type="image", images=[EXAMPLE_IMAGE]),
        "fused": body(
            "An image and a text in one vector",
            input_type="search_document",
            inputs=[{"content": [IMAGE_PART, TEXT_PART]}],
        ),
    },
    response_examples={
        "texts": example(
            "Of one text, in two formats", sample(EmbedResponse, embeddings=BY_TYPE, meta=meta_example(26))
        ),
        "images": example(
            "Of one image",
            sample(
                EmbedResponse,
                id="embd-6b1e9d02c7f34a58",
                embeddings={"float": [VECTOR]},
                meta=meta_example(21, 4, 1),
                **_OF_IMAGE,
            ),
        ),
        "sparse": example(
            "Of one text, sparse in both forms", sample(EmbedResponse, embeddings=_SPARSE, meta=meta_example(5))
        ),
        "pages": example(
            "Of one page, two of its vectors shown",
            sample(
                EmbedResponse,
                id="embd-2c7d51e8a09b43f6",
                embeddings=_PAGE,
                meta=meta_example(12, 4, 1),
                **_OF_IMAGE,
            ),
        ),
    },
    error_examples={400: missing("texts", "images", "inputs")},
)
