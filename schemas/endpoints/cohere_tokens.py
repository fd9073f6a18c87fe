"""`POST /v1/tokenize`, `/v1/detokenize` and `/v1/check-api-key`: Cohere's requests that are not for vectors.

They treat a text by itself, without template and end tokens; `/tokenize` has the tokens of a whole request.

Source: what Cohere's SDK 7.3.1 sends and reads (`cohere/raw_base_client.py`, `cohere/types/tokenize_response.py`).
"""

from typing import Annotated

from msgspec import Meta

from schemas.base import Answer, Wire
from schemas.endpoints.embed import EmbedApiVersion
from schemas.fields import ModelField, TokenIdsField
from schemas.limits import MAX_INT32

TokenId = Annotated[int, Meta(ge=0, le=MAX_INT32)]
"""An id of the model's own tokenizer."""


class CohereTokenizeRequest(Wire, frozen=True, kw_only=True):
    """A text to turn into tokens."""

    text: Annotated[str, Meta(description="The text.", examples=["a red bicycle"])]
    model: ModelField = None


class CohereDetokenizeRequest(Wire, frozen=True, kw_only=True):
    """Token ids to turn into text."""

    tokens: TokenIdsField
    model: ModelField = None


class CohereTokenMeta(Answer, frozen=True, kw_only=True):
    """Facts about the answer."""

    api_version: Annotated[EmbedApiVersion, Meta(description="The API version.")]


class CohereTokenizeResponse(Answer, frozen=True, kw_only=True):
    """The tokens of the text."""

    tokens: Annotated[list[TokenId], Meta(description="Their ids.", examples=[[64, 392]])]
    token_strings: Annotated[
        list[str],
        Meta(
            description="The text of each of `tokens`. A character that spans several stands with the last of them.",
            examples=[["a", " red"]],
        ),
    ]
    meta: Annotated[CohereTokenMeta, Meta(description="Facts about the answer.")]


class CohereDetokenizeResponse(Answer, frozen=True, kw_only=True):
    """The text of the ids."""

    text: Annotated[str, Meta(description="The text, special tokens included.", examples=["a red bicycle"])]
    meta: Annotated[CohereTokenMeta, Meta(description="Facts about the answer.")]


class CohereCheckApiKeyResponse(Answer, frozen=True, kw_only=True):
    """The key is known; an unknown one is answered 401."""

    valid: Annotated[bool, Meta(description="Always true, also on a server without keys.", examples=[True])] = True
