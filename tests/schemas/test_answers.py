"""Answers are written as the document says, and read back to what they were."""

from typing import Any

import jsonschema
import msgspec
import pytest

from schemas.base import Wire
from schemas.content import ImageEmbeds, ImageEmbedsPart
from schemas.embed import (
    EmbedBilledUnits,
    EmbedImage,
    EmbedMeta,
    EmbedResponse,
    EmbedTokens,
)
from schemas.embed_vectors import EmbedVectors
from schemas.embeddings import EmbeddingData, EmbeddingResponse
from schemas.errors import CohereErrorResponse, ErrorBody, ErrorResponse
from schemas.health import Health
from schemas.image_embeds import ImageEmbedsData, ImageEmbedsResponse, ImageEmbedsUsage
from schemas.models import ModelCard, ModelList
from schemas.usage import PromptTokensDetails, Usage
from service.openapi import build
from service.openapi.components import component_name
from service.openapi.routes import ROUTES

COMPONENTS = build()["components"]
USAGE = Usage(
    prompt_tokens=9,
    total_tokens=9,
    prompt_tokens_details=PromptTokensDetails(
        text_tokens=9, image_tokens=0, video_tokens=0, audio_tokens=0, cached_tokens=0
    ),
    num_inputs=2,
    image_tokens=0,
    encoder_cache_hits=0,
    encoder_cache_misses=0,
    precomputed_images=0,
)
DATA = [
    EmbeddingData(index=0, embedding=[0.6, 0.8], truncated=False),
    EmbeddingData(index=1, embedding="AAAAPw==", truncated=True),
]
ERROR = ErrorBody(message="no", type="server_error", param=None, code="internal_error")
BILLED = EmbedBilledUnits(input_tokens=3, image_tokens=4, images=1)
CARD = ModelCard(
    id="m",
    created=1,
    owned_by="cenote",
    name="m",
    endpoints=["embed"],
    context_length=8192,
    root="m",
    aliases=[],
    revision=None,
    fingerprint="0" * 32,
    pooling="last_token",
    normalize=True,
    dimensions=2048,
    max_vectors_per_input=1,
    min_dimensions=64,
    matryoshka_dimensions=[64, 2048],
    calibrated_dimensions=[32],
    modalities=["text", "image"],
    prompt_format="qwen3-vl",
    default_instruction="Represent the user's input.",
    takes_instructions=True,
    input_types={"search_query": "q"},
    mixes_modalities=True,
    tail_token_ids=[1, 2],
    max_tokens=8192,
    max_inputs=2,
    max_parts_per_input=3,
    max_images=4,
    max_body_bytes=5,
    max_image_bytes=6,
    max_image_pixels=7,
    max_video_frames=64,
    max_video_bytes=None,
    audio_rate_hz=None,
    max_audio_bytes=None,
    max_audio_s=None,
    accepts_token_arrays=False,
    fetches_image_urls=False,
    min_pixels=None,
    max_pixels=None,
    image_embeds_width=None,
    dtype="bfloat16",
    device="cuda:0",
)
ANSWERS = [
    EmbeddingResponse(id="embd-1", created=1, model="m", data=DATA, usage=USAGE),
    EmbedResponse(
        id="1",
        embeddings=EmbedVectors(float_=[[1.0]]),
        texts=["a"],
        meta=EmbedMeta(billed_units=BILLED, truncated_inputs=[]),
    ),
    EmbedResponse(
        id="1",
        embeddings=EmbedVectors(int8=[[-128]], uint8=[[255]], binary=[[-128]], ubinary=[[255]], base64=["AAAAPw=="]),
        texts=[],
        images=[EmbedImage(width=1, height=2, format="png", bit_depth=24)],
        meta=EmbedMeta(billed_units=BILLED, truncated_inputs=[], tokens=EmbedTokens(input_tokens=7), warnings=["w"]),
    ),
    ImageEmbedsResponse(
        id="imgemb-1",
        created=1,
        model="m",
        data=[
            ImageEmbedsData(
                index=0,
                part=ImageEmbedsPart(
                    image_embeds=ImageEmbeds(image_embeds="AAAA", image_grid_thw=[1, 2, 2]), uuid="img-1"
                ),
                content_hash="00" * 32,
                shape=[1, 768],
                dtype="bfloat16",
            ),
            ImageEmbedsData(index=1, error=ERROR),
        ],
        usage=ImageEmbedsUsage(num_images=2, image_tokens=1, encoder_cache_hits=0, encoder_cache_misses=1),
    ),
    ModelList(data=[CARD], models=[CARD]),
    Health(status="ok"),
    Health(status="failed", detail="why"),
    ErrorResponse(error=ERROR),
    CohereErrorResponse(id="1", message="no", error=ERROR),
]


def schema_errors(value: Any, type_: type) -> list[str]:
    schema = {"components": COMPONENTS, "$ref": f"#/components/schemas/{component_name(type_.__name__)}"}
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(value)]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: type(a).__name__)
def test_an_answer_is_written_as_the_document_says(answer: msgspec.Struct) -> None:
    written = msgspec.json.decode(msgspec.json.encode(answer))
    assert schema_errors(written, type(answer)) == []
    schema = COMPONENTS["schemas"][component_name(type(answer).__name__)]
    assert set(written) <= set(schema["properties"])


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: type(a).__name__)
def test_an_answer_reads_back_to_what_it_was(answer: msgspec.Struct) -> None:
    assert msgspec.json.decode(msgspec.json.encode(answer), type=type(answer)) == answer


def test_only_the_formats_asked_for_are_written() -> None:
    assert msgspec.json.encode(EmbedVectors(float_=[[1.0]])) == b'{"float":[[1.0]]}'


def test_the_document_refuses_an_answer_that_lacks_a_field() -> None:
    assert schema_errors({"object": "list"}, EmbeddingResponse)
    assert schema_errors({"status": "fine", "detail": None}, Health)


@pytest.mark.parametrize(
    ("type_", "value"), [(r.request, e["value"]) for r in ROUTES for e in r.request_examples.values()]
)
def test_a_request_reads_back_to_what_it_was(type_: type, value: Any) -> None:
    assert issubclass(type_, Wire)
    request = msgspec.json.decode(msgspec.json.encode(value), type=type_)
    assert msgspec.json.decode(msgspec.json.encode(request), type=type_) == request
