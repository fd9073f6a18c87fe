"""The tokens that a request would have, and back to text."""

from typing import assert_type

from cenote_client import AuthenticatedClient
from cenote_client.api.tokens import detokenize_tokens, tokenize_inputs
from cenote_client.models import (
    DetokenizeRequest,
    DetokenizeResponse,
    ErrorResponse,
    InputItem,
    TokenizeRequest,
    TokenizeResponse,
)
from usage.vectors import fused


def tokens(client: AuthenticatedClient, body: TokenizeRequest) -> TokenizeResponse:
    answer = tokenize_inputs.sync(client=client, body=body)
    assert_type(answer, TokenizeResponse | ErrorResponse | None)
    assert isinstance(answer, TokenizeResponse), answer
    assert_type(answer.tokens, list[int])
    assert answer.count == len(answer.tokens)
    return answer


def tokens_of_an_image_are_counted(client: AuthenticatedClient, image: str) -> None:
    answer = tokens(client, TokenizeRequest(inputs=[InputItem(content=fused(image))]))
    [entry] = answer.data
    assert_type(entry.image_tokens, int)
    assert 0 < entry.image_tokens < entry.count == answer.count
    assert answer.token_strs is None


def tokens_are_text_again(client: AuthenticatedClient) -> None:
    answer = tokens(client, TokenizeRequest(prompt="a red circle", return_token_strs=True))
    assert_type(answer.token_strs, list[str] | None)
    assert answer.token_strs is not None
    assert len(answer.token_strs) == answer.count
    text = detokenize_tokens.sync(client=client, body=DetokenizeRequest(tokens=answer.tokens))
    assert_type(text, DetokenizeResponse | ErrorResponse | None)
    assert isinstance(text, DetokenizeResponse), text
    assert text.prompt == "".join(answer.token_strs)
    assert "a red circle" in text.prompt
