"""The texts of a prompt's tokens, joined, are the prompt's text, whatever the ids."""

import random

import pytest

from service.prompt.tokenizer.tokenizer import PromptTokenizer

TEXTS = (
    "",
    "plain words",
    " leading and trailing ",
    "tabs\tand\r\nlines\n\n",
    "größe 東京 Tōkyō",
    "👩‍👩‍👧 🏳️‍🌈",
    "a\ufffdb",
    "\x00\x7f",
)


@pytest.mark.parametrize("text", TEXTS)
def test_the_tokens_of_a_text_give_it_back(tokenizer: PromptTokenizer, text: str) -> None:
    strs = tokenizer.token_strs(token_ids := tokenizer.encode(text).ids)
    assert "".join(strs) == text
    assert len(strs) == len(token_ids)


def test_a_character_of_several_tokens_stands_with_the_last_of_them(tokenizer: PromptTokenizer) -> None:
    strs = tokenizer.token_strs(tokenizer.encode("👩").ids)
    assert len(strs) > 1
    assert strs == [""] * (len(strs) - 1) + ["👩"]


def test_special_tokens_are_written_out(tokenizer: PromptTokenizer) -> None:
    assert tokenizer.token_strs([8128]) == ["<|endoftext|>"]


def test_any_ids_joined_are_what_the_tokenizer_decodes(tokenizer: PromptTokenizer) -> None:
    """Halves of characters in any order too: both replace what is not UTF-8 in the same way."""
    draw = random.Random(7)
    for _ in range(1000):
        token_ids = [draw.randrange(tokenizer.num_ids) for _ in range(draw.randrange(1, 30))]
        assert "".join(tokenizer.token_strs(token_ids)) == tokenizer.decode(token_ids)
