r"""The templates of Nemotron 3.5: images stand before the texts of an item, whatever order they were written in.

Of an embedder `{prompt} [IMG] {text}`; of a reranker `[IMG] query: {query}\n\npassage: {document}`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from service.errors import InputError
from service.prompt.conversation import Conversation
from service.prompt.piece import ImagePiece, Piece, TextPiece
from service.prompt.templates.pair import FramedPair, pair_turns
from service.prompt.templates.plain_text import PlainText
from service.prompt.templates.single_item import single_turn

BLANK = " "
"""Between a prompt, each image and each text."""


@dataclass(frozen=True, slots=True)
class ImageFirst:
    """A `Profile.layout`.

    Attributes:
        plain: makes the prompt.
        strips: blanks at its end are dropped.
    """

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    is_as_written: ClassVar[bool] = True
    """Texts come apart; no order changes anything."""
    plain: PlainText
    strips: bool

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """Only the client's texts are cuttable.

        Source: NeMo AutoModel, `ministral_bidirectional/processor.py`, its chat template.
        """
        turn, pieces = single_turn(conversation), list[Piece]()
        prompt = self.plain.prefix(conversation.instruction)
        head = (prompt.rstrip() if self.strips else prompt) + BLANK if prompt else ""
        for image in turn.images:
            pieces += [TextPiece(head), ImagePiece(image)]
            head = BLANK
        text = BLANK.join(part for part in turn.parts if isinstance(part, str))
        return [*pieces, TextPiece(head + text, len(head), cuttable=True)] if text or not pieces else pieces


@dataclass(frozen=True, slots=True)
class ImageBesidePair:
    """A `Profile.layout`.

    Attributes:
        pair: makes one text of query and document.
    """

    pair: FramedPair

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """The document's image and the text, beside an image without blanks at its end. Source: as `ImageFirst`."""
        (text,) = self.pair(conversation)
        query, document = pair_turns(conversation)
        if query.images:
            raise InputError("unsupported_modality", "The query has an image; this model's queries are texts.")
        if len(document.images) > 1:
            message = f"The document has {len(document.images)} images; this model scores documents of one at most."
            raise InputError("conflicting_input", message)
        if not document.images or not isinstance(text, TextPiece):
            return [text]
        start = len(BLANK) + (text.user_start or 0)
        return [ImagePiece(document.images[0]), TextPiece(BLANK + text.text.rstrip(), start, cuttable=True)]
