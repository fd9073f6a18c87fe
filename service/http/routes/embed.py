"""`POST /v2/embed`, in Cohere's form: vectors in every number format of `embedding_types`.

A `multi_` type is its twin with a vector for each token; `sparse` and `sparse_tokens` weigh vocabulary entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
from service.errors import ServiceError
from service.front.job import EmbeddedInput, EmbedResult
from service.front.served_model import ServedModel
from service.http.answer_headers import TIMING_HEADERS
from service.http.errors import report_error
from service.http.examples import IMAGE_PART, TEXT_PART, VECTOR, example, missing, sample, to_builtin
from service.http.request import Call, reads
from service.http.responses.answer import answer, in_parts
from service.http.route import Route
from service.outputs.kinds import asks_of, embedding_types, kind_of
from service.outputs.sparse import side_warnings


@post("/v2/embed", status_code=200)
@reads(EmbedRequest)
async def embed(call: Call[EmbedRequest]) -> ASGIApp:
    """One vector for each input, in every number format asked for."""
    check_embed_request(call.body)
    done = await embed_inputs(call, call.body)
    return await answer(call, done.result, lambda: in_parts(embed_response(done)), done.fingerprint)


@dataclass(frozen=True, slots=True)
class EmbeddedRequest:
    """A request in Cohere's form whose inputs have been embedded; it is answered in `types`, each once."""

    id: str
    body: EmbedRequest
    types: list[EmbeddingType]
    dimensions: int
    result: EmbedResult
    model: ServedModel
    fingerprint: str


async def embed_inputs(call: Call[Any], body: EmbedRequest) -> EmbeddedRequest:
    """Embed what `body` holds, which is the call's own or made of it, for this route and `/v1/embed`."""
    online, caller = call.serving.find(body.model, "vectors", body=body), call.caller
    model = online.model
    types = embedding_types(body.embedding_types or (), model.offer)
    dimensions = body.output_dimension or model.profile.dimensions
    if body.output_dimension:
        model.check_dimensions(dimensions, "output_dimension")
    named = None if body.input_type is None else model.instruction_of(body.input_type)
    asks = asks_of(body, types, dimensions, named or "", model.offer)
    # Cohere's clients always send a type, so an instruction goes before it
    job = online.reader.embed_job(body, named if body.instruction is None else body.instruction, asks, caller.tenant)
    result = await online.embedder.embed(job, caller)
    made_by = online.fingerprint_as_written if body.part_order == "as_written" else online.fingerprint
    return EmbeddedRequest(call.context.id, body, types, dimensions, result, model, made_by)


def embed_response(done: EmbeddedRequest) -> EmbedResponse:
    """The answer of `/v2/embed`."""
    results, answered = done.result.inputs, done.result.embedded
    texts = done.body.texts or []
    if len(answered) < len(results):  # JSON cannot hold a failed text that has half a character
        texts = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    rows = [{} if isinstance(one, ServiceError) else one.vector.rows for one in results]  # so all lists stay parallel
    vectors: dict[str, Any] = {}
    for type_ in done.types:
        vectors["float_" if type_ == "float" else type_] = [
            kind_of(type_).json(one, type_, done.dimensions, done.model.offer) for one in rows
        ]
    return EmbedResponse(
        id=f"embd-{done.id}",
        embeddings=EmbedVectors(**vectors),
        texts=texts,
        images=_images(answered) or UNSET,
        errors=[report_error(one, done.id) for one in results if isinstance(one, ServiceError)] or UNSET,
        meta=_meta(done),
    )


def _images(answered: Sequence[EmbeddedInput]) -> list[EmbedImage]:
    items = (placeholder.item for one in answered for placeholder in one.prompt.placeholders)
    sent = [item.sent_as for item in items if item.kind == "image"]  # Cohere's clients know no videos
    return [EmbedImage(width=one.width, height=one.height, format=one.format, bit_depth=24) for one in sent]


def _meta(done: EmbeddedRequest) -> EmbedMeta:
    result, counts = done.result, done.result.counts
    cut = [i for i, one in enumerate(result.inputs) if isinstance(one, EmbeddedInput) and one.prompt.truncated]
    warnings = [f"the text of inputs {', '.join(map(str, cut))} was cut to fit"] if cut else []
    warnings += side_warnings(done.body, done.model.offer)
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
_PAGE = {"multi_float": [[_EIGHT, [0.25] * 6 + [0.75, -0.25]]], "multi_ubinary": [[[182], [254]]]}
_OF_IMAGE = {"texts": [], "images": [sample(EmbedImage, width=32, height=32, format="png")]}

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
        "texts": to_builtin(
            "Documents for a search index",
            input_type="search_document",
            texts=["a red bicycle", "a green door"],
            embedding_types=["float", "ubinary"],
            output_dimension=64,
            truncate="END",
        ),
        "images": to_builtin("Images", input_type="image", images=[EXAMPLE_IMAGE]),
        "fused": to_builtin(
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
                EmbedResponse, id="embd-2c7d51e8a09b43f6", embeddings=_PAGE, meta=meta_example(12, 4, 1), **_OF_IMAGE
            ),
        ),
    },
    error_examples={400: missing("texts", "images", "inputs")},
)
