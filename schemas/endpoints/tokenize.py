"""`POST /tokenize` and `POST /detokenize`: the tokens that a request would have, without embedding it.

The fields are those of `/v1/embeddings`, and `prompt`, vLLM's name for one text.

Source: vLLM 0.33.0, `/tokenize` and `/detokenize` (docs/notes/api-contract.md).
"""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta

from schemas.base import Answer, Count, Wire
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.fields import IndexField, ItemErrorField, ModelField, TokenIdsField

TokenIds = list[Count]
"""Ids of the model's own tokenizer."""


class TokenizeRequest(EmbeddingRequest, frozen=True, kw_only=True):
    """Exactly one of `prompt`, `input`, `messages` and `inputs` holds what to tokenize; the other three are absent.

    All fields of `/v1/embeddings` are accepted, so that a body can be sent to either route; those that concern vectors
    have no effect.
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
    index: IndexField
    count: Annotated[Count, Meta(description="Tokens of this input, template and images included.", examples=[26])]
    tokens: Annotated[
        TokenIds,
        Meta(description="Their ids; an image is a run of one id, as long as its tokens.", examples=[[64, 392]]),
    ]
    image_tokens: Annotated[Count, Meta(description="Those of `count` that stand for images and videos.", examples=[0])]
    truncated: Annotated[bool, Meta(description="Whether text of this input was cut off to fit.", examples=[False])]
    error: ItemErrorField = UNSET


class TokenizeResponse(Answer, frozen=True, kw_only=True):
    """vLLM's four fields over all inputs, and the same for each input."""

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
            "input are its prompt's text. A character that spans several tokens is in the last of them.",
            examples=[["a", " red"]],
        ),
    ]
    data: Annotated[
        list[TokenizeData],
        Meta(description="One entry for each input, in order; with `late_chunking` one for each window of the text."),
    ]


class DetokenizeRequest(Wire, frozen=True, kw_only=True):
    """Token ids to turn into text."""

    model: ModelField = None
    tokens: TokenIdsField


class DetokenizeResponse(Answer, frozen=True, kw_only=True):
    """The text of the ids."""

    prompt: Annotated[
        str, Meta(description="The text, special tokens included.", examples=["a red bicycle against a wall"])
    ]


def as_embedding_request(request: TokenizeRequest) -> EmbeddingRequest:
    """The same request with `prompt` as `input`."""
    return request if request.prompt is None else msgspec.structs.replace(request, input=request.prompt)
