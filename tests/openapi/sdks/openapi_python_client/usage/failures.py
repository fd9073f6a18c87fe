"""Errors: of a whole request, and of one item beside others that are well."""

from typing import assert_type

from cenote_client import AuthenticatedClient
from cenote_client.api.embeddings import create_embedding, embed
from cenote_client.models import (
    CohereEmbedRequest,
    CohereErrorResponse,
    EmbeddingRequest,
    EmbeddingResponse,
    ErrorBody,
    ErrorCode,
    ErrorResponse,
    InputItem,
    OnError,
)
from cenote_client.types import Unset
from usage.vectors import DIMENSIONS, INSTRUCTION, assert_close, fused

NO_IMAGE = "data:image/png;base64,bm90IGEgcGljdHVyZQ=="


def errors_are_typed(client: AuthenticatedClient) -> None:
    answer = create_embedding.sync_detailed(client=client, body=EmbeddingRequest(input_="x", dimensions=4096))
    assert (answer.status_code, type(answer.parsed)) == (400, ErrorResponse)
    assert isinstance(answer.parsed, ErrorResponse)
    error = answer.parsed.error
    assert_type(error.code, ErrorCode)
    assert_type(error.param, str | None)
    assert_type(error.index, int | None)
    assert (error.code, error.param) == (ErrorCode.INVALID_DIMENSIONS, "dimensions")
    cohere = embed.sync(client=client, body=CohereEmbedRequest(texts=["x"], model="none"))
    assert isinstance(cohere, CohereErrorResponse)
    assert cohere.error.code is ErrorCode.MODEL_NOT_FOUND


def a_bad_item_has_its_error_in_its_own_place(client: AuthenticatedClient, image: str, want: list[float]) -> None:
    body = EmbeddingRequest(
        inputs=[InputItem(content=fused(NO_IMAGE)), InputItem(content=fused(image))],
        instruction=INSTRUCTION,
        dimensions=DIMENSIONS,
        on_error=OnError.PER_ITEM,
    )
    answer = create_embedding.sync(client=client, body=body)
    assert isinstance(answer, EmbeddingResponse)
    bad, good = answer.data
    assert_type(bad.error, ErrorBody | Unset)
    assert not isinstance(bad.error, Unset)
    assert bad.embedding is None
    assert (bad.error.code, bad.error.index) == (ErrorCode.MEDIA_UNDECODABLE, 0)
    assert isinstance(good.error, Unset)
    assert good.embedding is not None
    assert_close(good.embedding, want)
