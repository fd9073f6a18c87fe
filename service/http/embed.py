"""`POST /v2/embed`, in Cohere's form."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from litestar import post
from msgspec import UNSET

from schemas.embed import (
    EmbedBilledUnits,
    EmbedImage,
    EmbedMeta,
    EmbedRequest,
    EmbedResponse,
    EmbedTokens,
)
from schemas.embed_vectors import EmbeddingType, EmbedVectors
from schemas.rules import check_embed_request
from service.errors import InputError, ServiceError
from service.front.admission import Place
from service.front.answer_bound import with_bounded_answer
from service.front.job import Answered, Embedded, Outcome
from service.front.served_model import ServedModel
from service.front.serving import Serving, serving_of
from service.front.tenant import Caller
from service.http.answer import answer, observe
from service.http.body import announced_bytes, read_body
from service.http.caller import caller_of
from service.http.embed_types import engine_kind, is_packed, types_of, written
from service.http.errors import AnyRequest, error_body
from service.http.reply import Reply
from service.http.request_id import request_id
from service.ipc.messages import OutputSpec, Row


@post("/v2/embed", status_code=200)
async def embed(request: AnyRequest) -> Reply:
    """One vector for each input, in every number format asked for."""
    serving = serving_of(request.app)
    caller = caller_of(request, serving.settings.request_timeout_s)
    with serving.admission.body(announced_bytes(request, serving.settings.max_body_bytes), caller.tenant) as room:
        return await _embed(request, serving, caller, room)


async def _embed(request: AnyRequest, serving: Serving, caller: Caller, room: Place) -> Reply:
    body = await read_body(request, EmbedRequest, room, ignore_unknown=serving.ignores_unknown_fields)
    check_embed_request(body)
    return await answer_embed(request, serving, caller, body)


def _as_it_is(response: EmbedResponse) -> EmbedResponse:
    return response


async def answer_embed(
    request: AnyRequest,
    serving: Serving,
    caller: Caller,
    body: EmbedRequest,
    shape: Callable[[EmbedResponse], msgspec.Struct] = _as_it_is,
) -> Reply:
    """Embed what `body` holds; `/v1/embed` comes this way too and gives the answer another shape.

    Args:
        request: whose id the answer has.
        serving: the service.
        caller: who asks, and until when.
        body: a request that keeps the rules.
        shape: from v2's answer to what is sent.

    Raises:
        ServiceError: an input is at fault, or the service cannot take it now.
    """
    online = serving.online()
    online.model.check_name(body.model)
    types = types_of(body.embedding_types, online.model)
    output = _output(body, types, online.model)
    instruction = _instruction(body, online.model)
    job = online.reader.embed_job(body, instruction, output, caller.tenant)
    if online.model.is_multi_vector:
        job = with_bounded_answer(job, output, serving.settings.max_features_bytes, _source(body))
    embedded = await online.embedder.embed(job, caller)
    observe(embedded, request.scope)
    write = partial(_response, request_id(request.scope), body, types, output.dimensions, embedded)
    return await answer(serving.turns, lambda: shape(write()), embedded, online.fingerprint)


def _response(
    id_: str, body: EmbedRequest, types: list[EmbeddingType], dimensions: int, embedded: Embedded
) -> EmbedResponse:
    images = _images(embedded)
    return EmbedResponse(
        id=f"embd-{id_}",
        embeddings=_vectors(embedded.outcomes, types, dimensions),
        texts=_echoed(body.texts or [], embedded),
        images=images or UNSET,
        errors=[error_body(one, id_) for one in embedded.outcomes if isinstance(one, ServiceError)] or UNSET,
        meta=_meta(embedded),
    )


def _echoed(texts: list[str], embedded: Embedded) -> list[str]:
    """The texts as JSON can hold them: those that failed may have half a character, or bytes that are not UTF-8."""
    if len(embedded.answered) == len(embedded.outcomes):
        return texts
    return [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]


def _instruction(body: EmbedRequest, model: ServedModel) -> str | None:
    """The request's own words win over `input_type`, which Cohere's clients always send."""
    named = model.instruction_of(body.input_type)
    return named if body.instruction is None else body.instruction


def _output(body: EmbedRequest, types: list[EmbeddingType], model: ServedModel) -> OutputSpec:
    dimensions = model.check_dimensions(body.output_dimension, "output_dimension")
    if dimensions % 8 and any(map(is_packed, types)):
        raise InputError(
            "invalid_dimensions",
            f"`output_dimension`: got {dimensions}; binary and ubinary pack 8 dimensions a byte: send a multiple of 8",
            param="output_dimension",
        )
    kinds = tuple(dict.fromkeys(map(engine_kind, types)))
    return OutputSpec(dimensions=dimensions, kinds=kinds, normalize=model.profile.normalize)


def _source(body: EmbedRequest) -> str:
    """The field that holds the inputs; the rules have seen to it that one does."""
    return next(name for name in ("texts", "images", "inputs") if getattr(body, name) is not None)


def _vectors(outcomes: Sequence[Outcome], types: list[EmbeddingType], dimensions: int) -> EmbedVectors:
    lists: dict[str, Any] = {
        "float_" if kind == "float" else kind: [written(_row(outcome, kind), kind, dimensions) for outcome in outcomes]
        for kind in types
    }
    return EmbedVectors(**lists)


def _row(outcome: Outcome, kind: EmbeddingType) -> Row:
    """A vector's bytes; none where the input failed, so that its list is empty and all lists stay parallel."""
    return b"" if isinstance(outcome, ServiceError) else outcome.vector.rows[engine_kind(kind)]


def _images(embedded: Embedded) -> list[EmbedImage]:
    places = (place for one in embedded.answered for place in one.prompt.placeholders)
    sent = [place.item.sent_as for place in places if place.item.num_frames == 1]  # Cohere's clients know no videos
    return [EmbedImage(width=one.width, height=one.height, format=one.format, bit_depth=24) for one in sent]


def _meta(embedded: Embedded) -> EmbedMeta:
    cut = [i for i, one in enumerate(embedded.outcomes) if isinstance(one, Answered) and one.prompt.truncated]
    counts = embedded.counts
    return EmbedMeta(
        billed_units=EmbedBilledUnits(
            input_tokens=counts.num_tokens - counts.num_visual_tokens,
            image_tokens=counts.num_visual_tokens,
            images=counts.num_images,
        ),
        tokens=EmbedTokens(input_tokens=counts.num_tokens),
        truncated_inputs=cut,
        warnings=[f"the text of inputs {', '.join(map(str, cut))} was cut to fit"] if cut else UNSET,
    )
