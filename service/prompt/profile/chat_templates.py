"""Compares a folder's own chat template with the prompt of its family: one that writes another is of another model.

Embedders, rerankers that judge by `yes` and `no`, and language models of an architecture have the same files, but for
this text: names and cards do not count.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from service.checkpoint.chat_template import DEFAULT, ChatTemplate, read_chat_templates
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.pair_frame import MARKS, Format, fill, read_pair_frame
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.templates.chatml import TOKEN_NAMES, ChatML
from service.prompt.templates.judged_pair import JudgedPair, Marks

LEGACY = "chat_template.json"
"""Where older processors have their template."""
INSTRUCTION = "Say what it is."
IMAGE: Any = object()
PARTS = ("a\n", IMAGE, " b ", "c", IMAGE, IMAGE, "\nd")
FORMS: tuple[Format, ...] = ("flat", "structured")
WITH_ANSWER: Mapping[str, bool] = {"add_generation_prompt": True}
TURNS = ("<|im_start|>", "<|im_end|>")


def check_chat_template(files: CheckpointFiles, layout: ChatML) -> None:
    """Refuse a folder whose template joins instruction, texts and images otherwise; it may have none."""
    found = read_chat_templates(files).get(DEFAULT)
    template = found or next(iter(_legacy(files)), None)
    if template is None:
        return
    user = [{"type": "text", "text": one} if isinstance(one, str) else {"type": "image"} for one in PARTS]
    messages = [
        {"role": "system", "content": [{"type": "text", "text": INSTRUCTION}]},
        {"role": "user", "content": user},
    ]
    written = template.render(messages, {"add_generation_prompt": True})
    names = {token_id: TOKEN_NAMES[field] for field, token_id in asdict(layout.tokens).items()}
    wanted = "".join(_render(piece, names) for piece in layout(Conversation(INSTRUCTION, (Turn("user", PARTS),))))
    if written != wanted:
        raise CheckpointError(f"{template.path} writes {written!r}; supported of this architecture: {wanted!r}")


def is_judging(files: CheckpointFiles, marks: Marks, instruction: str) -> bool:
    """True where a template of the folder writes what the family does, white space left out of account.

    Args:
        marks: the family's words.
        instruction: the family's, of a pair without any.
    """
    return any(
        writes_as(template, form, variables, marks, instruction)
        for template in (*read_chat_templates(files).values(), *_legacy(files))
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


def _legacy(files: CheckpointFiles) -> list[ChatTemplate]:
    text = files.optional(LEGACY).get("chat_template")
    return [ChatTemplate(files.folder / LEGACY, text, {})] if isinstance(text, str) else []


def _render(piece: Piece, names: dict[int, str]) -> str:
    if isinstance(piece, TextPiece):
        return piece.text
    return TOKEN_NAMES["image_pad"] if isinstance(piece, ImagePiece) else names[piece.token_id]
