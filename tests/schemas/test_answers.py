"""Answers are written as the document says, and read back to what they were."""

from typing import Any

import msgspec
import pytest

from schemas.base import Wire
from schemas.endpoints.embed_vectors import EmbedVectors
from schemas.endpoints.embeddings import EmbeddingData, EmbeddingResponse
from schemas.endpoints.health import Health
from schemas.endpoints.image_embeds import ImageEmbedsData
from schemas.endpoints.models import ModelCard, ModelList
from schemas.errors import CohereErrorResponse, ErrorBody, ErrorResponse
from service.http.examples import sample
from service.http.route_table import ROUTES
from service.openapi import build
from service.openapi.components import component_name
from tests.schemas.document_nodes import errors_of, validator_of

DOCUMENT = build()
VALIDATOR = validator_of(DOCUMENT)
ERROR = ErrorBody(message="no", type="server_error", param=None, code="internal_error")
NULLABLE = (
    *("min_pixels", "max_pixels", "image_embeds_width", "max_video_bytes", "max_video_frames", "max_pdf_bytes"),
    *("revision", "matryoshka_dimensions", "default_instruction", "audio_rate_hz", "max_audio_bytes", "max_audio_s"),
    *("sparse_dimensions", "min_video_frames", "video_fps", "min_video_frame_pixels", "max_video_frame_pixels"),
    *("max_video_pixels", "video_size_factor"),
)
CARD = msgspec.convert(sample(ModelCard), ModelCard)
TEXT_CARD = msgspec.structs.replace(CARD, **dict.fromkeys(NULLABLE))
AUDIO_CARD = msgspec.structs.replace(
    CARD,
    revision="0" * 40,
    matryoshka_dimensions=[64, 256],
    audio_rate_hz=48_000,
    max_audio_bytes=64 << 20,
    max_audio_s=20.0,
    sparse_dimensions=30_522,
)
CARDS = [CARD, TEXT_CARD, AUDIO_CARD]
ANSWERS: list[Any] = [
    *(msgspec.convert(example["value"], r.response) for r in ROUTES for example in r.response_examples.values()),
    EmbedVectors(int8=[[-128]], uint8=[[255]], binary=[[-128]], ubinary=[[255]], base64=["AAAAPw=="]),
    msgspec.convert(sample(EmbeddingData, embedding="AAAAPw==", truncated=True), EmbeddingData),
    ImageEmbedsData(index=1, error=ERROR),
    ModelList(data=CARDS, models=CARDS),
    Health(status="failed", detail="why"),
    ErrorResponse(error=ERROR),
    CohereErrorResponse(id="1", message="no", detail="no", error=ERROR),
]
STRUCTS = [answer for answer in ANSWERS if isinstance(answer, msgspec.Struct)]  # a list has its items' types


def schema_errors(value: Any, type_: type) -> list[str]:
    return errors_of(value, {"$ref": f"#/components/schemas/{component_name(type_.__name__)}"}, VALIDATOR)


@pytest.mark.parametrize("answer", STRUCTS, ids=lambda a: type(a).__name__)
def test_an_answer_is_written_as_the_document_says(answer: msgspec.Struct) -> None:
    written = msgspec.json.decode(msgspec.json.encode(answer))
    assert schema_errors(written, type(answer)) == []
    schema = DOCUMENT["components"]["schemas"][component_name(type(answer).__name__)]
    assert set(written) <= set(schema["properties"])


@pytest.mark.parametrize("answer", STRUCTS, ids=lambda a: type(a).__name__)
def test_an_answer_reads_back_to_what_it_was(answer: msgspec.Struct) -> None:
    assert msgspec.json.decode(msgspec.json.encode(answer), type=type(answer)) == answer


def test_every_nullable_field_of_a_card_is_written_as_null_and_as_a_value() -> None:
    properties = DOCUMENT["components"]["schemas"][component_name("ModelCard")]["properties"]
    nullable = {name for name, schema in properties.items() if not errors_of(None, schema, VALIDATOR)}
    assert nullable == set(NULLABLE)
    assert [name for name in nullable if all(getattr(card, name) is None for card in CARDS)] == []


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
