"""The tokens that a request would have, and back to text."""

from typing import assert_type

from cenote_client import DetokenizeRequest, DetokenizeResponse, InputItem, TokenizeRequest, TokenizeResponse, TokensApi
from usage.vectors import fused


def tokens_of_an_image_are_counted(api: TokensApi, image: str) -> None:
    answer = api.tokenize_inputs(TokenizeRequest(inputs=[InputItem(content=fused(image))]))
    assert_type(answer, TokenizeResponse)
    [entry] = answer.data
    assert_type(entry.image_tokens, int)
    assert 0 < entry.image_tokens < entry.count == answer.count
    assert answer.token_strs is None


def tokens_are_text_again(api: TokensApi) -> None:
    answer = api.tokenize_inputs(TokenizeRequest(prompt="a red circle", return_token_strs=True))
    assert_type(answer.tokens, list[int])
    assert_type(answer.token_strs, list[str] | None)
    assert answer.token_strs is not None
    assert len(answer.token_strs) == len(answer.tokens) == answer.count
    text = api.detokenize_tokens(DetokenizeRequest(tokens=answer.tokens))
    assert_type(text, DetokenizeResponse)
    assert text.prompt == "".join(answer.token_strs)
    assert "a red circle" in text.prompt
