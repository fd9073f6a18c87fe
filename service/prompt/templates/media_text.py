"""The template of EmbeddingGemma 2: a prefix, then texts and media as they were written, with nothing between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from service.media.item import MediaKind
from service.media.media_item import Video
from service.prompt.conversation import Conversation
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.templates.plain_text import PlainText
from service.prompt.templates.single_item import single_turn


@dataclass(frozen=True, slots=True)
class MediaText:
    """A `Profile.layout`.

    Attributes:
        plain: makes the prefix.
        borders: the tokens before and after a medium of each kind; a video's frames have them one by one.
    """

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    keeps_order: ClassVar[bool] = True
    """See `Profile.keeps_order`."""
    is_as_written: ClassVar[bool] = True
    """The reference itself reads parts in the order in which they were written."""
    plain: PlainText
    borders: Mapping[MediaKind, tuple[int, int]]

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """Texts between two media are one piece, the prefix in the first; only the client's are cuttable.

        Source: transformers' conversion of EmbeddingGemma 2 (its chat template), `EmbeddingGemma2Processor`.
        """
        turn, pieces = single_turn(conversation), list[Piece]()
        prefix = self.plain.prefix(conversation.instruction)
        text = TextPiece(prefix, len(prefix), cuttable=True)
        for part in turn.parts:
            if isinstance(part, str):
                text = text._replace(text=text.text + part)
                continue
            pieces += [text] if text.text else []
            for item in part.pairs if isinstance(part, Video) else (part,):
                begin, end = self.borders[item.kind]
                pieces += [TokenPiece(begin), ImagePiece(item), TokenPiece(end)]
            text = TextPiece("", 0, cuttable=True)
        return [*pieces, text] if text.text or not pieces else pieces
