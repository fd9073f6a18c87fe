"""Compares a folder's chat template with the prompt of a family that judges by `yes` and `no`.

Embedders and language models of its architecture have the same files, but for this text: names and cards do not count.
"""

from collections.abc import Iterator, Mapping

from service.checkpoint.chat_template import ChatTemplate, read_chat_templates
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.pair_frame import MARKS, Format, fill, read_pair_frame
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import TextPiece, TokenPiece
from service.prompt.templates.judged_pair import JudgedPair, Marks

LEGACY = "chat_template.json"
"""Where older processors have their template."""
FORMS: tuple[Format, ...] = ("flat", "structured")
WITH_ANSWER: Mapping[str, bool] = {"add_generation_prompt": True}
TURNS = ("<|im_start|>", "<|im_end|>")


def is_judging(files: CheckpointFiles, marks: Marks, instruction: str) -> bool:
    """True where a template of the folder writes what the family does, white space left out of account.

    Args:
        marks: the family's words.
        instruction: the family's, of a pair without any.
    """
    return any(
        writes_as(template, form, variables, marks, instruction)
        for template in _templates(files)
        for form in FORMS
        for variables in ({}, WITH_ANSWER)
    )


def writes_as(
    template: ChatTemplate, form: Format, variables: Mapping[str, object], marks: Marks, instruction: str
) -> bool:
    """True where one template does, with messages of this form."""
    try:
        frame = read_pair_frame(template, form, variables)
    except CheckpointError:
        return False
    sides = Turn("query", (MARKS["query"],)), Turn("document", (MARKS["document"],))
    pieces = JudgedPair(0, 1, instruction, marks)(Conversation(None, sides))
    expected = "".join(
        TURNS[piece.token_id] if isinstance(piece, TokenPiece) else piece.text
        for piece in pieces
        if isinstance(piece, TextPiece | TokenPiece)
    )
    return "".join(fill(frame, MARKS).split()) == "".join(expected.split())


def _templates(files: CheckpointFiles) -> Iterator[ChatTemplate]:
    yield from read_chat_templates(files).values()
    if isinstance(text := files.optional(LEGACY).get("chat_template"), str):
        yield ChatTemplate(files.folder / LEGACY, text, {})
