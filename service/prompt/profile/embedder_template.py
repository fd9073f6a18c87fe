"""Compares a folder's own chat template with the prompt of its family, whose reference makes prompts by it.

Tried with one conversation of texts and images. A folder without a template is taken for what the family releases.
"""

from dataclasses import asdict
from typing import Any

from service.checkpoint.chat_template import DEFAULT, ChatTemplate, read_chat_templates
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece
from service.prompt.templates.chatml import TOKEN_NAMES, ChatML

LEGACY = "chat_template.json"
"""Where older processors have it."""
INSTRUCTION = "Say what it is."
IMAGE: Any = object()
PARTS = ("a\n", IMAGE, " b ", "c", IMAGE, IMAGE, "\nd")


def check_chat_template(files: CheckpointFiles, layout: ChatML) -> None:
    """Refuse a folder whose template joins instruction, texts and images otherwise.

    Raises:
        CheckpointError: it does, or cannot be rendered.
    """
    if (template := _template(files)) is None:
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


def _template(files: CheckpointFiles) -> ChatTemplate | None:
    if (found := read_chat_templates(files).get(DEFAULT)) is not None:
        return found
    text = files.optional(LEGACY).get("chat_template")
    return ChatTemplate(files.folder / LEGACY, text, {}) if isinstance(text, str) else None


def _render(piece: Piece, names: dict[int, str]) -> str:
    if isinstance(piece, TextPiece):
        return piece.text
    return TOKEN_NAMES["image_pad"] if isinstance(piece, ImagePiece) else names[piece.token_id]
