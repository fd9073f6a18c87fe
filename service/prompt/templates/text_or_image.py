r"""The template of jina-embeddings-v4: a text after its prefix, or one image in a turn of its own.

`{prefix}{text}` or `<|im_start|>user\n{image}Describe the image.<|im_end|>\n`. Only the image's own tokens are pooled,
and the decoder is causal: a text after them would change nothing, so it is refused.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from service.errors import InputError
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.templates.chatml import SpecialTokens
from service.prompt.templates.single_item import lone_medium, single_turn
from service.prompt.templates.visual_prompt import DESCRIPTION


@dataclass(frozen=True, slots=True)
class TextOrImage:
    """A `Profile.layout`.

    Attributes:
        tokens: of the checkpoint.
        prefixes: of texts; the first is the default. Beside an image they are ignored.
    """

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    tokens: SpecialTokens
    prefixes: Sequence[str]

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """A text or an image; only the client's text is cuttable.

        Raises:
            InputError: `invalid_request` for other turns, or an instruction to an image; `unsupported_modality` for a
                text beside an image; `conflicting_input` for several images.

        Source: jinaai/jina-embeddings-v4, `JinaEmbeddingsV4Processor`, `get_single_vector_embeddings`.
        """
        turn, instruction = single_turn(conversation), conversation.instruction or ""
        if turn.images:
            _check_image(turn, instruction, self.prefixes)
            return self._image(turn)
        prefix = instruction if instruction.strip() else self.prefixes[0]
        return [TextPiece(prefix + turn.text, user_start=len(prefix), cuttable=True)]

    def _image(self, turn: Turn) -> Sequence[Piece]:
        tokens = self.tokens
        return [
            TokenPiece(tokens.im_start),
            TextPiece("user\n"),
            TokenPiece(tokens.vision_start),
            ImagePiece(turn.images[0]),
            TokenPiece(tokens.vision_end),
            TextPiece(DESCRIPTION),
            TokenPiece(tokens.im_end),
            TextPiece("\n"),
        ]


def _check_image(turn: Turn, instruction: str, prefixes: Collection[str]) -> None:
    lone_medium(turn, "image", "this model pools an image by itself, and the text would change nothing")
    if instruction.strip() and instruction not in prefixes:
        raise InputError(
            "invalid_request",
            "`instruction`, or a system message: got a text; it is a prefix of texts, and this model has no place for "
            "one beside an image.",
        )
