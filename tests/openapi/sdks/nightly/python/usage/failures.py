"""Errors: of a whole request, and of one item beside others that are well."""

from typing import assert_type

from cenote_client import EmbeddingRequest, EmbeddingsApi, ErrorBody, ErrorCode, ErrorResponse, InputItem, OnError
from cenote_client.exceptions import BadRequestException
from usage.vectors import DIMENSIONS, INSTRUCTION, assert_close, fused

NO_IMAGE = "data:image/png;base64,bm90IGEgcGljdHVyZQ=="


def errors_are_typed(api: EmbeddingsApi) -> None:
    try:
        api.create_embedding(EmbeddingRequest(input=["x"], dimensions=4096))
    except BadRequestException as refused:  # type: ignore[misc]  # the generator types no exception's arguments
        answer = ErrorResponse.from_json(refused.body or "")  # type: ignore[misc]  # pydantic's own hooks hold `Any`
        assert_type(answer, ErrorResponse | None)
        assert answer is not None
        assert_type(answer.error.code, ErrorCode)
        assert_type(answer.error.param, str | None)
        assert (answer.error.code, answer.error.param) == (ErrorCode.INVALID_DIMENSIONS, "dimensions")
        return
    raise AssertionError("not refused")


def a_bad_item_has_its_error_in_its_own_place(api: EmbeddingsApi, image: str, want: list[float]) -> None:
    body = EmbeddingRequest(
        inputs=[InputItem(content=fused(NO_IMAGE)), InputItem(content=fused(image))],
        instruction=INSTRUCTION,
        dimensions=DIMENSIONS,
        on_error=OnError.PER_ITEM,
    )
    bad, good = api.create_embedding(body).data
    assert_type(bad.error, ErrorBody | None)
    assert bad.error is not None
    assert bad.embedding is None
    assert (bad.error.code, bad.error.index) == (ErrorCode.MEDIA_UNDECODABLE, 0)
    assert good.error is None
    assert good.embedding is not None
    assert_close([float(x) for x in good.embedding], want)
