"""The template of models that read texts and media as they were written: a frame, and an item's parts in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from service.media.item import MediaKind
from service.media.media_item import Video
from service.prompt.conversation import Conversation
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.templates.plain_text import PlainText
from service.prompt.templates.single_item import single_turn

ONLY_TEXT = frozenset(("text",))
"""Kinds of an item without media."""


@dataclass(frozen=True, slots=True)
class TurnFrame:
    """What a chat template writes around a user's turn: texts, and ids of special tokens."""

    plain: Sequence[str | int] = ()
    """Before the parts."""
    told: Sequence[str | int | None] = (None,)
    """Likewise with an instruction, which stands for None."""
    tails: Mapping[frozenset[str], Sequence[str | int]] = field(default_factory=dict)
    """After the parts, by the kinds of them; none: nothing."""


@dataclass(frozen=True, slots=True)
class MediaText:
    """A `Profile.layout`."""

    keeps_order: ClassVar[bool] = True
    """See `Profile.keeps_order`."""
    is_as_written: ClassVar[bool] = True
    """The reference itself reads parts in the order in which they were written."""
    plain: PlainText
    """Makes the instruction."""
    borders: Mapping[MediaKind, tuple[int, int]]
    """The tokens before and after a medium of each kind."""
    frame: TurnFrame = TurnFrame()
    """Around the parts."""
    is_video_one: bool = False
    """A video has borders; else each of its frames."""

    @property
    def is_uniform(self) -> bool:
        """See `frame_pieces`: where no words follow a text that are tokenized together with it."""
        return not any(isinstance(one, str) for one in self.frame.tails.get(ONLY_TEXT, ())[:1])

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """Texts between two media are one piece, the instruction before the first; only the client's are cuttable.

        Source: transformers' conversion of EmbeddingGemma 2 (its chat template), `EmbeddingGemma2Processor`;
        Qwen2.5-Omni's chat template.
        """
        turn, prefix = single_turn(conversation), self.plain.prefix(conversation.instruction)
        pieces, run = list[Piece](), TextPiece("")
        for one in self.frame.told if prefix else self.frame.plain:
            if isinstance(one, int):
                pieces += [*_written(run), TokenPiece(one)]
                run = TextPiece("")
            elif one is None:
                run = TextPiece(run.text + prefix, len(run.text))
            else:
                run = run._replace(text=run.text + one)
        run, kinds = TextPiece(run.text, len(run.text), cuttable=True), set[str]()
        for part in turn.parts:
            if isinstance(part, str):
                run, kinds = run._replace(text=run.text + part), kinds | ONLY_TEXT
                continue
            pieces += _written(run)
            items = part.pairs if isinstance(part, Video) else (part,)
            kinds.add(items[0].kind)
            begin, end = (TokenPiece(one) for one in self.borders[items[0].kind])
            for some in (items,) if self.is_video_one else [(item,) for item in items]:
                pieces += [begin, *map(ImagePiece, some), end]
            run = TextPiece("", 0, cuttable=True)
        for one in self.frame.tails.get(frozenset(kinds or ONLY_TEXT), ()):
            if isinstance(one, int):
                pieces += [*_written(run), TokenPiece(one)]
                run = TextPiece("")
            else:
                run = run._replace(text=run.text + one, num_after=len(one))
        return [*pieces, *_written(run)] or [run]


def _written(run: TextPiece) -> Sequence[TextPiece]:
    return [run] if run.text else []
