"""The templates of rerankers' pairs: two texts with a separator between them, or what a checkpoint's template writes.

The latter is a chat template, read as words and places.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.checkpoint.pair_frame import PairFrame, Role, Slot
from service.errors import InputError
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import Piece, TextPiece, TokenPiece


def pair_turns(conversation: Conversation) -> tuple[Turn, Turn]:
    """The query and the document of a conversation."""
    turns = conversation.turns
    if [turn.role for turn in turns] != ["query", "document"]:
        roles = ", ".join(turn.role for turn in turns)
        message = f"The conversation has turns of {roles}; this model scores pairs, of a query and a document."
        raise InputError("invalid_request", message)
    query, document = turns
    return query, document


@dataclass(frozen=True, slots=True)
class TextPair:
    """A `Profile.layout`."""

    between: tuple[int, ...]

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """Query, separator, document; both texts are cuttable. The tokenizer's head and tail come around them.

        Source: sentence-transformers 6.2, `CrossEncoder.predict`.
        """
        if (conversation.instruction or "").strip():
            raise InputError("invalid_request", "The pair has an instruction; this model was trained without any.")
        query, document = pair_turns(conversation)
        texts = [TextPiece(turn.text, user_start=0, cuttable=True) for turn in (query, document)]
        return [texts[0], *map(TokenPiece, self.between), texts[1]]


Run = tuple[str | Slot, ...]
"""Words and places without a special token between them, which are tokenized as one text."""


def cut_frame(frame: PairFrame, special: Mapping[str, int]) -> tuple[int | Run, ...]:
    """A frame cut at its special tokens.

    Args:
        special: ids of special tokens by how they are written.
    """
    tokens = re.compile("(" + "|".join(map(re.escape, sorted(special, key=len, reverse=True))) + ")")
    cut: list[int | Run] = []
    run: list[str | Slot] = []
    for part in frame:
        for piece in [part] if isinstance(part, Slot) else filter(None, tokens.split(part)):
            if isinstance(piece, str) and piece in special:
                cut += [tuple(run)] if run else []
                cut.append(special[piece])
                run = []
            else:
                run.append(piece)
    return (*cut, *([tuple(run)] if run else []))


@dataclass(frozen=True, slots=True)
class FramedPair:
    """A `Profile.layout`.

    Attributes:
        bare: ids and runs of a pair without an instruction.
        instructed: with one; None where the template has no place for it.
        prompt: instruction of a request that gives none; empty where there is none.
    """

    bare: tuple[int | Run, ...]
    instructed: tuple[int | Run, ...] | None = None
    prompt: str = ""

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """The pieces in order; query and document are cuttable, and what stands between them in one piece."""
        query, document = pair_turns(conversation)
        given = conversation.instruction or ""
        instruction = self.prompt if not given or given.isspace() else given
        if instruction and self.instructed is None and instruction != self.prompt:
            raise InputError(
                "invalid_request", "The pair has an instruction; this model's template has no place for it."
            )
        parts = self.instructed if instruction and self.instructed is not None else self.bare
        texts: dict[Role, str] = {"system": instruction, "query": query.text, "document": document.text}
        return [TokenPiece(part) if isinstance(part, int) else _piece(part, texts) for part in parts]


def _piece(run: Run, texts: Mapping[Role, str]) -> TextPiece:
    """One text of a run; what a client wrote reaches from its first place to its last."""
    written = [part if isinstance(part, str) else part.fill(texts[part.role]) for part in run]
    places = [place for place, part in enumerate(run) if isinstance(part, Slot)]
    if not places:
        return TextPiece("".join(written))
    is_of_pair = any(isinstance(part, Slot) and part.role != "system" for part in run)
    before, after = (len("".join(part)) for part in (written[: places[0]], written[places[-1] + 1 :]))
    return TextPiece("".join(written), before, cuttable=is_of_pair, num_after=after if is_of_pair else 0)
