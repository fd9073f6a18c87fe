"""The error bodies of every route, the stable codes that clients may branch on, and the error that breaks a rule."""

from typing import Annotated, Literal, get_args

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count

ErrorCode = Literal[
    "invalid_json",
    "invalid_request",
    "unknown_field",
    "missing_input",
    "conflicting_input",
    "empty_input",
    "too_many_inputs",
    "token_arrays_not_accepted",
    "invalid_dimensions",
    "context_length_exceeded",
    "unsupported_modality",
    "media_source_refused",
    "media_fetch_failed",
    "media_undecodable",
    "media_too_large",
    "invalid_image_embeds",
    "cache_miss",
    "uuid_conflict",
    "body_too_large",
    "body_timeout",
    "target_too_long",
    "head_too_large",
    "unsupported_media_type",
    "invalid_api_key",
    "model_not_found",
    "route_not_found",
    "method_not_allowed",
    "model_loading",
    "engine_restarting",
    "out_of_memory",
    "server_draining",
    "overloaded",
    "rate_limit_exceeded",
    "too_many_connections",
    "deadline_exceeded",
    "non_finite_embedding",
    "internal_error",
]
"""Every `code` an error can carry. A code is never renamed: it is part of the contract."""

ERROR_CODES: tuple[ErrorCode, ...] = get_args(ErrorCode)

ErrorType = Literal["invalid_request_error", "not_found_error", "overloaded_error", "server_error"]
"""OpenAI's coarse grouping of errors."""


class MissingMedia(Answer, frozen=True, kw_only=True):
    """A `uuid` sent without content that the server does not know, or no longer knows."""

    uuid: Annotated[str, Meta(description="The name that the request gave.", examples=["sku-1234-front"])]
    param: Annotated[str, Meta(description="Path of the part.", examples=["inputs[3].content[0]"])]
    index: Annotated[Count, Meta(description="Index of the input in the request, counted from 0.", examples=[3])]


class ErrorBody(Answer, frozen=True, kw_only=True):
    """What went wrong, where, and the request id for a bug report."""

    message: Annotated[
        str,
        Meta(
            description="One sentence: the field, what came, and what is allowed.",
            examples=["`dimension`: unknown field; did you mean `dimensions`?"],
        ),
    ]
    type: Annotated[
        ErrorType,
        Meta(description="The group that the code belongs to, in OpenAI's words.", examples=["invalid_request_error"]),
    ]
    param: Annotated[
        str | None,
        Meta(
            description="Path of the field at fault, such as `messages[0].content[1].image_url`, or null.",
            examples=["dimension"],
        ),
    ]
    code: Annotated[ErrorCode, Meta(description="The stable name of the error.", examples=["unknown_field"])]
    index: Annotated[
        int | None,
        Meta(
            description="Index of the input at fault, counted from 0; null when the error is not of one input.",
            examples=[None],
        ),
    ] = None
    request_id: Annotated[
        str | None, Meta(description="The `x-request-id` of the answer.", examples=["0f9c2a7d41b84e6f"])
    ] = None
    missing: Annotated[
        list[MissingMedia] | UnsetType,
        Meta(description="With `cache_miss`: every unknown `uuid` of the request. Send their content."),
    ] = UNSET


class ErrorResponse(Answer, frozen=True, kw_only=True):
    """The error answer of every route but Cohere's: OpenAI's shape."""

    error: Annotated[ErrorBody, Meta(description="What went wrong.")]


class CohereErrorResponse(Answer, frozen=True, kw_only=True):
    """The error answer of Cohere's and Jina's routes, beside the same `error` object as on every other route."""

    id: Annotated[str, Meta(description="The request id.", examples=["0f9c2a7d41b84e6f"])]
    message: Annotated[
        str,
        Meta(
            description="The same sentence as `error.message`, where Cohere's clients look for it.",
            examples=["`dimension`: unknown field; did you mean `dimensions`?"],
        ),
    ]
    detail: Annotated[
        str,
        Meta(
            description="The same sentence, where Jina's clients look for it.",
            examples=["`dimension`: unknown field; did you mean `dimensions`?"],
        ),
    ]
    error: Annotated[ErrorBody, Meta(description="What went wrong.")]


class RuleError(ValueError):
    """A request breaks the contract. It carries what `service.errors.InputError` needs, and knows nothing of services.

    Attributes:
        code: the stable name, one of `ErrorCode`.
        message: one sentence that names the field, what came and what is allowed; never the client's data.
        param: path of the field at fault, such as `messages[0].content[1].image_url`, or None for the whole body.
        index: which item of a batch is at fault, counted from 0, or None.
    """

    def __init__(self, code: ErrorCode, message: str, *, param: str | None = None, index: int | None = None) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.message = message
        self.param = param
        self.index = index
