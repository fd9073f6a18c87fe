"""Prompts that are too long: cut in the user's text, or refused with both numbers, at little cost."""

import random
import re
import time
from collections.abc import Callable

import pytest

from service.errors import InputError
from service.media.image.image_file import ImageFile
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Side, Truncation
from tests.builders import user

MediaItem = Callable[..., ImageFile]
WORDS = re.split(" ", "the quick brown fox jumps over lazy dogs naïve 東京 🗼 \n\t  … don't 12345 #### import self")


def refusal(builder: PromptBuilder, conversation: Conversation, truncation: Truncation) -> InputError:
    with pytest.raises(InputError) as caught:
        builder.build(conversation, truncation, param="input[2]", index=2)
    assert caught.value.code == "context_length_exceeded"
    assert (caught.value.param, caught.value.index) == ("input[2]", 2)
    return caught.value


def test_a_prompt_at_the_limit_passes_and_one_token_more_is_refused_with_both_numbers(builder: PromptBuilder) -> None:
    num_frame = len(builder.build(user(""), Truncation(8192)).plan.ids)
    fits = builder.build(user("7" * (8192 - num_frame)), Truncation(8192))
    assert (len(fits.plan.ids), fits.truncated) == (8192, False)
    error = refusal(builder, user("7" * (8193 - num_frame)), Truncation(8192))
    said = "This model's maximum context length is 8192 tokens. However, your prompt contains 8193 input tokens. "
    assert error.message.startswith(said)  # pgai looks for "maximum context length is N tokens"


def test_a_limit_above_the_models_changes_nothing_and_one_below_is_named_as_the_requests(
    builder: PromptBuilder,
) -> None:
    assert "maximum context length is 8192" in refusal(builder, user("7" * 9_000), Truncation(1_000_000)).message
    error = refusal(builder, user("7" * 500), Truncation(100))
    assert error.message.startswith("The request's own maximum context length is 100 tokens.")


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("num_images", [0, 1])
def test_only_the_users_text_is_cut(
    builder: PromptBuilder, tokenizer: PromptTokenizer, image: MediaItem, side: Side, num_images: int
) -> None:
    images = (image(),) * num_images
    source = random.Random(7)
    for _ in range(60):
        text = "x" + " ".join(source.choices(WORDS, k=200)) + "."
        whole = builder.build(user(text, *images), Truncation(8192)).plan.ids
        frame = builder.build(user("", *images), Truncation(8192)).plan.ids
        tail = 7  # <|im_end|>, newline, <|im_start|>, three tokens of "assistant", newline: the end token is the eighth
        num_after = tail + 1
        num_before = len(frame) - num_after
        own = whole[num_before:-num_after]
        assert whole[:num_before] + whole[-num_after:] == frame
        limit = source.randint(len(frame), len(whole) + 5)
        prompt = builder.build(user(text, *images), Truncation(limit, side))
        num_kept = min(len(own), limit - len(frame))
        kept = own[:num_kept] if side == "right" else own[len(own) - num_kept :]
        assert prompt.plan.ids == whole[:num_before] + kept + whole[-num_after:]
        assert prompt.truncated is (num_kept < len(own))
        assert len(prompt.plan.ids) == min(limit, len(whole))


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_huge_text_is_cut_as_if_all_of_it_had_been_tokenized(
    builder: PromptBuilder, tokenizer: PromptTokenizer, side: Side
) -> None:
    source = random.Random(3)
    text = "x " + " ".join(source.choices(WORDS, k=60_000)) + " end"
    frame = len(builder.build(user(""), Truncation(8192)).plan.ids)
    limit = frame + 50
    assert tokenizer.bound.least_tokens(text) > limit
    all_ids = tokenizer.encode("user\n" + text).ids[len(tokenizer.encode("user\n").ids) :]
    prompt = builder.build(user(text), Truncation(limit, side))
    assert prompt.truncated
    assert prompt.plan.ids[frame - 8 : -8] == (all_ids[:50] if side == "right" else all_ids[-50:])


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_huge_text_of_the_longest_tokens_fills_the_limit(
    builder: PromptBuilder, tokenizer: PromptTokenizer, side: Side
) -> None:
    token_id = tokenizer.token_to_id("#" * 80 + "Ċ")
    prompt = builder.build(user(("#" * 80 + "\n") * 500), Truncation(100, side))
    frame = len(builder.build(user(""), Truncation(8192)).plan.ids)
    assert prompt.plan.ids.count(token_id) == 100 - frame
    assert len(prompt.plan.ids) == 100


def test_a_newline_that_merges_with_the_template_belongs_to_the_template(
    builder: PromptBuilder, tokenizer: PromptTokenizer
) -> None:
    prompt = builder.build(user("\n\n\n" + "7" * 200), Truncation(60, "right"))
    text = tokenizer.decode(prompt.plan.ids)
    assert len(prompt.plan.ids) == 60
    assert text.startswith("<|im_start|>system\nRepresent the user's input.<|im_end|>\n<|im_start|>user\n\n\n\n7")
    assert text.endswith("7<|im_end|>\n<|im_start|>assistant\n<|endoftext|>")


@pytest.mark.parametrize("side", ["right", "left"])
def test_only_the_last_user_turn_is_cut(builder: PromptBuilder, tokenizer: PromptTokenizer, side: Side) -> None:
    turns = (Turn("user", ("1" * 50,)), Turn("user", ("2" * 50,)), Turn("assistant", ("3" * 50,)))
    prompt = builder.build(Conversation("4" * 50, turns), Truncation(220, side))
    text = tokenizer.decode(prompt.plan.ids)
    assert [text.count(digit) for digit in "134"] == [50, 50, 50]
    assert 0 < text.count("2") < 50
    assert len(prompt.plan.ids) == 220


def test_images_after_the_cut_text_move_with_it(builder: PromptBuilder, image: MediaItem) -> None:
    turns = (Turn("user", (image(), "7" * 100)), Turn("assistant", (image(96, 96),)))
    prompt = builder.build(Conversation(None, turns), Truncation(90, "right"))
    assert len(prompt.plan.ids) == 90
    for placeholder in prompt.placeholders:
        assert set(prompt.plan.ids[placeholder.offset : placeholder.offset + placeholder.length]) == {8134}
        assert prompt.plan.ids[placeholder.offset - 1] == 8131
        assert prompt.plan.ids[placeholder.offset + placeholder.length] == 8132


@pytest.mark.parametrize("side", ["right", "left"])
def test_images_that_do_not_fit_are_an_error_with_both_numbers(
    builder: PromptBuilder, image: MediaItem, side: Side
) -> None:
    images = (image(1280, 1440),) * 5
    error = refusal(builder, user("hello", *images), Truncation(8192, side))
    assert "8192 tokens" in error.message
    found = re.search(r"contains (?:at least )?(\d+) input tokens", error.message)
    assert found is not None
    assert int(found[1]) >= 9_000


def test_what_cannot_be_cut_is_counted_apart(builder: PromptBuilder) -> None:
    num_frame = len(builder.build(user(""), Truncation(8192)).plan.ids)
    error = refusal(builder, user("7" * 100), Truncation(num_frame - 1, "right"))
    assert f"contains {num_frame + 100} input tokens" in error.message
    assert f"template, instruction and other turns take {num_frame} tokens" in error.message
    assert f"set `truncate_prompt_tokens` above {num_frame}" in error.message


@pytest.mark.parametrize("side", ["right", "left", None])
@pytest.mark.parametrize("limit", [1, 9, 20])
def test_a_limit_below_the_template_is_refused_with_what_template_and_instruction_take(
    builder: PromptBuilder, image: MediaItem, side: Side | None, limit: int
) -> None:
    instruction = "Represent the colors of the image."
    num_fixed = len(builder.build(Conversation(instruction, user("").turns), Truncation(8192)).plan.ids)
    asked = Truncation(limit, side, limit_name="max_tokens")
    for text in ("x", "x " * 3000, "7" * 1_000_000):
        error = refusal(builder, Conversation(instruction, user(text).turns), asked)
        assert f"template, instruction and other turns take {num_fixed} tokens" in error.message
        assert f"set `max_tokens` above {num_fixed}" in error.message
        assert "cut off" not in error.message
    image = image(64, 64)
    error = refusal(builder, Conversation(instruction, user("x", image).turns), asked)
    assert f"take {num_fixed + 2} tokens, images {image.num_tokens}" in error.message


def test_a_refusal_for_length_says_how_to_truncate(builder: PromptBuilder) -> None:
    assert "cut off with `truncate_prompt_tokens: -1`" in refusal(builder, user("7" * 9_000), Truncation(8192)).message
    asked = Truncation(100, how_to_cut="`truncate: END`")
    assert "cut off with `truncate: END`" in refusal(builder, user("7" * 9_000), asked).message


@pytest.mark.parametrize("text", ["a" * 30_000_000, "東" * 10_000_000, " " * 30_000_000, "<|image_pad|>" * 2_000_000])
def test_a_huge_text_is_refused_without_tokenizing_it(builder: PromptBuilder, text: str) -> None:
    began = time.process_time()
    error = refusal(builder, user(text), Truncation(8192))
    assert time.process_time() - began < 1  # tokenizing takes more than ten
    assert "contains at least" in error.message
    error = refusal(builder, Conversation(f"x{text}x", (Turn("user", ("x",)),)), Truncation(8192, "right"))
    assert "contains at least" in error.message


def test_the_cheap_refusal_never_refuses_what_fits(builder: PromptBuilder, tokenizer: PromptTokenizer) -> None:
    longest = max((tokenizer.id_to_token(i) or "" for i in range(8128)), key=len)
    assert longest == "#" * 80 + "Ċ"
    text = ("#" * 80 + "\n") * 8_000
    prompt = builder.build(user(text), Truncation(8192))
    assert len(prompt.plan.ids) < 8192


@pytest.mark.parametrize("side", ["right", "left"])
def test_cutting_a_huge_text_costs_no_more_than_its_kept_characters(builder: PromptBuilder, side: Side) -> None:
    began = time.process_time()
    prompt = builder.build(user("lorem ipsum " * 2_500_000), Truncation(128, side))
    assert time.process_time() - began < 1
    assert len(prompt.plan.ids) == 128
