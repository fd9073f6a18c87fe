"""`POST /tokenize` and `POST /detokenize`: the tokens that a request would have, without embedding it.

Shapes and single-field bounds only. What is counted is what `/v1/embeddings` embeds, so the fields are that route's;
`prompt` is vLLM's name for one text.

Source: vLLM 0.33.0, `/tokenize` and `/detokenize` (shared/reference/api-contract.md 1.14).
"""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.embeddings import EmbeddingRequest
from schemas.errors import ErrorBody
from schemas.limits import MAX_INT32, MAX_TOKEN_IDS

TokenIds = list[Count]
"""Ids of the model's own tokenizer."""


class TokenizeRequest(EmbeddingRequest, frozen=True, kw_only=True):
    """Exactly one of `prompt`, `input`, `messages` and `inputs` holds what to tokenize; the other three are absent.

    Every other field of `/v1/embeddings` is taken too, so that a body can be sent to either; what concerns vectors
    alone changes nothing here.
    """

    prompt: Annotated[
        str | None,
        Meta(
            description="One text, under vLLM's name: the same as `input` with one string.",
            examples=["a red bicycle against a wall"],
        ),
    ] = None
    return_token_strs: Annotated[
        bool | None,
        Meta(description="Whether `token_strs` is answered. Absent means false.", examples=[True]),
    ] = None


class TokenizeData(Answer, frozen=True, kw_only=True):
    """The tokens of one input."""

    object: Annotated[Literal["tokens"], Meta(description="Always `tokens`.", examples=["tokens"])] = "tokens"
    index: Annotated[
        Count,
        Meta(description="Which input of the request this is, counted from 0; entries are in order.", examples=[0]),
    ]
    count: Annotated[Count, Meta(description="Tokens of this input, template and pictures included.", examples=[26])]
    tokens: Annotated[
        TokenIds,
        Meta(description="Their ids; a picture is a run of one id, as long as its tokens.", examples=[[64, 392]]),
    ]
    image_tokens: Annotated[
        Count, Meta(description="Those of `count` that stand for pictures and videos.", examples=[0])
    ]
    truncated: Annotated[bool, Meta(description="Whether text of this input was cut off to fit.", examples=[False])]
    error: Annotated[
        ErrorBody | UnsetType,
        Meta(description="Why this input has no tokens; only with `on_error: per_item`, and absent when all is well."),
    ] = UNSET


class TokenizeResponse(Answer, frozen=True, kw_only=True):
    """vLLM's four fields over all inputs, and each input by itself."""

    count: Annotated[
        Count, Meta(description="Tokens of all inputs: `usage.prompt_tokens` of `/v1/embeddings`.", examples=[26])
    ]
    max_model_len: Annotated[Count, Meta(description="Most tokens of one input.", examples=[8192])]
    tokens: Annotated[
        TokenIds, Meta(description="The ids of all inputs, one input after another.", examples=[[64, 392]])
    ]
    token_strs: Annotated[
        list[str] | None,
        Meta(
            description="The text of each of `tokens`; null unless `return_token_strs` is true. Joined, those of one "
            "input are its prompt's text. A character that spans several tokens stands with the last of them.",
            examples=[["a", " red"]],
        ),
    ]
    data: Annotated[list[TokenizeData], Meta(description="One entry for each input, in order.")]


class DetokenizeRequest(Wire, frozen=True, kw_only=True):
    """Token ids to turn into text."""

    model: Annotated[
        str | None,
        Meta(
            description="The model's id or an alias, as `/v1/models` lists them. Absent means the one that is served.",
            examples=["builtin"],
        ),
    ] = None
    tokens: Annotated[
        Annotated[list[Annotated[int, Meta(ge=0, le=MAX_INT32)]], Meta(max_length=MAX_TOKEN_IDS)],
        Meta(description="Ids of the model's own tokenizer.", examples=[[64, 392]]),
    ]


class DetokenizeResponse(Answer, frozen=True, kw_only=True):
    """The text of the ids."""

    prompt: Annotated[
        str, Meta(description="The text, special tokens included.", examples=["a red bicycle against a wall"])
    ]


def as_embedding_request(request: TokenizeRequest) -> EmbeddingRequest:
    """The request to `/v1/embeddings` whose tokens are asked for.

    Args:
        request: what came; `prompt` becomes `input`.
    """
    return request if request.prompt is None else msgspec.structs.replace(request, input=request.prompt)
