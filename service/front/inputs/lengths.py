"""Limits of a prompt's length, and the end at which a text is cut, as a request asks for it."""

from collections.abc import Mapping

from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.fields import Truncate
from service.errors import InputError
from service.prompt.truncation import Side, Truncation

CUT_SIDES: Mapping[Truncate, Side | None] = {"NONE": None, "START": "left", "END": "right"}
"""Cohere's `truncate`: which end of a text is cut; None is an error instead."""


def embedding_truncation(request: EmbeddingRequest, max_tokens: int) -> Truncation:
    """Return the truncation that a request of `/v1/embeddings` asks for.

    Args:
        request: its `truncate_prompt_tokens`, or `truncate` or `truncation`, and `truncation_side` count.
        max_tokens: of the model.

    Raises:
        InputError: more tokens than the model has, or none.
    """
    if request.truncate is not None:
        return Truncation(max_tokens, CUT_SIDES[request.truncate])
    wanted = -1 if request.truncation else request.truncate_prompt_tokens
    if wanted is None:
        return Truncation(max_tokens)
    return Truncation(prompt_limit(wanted, max_tokens), request.truncation_side or "right")


def prompt_limit(wanted: int, max_tokens: int) -> int:
    """The longest prompt that `truncate_prompt_tokens` asks for; -1 means the model's `max_tokens`.

    Raises:
        InputError: more tokens than the model has, or none.
    """
    if wanted > max_tokens or wanted == 0:
        raise InputError(
            "invalid_request",
            f"`truncate_prompt_tokens`: got {wanted}, expected -1 or 1 to the model's {max_tokens} tokens",
            param="truncate_prompt_tokens",
        )
    return max_tokens if wanted == -1 else wanted
