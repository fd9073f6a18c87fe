"""The template of VLM2Vec: an image's placeholders, an instruction and a text, separated by spaces.

It has no special tokens but the placeholders.
"""

from collections.abc import Sequence

from service.prompt.conversation import Conversation
from service.prompt.piece import ImagePiece, Piece, TextPiece
from service.prompt.templates.single_item import single_turn

IMAGE_INSTRUCTION = "Represent the given image."
"""Instruction of an image without any text: the training data's, for candidates that are images."""


def bare_pads(conversation: Conversation) -> Sequence[Piece]:
    """`{placeholders} {instruction} {text}`; a `Profile.layout`. Only the text is cuttable.

    Args:
        conversation: one user turn; a missing part leaves no space behind.

    Raises:
        InputError: `invalid_request` for other turns.

    Source: TIGER-AI-Lab/VLM2Vec, `process_input_text` and `Qwen2_VL_process_fn`.
    """
    turn, instruction = single_turn(conversation), (conversation.instruction or "").strip()
    if turn.images and not instruction and not turn.text:
        instruction = IMAGE_INSTRUCTION
    pieces: list[Piece] = []
    for item in turn.images:
        pieces += [TextPiece(" ")] if pieces else []
        pieces.append(ImagePiece(item))
    blank = " " if pieces else ""
    prefix = blank + (f"{instruction} " if instruction and turn.text else instruction)
    return [*pieces, TextPiece(prefix + turn.text, user_start=len(prefix), cuttable=True)]
