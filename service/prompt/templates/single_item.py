"""The template of two-tower models: an item is one text, or one image or audio file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from service.errors import InputError
from service.media.media_item import MediaItem
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece

INSTRUCTED = ", and at most a system message, which is the instruction: this model embeds single inputs"


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class SingleItem:
    """A `Profile.layout`.

    Attributes:
        rewrite: the family's change of each text before it is tokenized.
        other: the model's other modality, for errors.
    """

    rewrite: Callable[[str], str] = _as_it_is
    other: Literal["image", "audio file"] = "image"

    @property
    def is_uniform(self) -> bool:
        """See `frame_pieces`: not where texts are changed."""
        return self.rewrite is _as_it_is

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """One piece."""
        if (conversation.instruction or "").strip():
            reason = "this model was trained without instructions and has no place for one"
            raise InputError("invalid_request", f"The conversation has a system message; {reason}.")
        return [self._piece(single_turn(conversation, f": this model embeds one text or one {self.other}"))]

    def _piece(self, turn: Turn) -> Piece:
        if not turn.images:
            return TextPiece(self.rewrite(turn.text), user_start=0, cuttable=True)
        reason = "this model has a tower for each and embeds one or the other"
        return ImagePiece(lone_medium(turn, self.other, reason))


IMAGES_ONLY = "got a text; this model takes images only."


@dataclass(frozen=True, slots=True)
class SingleImage(SingleItem):
    """The template of models that see images and read no text."""

    def _piece(self, turn: Turn) -> Piece:
        if turn.text or not turn.images:
            raise InputError("unsupported_modality", f"The item: {IMAGES_ONLY}")
        return ImagePiece(lone_medium(turn, self.other, IMAGES_ONLY))


def single_turn(conversation: Conversation, expected: str = INSTRUCTED) -> Turn:
    """The user turn of a conversation, which has one turn at least.

    Args:
        expected: the end of the error's sentence.
    """
    turns = conversation.turns
    if len(turns) != 1 or turns[0].role != "user":
        found = f"The conversation has {len(turns)} turns, the first by the {turns[0].role}"
        raise InputError("invalid_request", f"{found}; expected one user turn{expected}.")
    return turns[0]


def lone_medium(turn: Turn, noun: str, reason: str, embedded: str = "one") -> MediaItem:
    """The image or audio of a turn that has nothing else.

    Args:
        turn: with at least one.
        reason: why no text may be beside it.
        embedded: what is embedded at a time.
    """
    if turn.text:
        message = f"The item has a text beside an {noun}; {reason}: send them as two items."
        raise InputError("unsupported_modality", message)
    image, *more = turn.images
    if more:
        message = f"The item has {len(turn.images)} {noun}s; this model embeds {embedded} at a time"
        raise InputError("conflicting_input", f"{message}: send each as an item of its own.")
    return image
