"""Prompts of many plain texts made together: the same as one by one, or left to that."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.detect import load_profile
from service.prompt.plain_texts import frame_pieces
from service.prompt.templates.chatml import SpecialTokens
from service.prompt.templates.page_or_query import PageOrQuery
from service.prompt.templates.plain_text import PlainText
from service.prompt.templates.single_item import SingleItem
from service.prompt.templates.visual_prompt import TextOrImage, VisualPrompt, bare_pads
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation
from tests.builders import user
from tests.service.prompt.conftest import CHECKPOINT
from tests.service.prompt.test_build import SNIPPETS, SPECIALS, WHOLE

TOKENS = SpecialTokens(im_start=1, im_end=2, vision_start=3, vision_end=4, image_pad=5, video_pad=6, end_of_text=7)
ODD_TEXTS = ["", " ", "\n", "\n\nx", " x ", "probe", "naïve café — 東京タワー 🗼\n\ttabs", "\u0301", "\r\n", *SPECIALS]


def random_texts(num: int) -> list[str]:
    source = random.Random(7)
    return ["".join(source.choices([*SNIPPETS, *SPECIALS], k=source.randint(0, 12))) for _ in range(num)]


@pytest.mark.parametrize(
    "like",
    [
        Conversation(None, ()),
        Conversation("Find the cat", ()),
        Conversation(None, (), add_generation_prompt=False),
        Conversation(None, (), add_special_tokens=False),
    ],
)
def test_texts_together_have_the_prompts_that_they_have_alone(builder: PromptBuilder, like: Conversation) -> None:
    texts = [*ODD_TEXTS, *random_texts(500)]
    together = builder.plain_texts.build(texts, like, WHOLE)
    for text, prompt in zip(texts, together, strict=True):
        flags = {"add_generation_prompt": like.add_generation_prompt, "add_special_tokens": like.add_special_tokens}
        assert prompt == builder.build(user(text, instruction=like.instruction, **flags), WHOLE)


@pytest.mark.parametrize("header", ["", "query: "])
@pytest.mark.parametrize("side", [None, "left", "right"])
def test_a_text_that_is_cut_is_cut_where_it_is_alone_or_left_to_that(
    tokenizer: PromptTokenizer, header: str, side: str | None
) -> None:
    profile = replace(load_profile(CHECKPOINT), layout=PlainText({}, header))
    builder = PromptBuilder(profile, tokenizer)
    truncation = Truncation(12, side)  # type: ignore[arg-type]
    texts = ["one two three", "a b c d e f g h i j k l m n o p q r s t", ""]
    short, cut, empty = builder.plain_texts.build(texts, Conversation(None, ()), truncation)
    assert short == builder.build(user(texts[0]), truncation)
    assert empty == builder.build(user(texts[2]), truncation)
    if side is None or header:
        assert cut is None
    else:
        assert cut == builder.build(user(texts[1]), truncation)
        assert cut is not None
        assert cut.truncated
        assert len(cut.plan.ids) == 12


def test_what_has_to_be_looked_at_is_left_to_that(builder: PromptBuilder, strict_builder: PromptBuilder) -> None:
    texts = ["a", "b"]
    assert strict_builder.plain_texts.build(texts, Conversation(None, ()), WHOLE) == [None, None]
    assert builder.plain_texts.build(texts, Conversation("x" * 3000, ()), WHOLE) == [None, None]
    assert builder.plain_texts.build(texts, Conversation(None, (), continue_final_message=True), WHOLE) == [None, None]


@pytest.mark.parametrize(
    "layout",
    [
        PlainText({"query": "Instruct: x\nQuery: "}, "passage: "),
        SingleItem(),
        TextOrImage(TOKENS, ("Query: ", "Passage: ")),
        PageOrQuery.of_texts({"<end>": 7}, ("", "<end>"), ("Query: ", "<end>" * 10)),
        VisualPrompt(TOKENS, 5),
    ],
)
@pytest.mark.parametrize("instruction", [None, "", "Find it"])
def test_a_layout_that_says_so_puts_the_same_around_any_text(layout: Callable, instruction: str | None) -> None:
    like = Conversation(instruction, ())
    found = frame_pieces(layout, like)
    if found is None:  # it refuses the instruction
        assert instruction
        return
    for text in ODD_TEXTS:
        pieces: Sequence = layout(Conversation(instruction, (Turn("user", (text,)),)))
        place = len(found.before)
        assert list(pieces[:place]) == list(found.before)
        assert pieces[place].text == found.header + text
        assert pieces[place].user_start == len(found.header)
        assert list(pieces[place + 1 :]) == list(found.after)


def test_a_layout_that_changes_texts_has_no_frame() -> None:
    like = Conversation(None, ())
    assert frame_pieces(SingleItem(str.upper), like) is None
    assert frame_pieces(bare_pads, like) is None
