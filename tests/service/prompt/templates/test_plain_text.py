"""Templates of text models: the instruction as a prefix, or as a task."""

import pytest

from service.errors import InputError
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import TextPiece
from service.prompt.templates.plain_text import PlainText

QWEN = PlainText({"query": "Instruct: Given a query, retrieve passages\nQuery:", "document": ""})
E5 = PlainText({"query": "query: ", "passage": "passage: "}, default_prefix="passage: ")


def text_of(layout: PlainText, instruction: str | None) -> str:
    [piece] = layout(Conversation(instruction, (Turn("user", ("a pool",)),)))
    assert isinstance(piece, TextPiece)
    assert piece.cuttable
    assert piece.text[piece.user_start :] == "a pool"
    return piece.text


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        (None, "passage: a pool"),
        ("", "a pool"),
        ("query: ", "query: a pool"),
        ("no blank is added:", "no blank is added:a pool"),
    ],
)
def test_an_instruction_stands_as_it_is(instruction: str | None, text: str) -> None:
    assert text_of(E5, instruction) == text


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        (None, "a pool"),
        ("Find pools ", "Instruct: Find pools\nQuery:a pool"),
        ("Instruct: Find pools\nQuery: ", "Instruct: Find pools\nQuery: a pool"),
        (QWEN.prompts["query"], QWEN.prompts["query"] + "a pool"),
        (QWEN.prompts["document"], "a pool"),
    ],
)
def test_where_queries_name_a_task_an_instruction_is_one(instruction: str | None, text: str) -> None:
    assert text_of(QWEN, instruction) == text


@pytest.mark.parametrize("turns", [("user", "assistant"), ("assistant",), ("user", "user")])
def test_other_turns_are_refused(turns: tuple[str, ...]) -> None:
    conversation = Conversation(None, tuple(Turn("assistant" if t == "assistant" else "user", ("x",)) for t in turns))
    with pytest.raises(InputError, match=f"has {len(turns)} turns"):
        E5(conversation)
